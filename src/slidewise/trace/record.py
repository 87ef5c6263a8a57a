"""The recorder: runs an algorithm under observation, and records what each step did and left behind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from slidewise.errors import SlidewiseError, UnsuitableOperatorError, did_you_mean
from slidewise.operators.operator import Operator
from slidewise.trace.notation import OPERATORS, concat, label, letter, short_text
from slidewise.trace.operations import Operation, TraceError, parse, text_of
from slidewise.trace.views.catalogue import view_of
from slidewise.trace.views.traced_operator import CombineCall, NumberedRow, TracedOperator
from slidewise.trace.views.view import AlgorithmView

FORMAT = "slidewise-trace"
VERSION = 1

MOST_DRAWN = 40  # steps that a notebook shows


class Trace(dict[str, Any]):
    """A recorded trace: plain data, of which a notebook shows a figure."""

    def _repr_html_(self) -> str:
        from slidewise.trace.drawing.svg import in_notebook

        return in_notebook(self, MOST_DRAWN)


Recording = dict[str, Any]


def record(
    algorithms: str | Sequence[str] = "daba-lite",
    operations: str | Sequence[Operation] = "insert 4 5 3; evict 2",
    operators: str | Operator | Sequence[str | Operator] = "maxcount",
) -> Trace:
    """A trace: the same operations, done by each algorithm with each operator that it serves, as plain data.

    >>> trace = record("daba-lite", "insert 4 5 3; evict 2", "concat")
    >>> [step["cases"] for step in trace["recordings"][0]["steps"]]
    [[], ['singleton'], ['flip', 'shrink'], ['shift'], ['flip', 'shrink'], ['shift']]
    """
    steps = parse(operations) if isinstance(operations, str) else list(operations)
    names = [algorithms] if isinstance(algorithms, str) else list(algorithms)
    wanted = [operators] if isinstance(operators, (str, Operator)) else list(operators)
    recordings: list[Recording] = []
    refused: list[SlidewiseError] = []
    for operator in map(operator_of, wanted):
        for view in map(view_of, names):
            try:
                recordings.append(_record(view, operator, steps))
            except UnsuitableOperatorError as error:
                refused.append(error)
    served = {name for recording in recordings for name in (recording["class"], recording["operator"])}
    requested = {view_of(name).algorithm.__name__ for name in names} | {operator_of(name).name for name in wanted}
    if not served >= requested:
        raise refused[0]
    return Trace(format=FORMAT, version=VERSION, operations=text_of(steps), recordings=recordings)


def operator_of(operator: str | Operator) -> Operator:
    """An operator by its name, `concat` included."""
    if isinstance(operator, Operator):
        return operator
    known = OPERATORS.get(operator)
    if known is None:
        hint = did_you_mean(operator, OPERATORS) or "; 'slidewise operators' lists them"
        raise TraceError(f"the operator {operator!r} is not known{hint}")
    return known


def _record(view: AlgorithmView, operator: Operator, operations: Sequence[Operation]) -> Recording:
    recorder = _Recorder(view, operator)
    steps = [recorder.step(None)]
    steps += [recorder.step(operation) for operation in operations]
    return {
        "algorithm": view.name,
        "class": view.algorithm.__name__,
        "operator": operator.name,
        "kind": view.kind,
        "settings": dict(view.settings),
        "rules": dict(view.rules),
        "cases": dict(view.cases),
        "steps": steps,
    }


class _Recorder:
    """One algorithm under observation, and the window that it should hold."""

    def __init__(self, view: AlgorithmView, operator: Operator) -> None:
        self.view = view
        self.traced = TracedOperator(operator, selecting=view.name == "slick-deque")
        self.swag: Any = view.make(self.traced.operator)
        self.window: list[tuple[float, NumberedRow]] = []
        self.inserted = 0
        self.evicted = 0

    def step(self, operation: Operation | None) -> dict[str, Any]:
        before = self.view.snapshot(self.swag)
        done = None if operation is None else self._do(operation)
        calls = self.traced.take_calls()
        after = self.view.snapshot(self.swag)
        cases = () if operation is None else self.view.cases_of(operation.name, before, after)
        answer = self.swag.query()
        query_calls = self.traced.take_calls()
        rows = [row for _, row in self.window]
        with self.traced.unrecorded():
            self.swag._check(rows)
            partial = self.swag.partial()
        return {
            "label": label(self.inserted + self.evicted),
            "operation": done,
            "cases": list(cases),
            "calls": [self._call(call) for call in calls],
            "query": [self._call(call) for call in query_calls],
            "answer": short_text(answer, longest=24),
            "partial": self.traced.partial(partial),
            "first": self.evicted,
            "window": [{"row": row.number, "value": repr(row)} for row in rows],
            "shape": self.view.shape(self.swag, self.traced),
        }

    def _do(self, operation: Operation) -> dict[str, Any]:
        if operation.name == "evict":
            self.swag.evict()
            self.evicted += 1
            _, left = self.window.pop(0)
            return {"name": "evict", "row": left.number, "value": repr(left)}
        row = NumberedRow(self.inserted, self._arguments(operation))
        time = operation.time
        if time is not None and not self.view.timed:
            raise TraceError(
                f"{operation.where}: the row {row!r} has a time, but {self.view.name} takes rows in order and without "
                "times; leave out the @, or trace fiba"
            )
        try:
            self.swag.insert(*(() if time is None else (time,)), row)
        except SlidewiseError as error:
            where = f"{operation.where}: " if operation.where else ""
            raise TraceError(f"{where}{row!r} cannot be inserted: {error}") from None
        if time is None:
            time = self.window[-1][0] if self.window else 0.0
        shown = repr(row) if operation.time is None else f"{row!r}@{operation.time:g}"
        at = sum(other <= time for other, _ in self.window)
        self.window.insert(at, (time, row))
        self.inserted += 1
        return {"name": "insert", "row": row.number, "value": shown}

    def _arguments(self, operation: Operation) -> tuple[Any, ...]:
        """A row's arguments; concat has a letter for each number, as the paper's second column of figures."""
        if self.traced.original is not concat:
            return operation.row
        [value, *_] = operation.row
        return (value if isinstance(value, str) else letter(self.inserted),)

    def _call(self, call: CombineCall) -> dict[str, Any]:
        partials = {name: self.traced.partial(getattr(call, name)) for name in ("left", "right", "gives")}
        return {**partials, "inverse": True} if call.inverse else partials


def to_json(trace: Trace) -> str:
    """The trace as JSON text."""
    return json.dumps(trace, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> Trace:
    """The trace that a JSON text holds."""
    try:
        trace = json.loads(text)
    except ValueError as error:
        raise TraceError(f"the recorded trace is no JSON: {error}; record it again with --json") from None
    if not isinstance(trace, dict) or trace.get("format") != FORMAT:
        raise TraceError(f"the file holds no recorded trace: it lacks 'format': {FORMAT!r}; record one with --json")
    if trace.get("version") != VERSION:
        raise TraceError(
            f"the recorded trace has version {trace.get('version')!r}, and this Slidewise reads {VERSION}; record it "
            "again with --json"
        )
    if not trace.get("recordings"):
        raise TraceError("the recorded trace has no recordings; record it again with --json")
    return Trace(trace)
