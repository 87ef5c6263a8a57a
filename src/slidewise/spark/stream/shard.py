"""A stream's shard: in each call late rows are refused, early ones wait, and the others are answered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slidewise.arrays import Array
from slidewise.columns.series import read
from slidewise.definition import Definition
from slidewise.engine.computed.columns import extended_schema, result_arrays, with_arguments
from slidewise.engine.sorting import key_codes, sort_rows
from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import InputError
from slidewise.spark.sort.sorted_rows import check_times, microseconds, row_label
from slidewise.spark.state import buckets as B
from slidewise.spark.state.buckets import KeyTable
from slidewise.spark.state.directory import NO_BATCH, Directory, MicroBatch
from slidewise.spark.state.page_checks import stored_schema
from slidewise.spark.state.pages import DESCRIPTION, OtherQueryError, Pages, PageStore
from slidewise.spark.state.shard_state import PartState, RunningState, Runs, ShardState
from slidewise.spark.state.stored_specs import stored_specs
from slidewise.spark.state.waiting_rows import put_waiting, take_due
from slidewise.spark.state.warming import Warming, incomplete_columns, missing_column
from slidewise.spark.stream.late_rows import (
    AHEAD,
    BEFORE_HISTORY,
    LATE,
    Refused,
    append_refused,
    split_refused,
    update_counts,
    warn_if_many,
)
from slidewise.spark.stream.query_description import differences, read_description, why_not_other_shards


class LabelTerms(NamedTuple):
    """Which rows ask, where some do: the name that labels have for their time, and the columns that are their own.

    `own` are those among them that results read, by the definition's names.
    """

    on: str
    columns: tuple[str, ...]
    own: Mapping[str, str] = MappingProxyType({})


class UpgradeTerms(NamedTuple):
    """The definitions one of which wrote a checkpoint, and the schema of the stream's rows now, behind the hashes of
    their keys."""

    old: tuple[Definition, ...]
    schema: pa.Schema


@dataclass(frozen=True)
class QueryTerms:
    """The terms of a query: the definition, the fingerprint, the type of each aggregate, and how long keys live.

    `forget_after` is in microseconds; keys without a row for longer start anew. `description` is all of it as text.
    Rows more than `ahead` microseconds past the clock are put aside; with `late_to`, rows that are not taken in come
    out too, and this column says why. With `labels`, these are answered, and not the rows. `columns` has the type of
    each column that comes out, where some are expressions over aggregates. With `only_complete`, answers of windows
    that an upgrade left incomplete are null. `upgrade` is what a checkpoint of another definition is converted by.
    """

    definition: Definition
    fingerprint: str
    answers: dict[str, pa.DataType]
    forget_after: int | None = None
    description: str = ""
    ahead: int | None = None
    late_to: str | None = None
    labels: LabelTerms | None = None
    columns: dict[str, pa.DataType] | None = None
    warm: bool = False  # whether the query was given a history
    shards: int = 0  # as far as is known
    only_complete: bool = False
    upgrade: UpgradeTerms | None = None

    @property
    def outputs(self) -> dict[str, pa.DataType]:
        """The type of each column that comes out."""
        return self.answers if self.columns is None else self.columns


@dataclass(frozen=True)
class ShardResult:
    """The result of a call: answered rows, or None; how many rows were dropped as late, and put aside as ahead of the
    clock; the timer that was set and the one that is wanted; how many rows were duplicates of the history."""

    table: pa.Table | None
    dropped: int
    ahead: int
    timer_before: int | None
    timer: int | None
    before_history: int = 0


class ShardLoad(NamedTuple):
    """The state of a shard while its history is loaded."""

    pages: Pages
    directory: Directory
    schema: pa.Schema


class Shard:
    """Evaluates a definition on shards, whose state is in pages; `call` takes rows in, and moves time on."""

    def __init__(self, terms: QueryTerms) -> None:
        self._terms = terms
        self._definition = terms.definition
        self._generations: dict[str, int] | None = None
        self._use_specs({})
        self._loading = False

    def _use_specs(self, generations: dict[str, int]) -> None:
        """Go by the specs of aggregates that are of these generations."""
        if generations == self._generations:
            return
        self._generations = generations
        self._specs = specs = stored_specs(self._definition, generations)
        self._sliding = [spec for spec in specs if not spec.running]
        self._running = RunningState(self._definition, [spec for spec in specs if spec.running])
        self._lifetime = lifetime(specs, self._terms.forget_after)

    def call(
        self, store: PageStore, number: int, tables: list[pa.Table], watermark: int, batch: MicroBatch = NO_BATCH
    ) -> ShardResult:
        """Take in rows, and answer those at or before the watermark, in milliseconds; 0 means that there is none yet.

        The rows' first column is the hash of their key.
        """
        pages = Pages(store, self._terms.fingerprint, number)
        directory = self._directory(pages)
        directory.begin_call(batch)
        until = watermark * 1_000 if watermark > 0 else None
        schema = stored_schema(directory.schema, B.HASH, self._definition) if directory.schema else tables[0].schema
        directory.schema = directory.schema or self.stored_schema(schema).serialize().to_pybytes()
        self._use_specs(directory.generations)
        table = pa.concat_tables([_cast(table, schema) for table in tables]) if tables else schema.empty_table()
        on = self._definition.on
        assert on is not None
        table = self._checked(table)
        table, refused = split_refused(table, on, directory, batch.clock, self._terms.ahead)
        counts_of = {reason: count for reason, (count, _) in refused.items()}
        late, ahead = counts_of.get(LATE, 0), counts_of.get(AHEAD, 0)
        counts, directory.recent = directory.recent, update_counts(directory.recent, len(table), late + ahead)
        warn_if_many(number, counts, directory.recent, directory.released)
        answered = None
        if until is not None and (directory.released is None or until >= directory.released):
            due, rest = take_due(pages, directory, schema, on, until)
            is_due = microseconds(table, on) <= until
            due.append(table.filter(is_due))
            table = pa.concat_tables([*rest, table.filter(~is_due)])
            before, directory.released = directory.released, until
            answered = self._release(pages, directory, schema, pa.concat_tables(due), until, before)
            directory.warming = directory.warming.remaining(self._sliding, until, self._lifetime)
        put_waiting(pages, directory, table, on)
        timer, directory.timer = directory.timer, self._timer(directory)
        directory.write()
        pages.flush()
        if self._terms.late_to is not None:
            answered = append_refused(answered, self._refused_rows(refused), self._terms.outputs, self._terms.late_to)
        return ShardResult(answered, late, ahead, timer, directory.timer, counts_of.get(BEFORE_HISTORY, 0))

    def begin_load(self, store: PageStore, number: int, schema: pa.Schema) -> ShardLoad:
        """Begin to fill the state of a shard that has none yet; the schema is that of the stream's rows."""
        pages = Pages(store, self._terms.fingerprint, number)
        directory = self._directory(pages)
        directory.begin_call(NO_BATCH)
        directory.schema = self.stored_schema(schema).serialize().to_pybytes()
        self._use_specs({})
        return ShardLoad(pages, directory, schema)

    def load(self, state: ShardLoad, table: pa.Table, until: int) -> None:
        """Take in rows up to a time in microseconds, all of which lie after those before; nothing is answered."""
        self._loading = True
        try:
            before, state.directory.released = state.directory.released, until
            self._release(state.pages, state.directory, state.schema, self._checked(table), until, before)
        finally:
            self._loading = False

    def end_load(self, state: ShardLoad) -> int | None:
        """Store what was loaded, which is complete up to the time of the last `load`; the timer that is wanted."""
        state.directory.history = state.directory.released
        state.directory.timer = self._timer(state.directory)
        state.directory.write()
        state.pages.flush()
        return state.directory.timer

    def _checked(self, table: pa.Table) -> pa.Table:
        """The rows that came, all of which have a time."""
        check_times(self._definition, table, ())
        return table

    def _refused_rows(self, refused: Refused) -> Refused:
        """The rows that were refused, as they come out."""
        return {reason: (count, rows.drop_columns([B.HASH])) for reason, (count, rows) in refused.items()}

    def _directory(self, pages: Pages) -> Directory:
        """The shard's directory; the query's description is stored with the first one."""
        try:
            directory = Directory(pages)
        except OtherQueryError as error:
            other = pages.description()
            if not other or not self._terms.description:
                raise
            query, shards = read_description(other), self._terms.shards
            if query is not None and shards and query.shards != shards:
                raise OtherQueryError(why_not_other_shards(query.shards, shards)) from None
            raise OtherQueryError(f"{error} ({differences(other, self._terms.description)})") from None
        if not directory.schema and self._terms.description:
            pages.write(DESCRIPTION, self._terms.description.encode())
        return directory

    def stored_schema(self, schema: pa.Schema) -> pa.Schema:
        """The rows' schema, as the directory has it."""
        return schema

    def _release(
        self,
        pages: Pages,
        directory: Directory,
        schema: pa.Schema,
        due: pa.Table,
        until: int,
        before: int | None,
    ) -> pa.Table | None:
        """The answers of rows that are due, or None; `before` is what was released last."""
        schema = extended_schema(self._definition, schema)
        state = ShardState(pages, directory, schema, self._definition, self._sliding, self._terms.answers)
        answered = self._with_answers(state, due, until) if len(due) else None
        if self._lifetime is not None:
            for part, large in state.buckets.expire(until - self._lifetime):
                state.parts[part].large_key(large).drop()
        return answered

    def _timer(self, directory: Directory) -> int | None:
        """When there is something to do even if no rows come: the first waiting row is due, or a page's keys expire."""
        moments = [waiting.first for waiting in directory.waiting[:1]]
        if self._lifetime is not None:
            moments += [bucket.newest + self._lifetime for bucket in directory.buckets]
        return max(1, -(-min(moments) // 1_000)) if moments else None

    def _with_answers(self, state: ShardState, table: pa.Table, until: int) -> pa.Table | None:
        """The rows with their answers, sorted by key and time; the keys' state is that after them."""
        places = state.directory.touched(table.column(B.HASH).to_numpy())
        old = state.buckets.read(places)
        table, codes = self._sorted(old, table)
        table = with_arguments(self._definition, table, self._label)
        times = microseconds(table, self._definition.on or "")
        starts = np.flatnonzero(np.diff(codes, prepend=-1))  # of each key among the new rows
        keys = codes[starts]
        runs = self._runs(old, times, starts, keys)
        before = old.taken(keys[runs.connected])

        answers: dict[str, pa.Array] = {}
        stored, numbers = [], []  # what each part stores, and of each key how much of it, or its number as a large one
        for i, part in enumerate(state.parts):
            large = self._large_keys(part, i, old, keys, runs)
            part_answers, rows, kept, large = part.slide(before, table, runs, large)
            answers |= part_answers
            stored.append(rows)
            numbers.append((pa.array(kept), pa.array(large)))
        running_answers, running_states = self._running.run(before, table, runs)
        answers |= running_answers
        stops = np.append(starts[1:], len(table))
        missing = self._missing(state.directory, old, keys, runs.connected)
        counts = stops - starts
        left = [np.where(runs.last == runs.first, np.maximum(rows - counts, 0), 0) for rows in missing.values()]
        written = self._after(old, keys, table, starts, times[stops - 1], stored, numbers, running_states, left)
        self._write(state, places, written, until)
        if self._loading:
            return None
        columns = result_arrays(
            self._definition, answers, table.column, len(table), lambda row: self._label(table, row)
        )
        if self._terms.only_complete:
            goes_on = runs.each == np.repeat(runs.first, counts)  # and has not been forgotten before the row
            by_row = {name: np.where(goes_on, np.repeat(rows, counts), 0) for name, rows in missing.items()}
            numbers_in_key = 1 + np.arange(len(table)) - np.repeat(starts, counts)
            masks = {name: numbers_in_key < lacking for name, lacking in by_row.items()}
            columns = self._only_complete(columns, times, state.directory.warming, masks)
        table = table.drop_columns([B.HASH, *self._definition.stages.arguments])
        return self._appended(table, columns)

    def _missing(self, directory: Directory, old: KeyTable, keys: Array, connected: Array) -> dict[str, Array]:
        """By aggregate the rows that the windows of these keys still lack; none where a key starts anew."""
        missing = {}
        warming = directory.warming
        for i, (name, of_new) in enumerate(zip(warming.by_key, warming.missing_of_new(self._specs), strict=True)):
            missing[name] = np.where(keys >= len(old), of_new, 0)
            missing[name][connected] = old.numbers(missing_column(i))[keys[connected]]
        return missing

    def _only_complete(
        self, columns: dict[str, pa.Array], times: Array, warming: Warming, masks: dict[str, Array]
    ) -> dict[str, pa.Array]:
        """The columns with nulls where an aggregate that they are computed from is incomplete.

        `times` are those of the answers, and `masks` say where windows that go by rows are incomplete.
        """
        masks |= {name: times < time for name, time in warming.complete_from(self._sliding).items()}
        for name, mask in incomplete_columns(self._definition, masks).items():
            columns[name] = pc.if_else(pa.array(mask), pa.scalar(None, columns[name].type), columns[name])
        return columns

    def _label(self, table: pa.Table, row: int) -> str:
        return row_label(self._definition, table, row, ())

    def _appended(self, table: pa.Table, columns: Mapping[str, pa.Array]) -> pa.Table:
        """The rows with the definition's columns behind them, in the types that were announced."""
        for name, array in columns.items():
            kind = self._terms.outputs[name]
            table = table.append_column(name, array if array.type == kind else array.cast(kind))
        return table

    def _large_keys(self, part: PartState, number: int, old: KeyTable, keys: Array, runs: Runs) -> Array:
        """The numbers of large keys in a part of the state; those that do not go on are dropped."""
        known = keys < len(old)
        large = np.zeros(len(keys), np.int64)
        large[known] = old.numbers(B.part_column(B.LARGE, number))[keys[known]]
        for dropped in large[(large > 0) & ~runs.connected].tolist():
            part.large_key(dropped).drop()
        large[~runs.connected] = 0
        return large

    def _after(
        self,
        old: KeyTable,
        keys: Array,
        table: pa.Table,
        rows: Array,
        newest: Array,
        stored: list[pa.Table],
        numbers: list[tuple[pa.Array, pa.Array]],
        running: list[bytes | None],
        missing: Sequence[Array] = (),
    ) -> KeyTable:
        """The keys after a call: those of `old` that are none of `keys`, and these, of each a row of the table and the
        newest time. What each part stores of them, how much of it or the numbers of large keys, running states, and the
        rows that windows still lack."""
        first_rows = pa.array(rows)
        columns = [table.column(name).take(first_rows) for name in (*self._definition.by, B.HASH)]
        columns += [pa.array(newest), numbers[0][0], pa.array(running, pa.binary()), numbers[0][1]]
        columns += [column for both in numbers[1:] for column in both]
        columns += [pa.array(rows) for rows in missing]
        touched = pa.table(columns, schema=old.table.schema)
        others = old.taken(np.setdiff1d(np.arange(len(old)), keys))
        parts = [pa.concat_tables(both) for both in zip(others.parts, stored, strict=True)]
        return KeyTable(pa.concat_tables([others.table, touched]), parts)

    def _write(self, state: ShardState, places: list[int], keys: KeyTable, until: int) -> None:
        """Write keys into these buckets, sorted by hash; those that have expired are dropped."""
        order = np.argsort(keys.numbers(B.HASH), kind="stable")
        if self._lifetime is not None:
            alive = keys.numbers(B.NEWEST)[order] > until - self._lifetime
            for i, part in enumerate(state.parts):
                for number in keys.numbers(B.part_column(B.LARGE, i))[order[~alive]].tolist():
                    if number:
                        part.large_key(number).drop()
            order = order[alive]
        state.buckets.write(places, keys.taken(order))

    def _sorted(self, old: KeyTable, table: pa.Table) -> tuple[pa.Table, Array]:
        """The rows sorted by key and time, and peers in their order; and their keys' numbers, those of `old` first."""
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
        times = microseconds(table, on)
        order = sort_rows(
            definition, codes, groups, times, len(table), lambda name: read(table.column(name), repr(name))
        )
        rows = order.rows()
        if rows is None:
            return table.combine_chunks(), codes
        return table.take(pa.array(rows)).combine_chunks(), codes[rows]

    def _runs(self, old: KeyTable, times: Array, starts: Array, keys: Array) -> Runs:
        connected = keys < len(old)
        cut = np.zeros(len(times), np.bool_)
        cut[starts] = True
        if self._lifetime is not None:
            cut[1:] |= times[1:] - times[:-1] > self._lifetime
            newest = old.numbers(B.NEWEST)[keys[connected]]
            connected[connected] = times[starts[connected]] - newest <= self._lifetime
        each = np.cumsum(cut) - 1
        return Runs(each, each[starts], each[np.append(starts[1:], len(times)) - 1], connected, starts)


def lifetime(specs: list[WindowSpec], forget_after: int | None) -> int | None:
    """For how long after its last row a key may be needed, in microseconds; None where there is no end."""
    if any(spec.running or spec.numbered for spec in specs):
        return forget_after
    return max(math.ceil(spec.extent.reach) for spec in specs)


def _cast(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The same rows in the schema that the state has."""
    if table.schema == schema:
        return table
    try:
        return table.cast(schema)
    except (pa.ArrowException, ValueError) as error:
        raise InputError(
            f"the stream's columns are not those of the checkpoint: it has {', '.join(map(str, schema))}; {error}"
        ) from error
