"""Stored state: going on from a snapshot is never having stopped, and what is damaged or strange is refused."""

from __future__ import annotations

import math
import random
import struct
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from golden_snapshots import golden_events, golden_live
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.codec import NotPlainError, Reader, Writer
from slidewise.live.snapshot.snapshot import VERSION
from slidewise.operators.values.equality import same

GOLDEN = Path(__file__).parent / "golden"


def definition() -> sw.Sliding:
    """Every operator that is built in, over windows of all kinds."""
    return sw.Sliding(
        by=["k", "line"],
        on="ts",
        peak=sw.max("x").over("20s"),
        low=sw.min("x").over(rows=7),
        tops=sw.maxcount("i").over("20s"),
        bottoms=sw.mincount("i").over("20s", closed="both"),
        total=sw.sum("i").over("20s", closed="left"),
        float_total=sw.sum("x").over("20s"),
        mean=sw.mean("x").where("ok").over("20s"),
        geo=sw.geomean("x").over(rows=5),
        product=sw.product("i").over(rows=5),
        deviation=sw.stddev("x").over("20s"),
        variance=sw.variance("x").over("all"),
        together=sw.covariance("x", "i").over("20s"),
        correlated=sw.correlation("x", "i").over(rows=9),
        n=sw.count().over("20s", closed="neither"),
        seen=sw.count("x").over("all", closed="left"),
        first=sw.first("s").over(rows=3, closed="left"),
        last=sw.last("s").over("20s"),
        best=sw.argmax("s", "x").over("20s"),
        worst=sw.argmin("ts", "x").over("20s"),
        span=sw.value_range("i").over("20s"),
        swing=sw.relative_variation("i").over("20s"),
        four=sw.m4("x").over("20s"),
        all_ok=sw.bool_and("ok").over(rows=3),
        some=sw.bool_or("ok").over("20s"),
        kinds=sw.count_distinct("s").over("20s"),
        list=sw.collect("s").over(rows=3),
        about=sw.hyperloglog(p=4)("i").over("20s"),
        member=sw.bloom(bits=64, hashes=2, probe="a")("s").over("20s"),
        filter=sw.bloom(bits=64, hashes=2)("s").over(rows=3),
        often=sw.countmin(width=8, depth=2)("s").over("20s"),
        guess=sw.naive_bayes("s", "i").over("20s"),
    )


