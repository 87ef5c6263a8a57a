"""Views of the other queues: Recalc, SubtractOnEvict, FlatFit, SlickDeque and SlideSide."""

from __future__ import annotations

from slidewise.swag import FlatFit, Recalc, SlickDeque, SlideSide, SubtractOnEvict
from slidewise.trace.views.traced_operator import TracedOperator
from slidewise.trace.views.view import AlgorithmView, Structure, cell, extra_partial, partial, queue

ROW = "holds v_i, its own row"


def _recalc(swag: Recalc | SubtractOnEvict, traced: TracedOperator) -> Structure:
    cells = [cell(i, "B", partial(traced, value, "row")) for i, value in enumerate(swag._values)]
    return queue(cells, {}, [])


def _subtract_on_evict(swag: SubtractOnEvict, traced: TracedOperator) -> Structure:
    return {**_recalc(swag, traced), "extra": [extra_partial(traced, swag._total, "total", "total", "F")]}


def _flat_fit(swag: FlatFit, traced: TracedOperator) -> Structure:
    start, stop = swag._aggs.start, swag._aggs.stop
    cells = []
    for p in range(start, stop):
        part = "F" if swag._stops[p] == stop else "L" if swag._stops[p] > p + 1 else "B"
        leap = {"name": "to", "text": f"→{swag._stops[p] - start}", "rows": [], "rule": "to"}
        cells.append(cell(p - start, part, partial(traced, swag._aggs[p], "leap"), leap))
    return queue(cells, {}, [])


def _slick_deque(swag: SlickDeque, traced: TracedOperator) -> Structure:
    cells = []
    for i, (position, state) in enumerate(swag._candidates):
        cells.append(cell(position - swag._start, "B" if i else "F", partial(traced, state, "candidate")))
    return queue(cells, {}, [])


def _slide_side(swag: SlideSide, traced: TracedOperator) -> Structure:
    """Without sizes there is one scan, over the whole window."""
    [scan] = swag._scans
    start = swag._E - len(swag)
    none = traced.operator.identity
    cells = []
    for p, value in enumerate(swag._values, start):
        scanned = p < scan.boundary
        part, agg = ("F", scan.before[scan.boundary - 1 - p]) if scanned else ("B", none)
        fields = partial(traced, value, "row", "row"), partial(traced, agg, "before" if scanned else "none", "scan")
        cells.append(cell(p - start, part, *fields))
    behind = scan.behind if cells and scan.boundary < swag._E else none
    pointers = {"boundary": scan.boundary - start} if cells else {}
    return queue(cells, pointers, [extra_partial(traced, behind, "behind", "behind", "B")])


RECALC = AlgorithmView(
    name="recalc",
    algorithm=Recalc,
    kind="queue",
    shape=_recalc,
    snapshot=len,
    cases_of=lambda operation, before, after: ("push",) if operation == "insert" else ("drop",),
    rules={"row": ROW},
    cases={"push": "the row is kept, and all rows are combined at the query", "drop": "the oldest row leaves"},
    schedule="+1 -1",
)
SUBTRACT_ON_EVICT = AlgorithmView(
    name="subtract-on-evict",
    algorithm=SubtractOnEvict,
    kind="queue",
    shape=_subtract_on_evict,
    snapshot=len,
    cases_of=lambda operation, before, after: (
        ("add",) if operation == "insert" else ("subtract",) if after else ("clear",)
    ),
    rules={"row": ROW, "total": "total: v_0 ⊗ … ⊗ v_(n-1), the product of the window"},
    cases={
        "add": "the row is combined into the total",
        "subtract": "the inverse takes the oldest row out of the total",
        "clear": "the last row leaves, and the total is the identity again",
    },
    schedule="+2 -2",
)
FLAT_FIT = AlgorithmView(
    name="flat-fit",
    algorithm=FlatFit,
    kind="queue",
    shape=_flat_fit,
    snapshot=lambda swag: swag._stops.start,
    cases_of=lambda operation, before, after: ("push",) if operation == "insert" else ("drop",),
    rules={
        "leap": "holds v_i ⊗ … ⊗ v_(k-1), from its own row up to the place k that stands below it",
        "to": "the place where the aggregate above stops, and the next one begins",
    },
    cases={
        "push": "the row comes in alone; the query leaps to it, and lengthens the aggregates that it meets",
        "drop": "the oldest row leaves, and no other slot changes",
    },
    schedule="+1 -1",
)
SLICK_DEQUE = AlgorithmView(
    name="slick-deque",
    algorithm=SlickDeque,
    kind="queue",
    shape=_slick_deque,
    snapshot=lambda swag: len(swag._candidates),
    cases_of=lambda operation, before, after: (
        (("push",) if after > before else ("dislodge", "push"))
        if operation == "insert"
        else (("leave",) if after < before else ("nothing",))
    ),
    rules={"candidate": "candidate: wins over every row since the candidate before it, and over all behind"},
    cases={
        "push": "the row becomes the youngest candidate",
        "dislodge": "candidates that lose to the new row are dropped from the back",
        "leave": "the oldest row was the answer, and leaves",
        "nothing": "the oldest row had been dropped before",
    },
    schedule="+2 -2",
)
SLIDE_SIDE = AlgorithmView(
    name="slide-side",
    algorithm=SlideSide,
    kind="queue",
    shape=_slide_side,
    snapshot=lambda swag: swag._scans[0].boundary,
    cases_of=lambda operation, before, after: (
        (("scan",) if after != before else ("push",))
        if operation == "insert"
        else (("scan", "drop") if after != before else ("drop",))
    ),
    rules={
        "row": ROW,
        "before": "scan: v_i ⊗ … up to the boundary, from its own row on",
        "none": "behind the boundary a row has no aggregate of its own",
        "behind": "behind: the product of all rows from the boundary on",
    },
    cases={
        "push": "the row is combined into the aggregate behind the boundary",
        "scan": "no row is left before the boundary: all are scanned anew, and it moves to the end",
        "drop": "the oldest row leaves",
    },
    schedule="+2 -2",
)
