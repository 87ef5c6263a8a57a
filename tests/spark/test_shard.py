"""A stream's shard without Spark: the answers of one table, late rows, pages, and keys that grow and end."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import definitions.test_lanes as features
import lanes
import numpy as np
import pyarrow as pa
import pytest
from shards import FINGERPRINT, SECOND, Stream, played, small_pages, times_of

import slidewise as sw
from slidewise.spark.state.compression import AS_IS, LZ4, LZ4_OF_PLANES, compress, decompress
from slidewise.spark.state.large_key import LargeKey
from slidewise.spark.state.pages import VERSION, open_page, seal_page
from slidewise.spark.state.seven_bits import decode_text, encode_text

pytestmark = pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
CASES = {name: case for name, case in features.BY_NAME.items() if lanes.clocked(case) and name not in features.BY_TYPE}


def on_a_shard(definition: sw.Sliding, table: pa.Table) -> pa.Table:
    stream = Stream(definition, table.schema)
    times = times_of(table, "ts")
    played(stream, table, seed=len(table), delay=int(np.ptp(times)) // 8 + SECOND)
    assert stream.dropped == 0
    return lanes.as_table(definition, table, stream.found)


@pytest.fixture(scope="module")
def answers() -> dict[str, Any]:
    """With pages so small that most keys are large; with those of every day, test_stream.py has them on Spark."""
    lanes.LANES["shard"] = on_a_shard
    try:
        with small_pages(150):
            return lanes.run_together("shard", list(CASES.values()))
    finally:
        del lanes.LANES["shard"]


@pytest.mark.parametrize("name", CASES)
def test_every_feature_on_a_shard(answers: dict[str, Any], name: str) -> None:
    case, found = answers[name]
    lanes.assert_same(case, found, lanes.direct(case.definition, case.table))


START = datetime(2024, 3, 1, tzinfo=UTC)


def rows_at(seconds: list[float], **columns: Any) -> pa.Table:
    times = pa.array([START + timedelta(seconds=s) for s in seconds], pa.timestamp("us", "UTC"))
    given = {name: values if isinstance(values, list) else [values] * len(seconds) for name, values in columns.items()}
    return pa.table({"k": given.pop("k", ["a"] * len(seconds)), "ts": times, **given})


def ms(seconds: float) -> int:
    return int(START.timestamp() * 1_000 + seconds * 1_000)


longest_drop = features.longest_drop
LONG = sw.Sliding(
    by="k",
    on="ts",
    total=sw.sum("x").over("300s"),
    whole=sw.sum("n").over("300s", closed="left"),
    top=sw.max("x").over(rows=250),
    before=sw.mean("x").over(rows=40, closed="left", at_least=7),
    spread=sw.stddev("x").over("200s", closed="both"),
    where=sw.maxcount("n").where("ok").over("300s"),
    count=sw.count("x").over("300s", closed="neither"),
    drop=longest_drop("x").over("300s"),
    words=sw.max("word").over("100s"),
    four=sw.m4("word").over("300s", at_least=2),
    near=sw.quantile(0.9, approximate=0.05)("x").over("300s"),
    distinct=sw.hyperloglog(p=4)("n").over(rows=250),
    seen=sw.bloom(bits=64, probe=3)("n").where("ok").over("300s", closed="neither"),
    middle=sw.median("n").over("300s"),
    some=sw.collect("n").over(rows=3),
    far=sw.last("n").over(rows=400),
    all=sw.sum("n").over("all"),
)


def long_rows(count: int, seed: int) -> pa.Table:
    """A key with most of the rows, others with few, peers, nulls, and a gap longer than all windows."""
    choose = random.Random(seed)
    seconds, at = [], 0.0
    for i in range(count):
        at += choose.choice([0, 0, 0.5, 1, 2]) + (1_000 if i == count * 2 // 3 else 0)
        seconds.append(at)
    return rows_at(
        seconds,
        k=[choose.choice(["large"] * 8 + ["a", "b"]) for _ in seconds],
        x=[choose.choice([None, 1.5, -2.25, 0.1, 1e10, 7.0]) for _ in seconds],
        n=[choose.choice([None, 1, 2, 3, 2**40]) for _ in seconds],
        ok=[choose.random() < 0.5 for _ in seconds],
        word=[choose.choice(["p", "q", None]) for _ in seconds],
    )


@pytest.mark.parametrize("seed", range(2))
def test_large_keys_give_the_answers_of_a_table(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = long_rows(2_000, seed)
    definition = LONG
    stream = Stream(definition, table.schema)
    spanned = []
    monkeypatch.setattr(LargeKey, "_spanned", _noting(LargeKey._spanned, spanned))
    with small_pages(2_000, slots=4):
        played(stream, table, seed, most=90)
    assert len(spanned) > 100  # windows with chunks in the middle that were not read
    found = lanes.as_table(definition, table, stream.found)
    case = lanes.Case("long", definition, table)
    expected = [{name: lanes.plain(row[name]) for name in definition.columns} for row in definition(table).to_pylist()]
    lanes.assert_same(case, in_order(case, found.to_pylist()), expected)


def _noting(method: Any, calls: list[int]) -> Any:
    def noted(*given: Any) -> Any:
        calls.append(1)
        return method(*given)

    return noted


def in_order(case: lanes.Case, answered: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers in the table's order; rows that are equal in everything may exchange theirs."""
    names = case.table.column_names
    waiting: dict[str, list[dict[str, Any]]] = {}
    for row in answered:
        waiting.setdefault(repr([row[name] for name in names]), []).append(row)
    found = [waiting[repr([row[name] for name in names])].pop() for row in case.table.to_pylist()]
    assert not any(waiting.values())
    return [{name: lanes.plain(row[name]) for name in case.definition.columns} for row in found]


