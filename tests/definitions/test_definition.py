"""A definition is plain data: it reads like what was written, compares, hashes, and lives in a file."""

from __future__ import annotations

import copy
import pickle
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import slidewise as sw

sys.path.insert(0, str(Path(__file__).parent))
import own

HEALTH = """sw.Sliding(
    by='machine',
    on='ts',
    peak=sw.max('temp').over('10 minutes'),
    swing=sw.relative_variation('mf01').over('1 hour', closed='both'),
    recent=sw.mean('temp').where('ok').over(rows=100, at_least=10),
)"""


def health() -> sw.Sliding:
    return sw.Sliding(
        by="machine",
        on="ts",
        peak=sw.max("temp").over("10 minutes"),
        swing=sw.relative_variation("mf01").over(timedelta(hours=1), closed="both"),
        recent=sw.mean("temp").where("ok").over(rows=100, at_least=10),
    )


def test_repr_reads_like_what_was_written() -> None:
    assert repr(health()) == HEALTH
    assert eval(HEALTH) == health()
    odd = sw.Sliding(
        by=["a", "b"], on="ts", ties="seq", columns={"by": sw.max("x").over("all"), "9": sw.count().over(7)}
    )
    assert eval(repr(odd)) == odd
    mixed = sw.Sliding(columns={"a": sw.count().over(rows=1), "on": sw.count().over(rows=2)}, z=sw.count().over(rows=3))
    assert list(eval(repr(mixed)).columns) == ["a", "on", "z"]


def test_equality_and_hash() -> None:
    assert health() == health()
    assert len({health(), health()}) == 1
    assert health() != sw.Sliding(by="machine", on="ts", peak=sw.max("temp").over("10 minutes"))
    assert sw.Sliding(by="m", a=sw.count().over(rows=2)) == sw.Sliding(by=["m"], a=sw.count().over(rows=2))
    assert sw.Sliding(a=sw.max("x").over("60s"), on="t") == sw.Sliding(a=sw.max("x").over("1m"), on="t")
    one, two = sw.count().over(rows=1), sw.count().over(rows=2)
    assert sw.Sliding(a=one, b=two) != sw.Sliding(b=two, a=one)  # the order of columns is that of the table
    assert health() != "health"


def test_a_definition_does_not_change() -> None:
    definition = health()
    for change in (
        lambda: setattr(definition, "on", "time"),
        lambda: delattr(definition, "on"),
        lambda: definition.columns.update(x=1),  # type: ignore[attr-defined]
        lambda: definition.columns.__setitem__("x", 1),  # type: ignore[attr-defined]
        lambda: definition.columns.pop("peak"),  # type: ignore[attr-defined]
    ):
        with pytest.raises(sw.SlidewiseError, match="does not change"):
            change()
    assert definition == health()
    assert pickle.loads(pickle.dumps(sw.Sliding(a=sw.count().over(rows=2), by="k"))).by == ("k",)
    assert copy.deepcopy(sw.Sliding(a=sw.max("x").over(rows=2))) == sw.Sliding(a=sw.max("x").over(rows=2))


