"""Operators that fail, at whichever of their calls, and go on failing while what they did is taken back."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.engine.joining import arrays_of


class Resource:
    """What an operator of one's own depends on: it is down from a call on, until it is mended."""

    def __init__(self) -> None:
        self.calls = 0
        self.down_from: int | None = None

    def use(self) -> None:
        self.calls += 1
        if self.down_from is not None and self.calls > self.down_from:
            raise ConnectionError("the resource is down")

    def using(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            self.use()
            return function(*arguments)

        return call

    def path(self) -> Any:
        """The rows in order: no two associations or windows are mistaken for one another."""
        return sw.operator(
            name="path",
            identity="",
            lift=self.using(str),
            combine=self.using(lambda a, b: f"{a} {b}"),
            lower=self.using(lambda s: s),
        )

    def total(self) -> Any:
        return sw.operator(
            name="total",
            identity=0,
            lift=self.using(lambda x: x),
            combine=self.using(lambda a, b: a + b),
            lower=self.using(lambda s: s),
            inverse=self.using(lambda a, b: a - b),
        )

    def top(self) -> Any:
        return sw.operator(
            name="top",
            identity=-1,
            lift=self.using(lambda x: x),
            combine=self.using(lambda a, b: b if b > a else a),
            lower=self.using(lambda s: s),
            selective=True,
        )


def _windows(kind: str, resource: Resource) -> dict[str, Any]:
    path, total, top = resource.path()("x"), resource.total()("x"), resource.top()("x")
    median = sw.median("x")
    return {
        "time": {"p": path.over(6), "s": total.over(6), "m": median.over(6)},
        "rows": {"p": path.over(rows=5), "s": total.over(rows=5), "o": top.over(rows=3)},
        "open": {"p": path.over(6, closed="left"), "s": total.over(6, closed="left"), "q": path.over(9)},
        "grain": {"p": path.over(9, grain=3), "s": total.over(9, grain=3)},
        "open grain": {"p": path.over(9, grain=3, closed="neither"), "s": total.over(6)},
        "all": {"p": path.over("all"), "s": total.over(7), "l": total.over("all", closed="left")},
        "shared": {f"p{n}": path.over(n) for n in (3, 5, 8, 12)} | {"o": top.over(6), "s": total.over(8)},
    }[kind]


KINDS = ["time", "rows", "open", "grain", "open grain", "all", "shared"]


def _events(seed: int, count: int) -> list[dict[str, Any]]:
    choose = random.Random(seed)
    t, events = 0, []
    for x in range(count):
        t += choose.choice((0, 0, 1, 2, 9 if x % 11 == 10 else 1))
        value = None if choose.random() < 0.15 else choose.randrange(50)
        events.append({"k": choose.choice("ab"), "t": t, "x": value})
    return events


def _push_with_failures(resource: Resource, live: Any, act: Callable[[], Any]) -> tuple[Any, int]:
    """What a call gives once the operator lets it; before, it fails at the first call, the second, ..."""
    before = live.snapshot()
    failures = 0
    for call in range(400):
        resource.down_from = resource.calls + call
        try:
            found = act()
        except sw.OperatorFailedError:
            failures += 1
            assert live.snapshot() == before, f"a failure at call {call} left a trace"
        else:
            resource.down_from = None
            return found, failures
    raise AssertionError("the operator always fails")


@pytest.mark.parametrize("kind", KINDS)
def test_push_leaves_no_trace_of_a_failure(kind: str) -> None:
    resource = Resource()
    definition = sw.Sliding(by="k", on="t", columns=_windows(kind, resource))
    live, twin = (definition.live(spikes=kind in ("shared", "rows")) for _ in range(2))
    failures = 0
    for event in _events(1, 45):
        found, failed = _push_with_failures(resource, live, lambda event=event: live.push(event))
        assert found == twin.push(event)
        failures += failed
    assert failures > 100
    assert live.snapshot() == twin.snapshot()


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_leaves_no_trace_of_a_failure(kind: str) -> None:
    resource = Resource()
    definition = sw.Sliding(by="k", on="t", columns=_windows(kind, resource))
    live, twin = (definition.live(spikes=kind == "shared") for _ in range(2))
    events = _events(2, 40)
    for start in range(0, 40, 5):
        batch = pa.Table.from_pylist(events[start : start + 5])
        found, failed = _push_with_failures(resource, live, lambda batch=batch: live.push_many(batch))
        assert failed > 5
        assert found.equals(twin.push_many(batch))
        event = events[start + 4]
        assert _push_with_failures(resource, live, lambda event=event: live.push(event))[0] == twin.push(event)
    assert live.snapshot() == twin.snapshot()


@pytest.mark.parametrize("kind", ["time", "open", "rows", "shared"])
def test_a_key_that_cannot_be_thawed_stays_as_it_was(kind: str) -> None:
    """After a batch through the kernels windows are made anew from rows, which the operator may refuse."""
    resource = Resource()
    definition = sw.Sliding(by="k", on="t", columns=_windows(kind, resource))
    live, twin = (definition.live(spikes=kind == "shared") for _ in range(2))
    events = _events(3, 70)
    for one in (live, twin):
        for event in events[:30]:
            one.push(event)
        panes = [pane for track in one.key_states.values() for pane in track.panes]
        for pane, arrays in zip(panes, [arrays_of(pane.all_rows(), 2) for pane in panes], strict=True):
            pane.freeze(arrays)
    for event in events[30:]:
        for call in range(400):
            resource.down_from = resource.calls + call
            try:
                found = live.push(event)
            except sw.OperatorFailedError:
                continue
            break
        resource.down_from = None
        assert found == twin.push(event)
    assert live.snapshot() == twin.snapshot()


@pytest.mark.parametrize("kind", ["time", "rows", "open", "all"])
def test_revised_answers_leave_no_trace_of_a_failure(kind: str) -> None:
    resource = Resource()
    columns = _windows(kind, resource)
    columns.pop("m", None)
    definition = sw.Sliding(by="k", on="t", columns=columns)
    live, twin = (definition.live(late="revise", retain=8) for _ in range(2))
    events = _events(4, 40)
    random.Random(5).shuffle(events)
    events.sort(key=lambda event: event["t"] // 6)
    for i, event in enumerate(events):
        if i % 4:
            found, _ = _push_with_failures_but_tidy(resource, live, lambda event=event: live.push(event))
            assert found == twin.push(event)
        else:
            batch = pa.Table.from_pylist(
                [event, events[i - 1]], schema=pa.schema({"k": "string", "t": "int64", "x": "int64"})
            )
            found, _ = _push_with_failures_but_tidy(resource, live, lambda batch=batch: live.push_many(batch))
            assert found.equals(twin.push_many(batch))
    assert live.stats == twin.stats
    assert live.snapshot() == twin.snapshot()


def _push_with_failures_but_tidy(resource: Resource, live: Any, act: Callable[[], Any]) -> tuple[Any, int]:
    """The same where rows that no answer needs may have been dropped already: state is compared by what it restores."""
    for call in range(2_000):
        resource.down_from = resource.calls + call
        try:
            found = act()
        except sw.OperatorFailedError:
            resource.down_from = None
            again = live.definition.restore(live.snapshot())
            assert again.stats == live.stats
        else:
            resource.down_from = None
            return found, call
    raise AssertionError("the operator always fails")


@pytest.mark.parametrize("kind", ["time", "open", "grain", "all", "shared"])
def test_events_that_wait_are_left_out_where_their_operator_fails(kind: str) -> None:
    """A failure when an event comes leaves no trace; one when it is due leaves out its key's events of that time."""
    resource = Resource()
    definition = sw.Sliding(by="k", on="t", columns=_windows(kind, resource))
    live = definition.live(late="wait:3", spikes=kind == "shared")
    choose = random.Random(6)
    answered: list[dict[str, Any]] = []
    events = [{**event, "t": 2 * i} for i, event in enumerate(_events(7, 60))]
    taken = []
    for event in [*events, None]:
        resource.down_from = resource.calls + choose.randrange(12) if choose.random() < 0.5 else None
        before, failed = live.snapshot(), live.stats.failed
        try:
            answered += live.flush() if event is None else live.push(event)
        except sw.OperatorFailedError:
            if live.stats.failed == failed:
                assert live.snapshot() == before
                continue
        resource.down_from = None
        taken.append(event)
    answered += live.flush()
    assert live.stats.failed > 2
    taken = [event for event in taken if event is not None]
    times = {row["t"] for row in answered}
    assert len(taken) == len(answered) + live.stats.failed
    fresh = definition.live(late="wait:3", spikes=kind == "shared")
    expected = [row for event in taken if event["t"] in times for row in fresh.push(event)] + fresh.flush()
    assert sorted(answered, key=lambda row: row["t"]) == expected


@pytest.mark.parametrize("late", ["error", "wait:2"])
def test_beats_leave_no_trace_of_a_failure(late: str) -> None:
    resource = Resource()
    columns = {"p": resource.path()("x").over(6), "s": resource.total()("x").over(4), "m": sw.median("x").over(6)}
    definition = sw.Sliding(by="k", on="t", every=2, columns=columns)
    live, twin = definition.live(late=late), definition.live(late=late)
    failures = 0
    for i, event in enumerate(_events(8, 40)):
        if late == "error":
            act: Any = lambda event=event: live.push(event)  # noqa: E731
            if i % 5 == 4:
                act = lambda event=event: live.push_many(pa.Table.from_pylist([event])).to_pylist()  # noqa: E731
            found, failed = _push_with_failures(resource, live, act)
            assert found == twin.push(event)
            failures += failed
        else:
            assert live.push(event) == twin.push(event)
    if late == "error":
        found, failed = _push_with_failures(resource, live, lambda: live.advance(to=10_000))
        assert found == twin.advance(to=10_000)
    else:
        resource.down_from = resource.calls
        with pytest.raises(sw.OperatorFailedError, match="ConnectionError"):
            live.advance(to=10_000)
        resource.down_from = None
        failed = 1
        live.advance(to=10_001)
    assert failed
    assert failures > 50 or late != "error"


@pytest.mark.filterwarnings("ignore:.*interpreted")
@pytest.mark.parametrize("how", ["push", "push_many", "many rows"])
@pytest.mark.parametrize("late", ["error", "drop", "wait:1", "revise", "beats", "beats that wait"])
def test_what_an_operator_raises_is_an_error_of_slidewise(how: str, late: str) -> None:
    def picky(x: float) -> float:
        if x > 1000:
            raise ConnectionError("no such value")
        return x

    own = sw.operator(name="own", identity=0.0, lift=picky, combine=max)
    beats = {"every": 2} if late.startswith("beats") else {}
    definition = sw.Sliding(on="t", s=own("x").over(4), **beats)
    options: dict[str, Any] = {"late": "wait:1" if late == "beats that wait" else "error" if late == "beats" else late}
    live = definition.live(**options)
    rows = [{"t": i, "x": float(i)} for i in range(700 if how == "many rows" else 3)]
    rows[-1]["x"] = 5_000.0
    first = rows[-1] if how == "push" else pa.Table.from_pylist(rows)
    push = live.push if how == "push" else live.push_many
    with pytest.raises(sw.OperatorFailedError, match="ConnectionError") as caught:
        push(first)
    assert isinstance(caught.value.__cause__, ConnectionError) or how == "many rows"
    assert any("taken in" in note for note in caught.value.__notes__)
    assert live.stats == definition.live(**options).stats
    again = definition.restore(live.snapshot())
    assert again.push({"t": 0, "x": 1.0}) == live.push({"t": 0, "x": 1.0})
    assert again.snapshot() == live.snapshot()
