"""The interfaces for asking about the youngest rows of a window: many window sizes, one structure."""

from __future__ import annotations

from abc import abstractmethod
from numbers import Integral
from typing import Protocol, runtime_checkable

from slidewise.errors import SlidewiseError
from slidewise.operators.types import Answer, State
from slidewise.swag.interface import Swag
from slidewise.swag.structures.times import RowTime


class LastRows(Swag):
    """A SWAG that also answers for the youngest rows of its window: one structure for many sizes.

    An algorithm joins by `suffix(k)`, the aggregate of exactly k rows before `lower`; `query_last` is made of it.
    """

    __slots__ = ()

    @abstractmethod
    def suffix(self, k: int) -> State:
        """The aggregate of the k youngest rows before `lower`; an error where the window holds fewer."""

    def query_last(self, k: int) -> Answer:
        """The answer for the k youngest rows, or for all of them while there are fewer."""
        if (type(k) is not int and (not isinstance(k, Integral) or isinstance(k, bool))) or k < 0:
            raise SlidewiseError(f"query_last takes a number of rows from 0 on, not {k!r}")
        n = len(self)
        return self._lower(self.suffix(k if k < n else n))


@runtime_checkable
class LastTimes(Protocol):
    """A structure that answers for the youngest stretch of its window by time: `Timed` over a `LastRows`, and `Fiba`.

    A structure with `range_query(t0, t1)`, both ends included, joins in one line: `range_query(t, youngest())`. Where
    no row is as young as t, the answer is that of no rows.
    """

    def query_since(self, t: RowTime) -> Answer:
        """The answer for the rows of the window whose time is t or later."""
