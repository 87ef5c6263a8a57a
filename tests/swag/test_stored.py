"""A SWAG from its stored numbers and states is the SWAG that it was, and goes on like it."""

from __future__ import annotations

from typing import Any

import pytest
from support import SCHEDULES, concat

import slidewise as sw

STORABLE = [(sw.DabaLite, concat), (sw.SubtractOnEvict, sw.sum), (sw.SlickDeque, sw.max)]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("algorithm", "operator"), STORABLE, ids=lambda one: getattr(one, "__name__", ""))
def test_stored_at_every_step(algorithm: Any, operator: sw.Operator, schedule: str) -> None:
    """Windows of several chunks, so that every pointer meets every place in one."""
    window = algorithm(operator)
    rows: list[Any] = []
    for number, step in enumerate(SCHEDULES[schedule](100, 500)):
        if step == "insert":
            rows.append(chr(97 + number % 26) if operator is concat else (number * 7) % 13)
            window.insert(rows[-1])
        elif step == "evict":
            rows.pop(0)
            window.evict()
        numbers, states = window._dump()
        window = algorithm(operator)
        window.insert(rows[0] if rows else ("x" if operator is concat else 1))  # what it held is forgotten
        window._load(numbers, states)
        assert len(window) == len(rows)
        window._check(rows)
        assert window._dump() == (numbers, states)


def test_others_cannot_be_stored() -> None:
    with pytest.raises(sw.SlidewiseError, match="a Recalc cannot be stored; DabaLite"):
        sw.Recalc(sw.max)._dump()
    with pytest.raises(sw.SlidewiseError, match="cannot be stored"):
        sw.Recalc(sw.max)._load([], [])
    with pytest.raises(ValueError, match="no DABA Lite has the pointers"):
        sw.DabaLite(sw.max)._load([0, 0, 0, 0, 3], [1, None, None])
