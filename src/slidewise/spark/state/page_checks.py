"""Validation of pages: everything that windows and kernels trust is checked before they get it.

A page's checksum finds accidents; who can write to a checkpoint can make it anew. So numbers of pages, counts, orders
and the layout of states are checked here, and record batches by Arrow and in `pages`. Whatever is wrong is a
SnapshotError. Values are not recomputed: forged state can still lie about these.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from slidewise.arrays import Array
from slidewise.definition import Definition
from slidewise.errors import SlidewiseError, SnapshotError
from slidewise.kernels.passes.spanning import Spanning
from slidewise.kernels.passes.spanning_objects import SpanningBuckets
from slidewise.operators.values.equality import shown

if TYPE_CHECKING:
    from slidewise.spark.state.buckets import KeyTable
    from slidewise.spark.state.chunk_window import ChunkAggregates, State
    from slidewise.spark.state.directory import Directory

LOWEST, HIGHEST = -(2**63), 2**63 - 1
MOST_CHUNKS = 2**28  # of a large key; their numbers have so many bits
MOST_PAGES = 2**36
_KINDS: dict[str, Any] = {"int64": int, "float64": float, "bool": bool}


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Raise whatever goes wrong while something stored is read as a SnapshotError about it."""
    try:
        yield
    except SlidewiseError as error:
        raise error if isinstance(error, SnapshotError) else SnapshotError(f"{what} makes no sense: {error}") from error
    except Exception as error:
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        raise SnapshotError(f"{what} makes no sense: {kind}{error}") from error


def require(holds: object, problem: str) -> None:
    """Raise ValueError with the problem unless a condition holds."""
    if not holds:
        raise ValueError(problem)


def whole(value: object, least: int, most: int, what: str) -> int:
    """A whole number between two, both included."""
    require(type(value) is int and least <= value <= most, f"{what} is {shown(value)}")
    assert isinstance(value, int)
    return value


def stored_schema(data: bytes, first: str, definition: Definition) -> pa.Schema:
    """The schema of the rows, which has all columns that the definition reads, behind the hash of the key."""
    with reading("the schema of the shard's rows"):
        schema = pa.ipc.read_schema(pa.py_buffer(data))
        require(schema.names[:1] == [first] and schema.field(0).type == pa.int64(), "the hash of the key is missing")
        for name in definition.event_needs:
            require(schema.names.count(name) == 1, f"it has not the column {name!r}")
        require(pa.types.is_timestamp(schema.field(str(definition.on)).type), f"{definition.on!r} is no time")
    return schema


def check_directory(directory: Directory) -> None:
    """Check that pages have numbers that were given out, each once, and that waiting pages and buckets are in order."""
    require(type(directory.schema) is bytes, "there is no schema")
    for name in ("released", "timer", "history"):
        value = getattr(directory, name)
        if value is not None:
            whole(value, LOWEST, HIGHEST, f"what is {name}")
    if directory.history is not None:
        require(directory.released is not None and directory.history <= directory.released, "history was not released")
    for name, number in (*directory.generations.items(), *directory.warming.known_from.items()):
        require(type(name) is str, "an aggregate has no name")
        whole(number, LOWEST, HIGHEST, f"the number of {shown(name)}")
    if directory.warming.forgotten is not None:
        whole(directory.warming.forgotten, LOWEST, HIGHEST, "the time up to which keys were forgotten")
    require(all(type(name) is str for name in directory.warming.by_key), "an aggregate has no name")
    require(len({*directory.warming.by_key}) == len(directory.warming.by_key), "an aggregate is named twice")
    whole(directory.calls, 0, HIGHEST - 1, "the number of calls")
    if directory.batch is not None:
        whole(directory.batch, 0, HIGHEST, "the last micro-batch")
    whole(directory.next_page, 1, MOST_PAGES - 1, "the next page")
    whole(directory.next_large, 1, 2**27 - 1, "the next large key")
    pages = [*(waiting.page for waiting in directory.waiting), *(bucket.page for bucket in directory.buckets)]
    for page in pages:
        whole(page, 1, directory.next_page - 1, "the number of a page")
    require(len({*pages}) == len(pages), "two things lie in one page")
    before = LOWEST if directory.released is None else directory.released
    for waiting in directory.waiting:
        whole(waiting.first, LOWEST, HIGHEST, "the first time of a page")
        whole(waiting.last, waiting.first, HIGHEST, "the last time of a page")
        whole(waiting.size, 0, HIGHEST, "the size of a page")
        require(directory.released is None or waiting.first > before, "rows wait that were due")
    require(all(a.first <= b.first for a, b in pairwise(directory.waiting)), "waiting pages are not in order")
    for bucket in directory.buckets:
        whole(bucket.low, LOWEST, HIGHEST, "the least hash of a page")
        whole(bucket.newest, LOWEST, HIGHEST, "the newest time of a page")
        whole(bucket.large, 0, HIGHEST, "the number of large keys of a page")
    lows = [bucket.low for bucket in directory.buckets]
    require(not lows or lows[0] == LOWEST, "the first page of keys does not begin with the least hash")
    require(all(a < b for a, b in pairwise(lows)), "pages of keys are not in order")
    require(directory.released is not None or not lows, "there are keys, and nothing was released")