SUM = sw.Sliding(by="k", on="ts", s=sw.sum("x").over("10s"))


def test_rows_at_just_before_and_just_after_the_watermark() -> None:
    table = rows_at([1, 2, 2.000001, 3], x=[1.0, 2.0, 4.0, 8.0])
    stream = Stream(SUM, table.schema)
    assert [row["s"] for row in stream.push(table, ms(2))] == [1.0, 3.0]  # at the watermark is answered
    late = rows_at([1.999999, 2, 2.000001], x=[16.0, 32.0, 64.0])
    assert stream.push(late, ms(2)) == []
    assert stream.dropped == 2  # those before and at it; just after it is in time
    assert sorted(row["s"] for row in stream.push(table.slice(0, 0), ms(3))) == [71.0, 71.0, 79.0]


def test_a_row_behind_the_watermark_is_in_time_where_nothing_was_released_past_it() -> None:
    table = rows_at([1], x=[1.0])
    stream = Stream(SUM, table.schema)
    assert len(stream.push(table, ms(5))) == 1  # the shard has seen no watermark before
    assert stream.push(table, ms(5)) == []
    assert stream.dropped == 1


@pytest.mark.parametrize("pause", [False, True])
def test_whether_a_row_beyond_the_delay_is_late_depends_on_micro_batches_without_data(pause: bool) -> None:
    table = rows_at([1, 12, 20], x=[1.0, 2.0, 4.0])
    stream = Stream(SUM, table.schema)
    stream.push(table.take([0, 2]), 0)
    if pause:  # Spark runs one without data when the watermark has moved and no rows are there
        assert len(stream.push(table.slice(0, 0), ms(15))) == 1
    stream.push(table.slice(1, 1), ms(15))
    assert (len(stream.found), stream.dropped) == ((1, 1) if pause else (2, 0))


def test_rows_that_are_late_or_ahead_of_the_clock_come_out_with_the_reason_exactly_once() -> None:
    table = rows_at([1, 2, 3, 500, 502], x=[1.0, 2.0, 3.0, 4.0, 5.0])
    stream = Stream(SUM, table.schema, ahead=100 * SECOND, late_to="why")
    found = stream.push(table, ms(2), clock=ms(400))
    assert [(row["x"], row["s"], row["why"]) for row in found] == [
        (1.0, 1.0, None),
        (2.0, 3.0, None),
        (5.0, None, "ahead"),  # a row just as far ahead is believed
    ]
    found = stream.push(rows_at([2, 3], x=[8.0, 16.0]), ms(1_000), clock=ms(400))
    assert sorted((row["x"], row["s"], row["why"]) for row in found) == [
        (3.0, 22.0, None),
        (4.0, 4.0, None),
        (8.0, None, "late"),
        (16.0, 22.0, None),
    ]
    assert (stream.dropped, stream.ahead) == (1, 1)
    assert stream.push(table.slice(0, 0), ms(2_000)) == []


def test_many_late_rows_are_warned_of_once() -> None:
    seconds = np.arange(1_000).tolist()
    stream = Stream(SUM, rows_at([0], x=[1.0]).schema)
    stream.push(rows_at(seconds, x=1.0), ms(500))
    stream.push(rows_at(seconds[:50], x=1.0), ms(500))  # 50 of 1,050
    with pytest.warns(
        UserWarning, match=r"of the last 1060 rows of shard 3 of the stream 60 were put aside as late.*up to 2.*ahead="
    ):
        stream.push(rows_at(seconds[:10], x=1.0), ms(500))
    stream.push(rows_at(seconds[:10], x=1.0), ms(500))
    assert stream.dropped == 70


