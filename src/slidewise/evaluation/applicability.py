"""Applicability: which algorithm is run for which operator, up to which window, and why the others are not."""

from __future__ import annotations

from slidewise.evaluation.measure import timed_runs
from slidewise.evaluation.settings import ExperimentSettings

RECALC_MOST = 1 << 7  # rows: a round has n - 1 calls, and a run of the experiments' length would take days
_NO_INVERSE = {
    "sum of floats": "floats that are taken off again leave an error behind",
    "geomean": "its logarithms are floats, which leave an error behind when they are taken off again",
    "bloom": "a bit cannot be taken off: other rows may have set it, too",
    "max": "the second largest is not known when the largest leaves",
    "relative_variation": "the second largest is not known when the largest leaves",
}
_NOT_SELECTIVE = {
    "sum": "not selective: a sum is neither of its parts (for what has an inverse, its steps are SubtractOnEvict's)",
    "sum of floats": "not selective: a sum is neither of its parts",
    "geomean": "not selective: a sum of logarithms is neither of its parts",
    "bloom": "not selective: the union of two filters is neither of them",
    "relative_variation": "not selective: the larger end may be one's, and the smaller end the other's",
}


def why_not(algorithm: str, operator: str) -> str | None:
    """Why an algorithm cannot serve an operator; None where it can."""
    if algorithm == "SubtractOnEvict":
        return _NO_INVERSE.get(operator)
    return _NOT_SELECTIVE.get(operator) if algorithm == "SlickDeque" else None


def applies(algorithm: str, operator: str, n: int = 1) -> bool:
    """Whether an algorithm is run for an operator and a window of n rows."""
    return why_not(algorithm, operator) is None and (algorithm != "Recalc" or n <= RECALC_MOST)


def growth_sizes(settings: ExperimentSettings, operator: str) -> tuple[int, int]:
    """The two windows whose longest rounds are compared: the larger one as large as memory has it."""
    small, large = settings.growth
    most = settings.memory
    while (
        large > 2 * small and max(timed_runs.window_bytes(name, operator, large) for name in settings.algorithms) > most
    ):
        large //= 2
    return small, large


def applicability_rows(settings: ExperimentSettings) -> list[tuple[str, ...]]:
    """A line for each of the other algorithms, with a cell for each operator: what is run, or why it is not."""
    operators = (*settings.operators, "relative_variation")
    lines = []
    for algorithm in settings.others:
        run = f"up to n = {RECALC_MOST}" if algorithm == "Recalc" else "timed"
        cells = (why_not(algorithm, operator) or run for operator in operators)
        lines.append((algorithm, *cells))
    return lines