def check_page_keys(
    keys: KeyTable, hashes: Array, counts: Sequence[Array], large: Sequence[Array], next_large: int
) -> None:
    """Check a page's keys: hashes in order, and for each part as many rows as there are, or a number of its own."""
    require((hashes[1:] >= hashes[:-1]).all(), "keys are not in order")
    for part, (rows, number) in enumerate(zip(counts, large, strict=True)):
        require((rows >= 0).all() and int(rows.sum()) == len(keys.parts[part]), "keys have other numbers of rows")
        require(((number >= 0) & (number < next_large)).all(), "a large key has a number that was not given out")
        require(not ((number > 0) & (rows > 0)).any(), "a large key has rows in a page that keys share")
        owned = number[number > 0]
        require(len(np.unique(owned)) == len(owned), "two large keys have one number")


def check_row_order(times: Array, offsets: Array, once: bool, newest: Array | None = None) -> None:
    """Times of each key's rows are in order, and up to its newest; `once` where no two are equal."""
    rises = times[1:] > times[:-1] if once else times[1:] >= times[:-1]
    begins = np.zeros(len(times) + 1, np.bool_)
    begins[offsets] = True
    require((rises | begins[1:-1]).all(), "a key's rows are not in order")
    if newest is not None:
        some = np.diff(offsets) > 0
        require((times[offsets[1:][some] - 1] <= newest[some]).all(), "rows are newer than their key's newest time")


def check_pointers(pointers: Sequence[Any], tail: int) -> None:
    """The pointers of DABA Lite over chunks: in order, balanced, and at most up to the open chunk."""
    from slidewise.swag.structures.pointers import Pointers

    for pointer in pointers:
        whole(pointer, 0, tail, "a pointer")
    sublists = Pointers(*pointers)
    require(sublists.ordered() and sublists.balanced(), f"no DABA Lite has the pointers {list(pointers)}")


def check_state(group: ChunkAggregates, state: Any) -> State:
    """A state of chunks, as `ChunkAggregates` has it: None, or how many rows count and each aggregate's part."""
    if state is None:
        return None
    require(type(state) is tuple and len(state) == 2 and type(state[1]) is tuple, f"no state is {shown(state)}")
    count = whole(state[0], 1, 2**62, "the rows of a state")
    require(len(state[1]) == len(group.passes), f"a state has {len(state[1])} parts for {len(group.passes)} aggregates")
    for member, run, part in zip(group.spec.members, group.passes, state[1], strict=True):
        if run is None:
            require(part is None, "a count has a state")
        elif isinstance(run, Spanning):
            require(_is_flat(part, run.fields), f"{shown(part)} is no state of {member.name!r}")
        else:
            decode, is_state = member.operator.decode, member.operator.is_state
            decoded = part if decode is None else decode(part)
            sound = decoded is not None and (is_state is None or is_state(decoded))
            if isinstance(run, SpanningBuckets):  # whose counts a pass adds up
                sound = sound and sum(rows for _, rows in decoded) == count
            require(sound, f"{shown(part)} is no state of {member.name!r}")
    return count, state[1]


def _is_flat(part: Any, fields: tuple[str, ...]) -> bool:
    """Whether a part is so many numbers of these types."""
    return (
        type(part) is tuple
        and len(part) == len(fields)
        and all(
            type(number) is _KINDS[kind] and (kind != "int64" or LOWEST <= number <= HIGHEST)
            for number, kind in zip(part, fields, strict=True)
        )
    )


def check_message(data: bytes) -> None:
    """A record batch's message, before Arrow reads it: its buffers are not compressed, for they never were.

    Compressed ones say themselves how much memory they want.
    """
    try:
        first, size = struct.unpack_from("<Ii", data)
        at = 8 if first == 0xFFFFFFFF else 4
        metadata = bytes(data[at : at + (size if at == 8 else first)])
        message = struct.unpack_from("<I", metadata)[0]
        header = _field(metadata, message, 2)
        require(header is not None, "it has no header")
        assert header is not None
        batch = header + struct.unpack_from("<I", metadata, header)[0]
        require(_field(metadata, batch, 3) is None, "its buffers are compressed")
    except (struct.error, IndexError) as error:
        raise ValueError(f"it is no record batch: {error}") from error


def _field(metadata: bytes, table: int, number: int) -> int | None:
    """Where a field of a flatbuffer's table lies, or None where it has none."""
    vtable = table - struct.unpack_from("<i", metadata, table)[0]
    require(vtable >= 0, "its metadata points before itself")
    size = struct.unpack_from("<H", metadata, vtable)[0]
    if 4 + 2 * number + 2 > size:
        return None
    offset = struct.unpack_from("<H", metadata, vtable + 4 + 2 * number)[0]
    return table + offset if offset else None