def events(count: int, seed: int = 3) -> list[dict[str, Any]]:
    choose = random.Random(seed)
    start = datetime(2024, 3, 1, tzinfo=UTC)
    return [
        {
            "k": choose.choice(["a", None]),
            "line": choose.choice([1.5, math.nan]),
            "ts": start + timedelta(seconds=i // 2),
            "x": choose.choice([None, 0.5, 1.25, -0.0, 3.0, math.nan]),
            "i": choose.choice([None, -3, 0, 1, 2, 2**40]),
            "s": choose.choice([None, "", "a", "é", "b"]),
            "ok": choose.choice([None, True, False]),
        }
        for i in range(count)
    ]


def go_on(sliding: sw.Sliding, count: int, late: str, spikes: bool) -> None:
    """Snapshot, restore and continue at every event."""
    one, other = sliding.live(late=late, spikes=spikes), sliding.live(late=late, spikes=spikes)
    for row in events(count):
        assert same(one.push(row), other.push(row))
        blob = other.snapshot()
        other = sliding.restore(blob)
        assert other.snapshot() == blob
    assert one.stats == other.stats
    if late != "error":
        assert same(one.flush(), other.flush())


@pytest.mark.parametrize("late", ["error", "wait:5s"])
@pytest.mark.parametrize("spikes", [False, True])
def test_going_on_at_every_one_of_2_000_events(late: str, spikes: bool) -> None:
    go_on(
        sw.Sliding(
            by="k",
            on="ts",
            peak=sw.max("x").over("20s"),
            mean=sw.mean("x").where("ok").over("20s", closed="both"),
            n=sw.count().over(rows=9, closed="left"),
            total=sw.sum("x").over("all"),
        ),
        2_000,
        late,
        spikes,
    )


@pytest.mark.parametrize("spikes", [False, True])
def test_going_on_with_every_operator(spikes: bool) -> None:
    go_on(definition(), 150, "error", spikes)


def test_a_snapshot_after_a_batch() -> None:
    sliding = sw.Sliding(by="k", on="ts", a=sw.max("x").over("20s"), b=sw.last("s").over(rows=3, closed="left"))
    rows = [{name: row[name] for name in ("k", "ts", "x", "s")} for row in events(800)]
    one = sliding.live()
    one.push_many(pa.Table.from_pylist(rows[:600]))
    other = sliding.restore(one.snapshot())
    assert other.snapshot() == one.snapshot()
    assert same([one.push(row) for row in rows[600:]], [other.push(row) for row in rows[600:]])


SMALL = sw.Sliding(by="k", on="ts", peak=sw.max("x").over("20s"), all=sw.mean("i").over("all"))


def blob() -> bytes:
    live = SMALL.live(late="wait:5s")
    for row in events(40):
        live.push(row)
    return live.snapshot()


def test_every_flipped_bit_is_found() -> None:
    good = blob()
    for at in range(len(good)):
        bad = bytearray(good)
        bad[at] ^= 1 << at % 8
        with pytest.raises(sw.SnapshotError):
            SMALL.restore(bytes(bad))


def test_every_truncation_is_found() -> None:
    good = blob()
    for size in range(0, len(good), 7):
        with pytest.raises(sw.SnapshotError):
            SMALL.restore(good[:size])
    with pytest.raises(sw.SnapshotError, match="3 bytes follow"):
        SMALL.restore(good + b"xyz")


def test_what_is_refused_says_why() -> None:
    good = blob()
    other = sw.Sliding(by="k", on="ts", peak=sw.max("x").over("20s"))
    with pytest.raises(sw.SnapshotError) as caught:
        other.restore(good)
    assert SMALL.fingerprint() in str(caught.value)
    assert other.fingerprint() in str(caught.value)
    newer = good[:8] + struct.pack("<H", VERSION + 1) + good[10:]
    for wrong, message in [
        (newer, f"format version {VERSION + 1}, and this Slidewise reads up to {VERSION}; upgrade"),
        (b"", "no snapshot of Slidewise"),
        (b"PAR1" * 20, "no snapshot of Slidewise"),
        (good[:20], "truncated: it has 20 bytes"),
        (good[:-1], "truncated: it has"),
        (good[:-1] + bytes([good[-1] ^ 1]), "checksum does not match"),
        ("text", "a snapshot is bytes, not str"),
    ]:
        with pytest.raises(sw.SnapshotError, match=message):
            SMALL.restore(wrong)  # type: ignore[arg-type]
    assert SMALL.restore(bytearray(good)).stats == SMALL.restore(memoryview(good)).stats


def test_state_that_is_not_plain_is_refused_with_the_reason() -> None:
    heap = sw.operator(
        name="heap", identity=frozenset(), lift=lambda x: frozenset([x]), combine=lambda a, b: a | b, lower=len
    )
    sliding = sw.Sliding(n=heap("x").over(rows=3))
    live = sliding.live()
    live.push({"x": 1})
    with pytest.raises(
        sw.SnapshotError, match=r"a state of 'n' is or holds frozenset.*give its operator encode= and decode="
    ):
        live.snapshot()
    stored = sw.operator(
        name="heap",
        identity=frozenset(),
        lift=lambda x: frozenset([x]),
        combine=lambda a, b: a | b,
        lower=len,
        encode=lambda state: tuple(sorted(state)),
        decode=frozenset,
    )
    sliding = sw.Sliding(n=stored("x").over(rows=3))
    live = sliding.live()
    for x in (1, 2, 1):
        live.push({"x": x})
    assert sliding.restore(live.snapshot()).push({"x": 5}) == live.push({"x": 5}) == {"n": 3}
    odd = sw.Sliding(n=sw.last("x").over(rows=3)).live()
    odd.push({"x": complex(1, 2)})
    with pytest.raises(sw.SnapshotError, match="a row of 'n' is or holds"):
        odd.snapshot()


SINCE = {"shared": 2, "grain": 3, "finer_times": 6, "text_and_guard": 6, "open_and_waiting": 7}
KINDS = ["daba_lite", "subtract_on_evict", "slick_deque", "running", "revised", *SINCE]


@pytest.mark.parametrize("kind", KINDS)
def test_golden_snapshots(kind: str) -> None:
    """The bytes of each algorithm's state. Where these must change, raise VERSION, keep reading the old ones, and
    write new files: python tests/definitions/test_snapshot.py"""
    version = SINCE.get(kind, 1)  # what is in a snapshot decides which version it needs
    file = GOLDEN / f"{kind}_v{version}.hex"
    assert file.exists(), "raise of VERSION: write the new golden files, and keep the old ones readable"
    stored = bytes.fromhex(file.read_text())
    assert golden_snapshot(kind) == stored, "the bytes of a snapshot have changed without a new version"


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.hex")), ids=lambda file: file.stem)
def test_golden_snapshots_of_every_version_can_be_read(file: Path) -> None:
    kind = file.stem.rpartition("_v")[0]
    live = golden_live(kind).restore(bytes.fromhex(file.read_text()))
    fresh = golden_live(kind).live(late=live.late, spikes=live.spikes)
    for row in golden_events(kind):
        fresh.push(row)
    more = golden_events(kind, 30, 60)
    assert same([live.push(row) for row in more], [fresh.push(row) for row in more])


def golden_snapshot(kind: str) -> bytes:
    late = {"open_and_waiting": "wait:3", "revised": "revise"}.get(kind, "error")
    guard = {"ahead": 50} if kind == "text_and_guard" else {}
    live = golden_live(kind).live(late=late, spikes=kind in ("slick_deque", "shared"), **guard)
    for row in golden_events(kind):
        live.push(row)
    return live.snapshot()


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None))
    | st.binary()
    | st.dates()
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC) | st.just(timezone(timedelta(hours=-3, minutes=-30))))
    | st.timedeltas()
    | st.times()
    | st.integers(-(2**62), 2**62).filter(lambda ns: ns % 1_000).map(lambda ns: pd.Timedelta(ns, "ns"))
    | st.integers(-(2**62), 2**62).filter(lambda ns: ns % 1_000).map(pd.Timestamp),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(value=values)
