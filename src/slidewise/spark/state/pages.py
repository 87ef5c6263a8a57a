"""A shard's pages: bytes under numbers, buffered so that each is read and written at most once in a call.

A page, numbers little-endian:

    4 bytes    "SWPG"
    2          the format's version
    16         the stream's fingerprint
    4          the shard
    8          the page's number in the shard; page 0 is the shard's directory, and the last three are its trail, see
               `directory`, and the query's description
    1          how the payload is compressed, see `compression`
    4          the payload's length
    4          the length of what follows
    ...        the payload, compressed
    16         BLAKE2b of everything before
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from hashlib import blake2b
from typing import Protocol

import pyarrow as pa

from slidewise.errors import SnapshotError
from slidewise.spark.state.compression import compress, decompress
from slidewise.spark.state.page_checks import check_message, reading, require

MAGIC = b"SWPG"
VERSION = 4
OLDEST = 2  # that can be read
DIRECTORY = 0
DESCRIPTION = 2**63 - 1  # the page with the query's description
TRAIL = 2**63 - 3  # and the one after it: the number of the last call, and of the one before
HISTORY_RUN = 2**63 - 4  # no page: which run of the query took in its history, as shard 0 has it
LARGE_KEY_BITS = 36  # the bits of a page's number below those that are a large key's
# A page of several keys is split above this, so that pages are 16 to 64 KB once they are compressed.
MAX_PAGE_BYTES = 131_072
_HEADER = struct.Struct("<4sH16sIQBII")
_DIGEST = 16


class OtherQueryError(SnapshotError):
    """A page was written by another query than the one that reads it."""


class PageStore(Protocol):
    """Where a shard's pages are stored: a map state of Spark, or a dict in tests."""

    def get(self, number: int) -> bytes | None: ...

    def put(self, number: int, page: bytes) -> None: ...

    def remove(self, number: int) -> None: ...


class MemoryStore(dict[int, bytes]):
    """A `PageStore` in memory: what is written there reaches no checkpoint by itself."""

    def put(self, number: int, page: bytes) -> None:
        self[number] = page

    def remove(self, number: int) -> None:
        self.pop(number, None)


class Pages:
    """The pages of one shard during one call: changes are buffered here until `flush` writes them."""

    def __init__(self, store: PageStore, fingerprint: str, shard: int) -> None:
        self._store = store
        self._fingerprint = fingerprint
        self.shard = shard
        self._read: dict[int, bytes | None] = {}
        self._changed: dict[int, bytes | None] = {}
        self.bytes_read = 0
        self.bytes_written = 0
        self.first_new = TRAIL  # nothing is stored under this number and those up to the trail

    def read(self, number: int) -> bytes | None:
        """A page's payload, or None where there is no such page."""
        if number in self._changed:
            return self._changed[number]
        if self.first_new <= number < TRAIL:  # Spark logs a warning for each page that is asked for and not there
            return None
        if number not in self._read:
            page = self._store.get(number)
            self.bytes_read += 0 if page is None else len(page)
            self._read[number] = None if page is None else open_page(page, self._fingerprint, self.shard, number)
        return self._read[number]

    def description(self) -> str:
        """The description of the query that wrote these pages, whichever it is; empty where it left none."""
        page = self._store.get(DESCRIPTION)
        return "" if page is None else open_page(page, None, self.shard, DESCRIPTION).decode(errors="replace")

    def write(self, number: int, payload: bytes) -> None:
        self._changed[number] = payload

    def drop(self, number: int) -> None:
        self._changed[number] = None

    def flush(self) -> None:
        """Write what has changed, the directory last."""
        for number in sorted(self._changed, key=lambda n: (n == DIRECTORY, n)):
            payload = self._changed[number]
            if payload is None:
                self._store.remove(number)
            elif payload != self._read.get(number):
                page = seal_page(payload, self._fingerprint, self.shard, number)
                self.bytes_written += len(page)
                self._store.put(number, page)

    def spill(self) -> None:
        """Write what has changed, and hold no page in memory any more."""
        self.flush()
        self._changed.clear()
        self._read.clear()


