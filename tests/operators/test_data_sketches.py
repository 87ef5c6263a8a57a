"""Sketches in DataSketches' formats: their hash, their bytes, passes against states, and the error that is promised."""

from __future__ import annotations

import math
from functools import reduce
from typing import Any

import numpy as np
import pytest

import slidewise as sw
from slidewise.kernels.passes.data_sketches import hashes
from slidewise.kernels.passes.window_passes import WINDOW_PASSES
from slidewise.operators.values.murmur import canonical, murmur

TEXTS = ["", "a", "é", "12345678", "123456789", "0123456789abcdef", "0123456789abcdef!", "x" * 45, "a"]


def state_of(op: sw.Operator, values: Any) -> Any:
    return reduce(op.combine, map(op.lift, values), op.identity)


@pytest.mark.parametrize(
    "x",
    [
        np.array([0, 1, -1, 2**63 - 1, -(2**63)]),
        np.array([0.0, -0.0, 1.5, math.nan, math.inf]),
        np.array([True, False]),
        np.array([*TEXTS, b"\xff\x00", 7, 2.5, True, np.int8(7)], object),
        np.array([], object),
    ],
    ids=str,
)
def test_hashes_of_arrays_are_those_of_their_values(x: Any) -> None:
    low, high, has_bytes = hashes(x, "theta")
    data = [canonical(value, "theta") for value in x.tolist()]
    assert has_bytes.tolist() == [len(bytes_) > 0 for bytes_ in data]
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == [murmur(bytes_) for bytes_ in data]


def test_equal_values_have_one_hash() -> None:
    assert canonical(True, "theta") == canonical(1, "theta") == canonical(np.int8(1), "theta") == b"\1" + b"\0" * 7
    assert canonical(math.nan, "theta") == canonical(-math.nan, "theta") != canonical(1, "theta")
    assert canonical("é", "theta") == canonical("é".encode(), "theta")


@pytest.mark.parametrize("op", [sw.hyperloglog(sketch=True), sw.theta], ids=repr)
@pytest.mark.parametrize(("value", "why"), [(2**63, "does not fit into int64"), ((1, 2), "takes numbers, bools, text")])
def test_values_without_a_hash_are_refused(op: Any, value: Any, why: str) -> None:
    with pytest.raises(sw.InputError, match=why):
        op.lift(value)
    with pytest.raises(sw.InputError, match=why):
        sw.rolling(np.array(["a", value, None], object)[:2], op, rows=1)


@pytest.mark.parametrize("sketch", [1, "yes", None])
def test_sketch_is_true_or_false(sketch: Any) -> None:
    with pytest.raises(sw.SlidewiseError, match=r"hyperloglog: sketch is True.* or False, not"):
        sw.hyperloglog(sketch=sketch)
    with pytest.raises(sw.SlidewiseError, match=r"theta: lg_k is a whole number from 4 to 21, not 22"):
        sw.theta(lg_k=22)


def test_bytes_as_the_formats_have_them() -> None:
    """Beside what DataSketches itself wrote of the same values: 0 to 99 in 16 registers, 1 and 2 in a theta sketch."""
    hll = sw.hyperloglog(p=4, sketch=True)
    assert hll.lower(state_of(hll, range(100)))[40:].hex() == REGISTERS
    assert hll.lower(hll.identity).hex() == hll.lower(hll.lift("")).hex() == "02010704030c0008"
    head = hll.lower(state_of(hll, range(100)))[:40]
    assert head[:8].hex() == "0a0107040010000a"  # HLL_8, merged
    ranks = bytes.fromhex(REGISTERS)
    sums = np.frombuffer(head[8:32], "<f8").tolist()
    assert sums == [0.0, sum(2.0**-rank for rank in ranks), 0.0]
    assert np.frombuffer(head[32:], "<i4").tolist() == [ranks.count(0), 0]
    theta = sw.theta(lg_k=4, sketch=True)
    two = theta.lower(state_of(theta, [2, 1, 2]))
    assert (two[:12].hex(), two[16:].hex()) == ("02030300001acc9302000000", "15f97dcbbd86a105c397fc1281709d1e")
    many = state_of(theta, range(100))
    least = np.frombuffer(many, "<u8")
    written = theta.lower(many)
    assert written[:12].hex() == "03030300001acc9310000000"
    assert np.frombuffer(written[16:], "<u8").tolist() == [least[16], *least[:16]]


