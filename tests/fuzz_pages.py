"""Pages of streams of every kind, changed and with the checksums made anew, and calls of the shard that reads them."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from hashlib import blake2b
from typing import Any
from unittest import mock

import pyarrow as pa
from shards import FINGERPRINT, SECOND, Stream, small_pages
from state_mutations import ODD_NUMBERS, Recorder, mutated, mutated_bytes, mutated_payload

import slidewise as sw
from slidewise.spark.state import pages as P

SHARD = 3
SCHEMA = pa.schema(
    [("k", pa.string()), ("ts", pa.timestamp("us")), ("x", pa.float64()), ("i", pa.int64()), ("s", pa.string())]
)
READERS = [f"slidewise.spark.state.{module}.table_from_bytes" for module in ("buckets", "waiting_rows", "large_key")]


class Kind:
    """One kind of state: a definition, and how large a page may be, so that keys are soon large."""

    def __init__(
        self, name: str, definition: sw.Sliding, size: int | None = None, forget_after: int | None = None
    ) -> None:
        self.name, self.definition, self.size, self.forget_after = name, definition, size, forget_after

    @contextmanager
    def pages(self) -> Iterator[None]:
        with ExitStack() as stack:
            if self.size is not None:
                stack.enter_context(small_pages(self.size))
            yield

    def rows(self, seed: int, count: int, start: int) -> pa.Table:
        draw = random.Random(seed)
        rows = [
            {
                "k": draw.choice("abc"),
                "ts": (start + draw.randrange(30)) * SECOND,
                "x": draw.choice((draw.random(), None)),
                "i": draw.randrange(-9, 9),
                "s": draw.choice("de"),
            }
            for _ in range(count)
        ]
        return pa.Table.from_pylist(rows, schema=SCHEMA)


def kinds() -> list[Kind]:
    """Rows, cells, slices, running states and sketches, in shared pages and in pages of large keys."""

    def over(**columns: Any) -> sw.Sliding:
        every = columns.pop("every", None)
        return sw.Sliding(by="k", on="ts", every=every, columns=columns)

    rows = over(
        peak=sw.max("x").over("20s"),
        n=sw.sum("i").over("20s", closed="left"),
        four=sw.count("s").over(rows=4),
        all=sw.mean("x").over("all"),
    )
    cells = over(
        g=sw.sum("i").over("40s", grain="2s"), h=sw.max("s").over("20s", grain="5s"), a=sw.last("s").over("all")
    )
    sketches = over(
        q=sw.quantile(0.5, approximate=0.1)("x").over("30s"),
        d=sw.hyperloglog(p=4)("s").over("30s"),
        t=sw.min("s").over("30s"),
    )
    beats = over(every="5s", a=sw.sum("x").over("20s"), m=sw.median("i").over("10s"), t=sw.max("s").over("10s"))
    return [
        Kind("rows", rows, forget_after=40 * SECOND),
        Kind("rows of large keys", rows, 300, forget_after=40 * SECOND),
        Kind("cells", cells),
        Kind("cells of large keys", cells, 300),
        Kind("sketches of large keys", sketches, 300),
        Kind("beats", beats),
    ]


class Pages(dict[int, bytes]):
    """A store of pages; one that is not there is none."""

    def put(self, number: int, page: bytes) -> None:
        self[number] = page

    def remove(self, number: int) -> None:
        self.pop(number, None)


class Target:
    """A kind of state with its pages, and where in them record batches lie, and of which schema."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        stream = Stream(kind.definition, SCHEMA, kind.forget_after)
        self.terms = stream.terms
        with kind.pages():
            for i in range(6):
                stream.push(kind.rows(i, 40, 20 * i), max(0, 20 * i - 10) * 1_000)
        self.store = Pages(stream.store.pages | stream.store.trail)
        self.payloads = {number: P.open_page(page, FINGERPRINT, SHARD, number) for number, page in self.store.items()}
        self.schemas: dict[bytes, Any] = {}
        with ExitStack() as stack:
            real = P.table_from_bytes

            def remember(data: Any, schema: Any, *more: Any) -> Any:
                self.schemas[bytes(data)] = schema
                return real(data, schema, *more)

            for name in READERS:
                stack.enter_context(mock.patch(name, remember))
            found = self.go_on(Pages(self.store))
        if not found:
            raise AssertionError("as they are, pages are read")

    def tried(self, draw: random.Random) -> tuple[bool, int]:
        """Change a page or two, and go on; whether all calls went through, and how many bytes there were."""
        store = self.crafted(draw)
        return self.go_on(store), sum(map(len, store.values()))

    def crafted(self, draw: random.Random) -> Pages:
        store = Pages(self.store)
        for number in draw.sample(sorted(store), min(len(store), draw.choice((1, 1, 1, 2)))):
            payload = self.payloads[number]
            match draw.randrange(20):
                case 0:
                    del store[number]
                case 1:
                    store[number] = P.seal_page(
                        self.payloads[draw.choice(sorted(self.payloads))], FINGERPRINT, SHARD, number
                    )
                case 2:
                    store[number] = _outside(draw, store[number])
                case _:
                    store[number] = P.seal_page(self._inside(draw, payload), FINGERPRINT, SHARD, number)
        return store

    def _inside(self, draw: random.Random, payload: bytes) -> bytes:
        """A payload with values changed: in a record batch, or among plain values."""
        found = [(payload.find(data), data) for data in self.schemas if data in payload]
        if not found:
            return _plain(draw, payload)
        at, data = draw.choice(found)
        new = mutated_bytes(draw, data) if draw.random() < 0.2 else _table(draw, data, self.schemas[data])
        before, after = payload[:at], payload[at + len(data) :]
        if at >= 4 and int.from_bytes(payload[at - 4 : at], "little") == len(data):
            before = payload[: at - 4] + len(new).to_bytes(4, "little")
        return before + new + after

    def go_on(self, store: Pages) -> bool:
        """Calls with more rows, and then with none; errors of ours are all there may be, and leave the pages alone."""
        from slidewise.spark.stream.beat_shard import make_shard

        kind = self.kind
        went = True
        with kind.pages():
            for step in (7, 8, 11, 30):
                stream = Stream(kind.definition, SCHEMA, kind.forget_after)
                table = kind.rows(step, 40 if step < 30 else 0, 20 * step)
                before = dict(store)
                with (
                    mock.patch("shards.make_shard", return_value=_Calls(make_shard(self.terms), store)),
                    suppress(sw.SlidewiseError),
                ):
                    stream.push(table, (20 * step - 10) * 1_000)
                    continue
                went = False
                if dict(store) != before:
                    raise AssertionError("an error has left pages changed")
        return went


