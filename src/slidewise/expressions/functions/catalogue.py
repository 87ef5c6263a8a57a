"""All functions of expressions by name."""

from __future__ import annotations

from slidewise.expressions.functions import arithmetic, casts, comparison, logic, row_times, text, times
from slidewise.expressions.functions.function import Function

FAMILIES = (arithmetic, comparison, logic, casts, text, times, row_times)
BY_NAME: dict[str, Function] = {function.name: function for family in FAMILIES for function in family.FUNCTIONS}