def test_plain_values_come_back(value: Any) -> None:
    out = Writer()
    out.value(value)
    source = Reader(bytes(out.data))
    found = source.value()
    source.end()
    assert same(found, value)
    assert type(found) is type(value)


@given(
    rows=st.lists(values)
    | st.lists(st.integers(-(2**63), 2**63 - 1))
    | st.lists(st.floats())
    | st.lists(st.tuples(st.integers(), st.floats(), values))
)
def test_rows_of_values_come_back(rows: list[Any]) -> None:
    out = Writer()
    out.row(rows)
    source = Reader(bytes(out.data))
    found = source.row()
    source.end()
    assert same(found, rows)
    assert [type(one) for one in found] == [type(one) for one in rows]


@pytest.mark.parametrize("value", [object(), {1}, [1j], {"a": object()}, 1j, date])
def test_other_values_do_not(value: Any) -> None:
    with pytest.raises(NotPlainError):
        Writer().value(value)


def read_all(method: str, data: bytes) -> Any:
    """What these bytes stand for, all of them; `REFUSED` where they stand for nothing."""
    source = Reader(data)
    try:
        found = getattr(source, method)()
        source.end()
    except (ValueError, OverflowError, TypeError):  # as unhashable names in a dict are
        return REFUSED
    return found


def written(value: Any, method: str = "value") -> bytes:
    out = Writer()
    getattr(out, method)(value)
    return bytes(out.data)


REFUSED = object()


class Grammar:
    """Walks over encoded bytes by their grammar alone, and makes nothing of them."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def walk(self, method: str) -> bool:
        """Whether the bytes are one value, or one row, and nothing more."""
        try:
            getattr(self, method)()
        except IndexError:
            return False
        return self.at == len(self.data)

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def skip(self, count: int) -> None:
        self.at += count
        if self.at > len(self.data):
            raise IndexError

    def number(self) -> int:
        taken = [self.byte()]
        while taken[-1] >= 0x80:
            taken.append(self.byte())
        return sum((byte & 0x7F) << 7 * i for i, byte in enumerate(taken))

    def value(self) -> None:
        letter = chr(self.byte())
        if letter in "isbIdzaeEontlm":
            number = self.number()
        elif letter not in "NTFf":
            raise IndexError
        if letter in "sbI":
            self.skip(number)
        elif letter in "tlm":
            for _ in range(2 * number if letter == "m" else number):
                self.value()
        elif letter == "z":
            self.number()
        elif letter == "n":
            self.value()
        elif letter == "f":
            self.skip(8)

    def row(self) -> None:
        letter, number = chr(self.byte()), self.number()
        if letter in "DQ":
            self.skip(8 * number)
        elif letter in "VC":
            for _ in range(number):
                (self.value if letter == "V" else self.row)()
        else:
            raise IndexError


def assert_no_junk(data: bytes) -> None:
    """What is read from these bytes, if anything, is what they stand for by the grammar, and can be written again."""
    for method in ("value", "row"):
        found = read_all(method, data)
        if found is not REFUSED:
            assert Grammar(data).walk(method), (data, found)
            assert same(read_all(method, written(found, method)), found)


@given(junk=st.binary(max_size=40))
def test_junk_is_refused_and_never_run(junk: bytes) -> None:
    assert_no_junk(junk)


@given(value=values, changed=st.integers(0), byte=st.integers(0, 255), rows=st.booleans())
def test_values_cut_short_or_changed_are_refused_or_other_values(
    value: Any, changed: int, byte: int, rows: bool
) -> None:
    method, data = ("row", written([value, value], "row")) if rows else ("value", written(value))
    for size in range(len(data)):
        assert read_all(method, data[:size]) is REFUSED, data[:size]
    assert read_all(method, data + b"N") is REFUSED
    at = changed % len(data)
    assert_no_junk(data[:at] + bytes([byte]) + data[at + 1 :])


if __name__ == "__main__":
    for name in KINDS:
        version = SINCE.get(name, 1)
        (GOLDEN / f"{name}_v{version}.hex").write_text(golden_snapshot(name).hex() + "\n")