class _Calls:
    """A shard whose calls go to another store."""

    def __init__(self, shard: Any, store: Pages) -> None:
        self._shard, self._store = shard, store

    def call(self, _store: Any, *given: Any, **more: Any) -> Any:
        went = self._shard.call(self._store, *given, **more)
        return replace(went, table=None)  # whose times may be more than Python's datetimes hold


def _outside(draw: random.Random, page: bytes) -> bytes:
    """A page whose header or compressed body was changed."""
    body = bytearray(mutated_bytes(draw, page[:-16]) if draw.random() < 0.5 else page[:-16])
    if draw.random() < 0.7 and len(body) > 43:
        how, size = draw.choice((0, 1, 2, 3, 255)), draw.choice((0, 1, 2**20, 2**31, 2**32 - 1))
        at = struct.calcsize("<4sH16sIQ")
        if draw.random() < 0.5:
            body[at : at + 1] = bytes([how])
        body[at + 1 : at + 5] = struct.pack("<I", size)
    return bytes(body) + blake2b(body, digest_size=16).digest()


def _plain(draw: random.Random, payload: bytes) -> bytes:
    recorder = Recorder(payload)
    with suppress(Exception):
        while True:  # values, sizes and rows have letters of their own, mostly
            letter = payload[recorder._at : recorder._at + 1]
            (
                recorder.row
                if letter in b"DQVC" and letter
                else recorder.value
                if letter in _LETTERS
                else recorder.size
            )()
    return mutated_payload(draw, payload, recorder.spans) if recorder.spans else mutated_bytes(draw, payload)


_LETTERS = [bytes([letter]) for letter in b"NTFifIsbtlmndzaeEo"]


def _table(draw: random.Random, data: bytes, schema: Any) -> bytes:
    """A record batch with values changed, rows left out, given twice or in another order; or nothing but the schema."""
    batch = pa.ipc.read_record_batch(pa.py_buffer(data), schema)
    columns = [batch.column(i).to_pylist() for i in range(batch.num_columns)]
    for _ in range(draw.choice((1, 1, 2))):
        at = draw.randrange(len(columns))
        values = columns[at]
        kind = schema.field(at).type
        match draw.randrange(8):
            case 0:
                columns = [column[:-1] for column in columns]
            case 1:
                columns = [[*column, *column[:1]] for column in columns]
            case 2:
                columns = [column[::-1] for column in columns]
            case 3 if values:
                values[draw.randrange(len(values))] = None
            case 4:
                values.reverse()
            case _ if values:
                place = draw.randrange(len(values))
                value = values[place]
                if pa.types.is_binary(kind) and isinstance(value, bytes):
                    values[place] = _plain(draw, value)
                elif pa.types.is_integer(kind):
                    values[place] = draw.choice([*ODD_NUMBERS, *values, (value or 0) + 1, (value or 0) - 1])
                else:
                    values[place] = mutated(draw, value)
    arrays = []
    for column, field, old in zip(columns, schema, batch.columns, strict=True):
        try:
            arrays.append(pa.array(column, field.type))
        except (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError):
            arrays.append(old)
    size = min(map(len, arrays))
    options = pa.ipc.IpcWriteOptions(compression="lz4") if draw.random() < 0.05 else None
    new = pa.RecordBatch.from_arrays([array.slice(0, size) for array in arrays], schema=schema)
    if options is None:
        return bytes(new.serialize())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        writer.write_batch(new)
    reader = pa.ipc.MessageReader.open_stream(sink.getvalue())
    reader.read_next_message()
    return bytes(reader.read_next_message().serialize())
