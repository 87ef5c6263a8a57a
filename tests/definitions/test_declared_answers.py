"""`sw.operator(..., answers=...)`: the type of a user's answers, declared once for every lane."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
import pytest

import slidewise as sw

EVENTS = pa.table({"t": [0, 1, 2, 3], "s": ["1", "22", None, "x"], "n": [1, 2, 300, None]})


class Halves(NamedTuple):
    whole: int
    part: float | None


def own(lower: Any, answers: Any = None, name: str = "own") -> Any:
    return sw.operator(name=name, identity=None, combine=lambda a, b: b, lower=lower, answers=answers)


def lanes(definition: sw.Sliding, table: pa.Table) -> dict[str, Any]:
    """What each lane does, to be called."""

    def one_by_one(late: str) -> Any:
        live = definition.live(late=late)
        return [live.push(row) for row in table.to_pylist()] + (live.flush() if late == "wait:0" else [])

    return {
        "table": lambda: definition(table),
        "pandas": lambda: definition(table.to_pandas(types_mapper=pd.ArrowDtype)),
        "push_many": lambda: definition.live().push_many(table),
        "push": lambda: one_by_one("error"),
        "wait": lambda: one_by_one("wait:0"),
        "revise": lambda: one_by_one("revise"),
    }


@pytest.mark.parametrize("over", [{"rows": 1}, {"last": 1}, {"last": "all"}, {"last": 1, "grain": 1}])
def test_columns_have_the_declared_type_and_names(over: dict[str, Any]) -> None:
    parts = pa.struct([("text", pa.string()), ("size", pa.int8())])
    pair = pa.struct([("n", pa.int64()), ("half", pa.float32())])
    definition = sw.Sliding(
        on="t",
        both=own(lambda s: (s, len(s)), parts)("s").over(**over),
        narrow=own(lambda n: n, "int16")("n").over(**over),
        real=own(lambda n: n, "float64")("n").over(**over),
        pair=own(lambda n: (n, n * 0.5), pair)("n").over(**over),
        one=own(lambda n: (n,), pa.struct([("n", pa.int64())]))("n").over(**over),
        named=own(lambda s: {"size": len(s)}, parts)("s").over(**over),
        field=own(lambda n: Halves(n, None if n > 1 else n * 0.5), pair)("n").over(**over),
    )
    kinds = [parts, pa.int16(), pa.float64(), pair, pa.struct([("n", pa.int64())])]
    for found in (definition(EVENTS), definition.live().push_many(EVENTS), definition(EVENTS.slice(0, 0))):
        assert found.schema.types[3:] == [*kinds, parts, pair]
    first = definition(EVENTS).to_pylist()[0]
    assert (first["both"], first["pair"]) == ({"text": "1", "size": 1}, {"n": 1, "half": 0.5})
    assert [row["field"] for row in definition(EVENTS).to_pylist()[:2]] == [
        {"n": 1, "half": 0.5},
        {"n": 2, "half": None},
    ]
    assert (first["one"], first["named"], first["real"]) == ({"n": 1}, {"text": None, "size": 1}, 1.0)


@pytest.mark.parametrize(
    ("column", "lower", "answers", "value"),
    [
        ("n", lambda n: n, "int8", "300"),
        ("n", lambda n: n / 4, "int64", "0.25"),
        ("n", lambda n: n > 0, "int64", "True"),
        ("n", lambda n: n, "string", "1"),
        ("n", lambda n: (n, n), pa.struct([("only", pa.int64())]), r"\(1, 1\)|{'0': 1, '1': 1}"),
        ("s", lambda s: len(s) * 200, "int8", "200"),
        ("s", lambda s: s, "int64", "'1'"),
        ("s", lambda s: (s, s), pa.struct([("a", pa.string()), ("b", pa.int64())]), r"\('1', '1'\)"),
        ("s", lambda s: {"b": s}, pa.struct([("a", pa.string())]), "{'b': '1'}"),
        ("s", lambda s: [s, 1], pa.list_(pa.string()), r"\['1', 1\]"),
    ],
)
def test_an_answer_that_does_not_fit_is_an_error_that_names_it(
    column: str, lower: Any, answers: Any, value: str
) -> None:
    definition = sw.Sliding(on="t", good=sw.count().over(5), wrong=own(lower, answers, "mine")(column).over(1))
    said = f"column 'wrong': operator 'mine' answers with ({value}) "
    for name, run in lanes(definition, EVENTS).items():
        with pytest.raises(sw.OperatorFailedError, match=said) as error:
            run()
        assert str(definition.columns["wrong"].operator.answers) in str(error.value), name


def test_an_event_whose_answer_does_not_fit_is_not_taken_in() -> None:
    definition = sw.Sliding(on="t", total=sw.sum("n").over("all"), small=own(lambda n: n, "int8")("n").over(5))
    live = definition.live()
    live.push({"t": 0, "n": 1})
    for attempt in (live.push, lambda event: live.push_many(pa.Table.from_pylist([event]))):
        with pytest.raises(sw.OperatorFailedError, match="300"):
            attempt({"t": 1, "n": 300})
    assert live.push({"t": 1, "n": 2}) == {"total": 3, "small": 2}
    on_beat = sw.Sliding(on="t", every=1, small=own(lambda n: n, "int8")("n").over(1))
    with pytest.raises(sw.OperatorFailedError, match="column 'small': operator 'own' answers with 300"):
        on_beat(EVENTS)
    beats = on_beat.live()
    for row in EVENTS.to_pylist()[:3]:
        beats.push(row)
    with pytest.raises(sw.OperatorFailedError, match="column 'small': operator 'own' answers with 300"):
        beats.push(EVENTS.to_pylist()[3])


@pytest.mark.parametrize("answers", ["int65", 7, pa.decimal128(5, 2), pa.struct([]), pa.list_(pa.null()), int])
def test_types_that_no_column_of_answers_has_are_refused(answers: Any) -> None:
    with pytest.raises(sw.SlidewiseError, match="operator 'own': answers="):
        own(lambda n: n, answers)


def test_a_declaration_changes_no_state() -> None:
    before = sw.Sliding(on="t", a=own(lambda n: n)("n").over(3))
    after = sw.Sliding(on="t", a=own(lambda n: n, "int64")("n").over(3))
    assert before.fingerprint() == after.fingerprint()
    live = before.live()
    live.push({"t": 0, "n": 1})
    assert after.restore(live.snapshot()).push({"t": 1, "n": 2}) == {"a": 2}
