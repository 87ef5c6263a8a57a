"""The names of what an operator's functions take and give, for signatures.

An operator is free to choose its types: rows may hold any Python object, and a state may be a number, a tuple or an
object of its own. So each name stands for any object, and says which of them is meant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Value: TypeAlias = Any  # what a column holds in one row: an argument of `lift`
State: TypeAlias = Any  # a partial aggregate: what `lift` and `combine` make, and `lower` reads
Answer: TypeAlias = Any  # what `lower` makes, and a query gives

Encoded: TypeAlias = Any  # a serialised state: numbers, bools, text, bytes, None, and tuples of them

Combine: TypeAlias = Callable[[State, State], State]
