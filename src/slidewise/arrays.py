"""The type of arrays in signatures: NumPy's, of any number of rows and any type of element."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
