"""A stream's shard that answers labels among events: events are its state, and labels ask once they are due."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.engine.computed.columns import result_arrays, with_arguments
from slidewise.spark.column_names import QUERY
from slidewise.spark.label_union import with_label_times
from slidewise.spark.sort.sorted_rows import microseconds
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import KeyTable
from slidewise.spark.state.shard_state import RunQueries, Runs, ShardState
from slidewise.spark.stream.late_rows import Refused
from slidewise.spark.stream.shard import Shard


class QueryShard(Shard):
    """Evaluates a definition at labels on shards. A label waits as an event does, and leaves no trace in the state."""

    def _checked(self, table: pa.Table) -> pa.Table:
        labels = self._terms.labels
        assert labels is not None
        return super()._checked(with_label_times(table, str(self._definition.on), labels.on))

    def _refused_rows(self, refused: Refused) -> Refused:
        """Of the rows that are refused, the labels, under their own columns: events have no place in the output."""
        labels = {reason: rows.filter(rows.column(QUERY)) for reason, (_, rows) in refused.items()}
        return {reason: (len(rows), self._outputs(rows)) for reason, rows in labels.items() if len(rows)}

    def _outputs(self, rows: pa.Table) -> pa.Table:
        assert self._terms.labels is not None
        return rows.select(self._terms.labels.columns)

    def _with_answers(self, state: ShardState, table: pa.Table, until: int) -> pa.Table | None:
        places = state.directory.touched(table.column(B.HASH).to_numpy())
        old = state.buckets.read(places)
        table, codes = self._sorted(old, table)
        asks = table.column(QUERY).to_numpy()
        times = microseconds(table, self._definition.on or "")
        order = np.lexsort((asks, times, codes))  # events of a time come before the labels
        if (np.diff(order) < 0).any():
            table = table.take(pa.array(order)).combine_chunks()
            codes, asks, times = codes[order], asks[order], times[order]
        asking = self._asking_runs(old, codes, times, asks)
        events, asked = table.filter(~asks), table.filter(asks)
        events = with_arguments(self._definition, events, self._label)
        answers = self._slide(state, old, events, asking, table, until, places)
        if not len(asked):
            return None
        labels = self._terms.labels
        assert labels is not None
        columns = result_arrays(
            self._definition,
            answers,
            lambda name: asked.column(labels.own[name]),
            len(asked),
            lambda row: self._label(asked, row),
        )
        return self._appended(self._outputs(asked), columns)

    def _slide(
        self,
        state: ShardState,
        old: KeyTable,
        events: pa.Table,
        asking: _AskingRuns,
        table: pa.Table,
        until: int,
        places: list[int],
    ) -> dict[str, pa.Array]:
        """The answers of the queries, by name; the keys' state is that after the events."""
        runs, queries, keys = asking.runs, asking.queries, asking.keys
        before = old.taken(keys[runs.connected])
        answers: dict[str, pa.Array] = {}
        stored, numbers = [], []
        for i, part in enumerate(state.parts):
            large = self._large_keys(part, i, old, keys, runs)
            part_answers, rows, counts, large = part.slide(before, events, runs, large, queries)
            answers |= part_answers
            stored.append(rows)
            numbers.append((pa.array(counts), pa.array(large)))
        running_answers, running_states = self._running.run(before, events, runs, queries)
        answers |= running_answers
        written = self._after(old, keys, table, asking.first_rows, asking.newest, stored, numbers, running_states)
        self._write(state, places, written, until)
        return answers

    def _asking_runs(self, old: KeyTable, codes: Array, times: Array, asks: Array) -> _AskingRuns:
        """The runs of events, and which of them each label sees: none where its key has been forgotten by then."""
        count, at = len(codes), np.arange(len(codes))
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        key_start = np.repeat(starts, np.diff(np.append(starts, count)))
        upto = np.maximum.accumulate(np.where(asks, -1, at))  # the last event at or before each row
        before = np.where(asks, upto, np.concatenate([[-1], upto[:-1]])) if count else upto
        inside = before >= key_start
        known = codes < len(old)
        newest = np.zeros(count, np.int64)
        newest[known] = old.numbers(B.NEWEST)[codes[known]]
        newest[inside] = times[before[inside]]
        sees = inside | known  # an earlier event, of this call or stored
        if self._lifetime is not None:
            sees &= times - newest <= self._lifetime
        is_start = np.zeros(count, np.bool_)
        is_start[starts] = True
        blind = asks & ~sees
        cut = is_start | (~asks & ~sees) | (blind & np.concatenate([[True], ~blind[:-1]]) if count else blind)
        each = np.cumsum(cut) - 1

        stops = np.append(starts[1:], count)
        last_event = upto[stops - 1] if count else upto
        has_events = last_event >= starts
        connected = known[starts] & sees[starts]
        kept = has_events | connected
        first_rows = starts[kept]
        newest_of = np.where(has_events, times[np.maximum(last_event, 0)], newest[starts])[kept]
        last = np.where(has_events, each[np.maximum(last_event, 0)], each[starts])[kept]
        runs = Runs(each[~asks], each[first_rows], last, connected[kept], first_rows)
        return _AskingRuns(runs, RunQueries(each[asks], times[asks]), codes[first_rows], first_rows, newest_of)


class _AskingRuns(NamedTuple):
    """The runs of events and the queries that see them; of the keys that have state afterwards their numbers, a row of
    each, and the newest event's time."""

    runs: Runs
    queries: RunQueries
    keys: Array
    first_rows: Array
    newest: Array
