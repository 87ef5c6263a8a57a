"""Arrays as parts of keys: by what they hold, not by which object they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

_SHORT = 256


@dataclass(frozen=True, slots=True)
class ArrayValue:
    """An array's or a NumPy scalar's type, shape, order and content; compared by a digest where that is long."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: str
    digest: bytes
    content: bytes = field(compare=False, repr=False)

    @classmethod
    def of(cls, array: Any) -> ArrayValue:
        """The value of an array as it is now.

        >>> a = np.array([1, 2])
        >>> before = ArrayValue.of(a)
        >>> a[0] = 7
        >>> before == ArrayValue.of(a), before.value().tolist()
        (False, [1, 2])
        """
        order = "scalar" if isinstance(array, np.generic) else "C" if array.flags.c_contiguous else "F"
        content = array.tobytes()
        digest = content if len(content) <= _SHORT else blake2b(content, digest_size=32).digest()
        return cls(array.dtype, array.shape, order, digest, content)

    def value(self) -> Any:
        """The array as it was, which cannot be written."""
        array = np.frombuffer(self.content, self.dtype).reshape(self.shape)
        return array[()] if self.order == "scalar" else np.asarray(array, order=self.order)  # type: ignore[call-overload]
