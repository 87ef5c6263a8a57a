"""States with NamedTuples: stored as plain tuples, and again what the operator's functions read after that."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

import slidewise as sw
from slidewise.operators.values.state_shapes import decoded, encoded


class Seen(NamedTuple):
    word: str
    count: int


class Both(NamedTuple):
    first: Seen
    rest: tuple[Any, ...]


def own(lift: Any, identity: Any = None) -> sw.Operator:
    return sw.operator(
        name="own",
        identity=identity,
        lift=lift,
        combine=lambda a, b: Both(a.first, (a.rest[0] + b.rest[0], b.first)),
        lower=lambda s: None if s is None else f"{s.first.word} {s.rest[0]} {s.rest[1].word}",
    )


@pytest.mark.parametrize(
    "op",
    [
        own(lambda x: Both(Seen(x.upper(), 1), (1, Seen(x, 0)))),
        own(lambda x: Both(Seen(x, 1), (1, Seen(x, 0))), Both(Seen("", 0), (0, Seen("", 0)))),
    ],
    ids=["as lift makes them", "as the identity is"],
)
@pytest.mark.parametrize("over", [{"last": "all"}, {"rows": 2}, {"last": 5, "grain": 2}])
def test_a_snapshot_gives_them_back(op: Any, over: dict[str, Any]) -> None:
    state = op.combine(op.lift("a"), op.lift("b"))
    stored = encoded(op, state)
    assert type(stored) is tuple
    assert type(stored[0]) is tuple
    again = decoded(op, stored)
    assert (again, type(again), type(again.first), type(again.rest[1])) == (state, Both, Seen, Seen)
    assert decoded(op, encoded(op, op.identity)) == op.identity
    definition = sw.Sliding(on="t", own=op("x").over(**over))
    live = definition.live()
    for t, x in enumerate("abc"):
        live.push({"t": t, "x": x})
    restored = definition.restore(live.snapshot())
    assert restored.push({"t": 3, "x": "d"}) == live.push({"t": 3, "x": "d"})


@pytest.mark.parametrize("stored", [1, "ab", (1,), ((1, 2, 3), ()), [("a", 1), ()]])
def test_what_has_another_shape_is_no_state(stored: Any) -> None:
    with pytest.raises(ValueError, match=r"is no (Both|Seen) of 2 fields"):
        decoded(own(lambda x: Both(Seen(x, 1), (1, Seen(x, 0)))), stored)


def test_names_that_would_be_lost_are_refused() -> None:
    hidden = own(lambda x: Both(Seen(x, 1), (1, Seen(x, 0))) if len(x) > 1 else (x, 1))
    live = sw.Sliding(on="t", own=hidden("x").over("all")).live()
    live.push({"t": 1, "x": "long"})
    with pytest.raises(sw.SnapshotError, match=r"Both\(.*give its operator encode= and decode="):
        live.snapshot()
