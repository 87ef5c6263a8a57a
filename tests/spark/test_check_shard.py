"""The check of a shard's pages: sound ones have no problem, and damage is named with its page."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
from fuzz_pages import Kind, Target, kinds
from shards import FINGERPRINT, Stream, small_pages
from spark.test_live_from_shard import EVERY_KIND, cut_at, table_of
from stored_streams import SHARD, described, fed, queries_of, store_of

import slidewise as sw
from slidewise.engine.codec import Reader, Writer
from slidewise.spark.inspect.check import check_shard
from slidewise.spark.inspect.opened_shard import OpenedShard
from slidewise.spark.inspect.shard_tasks import check, sum_up
from slidewise.spark.inspect.summary import Scale, shard_summary
from slidewise.spark.inspect.written_query import WrittenQuery
from slidewise.spark.state.pages import LARGE_KEY_BITS, TRAIL, MemoryStore, open_page, seal_page
from slidewise.spark.state.seven_bits import encode_text
from slidewise.spark.stream.query_description import QueryDescription
from slidewise.spark.stream.shard_labels import shard_label
from slidewise.stream_state import live_of_shards

LARGE = sw.Sliding(
    by="k",
    on="ts",
    total=sw.sum("x").over("100s"),
    top=sw.max("i").over(rows=150),
    cells=sw.mean("x").over("150s", grain="1s"),
    all=sw.sum("i").over("all"),
)
BEATS = sw.Sliding(by="k", on="ts", every="10s", n=sw.sum("i").over("60s"), middle=sw.median("x").over("60s"))


def stored(definition: sw.Sliding, size: int = 131_072, seed: int = 3) -> tuple[Stream, MemoryStore]:
    """A stream whose windows are full, and of which rows wait."""
    table = table_of(seed, 1_500)
    with small_pages(size, slots=4):
        stream = described(definition, table.schema)
        fed(stream, table, cut_at(190), seed)
    return stream, store_of(stream)


def problems_of(store: MemoryStore, definition: sw.Sliding) -> list[Any]:
    return check_shard(store, SHARD, queries_of(store, definition))


@pytest.fixture(scope="module")
def large() -> MemoryStore:
    return stored(LARGE, 1_000)[1]


@pytest.mark.parametrize(
    ("definition", "size"), [(EVERY_KIND, 131_072), (EVERY_KIND, 600), (LARGE, 1_000), (BEATS, 131_072), (BEATS, 600)]
)
def test_what_a_stream_has_written_is_sound(definition: sw.Sliding, size: int) -> None:
    with small_pages(size, slots=4):
        _, store = stored(definition, size)
        assert problems_of(store, definition) == []


def some_pages(store: MemoryStore) -> list[int]:
    """Pages of every kind: all that are no large key's, all headers, and one in six of the others."""
    low = (1 << LARGE_KEY_BITS) - 1
    return [
        n for i, n in enumerate(sorted(store)) if i % 6 == 0 or not n >> LARGE_KEY_BITS or not n & low or n >= TRAIL
    ]


def test_a_changed_byte_is_found_in_pages_of_every_kind(large: MemoryStore) -> None:
    with small_pages(1_000, slots=4):
        queries = queries_of(large, LARGE)
        assert len(large) > 50
        for number in some_pages(large):
            page = large[number]
            changed = MemoryStore({**large, number: page[:60] + bytes([page[60] ^ 1]) + page[61:]})
            found = check_shard(changed, SHARD, queries)
            assert number in {problem.page for problem in found}, f"page {number}: {found}"


def test_a_missing_page_is_found(large: MemoryStore) -> None:
    with small_pages(1_000, slots=4):
        queries = queries_of(large, LARGE)
        for number in some_pages(large):
            if number < TRAIL:
                rest = MemoryStore({other: page for other, page in large.items() if other != number})
                assert check_shard(rest, SHARD, queries), f"page {number} is missing, and nobody knows"


def test_a_page_of_nothing_is_found(large: MemoryStore) -> None:
    with small_pages(1_000, slots=4):
        queries = queries_of(large, LARGE)
        fingerprint = next(iter(queries))
        more = MemoryStore({**large, 999: seal_page(b"rows", fingerprint, SHARD, 999)})
        assert [(found.page, found.what) for found in check_shard(more, SHARD, queries)] == [
            (999, "page 999 belongs to nothing in the directory")
        ]


