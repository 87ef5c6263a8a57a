"""What becomes of a shard's rows in one call: late ones are dropped, early ones wait, the others are answered."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.series import read
from slidewise.definition import Definition
from slidewise.engine.sorting import key_codes, sort_rows
from slidewise.engine.window_spec import WindowSpec, window_specs_of
from slidewise.errors import InputError, SnapshotError
from slidewise.spark.sort.sorted_rows import check_times
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import Keys
from slidewise.spark.state.directory import NO_BATCH, Directory, MicroBatch
from slidewise.spark.state.key_state import Keeping
from slidewise.spark.state.page_checks import stored_schema
from slidewise.spark.state.pages import WORDS, OtherQueryError, Pages, Store
from slidewise.spark.state.runs import Runs
from slidewise.spark.stream.answers import pane_bytes, panes_of, running
from slidewise.spark.stream.definition_text import differences
from slidewise.spark.stream.late_rows import AHEAD, LATE, counted, sorted_out, warn_of_share, with_reasons
from slidewise.spark.stream.waiting_rows import ready, ticks, wait

_MICROSECOND = 1_000  # in nanoseconds, as windows count


@dataclass(frozen=True)
class Terms:
    """What a query says once: the definition, the fingerprint, the type of each answer, and how long keys live.

    `forget_after` is in microseconds; keys without a row for longer start anew. `words` say all of it, see `words`.
    Rows more than `ahead` microseconds past the clock are put aside; with `late_to`, rows that are not taken in come
    out too, and this column says why.
    """

    definition: Definition
    fingerprint: str
    answers: dict[str, Any]
    forget_after: int | None = None
    words: str = ""
    ahead: int | None = None
    late_to: str | None = None


@dataclass(frozen=True)
class Went:
    """A call's answered rows, or None; how many rows were dropped as late, and put aside as ahead of the clock; the
    timer that is set and the one wanted."""

    table: Any
    dropped: int
    ahead: int
    timer_before: int | None
    timer: int | None


class Shard:
    """A definition at work on one shard; `call` takes rows in, and moves time on."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._definition = terms.definition
        specs = [spec.scaled(_MICROSECOND) for spec in window_specs_of(terms.definition, spikes=False)]
        self._sliding = [spec for spec in specs if not spec.running]
        self._running = [spec for spec in specs if spec.running]
        self._lifetime = lifetime(specs, terms.forget_after)

    def call(self, store: Store, number: int, tables: list[Any], watermark: int, batch: MicroBatch = NO_BATCH) -> Went:
        """Take in rows, and answer those at or before the watermark, in milliseconds; 0 means that there is none yet.

        The rows' first column is the hash of their key.
        """
        import pyarrow as pa

        pages = Pages(store, self._terms.fingerprint, number)
        directory = self._directory(pages)
        directory.follow(batch)
        until = watermark * 1_000 if watermark > 0 else None
        schema = stored_schema(directory.schema, B.HASH, self._definition) if directory.schema else tables[0].schema
        directory.schema = directory.schema or self._described(schema).serialize().to_pybytes()
        table = pa.concat_tables([_as(one, schema) for one in tables]) if tables else schema.empty_table()
        on = self._definition.on
        assert on is not None
        check_times(self._definition, table, ())
        table, aside = sorted_out(table, on, directory.released, batch.clock, self._terms.ahead)
        late, ahead = (aside[reason][0] if reason in aside else 0 for reason in (LATE, AHEAD))
        seen, directory.seen = directory.seen, counted(directory.seen, len(table), late + ahead)
        warn_of_share(number, seen, directory.seen, directory.released)
        answered = None
        if until is not None and (directory.released is None or until >= directory.released):
            found, rest = ready(pages, directory, schema, on, until)
            due = ticks(table, on) <= until
            found.append(table.filter(due))
            due_rows = pa.concat_tables(found)
            table = pa.concat_tables([*rest, table.filter(~due)])
            before, directory.released = directory.released, until
            answered = self._release(pages, directory, schema, due_rows, until, before)
        wait(pages, directory, table, on)
        timer, directory.timer = directory.timer, self._timer(directory)
        directory.write()
        pages.flush()
        if self._terms.late_to is not None:
            answered = with_reasons(answered, aside, self._terms.answers, self._terms.late_to)
        return Went(answered, late, ahead, timer, directory.timer)

    def _directory(self, pages: Pages) -> Directory:
        """The shard's directory; what the query says is put beside the first one, for those that come after it."""
        try:
            directory = Directory(pages)
        except OtherQueryError as error:
            before = pages.words()
            if not before or not self._terms.words:
                raise
            raise SnapshotError(f"{error} ({differences(before, self._terms.words)})") from None
        if not directory.schema and self._terms.words:
            pages.write(WORDS, self._terms.words.encode())
        return directory

    def _described(self, schema: Any) -> Any:
        """The rows' schema, as the directory keeps it."""
        return schema

    def _release(
        self, pages: Pages, directory: Directory, schema: Any, due_rows: Any, until: int, before: int | None
    ) -> Any:
        """The answers of rows that are due, or None; `before` is what was released last."""
        there = Keeping(pages, directory, schema, self._definition, self._sliding, self._terms.answers)
        answered = self._answered(there, due_rows, until) if len(due_rows) else None
        if self._lifetime is not None:
            for part, large in there.buckets.expire(until - self._lifetime):
                there.parts[part].large_key(large).drop()
        return answered

    def _timer(self, directory: Directory) -> int | None:
        """When there is something to do even if no rows come: the first waiting row is due, or a page's keys end."""
        moments = [one.first for one in directory.waiting[:1]]
        if self._lifetime is not None:
            moments += [bucket.newest + self._lifetime for bucket in directory.buckets]
        return max(1, -(-min(moments) // 1_000)) if moments else None

    def _answered(self, there: Keeping, table: Any, until: int) -> Any:
        """The rows with their answers, sorted by key and time; the keys' windows are as they are after them."""
        import pyarrow as pa

        directory, buckets = there.directory, there.buckets
        places = directory.touched(table.column(B.HASH).to_numpy())
        old = buckets.read(places)
        table, codes = self._sorted(old, table)
        times = ticks(table, self._definition.on or "")
        starts = np.flatnonzero(np.diff(codes, prepend=-1))  # of each key among the new rows
        mine = codes[starts]
        runs = self._runs(old, times, starts, mine)
        before = old.taken(mine[runs.connected])
        last_rows = np.append(starts[1:], len(table)) - 1

        found: dict[str, Any] = {}
        kept, ofs = [], []  # what each part keeps, and how many rows and which number each key has there
        known = mine < len(old)
        for i, part in enumerate(there.parts):
            numbers = np.zeros(len(starts), np.int64)
            numbers[known] = old.numbers(B.of_part(B.LARGE, i))[mine[known]]
            for number in numbers[(numbers > 0) & ~runs.connected].tolist():
                part.large_key(number).drop()
            numbers[~runs.connected] = 0
            answers, rows, counts, numbers = part.slide(before, table, runs, numbers)
            found |= answers
            kept.append(rows)
            ofs.append((pa.array(counts), pa.array(numbers)))
        states = self._run(before, table, runs, found)
        of_keys = pa.table(
            [
                *(table.column(name).take(pa.array(starts)) for name in self._definition.by),
                table.column(B.HASH).take(pa.array(starts)),
                pa.array(times[last_rows]),
                ofs[0][0],
                pa.array(states, pa.binary()),
                ofs[0][1],
                *(column for both in ofs[1:] for column in both),
            ],
            schema=old.table.schema,
        )
        others = old.taken(np.setdiff1d(np.arange(len(old)), mine))
        parts = [pa.concat_tables([rows, more]) for rows, more in zip(others.parts, kept, strict=True)]
        keys = Keys(pa.concat_tables([others.table, of_keys]), parts)
        order = np.argsort(keys.numbers(B.HASH), kind="stable")
        if self._lifetime is not None:
            alive = keys.numbers(B.NEWEST)[order] > until - self._lifetime
            for i, part in enumerate(there.parts):
                for number in keys.numbers(B.of_part(B.LARGE, i))[order[~alive]].tolist():
                    if number:
                        part.large_key(number).drop()
            order = order[alive]
        buckets.write(places, keys.taken(order))
        for name in self._definition.columns:
            kind = self._terms.answers[name]
            table = table.append_column(name, found[name] if found[name].type == kind else found[name].cast(kind))
        return table.drop_columns([B.HASH])

    def _sorted(self, old: Keys, table: Any) -> tuple[Any, Array]:
        """The rows sorted by key and time, and peers in their order; keys that are there have their places there."""
        import pyarrow as pa

        definition = self._definition
        keys = [
            (
                name,
                pa.chunked_array([*old.table.column(name).chunks, *table.column(name).chunks], table.field(name).type),
            )
            for name in definition.by
        ]
        count = len(old) + len(table)
        codes, groups = key_codes(keys)
        if codes is None:  # the one key there is
            codes = np.zeros(count, np.int64)
        first = np.full(groups, count)  # where each comes first; some of the numbers may be no key's
        first[codes[::-1]] = np.arange(count)[::-1]
        rank = np.empty(groups, np.int64)
        rank[np.argsort(first)] = np.arange(groups)
        codes = rank[codes][len(old) :]
        on = definition.on or ""
        times = ticks(table, on)
        order = sort_rows(
            definition, codes, groups, times, len(table), lambda name: read(table.column(name), repr(name))
        )
        rows = order.rows()
        if rows is None:
            return table.combine_chunks(), codes
        return table.take(pa.array(rows)).combine_chunks(), codes[rows]

    def _runs(self, old: Keys, times: Array, starts: Array, mine: Array) -> Runs:
        connected = mine < len(old)
        cut = np.zeros(len(times), np.bool_)
        cut[starts] = True
        if self._lifetime is not None:
            cut[1:] |= times[1:] - times[:-1] > self._lifetime
            newest = old.numbers(B.NEWEST)[mine[connected]]
            connected[connected] = times[starts[connected]] - newest <= self._lifetime
        each = np.cumsum(cut) - 1
        return Runs(each, each[starts], each[np.append(starts[1:], len(times)) - 1], connected, starts)

    def _run(self, before: Keys, table: Any, runs: Runs, found: dict[str, Any]) -> list[bytes | None]:
        """Answers of everything so far, into `found`; and each key's states afterwards."""
        if not self._running:
            return [None] * len(runs.last)
        panes = [panes_of(self._running, None) for _ in range(int(runs.each[-1]) + 1)]
        stored = before.table.column(B.STATES).to_pylist()
        for run, data in zip(runs.first[runs.connected].tolist(), stored, strict=True):
            panes[run] = panes_of(self._running, data)
        found |= running(self._definition, self._running, table, runs.each, panes)
        return [pane_bytes(panes[run]) for run in runs.last.tolist()]


def lifetime(specs: list[WindowSpec], forget_after: int | None) -> int | None:
    """For how long after its last row a key may be needed, in microseconds; None where there is no end."""
    if any(spec.running or spec.numbered for spec in specs):
        return forget_after
    return max(math.ceil(spec.extent.reach) for spec in specs)


def _as(table: Any, schema: Any) -> Any:
    """The same rows in the schema that the state has."""
    import pyarrow as pa

    if table.schema == schema:
        return table
    try:
        return table.cast(schema)
    except (pa.ArrowException, ValueError) as error:
        raise InputError(
            f"the stream's columns are not those of the checkpoint: it has {', '.join(map(str, schema))}; {error}"
        ) from error
