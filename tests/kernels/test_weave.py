"""Texts are woven for a layout: loads, stores, answers that may be missing, and lines that keep their indentation."""

from __future__ import annotations

import ast

import pytest

import slidewise as sw
from slidewise.compiled.fiba_source import fiba_source
from slidewise.compiled.peer_source import OTHERS
from slidewise.compiled.source import STEPS, compiled_source
from slidewise.kernels.codegen.source import TEXTS, pass_source
from slidewise.kernels.codegen.weave import StateArrays, rows_and_answers, states, weave

LAYOUTS = [op.layout(("float64",) * op.arity()[0]) for op in (sw.max, sw.maxcount, sw.variance, sw.m4, sw.argmax)]


def test_a_bare_state_is_one_element_and_a_tuple_one_of_each_array() -> None:
    bare, pair = StateArrays(("S0",), scalar=True), StateArrays(("S0", "S1"), place="u({})")
    assert weave("v = {S[i + 1]}", {"S": bare}) == "v = S0[i + 1]"
    assert weave("v = {S[i + 1]}", {"S": pair}) == "v = (S0[u(i + 1)], S1[u(i + 1)],)"
    assert weave("{S[i] = v}", {"S": bare}) == "S0[i] = v"
    assert weave("{S[i] = v}", {"S": pair}) == "S0[u(i)] = v[0]; S1[u(i)] = v[1]"


def test_gaps_may_stand_within_gaps_and_in_what_gaps_stand_for() -> None:
    gaps = {"S": StateArrays(("S0",), scalar=True), "step": "{S[i] = combine({S[j]}, {S[k]})}"}
    assert weave("{step}", gaps) == "S0[i] = combine(S0[j], S0[k])"


def test_several_lines_get_the_indentation_of_their_gap() -> None:
    gaps = rows_and_answers(sw.variance.layout(("float64",)), 1)
    text = weave("for i in x:\n    {O[i] = lower(state)}\n", gaps)
    assert text.splitlines()[1:] == [
        "    answer = lower(state)",
        "    if answer is None:",
        "        valid[i] = False",
        "    else:",
        "        O0[i] = answer",
    ]
    with pytest.raises(AssertionError, match="several lines"):
        weave("v = 1; {O[i] = lower(state)}", gaps)


def test_an_unknown_gap_and_one_that_is_not_closed_are_mistakes() -> None:
    with pytest.raises(KeyError):
        weave("{y}", {})
    with pytest.raises(AssertionError, match="not closed"):
        weave("{S[i] = ", {"S": states("S", sw.max.layout(("float64",)))})


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_text_is_python_for_every_layout(layout: sw.operators.layout.Layout) -> None:
    texts = [pass_source(text, layout, 2, partials) for text in TEXTS for partials in (False, True)]
    texts += [compiled_source(steps, layout, 2) for steps in (STEPS | OTHERS).values()]
    texts.append(fiba_source(layout, 2, 4))
    for text in texts:
        assert text.lstrip().startswith("# Woven in: ")
        assert [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