def seal_page(payload: bytes, fingerprint: str, shard: int, number: int) -> bytes:
    """A payload as a page: compressed, behind a header and before a checksum."""
    how, body = compress(payload)
    head = _HEADER.pack(MAGIC, VERSION, bytes.fromhex(fingerprint), shard, number, how, len(payload), len(body))
    return head + body + _checksum(head + body)


def open_page(page: bytes, fingerprint: str | None, shard: int, number: int) -> bytes:
    """A page's payload, once the page is validated; without a fingerprint, any query's page is accepted."""
    what = f"page {number} of shard {shard}"
    if len(page) < _HEADER.size + _DIGEST or page[: len(MAGIC)] != MAGIC:
        raise SnapshotError(f"{what} is no page of Slidewise: it has {len(page)} bytes and begins with {page[:4]!r}")
    version = int.from_bytes(page[4:6], "little")
    if not OLDEST <= version <= VERSION:
        remedy = "upgrade Slidewise" if version > VERSION else "start from a new checkpoint"
        raise SnapshotError(
            f"{what} has format version {version}, and this Slidewise reads {OLDEST} to {VERSION}; {remedy}"
        )
    _, _, its_fingerprint, its_shard, its_number, how, size, length = _HEADER.unpack_from(page)
    if len(page) != _HEADER.size + length + _DIGEST:
        raise SnapshotError(f"{what} has {len(page)} of {_HEADER.size + length + _DIGEST} bytes; {RESTORE}")
    if page[-_DIGEST:] != _checksum(page[:-_DIGEST]):
        raise SnapshotError(f"{what} is damaged: its checksum does not match; {RESTORE}")
    if fingerprint is not None and its_fingerprint.hex() != fingerprint:
        raise OtherQueryError(
            "the checkpoint was written by another definition, or with other options or columns: its fingerprint is "
            f"{its_fingerprint.hex()}, and this query's {fingerprint}; go back to what wrote it, name it with "
            "upgrade_from=, or start from a new checkpoint"
        )
    if (its_shard, its_number) != (shard, number):
        raise SnapshotError(
            f"{what} was expected, and page {its_number} of shard {its_shard} was found in its place; {RESTORE}"
        )
    with reading(what):
        return decompress(how, page[_HEADER.size : -_DIGEST], size)


def page_fingerprint(page: bytes) -> str:
    """The fingerprint of the query that wrote a page, which is not validated yet."""
    return page[6:22].hex()


RESTORE = "restore the checkpoint from a copy, or start from a new one"


def _checksum(data: bytes) -> bytes:
    return blake2b(data, digest_size=_DIGEST).digest()


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """A table's rows as one record batch, which may be empty."""
    batches = table.combine_chunks().to_batches()
    if batches:
        return batches[0]
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in table.schema], schema=table.schema)


def batch_to_bytes(batch: pa.RecordBatch) -> bytes:
    """A record batch serialised without its schema."""
    return bytes(batch.serialize())


def table_from_bytes(data: bytes, schema: pa.Schema, never_null: Iterable[str] = ()) -> pa.Table:
    """The table whose only record batch these bytes are, validated in full."""
    try:
        check_message(data)
        batch = pa.ipc.read_record_batch(pa.py_buffer(data), schema)
        batch.validate(full=True)
        require(len(batch) <= 8 * len(data), f"{len(batch)} rows cannot be in {len(data)} bytes")
        for name in never_null:
            require(not batch.column(schema.get_field_index(name)).null_count, f"{name!r} has nulls")
        return pa.Table.from_batches([batch])
    except (pa.ArrowException, ValueError, OSError, EOFError) as error:
        raise SnapshotError(f"a page's rows make no sense: {error}; {RESTORE}") from error