def test_dict_and_toml() -> None:
    definition = sw.Sliding(
        by=["machine", "line"],
        on="ts",
        ties=["seq"],
        columns={'höchster "Wert"\n\x7f': sw.max("temp").over("90s")},
        users=sw.hyperloglog(p=14)("user").over("7d", closed="left"),
        seen=sw.bloom(bits=64, hashes=2, probe="ann")("user").over("all"),
        spread=own.spread("temp").over(2.5, at_least=2),
        rows=sw.count().where("ok").over(rows=7),
    )
    written = definition.to_dict()
    assert written["columns"]["users"] == {
        "operator": "hyperloglog",
        "parameters": {"p": 14},
        "of": ["user"],
        "over": "7 days",
        "closed": "left",
    }
    assert written["columns"]["spread"]["operator"] == "own:spread"
    assert sw.Sliding.from_dict(written) == definition
    assert sw.Sliding.from_toml(definition.to_toml()) == definition
    by_hand = """
        by = "machine"
        on = "ts"
        columns.peak = {operator = "max", of = "temp", over = "10 minutes"}
    """
    assert sw.Sliding.from_toml(by_hand) == sw.Sliding(by="machine", on="ts", peak=sw.max("temp").over("10m"))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("by = [", "no valid TOML"),
        ('bye = "k"', "has no 'bye'.*did you mean 'by'"),
        ('columns.a = {operator = "maxx", of = "x", rows = 2}', "'a'.*no operator 'maxx'.*did you mean 'max'"),
        ('columns.a = {operator = "max", off = "x", rows = 2}', "'a' has no 'off'.*did you mean 'of'"),
        ('columns.a = {of = "x", rows = 2}', "'a' names no operator"),
        ('columns.a = {operator = "quantile", of = "x", rows = 2}', r"'a': .* parameters = \{q = 0.5\}"),
        ('columns.a = {operator = "max", of = "x"}', "'a'.*either a length"),
        ('columns.a = {operator = "max", of = "x", rows = 0}', "'a'.*rows is a whole number from 1"),
        ('columns.a = {operator = "max", of = "x", over = "-5s"}', "'a'.*cannot read the duration"),
        ('columns.a = {operator = "own:gone", of = "x", rows = 2}', "'own:gone' cannot be imported"),
        ('columns.a = {operator = "nowhere:gone", of = "x", rows = 2}', "'nowhere', which is not imported"),
        ('columns.a = {operator = "own:NOT_AN_OPERATOR", of = "x", rows = 2}', "no operator but a int"),
        ('columns.a = {operator = 7, of = "x", rows = 2}', "written as text"),
        ("columns.a = 7", "'a' is a dict"),
        ("columns = 7", "columns is a dict"),
        ("", "needs an aggregate"),
    ],
)
def test_mistakes_in_files(written: str, message: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        sw.Sliding.from_toml(written)


def test_an_operator_without_a_name_cannot_be_written() -> None:
    nameless = sw.operator(name="nameless", identity=0, combine=lambda a, b: a + b)
    with pytest.raises(sw.SlidewiseError, match=r"'a' uses the operator 'nameless'.*assign it to a name"):
        sw.Sliding(a=nameless("x").over(rows=2)).to_dict()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sw.Sliding(on="ts"), "needs an aggregate"),
        (lambda: sw.Sliding(a=sw.max("x")), "a=.* has no window; add .over"),
        (lambda: sw.Sliding(a=sw.max), "a=sw.max is no aggregate"),
        (lambda: sw.Sliding(bye="k", a=sw.count().over(rows=2)), "bye='k' is no aggregate.*did you mean 'by'"),
        (lambda: sw.Sliding(by=["k", "k"], a=sw.count().over(rows=2)), "names 'k' 2 times"),
        (lambda: sw.Sliding(by=[7], a=sw.count().over(rows=2)), "takes names of columns, not 7"),
        (lambda: sw.Sliding(by="ts", on="ts", a=sw.count().over(rows=2)), "both as a key and as the time"),
        (lambda: sw.Sliding(on=7, a=sw.count().over(rows=2)), "name of the time column"),
        (lambda: sw.Sliding(by="k", k=sw.count().over(rows=2)), "'k' has the name of a key"),
        (lambda: sw.Sliding(a=sw.count().over("5s")), "needs a time column: add on='ts'"),
        (lambda: sw.Sliding(columns={"a": sw.count().over(rows=1)}, a=sw.count().over(rows=2)), "'a' is given twice"),
        (lambda: sw.Sliding(columns=[1]), "is a dict"),
        (lambda: sw.Sliding(columns={"": sw.count().over(rows=2)}), "name is text"),
        (lambda: sw.max("x").over("0s"), "longer than nothing"),
        (lambda: sw.max("x").over(-5), "must be positive"),
        (lambda: sw.max("x").over(rows=-1), "from 1 on"),
    ],
)
def test_mistakes_in_definitions(make: Any, message: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        make()


def test_the_fingerprint_covers_what_state_depends_on() -> None:
    def mark(aggregate: Any = None, **more: Any) -> str:
        return sw.Sliding(
            **{"by": "k", "on": "ts", "a": sw.max("x").over("5s") if aggregate is None else aggregate, **more}
        ).fingerprint()

    def own_operator(version: int, name: str = "own") -> Any:
        return sw.operator(name=name, identity=0, combine=lambda a, b: a + b, version=version)("x").over("5s")

    different = [
        mark(),
        mark(by="j"),
        mark(on="time"),
        mark(ties="x"),
        mark(b=sw.max("x").over("5s")),
        *(mark(sw.max("x").over(window)) for window in ("6s", 5, 5.0001, "all")),
        mark(sw.max("x").over(rows=5)),
        mark(sw.max("y").over("5s")),
        mark(sw.min("x").over("5s")),
        mark(sw.max("x").over("5s", closed="both")),
        mark(sw.max("x").over("5s", at_least=2)),
        mark(sw.max("x").where("ok").over("5s")),
        mark(sw.hyperloglog(p=5)("x").over("5s")),
        mark(sw.hyperloglog(p=6)("x").over("5s")),
        *(mark(own_operator(1)), mark(own_operator(2)), mark(own_operator(1, "other"))),
    ]
    assert len(set(different)) == len(different)
    assert mark() == mark(sw.max("x").over("5 seconds"))
    assert mark(own_operator(1)) == mark(own_operator(1))  # other functions, the same version