@pytest.mark.parametrize("older", range(7))
def test_an_older_file_of_changes_in_the_place_of_the_last_one_is_an_error(older: int) -> None:
    """State is what a sequence of files of changes makes it, as Spark has it."""
    stream = Stream(SUM, rows_at([0], x=[1.0]).schema)
    changes: list[dict[int, bytes | None]] = []
    for i in range(8):
        before = {**stream.store.pages, **stream.store.trail}
        stream.push(rows_at([i, i + 3], x=[1.0, 2.0]), ms(max(i - 1, 0)), batch=i)
        after = {**stream.store.pages, **stream.store.trail}
        changed: dict[int, bytes | None] = {n: page for n, page in after.items() if before.get(n) != page}
        changes.append(changed | {n: None for n in before if n not in after})
    state: dict[int, bytes | None] = {}
    for one in (*changes[:-1], changes[older]):
        state |= one
    stream.store.pages = {n: page for n, page in state.items() if page is not None and n not in stream.store.trail}
    stream.store.trail = {n: page for n, page in state.items() if page is not None and n in stream.store.trail}
    if older == 6:  # nothing but the last change is missing, which a shard that is not always called cannot know
        stream.push(rows_at([9], x=[1.0]), ms(8), batch=8)
        return
    with pytest.raises(sw.SnapshotError, match="a file of the checkpoint was replaced by an older one"):
        stream.push(rows_at([9], x=[1.0]), ms(8), batch=8)


def test_state_of_a_later_micro_batch_is_an_error() -> None:
    stream = Stream(SUM, rows_at([0], x=[1.0]).schema)
    stream.push(rows_at([1], x=[1.0]), ms(0), batch=7)
    for batch in (6, 7):
        with pytest.raises(sw.SnapshotError, match=f"that of micro-batch 7, and this is micro-batch {batch}"):
            stream.push(rows_at([1], x=[1.0]), ms(0), batch=batch)
    stream.push(rows_at([1], x=[1.0]), ms(0), batch=9)


def test_pages_of_the_version_before_are_read() -> None:
    table = rows_at([1, 2, 30], x=[1.0, 2.0, 4.0])
    stream = Stream(SUM, table.schema)
    with (
        patch("slidewise.spark.state.pages.VERSION", 2),
        patch("slidewise.spark.state.directory.Directory._write_since_version_3", lambda _, out: None),
    ):
        stream.push(table.slice(0, 2), ms(2))
    stream.push(table.slice(2), ms(2))
    assert [row["s"] for row in stream.push(table.slice(0, 0), ms(30))] == [4.0]
    assert {page[4] for page in stream.store.pages.values()} <= {2, VERSION}


def test_without_a_watermark_rows_wait_those_before_1970_too() -> None:
    times = pa.array([datetime(1969, 12, 31, 23, 59, s, tzinfo=UTC) for s in (1, 2)], pa.timestamp("us", "UTC"))
    table = pa.table({"k": ["a", "a"], "ts": times, "x": [1.0, 2.0]})
    stream = Stream(SUM, table.schema)
    assert stream.push(table, 0) == []
    assert stream.timer == 1  # the first moment that a watermark can have
    assert sorted(row["s"] for row in stream.push(table.slice(0, 0), 1)) == [1.0, 3.0]


def test_timers_are_set_for_what_waits_and_for_what_ends() -> None:
    table = rows_at([1.0000005, 30], x=[1.0, 2.0])
    stream = Stream(SUM, table.schema)
    stream.push(table, ms(0))
    assert stream.timer == ms(1) + 1  # rounded up
    stream.push(table.slice(0, 0), ms(1) + 1)
    assert stream.timer == ms(11) + 1  # when the window of the first row ends
    assert len(stream.store.pages) == 3
    stream.push(table.slice(0, 0), ms(11) + 1)
    assert stream.timer == ms(30)
    assert len(stream.store.pages) == 2  # the directory, and a page of waiting rows


@pytest.mark.parametrize("size", [65_536, 300])
def test_state_ends_with_the_windows(size: int) -> None:
    table = long_rows(600, 1)
    stream = Stream(sw.Sliding(by="k", on="ts", s=sw.sum("x").over("60s"), c=sw.max("word").over("9s")), table.schema)
    with small_pages(size):
        played(stream, table, 1)
        assert len(stream.store.pages) > 1
        stream.push(table.slice(0, 0), ms(10_000))
    assert list(stream.store.pages) == [0]
    assert stream.timer is None


