"""Snapshots that somebody changed and sealed anew: refused, or harmless; and those that have a key."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import pytest
from fuzz_snapshots import Kind, Target, exercise, golden_kinds, kinds

import slidewise as sw
from slidewise.engine.codec import DEEPEST, NotPlainError, Reader, Writer
from slidewise.live.snapshot.envelope import sealed

KINDS = {kind.name: kind for kind in kinds()}
# Those whose batches need few kernels go through them; `python tests/fuzz_state.py` takes all of them through all.
BATCHES = ("numbers", "floats")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if name in BATCHES or not kind.batch])
def test_crafted_snapshots_are_refused_or_harmless(name: str) -> None:
    kind = KINDS[name]
    target = Target(kind)
    batches = name in BATCHES
    assert exercise(kind, target.blob, batches), "as it is, it is read"
    read = 0
    for seed in range(8 if "revised" in name else 40):
        try:
            read += exercise(kind, target.crafted(random.Random(f"{name} {seed}")), batches)
        except BaseException as error:
            error.add_note(f"in the kind {name!r}, seed {seed}")
            raise
    assert read < 20, "most changes are found"


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("kind", golden_kinds(), ids=lambda kind: kind.name)
def test_crafted_snapshots_of_old_versions(kind: Kind) -> None:
    target = Target(kind)
    assert exercise(kind, target.blob, batches=False)
    for seed in range(12):
        exercise(kind, target.crafted(random.Random(f"{kind.name} {seed}")), batches=False)


FLOATS = sw.Sliding(on="ts", peak=sw.max("x").over(10.0), total=sw.sum("x").over("all"))


def crafted(change: Callable[[list[Any]], None], definition: sw.Sliding = FLOATS, **options: Any) -> bytes:
    """A snapshot of three events, with the values of its payload changed in place."""
    kind = Kind("crafted", definition, **options)
    live = definition.live()
    for t in range(3):
        live.push({"ts": float(t), "x": 1.0, "k": "a"})
    target = Target.of(kind, live.snapshot())
    parts = [[span.kind, span.value] for span in target.spans]
    change(parts)
    out = Writer()
    for how, value in parts:
        getattr(out, how)(value)
    return sealed(definition, target.version, bytes(out.data), None)


def rows_at(parts: list[Any]) -> int:
    return next(i for i, (how, value) in enumerate(parts) if how == "row" and value and type(value[0]) is tuple)


def set_places(*places: Any) -> Callable[[list[Any]], None]:
    def change(parts: list[Any]) -> None:
        rows = parts[rows_at(parts)]
        rows[1] = [(place, *row[1:]) for place, row in zip(places, rows[1], strict=True)]

    return change


def set_pointers(*pointers: int) -> Callable[[list[Any]], None]:
    def change(parts: list[Any]) -> None:
        at = rows_at(parts)
        numbers = next(part for part in parts[at + 1 :] if part[0] == "row")
        assert len(numbers[1]) == 5, "DABA Lite's"
        numbers[1] = list(pointers)

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_places(2.0, 1.0, 0.0), "rows are not in order"),
        (set_places(0.0, 1.0, 3.0), "newer than the newest"),
        (set_places(0.0, float("nan"), 2.0), "rows are not in order"),
        (set_places(float("-inf"), 1.0, 2.0), "a row's time is -inf"),
        (set_places(0.0, "1", 2.0), "a row's time is '1'"),
        (set_places(0.0, None, 2.0), "a row's time is None"),
        (set_pointers(0, 0, 0, 0, 3), "no DABA Lite has the pointers"),
        (set_pointers(1, 1, 3, 3, 3), "no DABA Lite has the pointers"),
        (set_pointers(2, 1, 3, 3, 3), "no DABA Lite has the pointers"),
        (set_pointers(1, 1, 1, 2, 2**40), "no DABA Lite has the pointers"),
    ],
)
def test_places_and_pointers_that_no_window_has(change: Callable[[list[Any]], None], said: str) -> None:
    assert len(FLOATS.restore(crafted(lambda parts: None)).key_states) == 1
    with pytest.raises(
        sw.SnapshotError, match=rf"the snapshot's contents make no sense: .*{said}.*in 'peak', in the key"
    ):
        FLOATS.restore(crafted(change))


def test_an_endless_integer_and_deep_lists_are_errors_in_linear_time() -> None:
    for piece in (b"i" + b"\x80", b"l\x01", b"t\x01", b"m\x01", b"l\x01m\x01"):
        long = piece[:1] + piece[1:] * 4_000_000 if piece[:1] == b"i" else piece * 100_000
        with pytest.raises(sw.SnapshotError, match=r"a number does not end|more than 300 deep"):
            FLOATS.restore(sealed(FLOATS, 1, long, None))  # a RecursionError, or hours, otherwise
    with pytest.raises(ValueError, match="300 deep"):
        Reader(b"C\x01" * 100_000).row()
    with pytest.raises(ValueError, match="cannot be in"):
        Reader(b"l\xff\xff\xff\xff\x0f" + b"N" * 9).value()


def test_what_can_be_written_can_be_read() -> None:
    value: Any = 1
    for depth in range(DEEPEST):
        value = {"a": value} if depth % 2 else [value]
    out = Writer()
    out.value(value)
    assert Reader(bytes(out.data)).value() == value
    with pytest.raises(NotPlainError, match="in more than 300 others"):
        Writer().value((value,))
    wide = [2**70, -(2**63), 2**63 - 1, 2**64]
    out = Writer()
    out.row(wide)
    assert Reader(bytes(out.data)).row() == wide


KEY, OTHER = b"k" * 32, b"o" * 32


def test_a_key_vouches_for_a_snapshot() -> None:
    live = FLOATS.live()
    live.push({"ts": 0.0, "x": 3.0})
    blob = live.snapshot(key=KEY)
    assert FLOATS.restore(blob, key=KEY).push({"ts": 1.0, "x": 1.0}) == {"peak": 3.0, "total": 4.0}
    assert FLOATS.restore(bytearray(blob), key=bytearray(KEY)).snapshot(key=KEY) == blob
    assert live.snapshot() != blob
    for key, said in (
        (None, "made with a key; give it"),
        (OTHER, "another key, or was changed"),
        (KEY[:-1], "another key"),
    ):
        with pytest.raises(sw.SnapshotError, match=said):
            FLOATS.restore(blob, key=key)
    with pytest.raises(sw.SnapshotError, match="made without a key"):
        FLOATS.restore(live.snapshot(), key=KEY)
    for at in range(len(blob)):
        forged = bytearray(blob)
        forged[at] ^= 1
        with pytest.raises(sw.SnapshotError):
            FLOATS.restore(bytes(forged), key=KEY)
    body = bytearray(blob[:-16])
    body[9] &= 0x7F  # no key any more, says who has none
    plain = bytes(body) + blake2b(body, digest_size=16).digest()
    assert len(FLOATS.restore(plain)) == 1
    with pytest.raises(sw.SnapshotError, match="made without a key"):
        FLOATS.restore(plain, key=KEY)


@pytest.mark.parametrize(
    ("key", "said"), [("k" * 32, "is bytes"), (b"", "from 16 to 64"), (b"k" * 65, "not 65"), (7, "not int")]
)
def test_keys_have_a_length(key: Any, said: str) -> None:
    with pytest.raises(sw.SnapshotError, match=said):
        FLOATS.live().snapshot(key=key)
    with pytest.raises(sw.SnapshotError, match=said):
        FLOATS.restore(FLOATS.live().snapshot(), key=key)


def test_a_keyed_snapshot_is_the_same_format() -> None:
    blob, keyed = FLOATS.live().snapshot(), FLOATS.live().snapshot(key=KEY)
    assert struct.unpack("<H", keyed[8:10])[0] == struct.unpack("<H", blob[8:10])[0] | 0x8000
    assert keyed[10:-16] == blob[10:-16]
    assert keyed[-16:] == blake2b(keyed[:-16], digest_size=16, key=KEY).digest()
