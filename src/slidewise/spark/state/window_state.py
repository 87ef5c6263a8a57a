"""What is kept of keys for some windows, rows or cells: small keys go through at once, large ones one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.spark.sort.sorted_rows import named
from slidewise.spark.state.buckets import Keys
from slidewise.spark.state.runs import Runs, joined


class Kept(ABC):
    """One part of `Keys` during a call; `answers` are the types of its windows' answers."""

    schema: Any  # of what is kept

    def __init__(self, definition: Definition, answers: dict[str, Any]) -> None:
        self._definition = definition
        self._answers = answers

    @abstractmethod
    def large_key(self, number: int) -> Any:
        """A key with pages of its own."""

    def slide(self, before: Keys, table: Any, runs: Runs, numbers: Array) -> tuple[dict[str, Any], Any, Array, Array]:
        """Answers over windows that slide; what to keep, how much for each key, and the numbers of large keys.

        `before` are the keys that go on, and `numbers` those of large keys among all.
        """
        is_large = np.isin(runs.each, runs.first[numbers > 0])
        stays = np.where(runs.last == runs.first, numbers, 0)
        parts, kept, counts = [], self.schema.empty_table(), np.zeros(len(numbers), np.int64)
        if not is_large.all():
            small = table.filter(~is_large) if is_large.any() else table
            answers, kept, counts = self._slide_small(before, small, runs.each[~is_large], runs, stays)
            parts.append(answers)
        places = [np.flatnonzero(~is_large)]
        for k in np.flatnonzero(numbers).tolist():
            at = np.flatnonzero(runs.each == runs.first[k])
            places.append(at)
            parts.append(self._push(int(numbers[k]), table.slice(int(at[0]), len(at))))
            if runs.last[k] != runs.first[k]:
                self.large_key(int(numbers[k])).drop()
        return joined(parts, np.concatenate(places), self._answers), kept, counts, stays

    @abstractmethod
    def _slide_small(
        self, before: Keys, table: Any, each: Array, runs: Runs, large: Array
    ) -> tuple[dict[str, Any], Any, Array]:
        """The same for rows of small keys; keys that have become too large for a page get a number in `large`."""

    def _push(self, number: int, rows: Any) -> dict[str, Any]:
        """A large key's answers for new rows."""
        try:
            found: dict[str, Any] = self.large_key(number).push(self._taken_in(rows))
        except SlidewiseError as error:
            where = named(self._definition, rows, len(rows) - 1, ())
            raise type(error)(f"{error}; in one of the {len(rows)} rows up to {where}") from error
        return found

    def _taken_in(self, rows: Any) -> Any:
        """New rows as a large key takes them."""
        return rows