def numbers_of(store: MemoryStore, header: bool) -> list[int]:
    """The pages of large keys: headers, or slots of windows."""
    large = [number for number in store if number < TRAIL and number >> LARGE_KEY_BITS]
    low = (1 << LARGE_KEY_BITS) - 1
    return [number for number in large if (number & low == 0 if header else number & low >= 1 << 28)]


@pytest.mark.parametrize("header", [False, True])
def test_a_partial_that_is_not_that_of_its_rows_is_found(large: MemoryStore, header: bool) -> None:
    """With the checksum made anew, so that only the rows tell."""
    forged = 0
    with small_pages(1_000, slots=4):
        queries = queries_of(large, LARGE)
        fingerprint = next(iter(queries))
        for number in numbers_of(large, header):
            source = Reader(open_page(large[number], fingerprint, SHARD, number))
            values = []
            while not source.ended:
                values.append(source.value())
            changed = [_forged(value) for value in values]
            if repr(changed) == repr(values):
                continue
            out = Writer()
            for value in changed:
                out.value(value)
            page = seal_page(bytes(out.data), fingerprint, SHARD, number)
            found = check_shard(MemoryStore({**large, number: page}), SHARD, queries)
            if found:
                forged += 1
                assert "another one" in found[0].what
                assert found[0].page == number >> LARGE_KEY_BITS << LARGE_KEY_BITS
    assert forged >= 3, "so many pages were changed, and found"


def _forged(value: Any) -> Any:
    """The same with every state's fractions and counts a little greater."""
    if isinstance(value, list):
        return [_forged(part) for part in value]
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], tuple):
        return value[0], tuple(None if part is None else _more(part) for part in value[1])
    return value


def _more(part: Any) -> Any:
    if isinstance(part, tuple):
        return tuple(_more(number) for number in part)
    return part * 2 + 1e18 if isinstance(part, float) else part


def test_reports_go_on_after_a_damaged_shard(large: MemoryStore) -> None:
    with small_pages(1_000, slots=4):
        queries = queries_of(large, LARGE)
        fingerprint = next(iter(queries))
        pages = {number: open_page(page, fingerprint, SHARD, number) for number, page in large.items()}
        sound = {number: seal_page(page, fingerprint, 4, number) for number, page in pages.items()}
        broken = {**large, 0: large[0][:-1] + b"x"}
        rows = [(shard_label(SHARD), number, encode_text(page)) for number, page in broken.items()]
        rows += [(shard_label(SHARD), 77, "no page é")]
        rows += [(shard_label(4), number, encode_text(page)) for number, page in sound.items()]
        batch = pa.record_batch([pa.array(list(column)) for column in zip(*rows, strict=True)], names=["s", "n", "p"])
        found = [json.loads(report.column(1)[0].as_py()) for report in check(queries, [batch])]
        summaries = [json.loads(report.column(1)[0].as_py()) for report in sum_up(queries, 3, None, [batch])]
    assert [problem[0] for problem in found[0]["problems"]] == [0, 77]
    assert "its checksum does not match" in found[0]["problems"][0][1]
    assert found[1] == {"pages": len(large), "problems": []}
    assert "its checksum does not match" in summaries[0]["error"]
    assert (summaries[1]["keys"], summaries[1]["shard"]) == (4, 4)


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.name)
def test_crafted_pages_raise_no_error_but_ours(kind: Kind) -> None:
    """Values changed, and checksums made anew: a check ends and reports, whatever it meets, and so do the others."""
    target = Target(kind)
    draw = random.Random(11)
    query = WrittenQuery(kind.definition, FINGERPRINT, "", QueryDescription(None, (), 1, kind.forget_after))
    reported = 0
    with kind.pages():
        assert check_shard(MemoryStore(target.store), SHARD, {FINGERPRINT: query}) == []
        for _ in range(20):
            store = MemoryStore(target.crafted(draw))
            reported += bool(check_shard(store, SHARD, {FINGERPRINT: query}))
            with suppress(sw.SlidewiseError):
                shard_summary(OpenedShard(store, SHARD, {FINGERPRINT: query}), 3, Scale(0, 10**9))
            with suppress(sw.SlidewiseError):
                opened = OpenedShard(store, SHARD, {FINGERPRINT: query})
                live_of_shards(kind.definition, lambda _: kind.definition.live(), [opened], opened.directory.released)
    assert reported > 10
