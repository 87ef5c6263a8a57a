"""Pages that somebody changed and whose checksums they made anew: refused, or harmless. No Spark is needed."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fuzz_pages import Kind, Target
from shards import SECOND

import slidewise as sw
from slidewise.spark.state.compression import AS_IS, LZ4, LZ4_OF_PLANES, compress, decompress
from slidewise.spark.state.page_checks import check_message
from slidewise.spark.state.pages import batch_to_bytes, open_page, seal_page, table_from_bytes
from slidewise.spark.state.seven_bits import decode_text
from slidewise.spark.stream.query_description import differences


def over(**columns: Any) -> sw.Sliding:
    return sw.Sliding(by="k", on="ts", every=columns.pop("every", None), columns=columns)


ROWS = over(n=sw.sum("i").over("20s"), seen=sw.count("s").over("all"))
KINDS = [
    Kind("rows", ROWS, forget_after=40 * SECOND),
    Kind("rows of large keys", ROWS, 300, forget_after=40 * SECOND),
    Kind("cells of large keys", over(g=sw.sum("i").over("40s", grain="2s")), 300),
    Kind("beats", over(every="5s", n=sw.sum("i").over("20s"))),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_crafted_pages_are_refused_or_harmless(kind: Kind) -> None:
    target = Target(kind)
    refused = 0
    for seed in range(20):
        try:
            refused += not target.tried(random.Random(f"{kind.name} {seed}"))[0]
        except BaseException as error:
            error.add_note(f"in the kind {kind.name!r}, seed {seed}")
            raise
    assert refused > 5, "many changes are found"


SCHEMA = pa.schema([("n", pa.int64()), ("s", pa.string())])
BATCH = pa.record_batch([pa.array([1, 2, 3]), pa.array(["a", "bb", None])], schema=SCHEMA)


def test_a_record_batch_is_checked_in_full() -> None:
    data = batch_to_bytes(BATCH)
    assert table_from_bytes(data, SCHEMA, ["n"]).to_pylist() == BATCH.to_pylist()
    with pytest.raises(sw.SnapshotError, match="'s' has nulls"):
        table_from_bytes(data, SCHEMA, ["n", "s"])
    offsets = np.array([0, 1, 3, 3], np.int32).tobytes()
    assert data.count(offsets) == 1
    for bad in ([0, 1, 3, 2**30], [0, 5, 3, 3], [-9, 1, 3, 3]):
        forged = data.replace(offsets, np.array(bad, np.int32).tobytes())
        with pytest.raises(sw.SnapshotError, match="a page's rows make no sense"):
            table_from_bytes(forged, SCHEMA)
    with pytest.raises(sw.SnapshotError, match="a page's rows make no sense"):
        table_from_bytes(data.replace(b"abb", b"a\xff\xfe"), SCHEMA)
    nothing = pa.schema([("x", pa.null())])
    many = batch_to_bytes(pa.record_batch([pa.nulls(10**6)], schema=nothing))
    with pytest.raises(sw.SnapshotError, match="1000000 rows cannot be in"):
        table_from_bytes(many, nothing)


def test_a_record_batch_says_not_how_much_memory_it_wants() -> None:
    large = pa.record_batch([pa.array(np.zeros(10_000, np.int64)), pa.array(["a"] * 10_000)], schema=SCHEMA)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_batch(large)
    messages = pa.ipc.MessageReader.open_stream(sink.getvalue())
    messages.read_next_message()
    data = bytes(messages.read_next_message().serialize())
    assert pa.ipc.read_record_batch(pa.py_buffer(data), SCHEMA).equals(large), "Arrow would read it"
    with pytest.raises(sw.SnapshotError, match="its buffers are compressed"):
        table_from_bytes(data, SCHEMA)
    check_message(batch_to_bytes(large))
    for junk in (b"", b"\xff" * 8, b"\xff\xff\xff\xff\x10\0\0\0" + b"\xff" * 64, bytes(64)):
        with pytest.raises(ValueError, match=r"no record batch|metadata|header"):
            check_message(junk)


@pytest.mark.parametrize(
    "payload", [b"", b"abc", bytes(5_000), bytes(range(256)) * 40, random.Random(1).randbytes(3_000)]
)
def test_a_payload_has_the_size_that_its_page_says(payload: bytes) -> None:
    how, data = compress(payload)
    assert decompress(how, data, len(payload)) == payload
    for size in (len(payload) + 1, len(payload) - 1, 2**32 - 1):
        with pytest.raises(ValueError, match="and not"):
            decompress(how, data, size)
    for other in {AS_IS, LZ4, LZ4_OF_PLANES, 3, 200} - {how}:
        if {how, other} != {LZ4, LZ4_OF_PLANES}:
            with pytest.raises(ValueError, match="and not"):
                decompress(other, data, 2**31)


def test_a_page_names_what_is_wrong_with_it() -> None:
    page = bytearray(seal_page(bytes(1_000), "ab" * 16, 3, 7))
    page[-60:-56] = b"\xff" * 4
    with pytest.raises(sw.SnapshotError, match="page 7 of shard 3 is damaged"):
        open_page(bytes(page), "ab" * 16, 3, 7)
    with pytest.raises(sw.SnapshotError, match="seven bits"):
        decode_text("ä")
    assert "cannot be read" in differences("[" * 100_000, "{}")
    assert "cannot be read" in differences("7", "{}")