REGISTERS = "04020307030403060304050202030704"


@pytest.mark.parametrize(
    "op", [sw.hyperloglog(p=4, sketch=True), sw.theta(lg_k=4), sw.theta(lg_k=4, sketch=True)], ids=repr
)
def test_passes_give_what_the_states_give(op: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of a few sketches, with windows that are empty, stay, move on and jump."""
    monkeypatch.setattr("slidewise.kernels.passes.data_sketches._BLOCK_BYTES", 1_000)
    choose = np.random.default_rng(3)
    m = 150
    row = np.arange(m)
    texts = np.array([TEXTS[i % 9] + ("" if i % 3 else str(i % 50)) for i in range(m)], object)
    for x in (choose.integers(0, 60, m), choose.normal(size=m), texts):
        values = x.tolist()
        for starts, ends in (
            (np.maximum(0, row - 70), row + 1),
            (np.maximum(0, row - 5), np.maximum(0, row - 2)),
            (row // 20 * 20, row // 20 * 20 + 10),
        ):
            answers = WINDOW_PASSES[op.traits.window_pass](op, x, starts, ends).fields[0].tolist()
            states = [state_of(op, values[a:b]) for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]
            assert all(map(op.is_state, states))
            assert answers == [op.lower(state) for state in states]
        if x.dtype == np.int64:
            assert sw.rolling(x, op, rows=7).tolist()[-1] == op.lower(state_of(op, values[-7:]))


@pytest.mark.parametrize(
    "state", [b"1234567", bytes(8), (2**63).to_bytes(8, "little"), 2 * (5).to_bytes(8, "little"), 18 * 8 * b"1", 5]
)
def test_theta_states_are_checked(state: Any) -> None:
    assert not sw.theta(lg_k=4).is_state(state)  # type: ignore[misc]


def test_theta_has_no_bias_and_the_promised_standard_error() -> None:
    k, n, runs = 64, 3_000, 200
    op = sw.theta(lg_k=6)
    x = np.arange(n * runs)
    starts = np.arange(runs) * n
    estimates = WINDOW_PASSES["theta"](op, x, starts, starts + n).fields[0]
    errors = estimates / n - 1
    promised = 1 / math.sqrt(k - 1)
    assert abs(errors.mean()) < 4 * promised / math.sqrt(runs)
    assert 0.8 * promised < errors.std() < 1.2 * promised


def test_theta_is_exact_up_to_its_size() -> None:
    x = np.arange(64) % 40
    assert sw.rolling(x, sw.theta(lg_k=6), rows=64).tolist() == sw.rolling(x, sw.count_distinct, rows=64).tolist()


def test_sketches_of_more_than_a_column_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slidewise.kernels.passes.data_sketches._MOST_BYTES", 1_000)
    with pytest.raises(sw.InputError, match=r"of 100 windows, of up to 56 bytes each.*with every="):
        sw.rolling(np.arange(100), sw.hyperloglog(p=4, sketch=True), rows=9)


def test_files_and_texts_name_them() -> None:
    definition = sw.Sliding(on="t", a=sw.hyperloglog(p=5, sketch=True)("x").over(3), b=sw.theta(lg_k=9)("x").over(3))
    assert sw.Sliding.from_dict(definition.to_dict()) == definition
    assert repr(sw.hyperloglog(p=5, sketch=True)) == "sw.hyperloglog(p=5, sketch=True)" != repr(sw.hyperloglog(p=5))


@pytest.mark.parametrize("op", [sw.theta(sketch=True), sw.hyperloglog(p=4, sketch=True)], ids=str)
def test_windows_of_too_few_rows_take_nothing_from_later_ones(op: sw.Operator) -> None:
    values, times = np.arange(10), np.array([0, 1, 2, 9, 10, 11, 12, 30, 31, 32])
    sketches = sw.rolling(values, op, times=times, last=3, at_least=3)
    for i, sketch in enumerate(sketches):
        rows = values[(times > times[i] - 3) & (times <= times[i])].tolist()
        alone = sw.DabaLite(op)
        for x in rows:
            alone.insert(x)
        assert np.ma.is_masked(sketches[i]) or sketch is None if len(rows) < 3 else sketch == alone.query()
