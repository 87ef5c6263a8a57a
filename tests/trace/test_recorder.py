"""The recorder sees what the real classes do, and changes nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from support import Counter

import slidewise as sw
from slidewise.swag import ALGORITHMS
from slidewise.trace import TraceError, from_json, record, to_json
from slidewise.trace.notation import OPERATORS, concat
from slidewise.trace.operations import random_operations, scheduled_operations
from slidewise.trace.views.catalogue import VIEWS, view_of
from slidewise.trace.views.view import AlgorithmView

OPERATOR_FOR = {"slick-deque": "max", "subtract-on-evict": "sum"}


def operator_for(view: AlgorithmView) -> str:
    return OPERATOR_FOR.get(view.name, "concat")


def test_every_algorithm_has_a_view() -> None:
    assert {view.algorithm for view in VIEWS.values()} == set(ALGORITHMS)


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.name)
def test_calls_and_answers_are_those_of_the_class_unobserved(view: AlgorithmView) -> None:
    operations = random_operations(150, seed=5)
    [recording] = record(view.name, operations, operator_for(view))["recordings"]
    counter = Counter(OPERATORS[operator_for(view)])
    swag = view.make(counter.operator)
    inserted = 0
    for step, operation in zip(recording["steps"][1:], operations, strict=True):
        before = counter.calls
        if operation.name == "evict":
            swag.evict()
        else:
            swag.insert(step["operation"]["value"] if counter.operator.name == "concat" else operation.row[0])
            inserted += 1
        assert len(step["calls"]) == counter.calls - before
        before = counter.calls
        answer = swag.query()
        assert len(step["query"]) == counter.calls - before
        assert step["answer"].rstrip("…") == str("" if answer is None else answer)[: len(step["answer"].rstrip("…"))]
        assert len(step["window"]) == len(swag)
    assert inserted > 50


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda view: view.name)
def test_every_case_is_visited_and_explained(view: AlgorithmView) -> None:
    def seen(operations: Any) -> set[tuple[str, ...]]:
        steps = record(view.name, operations, operator_for(view))["recordings"][0]["steps"][1:]
        return {(step["operation"]["name"], *step["cases"]) for step in steps}

    short = seen(scheduled_operations(view.schedule))
    assert {case for _, *cases in short for case in cases} == set(view.cases)
    for seed in range(10):
        assert seen(random_operations(60, seed)) <= short, "a case of an operation that the short trace leaves out"


@pytest.mark.parametrize(
    "view", [view for name, view in VIEWS.items() if name not in OPERATOR_FOR], ids=lambda v: v.name
)
def test_every_partial_says_a_rule_and_the_rows_that_it_holds(view: AlgorithmView) -> None:
    [recording] = record(view.name, random_operations(120, seed=8), concat)["recordings"]
    partials = 0
    for step in recording["steps"]:
        letters = {row["row"]: row["value"] for row in step["window"]}
        for held in every_partial(step["shape"]):
            assert held["rule"] in recording["rules"]
            rows = [row for first, last in held["rows"] for row in range(first, last + 1)]
            if rows:
                word = "".join(letters.get(row, "?") for row in rows)
                assert held["text"] == (word if len(word) < 5 else f"{word[:2]}..{word[-1]}")
                partials += 1
    assert partials > 300


def every_partial(shape: dict[str, Any]) -> list[dict[str, Any]]:
    held = [field for cell in shape.get("cells", []) for field in cell["fields"]]
    for node in shape.get("nodes", []):
        held += [node, *node.get("cells", [])] if node["rule"] else node["cells"]
    return [one for one in [*held, *shape["extra"]] if one["rule"] != "idle"]


def test_the_pictures_of_daba_lite_are_its_slots() -> None:
    operations = random_operations(200, seed=2)
    [recording] = record("daba-lite", operations, "concat")["recordings"]
    swag = sw.DabaLite(concat)
    for step, operation in zip(recording["steps"][1:], operations, strict=True):
        if operation.name == "evict":
            swag.evict()
        else:
            swag.insert(step["operation"]["value"])
        (L, R, A, B, E), [*slots, aggRA, aggB] = swag._dump()
        shape = step["shape"]
        assert shape["pointers"] == {"F": 0, "L": L, "R": R, "A": A, "B": B, "E": E}
        sizes = [sum(last - first + 1 for first, last in cell["fields"][0]["rows"]) for cell in shape["cells"]]
        assert sizes == [len(slot) for slot in slots]
        assert [one["rows"] != [] for one in shape["extra"]] == [bool(aggRA), bool(aggB)]


def test_ties_in_slick_deque_go_as_in_the_class() -> None:
    steps = record("slick-deque", "insert 7 7 3 7", "max")["recordings"][0]["steps"]
    swag = sw.SlickDeque(sw.max)
    for step, value in zip(steps[1:], (7, 7, 3, 7), strict=True):
        swag.insert(value)
        assert [cell["at"] for cell in step["shape"]["cells"]] == [place for place, _ in swag._candidates]


def test_several_algorithms_and_operators_share_the_operations() -> None:
    trace = record(["two-stacks-lite", "DabaLite"], "insert 1 2 3; evict", ["maxcount", sw.sum])
    assert [(one["algorithm"], one["operator"]) for one in trace["recordings"]] == [
        ("two-stacks-lite", "maxcount"),
        ("daba-lite", "maxcount"),
        ("two-stacks-lite", "sum"),
        ("daba-lite", "sum"),
    ]
    assert {len(one["steps"]) for one in trace["recordings"]} == {5}
    assert trace["operations"] == "insert 1 2 3; evict"


def test_json_and_back() -> None:
    trace = record("daba", "insert 4 5; evict", "concat")
    assert from_json(to_json(trace)) == trace == json.loads(to_json(trace))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no JSON"),
        ("[]", "holds no recorded trace"),
        ('{"format": "slidewise-trace", "version": 9}', "version 9"),
        ('{"format": "slidewise-trace", "version": 1}', "no recordings"),
    ],
)
def test_files_that_hold_no_trace(text: str, says: str) -> None:
    with pytest.raises(TraceError, match=says):
        from_json(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("isnert 4", "line 1, column 1: 'isnert' is no operation.*did you mean 'insert'"),
        ("insert 4;\n  pop", "line 2, column 3: 'pop' is no operation.*write operations as in"),
        ("insert 4 5; evict 3", "line 1, column 13: 3 rows cannot leave, since the window holds 2"),
        ("evict", "1 row cannot leave"),
        ("insert", "insert says no values"),
        ("insert 4; evict 1 1", "line 1, column 19: evict takes one number"),
        ("insert 4; evict x", "column 17: evict takes a number of rows from 1 on, not 'x'"),
        ("  # nothing", "the trace is empty"),
        ("insert 3,", "'3,' lacks a value"),
        ("insert 3@noon", "no number"),
        ("insert 3@4", "line 1, column 8: the row 3 has a time, but daba-lite takes rows in order"),
        ("insert 4 x", "line 1, column 10: x cannot be inserted"),
        ("insert 4 5,6", "line 1, column 10: 5,6 cannot be inserted: maxcount takes the columns"),
        ("insert" + " 1" * 1001, "at most 1000 steps"),
    ],
)
def test_mistakes_in_the_text(text: str, says: str) -> None:
    with pytest.raises(TraceError, match=says):
        record("daba-lite", text)


def test_names_that_are_not_known() -> None:
    with pytest.raises(TraceError, match=r"'daba-light' is not known.*did you mean 'daba-lite'"):
        view_of("daba-light")
    with pytest.raises(TraceError, match="'maxcuont' is not known; did you mean 'maxcount'"):
        record("daba", "insert 1", "maxcuont")
    with pytest.raises(sw.UnsuitableOperatorError, match="concat"):
        record("slick-deque", "insert 1", "concat")


def test_nothing_is_paid_where_nothing_is_traced() -> None:
    code = "import sys, slidewise, slidewise.swag; print([name for name in sys.modules if 'trace' in name])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "slidewise" not in found.stdout


def test_late_rows_find_their_place_in_fiba() -> None:
    steps = record("fiba", "insert 1@1 4@9 3@5 2@2 5@7; evict 2", "concat")["recordings"][0]["steps"]
    assert [step["answer"] for step in steps[1:]] == ["a", "ab", "acb", "adcb", "adceb", "dceb", "ceb"]
    [root] = [node for node in steps[5]["shape"]["nodes"] if node["parent"] is None]
    assert [cell["text"] for cell in root["cells"]] == ["c"]
    assert [one["text"] for one in steps[5]["shape"]["extra"]] == ["ad", "ceb"]
    assert steps[5]["operation"] == {"name": "insert", "row": 4, "value": "e@7"}
    assert steps[5]["partial"]["rows"] == [[0, 0], [3, 3], [2, 2], [4, 4], [1, 1]]


def test_rows_with_and_without_times_do_not_mix() -> None:
    with pytest.raises(TraceError, match=r"line 1, column 10: 5 cannot be inserted: the 1 rows .* have no times"):
        record("fiba", "insert 4 5@3")