def test_a_row_window_keeps_its_rows_and_forgets_them_when_told() -> None:
    definition = sw.Sliding(by="k", on="ts", s=sw.sum("x").over(rows=3), n=sw.count().over("all"))
    table = rows_at([0, 1, 100, 100.5, 400], x=[1.0, 2.0, 4.0, 8.0, 16.0])
    kept = Stream(definition, table.schema)
    forgets = Stream(definition, table.schema, forget_after=99 * SECOND)
    for stream in (kept, forgets):
        for i in range(len(table)):
            stream.push(table.slice(i, 1), ms(max(0.001, i)))
        stream.push(table.slice(0, 0), ms(500))
    assert [(row["s"], row["n"]) for row in kept.found] == [(1, 1), (3, 2), (7, 3), (14, 4), (28, 5)]
    assert [(row["s"], row["n"]) for row in forgets.found] == [(1, 1), (3, 2), (7, 3), (14, 4), (16, 1)]
    assert len(kept.store.pages) == 2
    assert list(forgets.store.pages) == [0]


@pytest.mark.parametrize("cuts", [1, 2, 7, 60])
@pytest.mark.parametrize("size", [65_536, 200])
def test_forgetting_does_not_depend_on_the_calls(cuts: int, size: int) -> None:
    choose = random.Random(3)
    seconds = np.cumsum([choose.choice([1, 2, 3, 12, 30]) for _ in range(200)]).tolist()
    table = rows_at(seconds, k=[choose.choice("ab") for _ in seconds], x=[float(i) for i in range(200)])
    definition = sw.Sliding(by="k", on="ts", s=sw.sum("x").over(rows=9), n=sw.count().over("all"))
    stream = Stream(definition, table.schema, forget_after=20 * SECOND)
    with small_pages(size):
        played(stream, table, cuts, most=cuts)
    session, last, expected = dict.fromkeys("ab", 0), {}, []
    for row, second in zip(table.to_pylist(), seconds, strict=True):
        session[row["k"]] += second - last.get(row["k"], second) > 20
        last[row["k"]] = second
        expected.append(f"{row['k']} {session[row['k']]}")
    in_sessions = definition(table.set_column(0, "k", pa.array(expected))).to_pylist()
    found = sorted(stream.found, key=lambda row: row["x"])
    assert [(row["s"], row["n"]) for row in found] == [(row["s"], row["n"]) for row in in_sessions]


def test_pages_that_are_not_touched_are_neither_read_nor_written() -> None:
    definition = sw.Sliding(by="k", on="ts", s=sw.sum("x").over(rows=50))
    keys = [f"key {i}" for i in range(400)]
    stream = Stream(definition, rows_at([0], x=[1.0]).schema)
    with small_pages(30_000):
        for i in range(20):
            stream.push(rows_at([i] * 400, k=keys, x=1.0), ms(i))
        assert len(stream.store.pages) > 3
        stream.push(rows_at([21], k=["key 7"], x=1.0), ms(30))
    assert len(stream.store.read) == 2  # the directory, and the key's page
    assert len(stream.store.written) == 2


SKETCHES = {"near": sw.quantile(0.9, approximate=0.01), "distinct": sw.hyperloglog(p=6), "seen": sw.bloom(probe=2.0)}


