"""All algorithms that can be traced, by the names of the command line."""

from __future__ import annotations

from slidewise.errors import did_you_mean
from slidewise.trace.operations import TraceError
from slidewise.trace.views import fiba as finger
from slidewise.trace.views import papers, peers, trees
from slidewise.trace.views.view import View

VIEWS: dict[str, View] = {
    view.name: view
    for view in (
        papers.DABA_LITE,
        papers.DABA,
        papers.TWO_STACKS_LITE,
        papers.TWO_STACKS,
        trees.FLAT_FAT,
        trees.B_INT,
        trees.AMTA,
        finger.FIBA,
        peers.FLAT_FIT,
        peers.SLIDE_SIDE,
        peers.SLICK_DEQUE,
        peers.SUBTRACT_ON_EVICT,
        peers.RECALC,
    )
}


def view_of(name: str) -> View:
    """The view of an algorithm; `daba_lite` and `DabaLite` are `daba-lite` too."""
    plain = {key.replace("-", ""): view for key, view in VIEWS.items()}
    found = plain.get(name.replace("-", "").replace("_", "").lower())
    if found is None:
        raise TraceError(
            f"the algorithm {name!r} is not known; there are {', '.join(VIEWS)}{did_you_mean(name, VIEWS)}"
        )
    return found
