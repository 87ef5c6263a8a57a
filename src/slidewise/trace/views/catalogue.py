"""All algorithms that can be traced, by the names of the command line."""

from __future__ import annotations

from slidewise.errors import did_you_mean
from slidewise.trace.operations import TraceError
from slidewise.trace.views import fiba as finger
from slidewise.trace.views import paper, queues, trees
from slidewise.trace.views.view import AlgorithmView

VIEWS: dict[str, AlgorithmView] = {
    view.name: view
    for view in (
        paper.DABA_LITE,
        paper.DABA,
        paper.TWO_STACKS_LITE,
        paper.TWO_STACKS,
        trees.FLAT_FAT,
        trees.B_INT,
        trees.AMTA,
        finger.FIBA,
        queues.FLAT_FIT,
        queues.SLIDE_SIDE,
        queues.SLICK_DEQUE,
        queues.SUBTRACT_ON_EVICT,
        queues.RECALC,
    )
}


def view_of(name: str) -> AlgorithmView:
    """The view of an algorithm; `daba_lite` and `DabaLite` are `daba-lite` too."""
    plain = {key.replace("-", ""): known for key, known in VIEWS.items()}
    view = plain.get(name.replace("-", "").replace("_", "").lower())
    if view is None:
        raise TraceError(
            f"the algorithm {name!r} is not known; there are {', '.join(VIEWS)}{did_you_mean(name, VIEWS)}"
        )
    return view