@pytest.mark.parametrize("by", ["rows", "time"])
def test_what_is_read_and_written_does_not_grow_with_the_window(by: str) -> None:
    """The worst call of two sizes of window; a window kept in one piece would grow by a factor of 10."""
    worst = []
    for n in (2_000, 20_000):
        of = {"s": sw.sum, "m": sw.max, **(SKETCHES if by == "rows" else {})}
        window = {"rows": n} if by == "rows" else {"last": f"{n} s"}
        columns = {name: op("x").over(**window) for name, op in of.items()}
        definition = sw.Sliding(by="k", on="ts", columns=columns)
        stream = Stream(definition, rows_at([0], x=[1.0]).schema)
        seconds = np.arange(n * 2 + 10_000).tolist()
        with small_pages(3_200, slots=4):
            stream.push(rows_at(seconds[:n], x=1.0), ms(n - 1))
            costs = []
            for at in range(n, len(seconds), 500):
                found = stream.push(rows_at(seconds[at : at + 500], x=1.0), ms(at + 499))
                costs.append((len(stream.store.read) + len(stream.store.written), stream.store.bytes))
                assert found[-1]["s"] == n
        worst.append((max(c for c, _ in costs), max(c for _, c in costs)))
    pages, size = zip(*worst, strict=True)
    assert max(pages) <= 1.3 * min(pages), worst
    assert max(size) <= 1.3 * min(size), worst


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda p: p[:60] + bytes([p[60] ^ 1]) + p[61:], "damaged: its checksum does not match"),
        (lambda p: p[:-1], r"has \d+ of \d+ bytes"),
        (
            lambda p: seal_page(open_page(p, "ab" * 16, 3, 1), "ab" * 16, 3, 2),
            "page 2 of shard 3 was found in its place",
        ),
        (
            lambda p: seal_page(open_page(p, "ab" * 16, 3, 1), "ab" * 16, 4, 1),
            "page 1 of shard 4 was found in its place",
        ),
        (lambda p: p[:4] + b"\x05\x00" + p[6:], "format version 5, and this Slidewise reads 2 to 4; upgrade"),
        (lambda p: p[:4] + b"\x01\x00" + p[6:], "format version 1, and this Slidewise reads 2 to 4; start from"),
        (lambda p: b"nonsense" * 20, "no page of Slidewise"),
        (
            lambda p: seal_page(open_page(p, "ab" * 16, 3, 1), "cd" * 16, 3, 1),
            f"fingerprint is {'cd' * 16}.*{'ab' * 16}",
        ),
    ],
)
@pytest.mark.parametrize("waits", [True, False])
def test_bad_pages_are_errors(spoil: Any, message: str, waits: bool) -> None:
    table = rows_at([1, 2, 3], x=[1.0, 2.0, 3.0])
    stream = Stream(SUM, table.schema)
    stream.push(table, ms(0 if waits else 9))
    stream.store.pages[1] = spoil(stream.store.pages[1])
    with pytest.raises(sw.SnapshotError, match=message):
        stream.push(rows_at([10], x=[1.0]), ms(11))
    assert len(stream.found) == (0 if waits else 3)


@pytest.mark.parametrize(
    ("payload", "how", "most"),
    [
        (b"", AS_IS, 0),
        (b"short" * 40, AS_IS, 200),
        (random.Random(1).randbytes(5_003), AS_IS, 5_003),
        (b"the same words again and again " * 99, LZ4, 200),
        (np.arange(10**15, 10**15 + 4_000 * 1_001, 1_001).tobytes() + b"odd", LZ4_OF_PLANES, 32_003 // 2),
    ],
)
def test_payloads_are_made_smaller_where_they_can_be(payload: bytes, how: int, most: int) -> None:
    done, data = compress(payload)
    assert done == how
    assert len(data) <= most
    assert decompress(done, data, len(payload)) == payload
    assert open_page(seal_page(payload, FINGERPRINT, 3, 1), FINGERPRINT, 3, 1) == payload


@pytest.mark.parametrize("size", [65_536, 300])
def test_a_sum_that_does_not_fit_is_named(size: int) -> None:
    seconds = list(range(100))
    table = rows_at(seconds, k=["a", "b"] * 50, n=[2**62 if s in (61, 71) else 1 for s in seconds])
    stream = Stream(sw.Sliding(by="k", on="ts", total=sw.sum("n").over("50s")), table.schema)
    with small_pages(size):
        for at in range(0, 60, 20):
            stream.push(table.slice(at, 20), ms(at + 19))
        with pytest.raises(sw.SumOverflowError, match=r"does not fit.*k=b, ts=2024-03-01 00:01:"):
            stream.push(table.slice(60), ms(100))


def test_state_that_cannot_be_stored_is_refused() -> None:
    odd = sw.operator(
        name="odd", identity=frozenset(), lift=lambda x: frozenset([x]), combine=lambda a, b: a | b, lower=len
    )
    table = rows_at([1, 2], x=["p", "q"])
    stream = Stream(sw.Sliding(by="k", on="ts", n=odd("x").over("all")), table.schema)
    with pytest.raises(sw.SlidewiseError, match=r"a state of 'n' is or holds .* give its operator encode= and decode="):
        stream.push(table, ms(5))


@pytest.mark.parametrize("size", [*range(17), 1_000])
def test_bytes_as_text_are_the_same_bytes_again(size: int) -> None:
    data = np.random.default_rng(size).integers(0, 256, size).astype(np.uint8).tobytes()
    text = encode_text(data)
    assert text.isascii()
    assert decode_text(text) == data
