"""Decayed sums and means against decimals of 60 digits, and how far they may be off."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.engine.computed import over_series
from slidewise.expressions.functions.half_life_weights import HIGHS, LOWS, weight_of_share, weights_of_shares
from slidewise.kernels.passes.dispatch import compiled_kernel
from slidewise.kernels.sums.decayed_bounds import decayed_bounds
from slidewise.kernels.sums.decayed_rows import _weigh, decayed_rows

NAN, INF = math.nan, math.inf
BOUND = Fraction(5, 2**53)  # of the sum of |x| * weight: the roundings of two weights, and the last one
LEAST = Fraction(1, 2**1072)  # where floats end
START = datetime(2024, 3, 1, tzinfo=UTC)
c = sw.col
values = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6) | st.integers(-(2**60), 2**60)
ticks = st.lists(st.integers(-(10**18), 10**18) | st.integers(0, 50), min_size=1, max_size=6).map(sorted)


def over(operator: sw.Operator, rows: Any) -> Any:
    window = sw.DabaLite(operator)
    for row in rows:
        window.insert(*row)
    return window.query()


def exact(rows: list[tuple[Any, Any]], halflife: Any) -> tuple[Fraction, Fraction, Fraction]:
    """The decayed sum as of the newest row, that of the values' sizes, and that of the weights."""
    total = size = weights = Fraction(0)
    newest = max(time for _, time in rows)
    with localcontext() as context:
        context.prec = 60
        for x, time in rows:
            age = (Fraction(newest) - Fraction(time)) / Fraction(halflife)
            if age < 3_000:
                exponent = Decimal(-age.numerator) / Decimal(age.denominator)
                weight = Fraction((exponent * Decimal(2).ln()).exp())
                total, size, weights = total + Fraction(x) * weight, size + abs(Fraction(x)) * weight, weights + weight
    return total, size, weights


@settings(max_examples=60)
@given(data=st.data(), times=ticks, halflife=st.integers(1, 10**17) | st.sampled_from([0.5, 2.5, 7.0]))
def test_sums_and_means_are_those_of_60_digits(data: st.DataObject, times: list[Any], halflife: Any) -> None:
    if isinstance(halflife, float):
        times = sorted(time % 10_000 / 8 for time in times)
    rows = list(zip(data.draw(st.lists(values, min_size=len(times), max_size=len(times))), times, strict=True))
    total, size, weights = exact(rows, halflife)
    mean, decayed = over(sw.ewm_mean(halflife=halflife), rows), over(sw.ewm_sum(halflife=halflife), rows)
    assert abs(Fraction(decayed) - total) <= BOUND * size + LEAST, rows
    assert abs(Fraction(mean) - total / weights) <= BOUND * size / weights + LEAST, rows
    for operator, right in ((sw.ewm_mean(halflife=halflife), mean), (sw.ewm_sum(halflife=halflife), decayed)):
        states = [operator.lift(*row) for row in rows]
        while len(states) > 1:  # in any order and association
            at = data.draw(st.integers(0, len(states) - 2))
            a, b = states[at : at + 2]
            states[at : at + 2] = [operator.combine(b, a) if data.draw(st.booleans()) else operator.combine(a, b)]
        assert abs(operator.lower(states[0]) - right) <= 2.0**-52 * abs(right) + 2.0**-90 * float(size)


@pytest.mark.rule(15)
def test_compiled_passes_agree_with_python_on_many_rows() -> None:
    """A running pass and windows under keys, with nulls, peers, and silences of many half-lives."""
    rng = np.random.default_rng(5)
    gaps = rng.choice([0, 1, 1_000, 10**9, 10**11, 10**16], 400, p=[0.2, 0.2, 0.2, 0.2, 0.18, 0.02])
    at = np.cumsum(gaps) - 10**17
    x = np.ma.masked_less(rng.normal(size=400), -1.3)
    by = rng.integers(0, 2, 400)
    for op in (sw.ewm_mean(halflife="90s"), sw.ewm_sum(halflife="90s")):
        for last, length in (("all", math.inf), ("1 hour", 3_600 * 10**9)):
            rolled = np.ma.masked_invalid(sw.rolling(x, op, times=at.view("M8[ns]"), last=last, by=by))
            for i in range(0, 400, 7):
                inside = ~x.mask & (by == by[i]) & (at <= at[i]) & (at[i] - at < length)
                rows = [(x[j].item(), np.datetime64(int(at[j]), "ns")) for j in np.flatnonzero(inside)]
                right = over(op, rows)
                if right is not None and op.name == "ewm_sum":
                    right *= 0.5 ** ((int(at[i]) - rows[-1][1].astype(int).item()) / 1e9 / 90.0)
                assert (right is None) == bool(rolled.mask[i]), (op, last, i)
                assert right is None or abs(rolled[i] - right) <= 2.0**-52 * abs(right), (op, last, i)


@pytest.mark.parametrize("kind", ["normal", "far apart", "zero", "zero again", "cancelling", "huge"])
def test_running_sums_are_sure_only_of_what_the_general_kernel_says(kind: str) -> None:
    """Rows that come and go over many half-lives, and windows that are empty, stand still or begin anew."""
    rng = np.random.default_rng(8)
    m = 3_000
    x = rng.normal(size=m) * {"far apart": 10.0 ** rng.integers(-25, 25, m), "zero": 0.0, "huge": 1e290}.get(kind, 1.0)
    if kind == "zero again":
        x[rng.random(m) < 0.95] = 0.0
    if kind == "cancelling":
        x[1::2] = -x[::2]
    times = np.cumsum(rng.choice([0.0, 0.1, 40.0, 2_000.0], m, p=[0.2, 0.79, 0.009, 0.001]) * rng.random(m))
    halves = np.floor(times).astype(np.int64)
    weights = 0.5 * 2.0 ** (times - halves)
    ends = np.sort(rng.integers(1, m + 1, m))
    windows = {
        "growing": (np.zeros(m, np.int64), ends),
        "short": (np.maximum(ends - 25, 0), ends),
        "anew": (np.minimum(ends // 400 * 400, ends), ends),
        "empty": (np.maximum(ends - 5, 0), np.maximum(ends - 5, 0)),
    }
    for name, op in (("ewm_mean", sw.ewm_mean(halflife=1)), ("ewm_sum", sw.ewm_sum(halflife=1))):
        kernel = compiled_kernel(op, [x, halves, weights])
        assert kernel is not None
        for windows_name, (starts, stops) in windows.items():
            result = decayed_bounds(x, halves, weights, starts, stops, name == "ewm_mean")
            assert (result is None) == (kind == "huge" and windows_name != "empty"), windows_name
            if result is None:
                continue
            answers, sure = result
            right = kernel.bounds([x, halves, weights], starts, stops)
            assert right.valid is None or right.valid[sure].all()
            off = np.abs(answers - right.fields[0])[sure]
            assert (off <= 2.0**-80 * np.abs(x).max()).all() if kind == "cancelling" else not off.any(), windows_name
            if windows_name == "growing":
                assert sure.mean() > 0.8, kind


def test_weights_have_the_same_bits_in_python_numpy_and_kernels() -> None:
    shares = np.concatenate([np.random.default_rng(2).random(5_000), [0.0, np.nextafter(1.0, 0.0), 1.0]])
    weights, room, steps = weights_of_shares(shares), np.empty(len(shares)), np.empty(len(shares), np.int32)
    _weigh(shares * 2.0**40, 2.0**40, np.array(HIGHS), np.array(LOWS), steps, room)
    assert weights.tolist() == room.tolist() == [weight_of_share(share) for share in shares.tolist()]
    with localcontext() as context:
        context.prec = 40
        for share, weight in zip(shares.tolist(), weights.tolist(), strict=True):
            off = abs((Decimal(share) * Decimal(2).ln()).exp() / 2 - Decimal(weight))
            assert off <= Decimal(0.51 * 2.0**-53), share


@pytest.mark.parametrize("halflife", ["7ns", "90s", "20 days"])
def test_means_of_all_rows_in_one_pass_are_those_of_columns_of_weights(
    monkeypatch: pytest.MonkeyPatch, halflife: str
) -> None:
    rng = np.random.default_rng(4)
    op = sw.ewm_mean(halflife=halflife)
    gaps = rng.choice([0, 1, 10**6, 10**9, 10**12, 10**16], 2_000, p=[0.2, 0.1, 0.2, 0.3, 0.195, 0.005])
    times = (np.cumsum(gaps) - 10**17).view("M8[ns]")
    for x in (rng.normal(size=2_000), rng.integers(-3, 4, 2_000) * 0.1, np.zeros(2_000)):
        counted: list[bool] = []

        def watched(*arguments: Any, counted: list[bool] = counted) -> Any:
            answers = decayed_rows(*arguments)
            counted.append(answers is not None)
            return answers

        with monkeypatch.context() as patched:
            patched.setattr(over_series, "decayed_rows", watched)
            answers = sw.rolling(x, op, times=times, last="all")
            patched.setattr(over_series, "decayed_rows", lambda *_: None)
            expected = sw.rolling(x, op, times=times, last="all")
        assert counted == [True]
        assert (np.abs(answers - expected) <= 2.0**-52 * np.abs(expected) + 2.0**-80).all()
    x[3] = NAN
    assert np.isnan(sw.rolling(x, op, times=times, last="all")[3:]).all()
    times[700] = np.datetime64("2261-01-01")
    with pytest.raises(sw.SlidewiseError, match="701"):
        sw.rolling(x, op, times=times, last="all")


def test_values_that_are_no_numbers_and_rows_out_of_order_are_left_to_the_general_kernel() -> None:
    ones, bounds = np.ones(3), (np.zeros(3, np.int64), np.arange(1, 4))
    rising = np.arange(3)
    assert decayed_bounds(ones, rising, ones, *bounds, True) is not None
    assert decayed_bounds(np.array([1.0, NAN, 1.0]), rising, ones, *bounds, True) is None
    assert decayed_bounds(np.array([1.0, INF, 1.0]), rising, ones, *bounds, False) is None
    assert decayed_bounds(np.array([1.0, 1e-300, 1.0]), rising, ones, *bounds, True) is None
    assert decayed_bounds(ones, rising[::-1].copy(), ones, *bounds, True) is None
    assert decayed_bounds(ones, rising * 0, np.array([0.5, 0.9, 0.7]), *bounds, False) is None


def test_far_apart_equal_and_strange() -> None:
    mean, total = sw.ewm_mean(halflife="1ns"), sw.ewm_sum(halflife="1ns")
    old, new = datetime(1700, 1, 1), datetime(2262, 1, 1)
    assert over(mean, [(5.0, old), (0.0, new)]) == 0.0  # 5 * 2^-1.7e19
    assert over(total, [(INF, old), (1.0, new)]) == INF
    assert math.isnan(over(total, [(NAN, old), (1.0, new)]))
    assert over(mean, [(1.0, old), (4.0, old)]) == 2.5
    assert over(total, [(0.1, new)]) == over(mean, [(0.1, new)]) == 0.1  # the row itself, exactly
    assert over(sw.ewm_sum(halflife=7), [(0.1, 5), (-0.1, 5)]) == 0.0
    assert over(sw.ewm_sum(halflife=7), [(4, 0), (None, 7), (1, 14)]) == 2.0
    assert over(mean, []) is over(total, []) is None
    assert abs(over(sw.ewm_mean(halflife=3), [(8e307, 0), (8e307, 1)]) / 8e307 - 1) < 1e-15
    spread = np.array([-(10**18), 10**18])
    assert sw.rolling(np.array([5.0, 2.0]), sw.ewm_sum(halflife=1), times=spread * 9, last="all").tolist() == [5.0, 2.0]
    live = sw.Sliding(on="t", sum=sw.ewm_sum(halflife=1)("x").over("all")).live()
    live.push({"t": 0, "x": 2.0**1000})
    assert live.get({"t": 1_000})["sum"] == 1.0


@pytest.mark.parametrize("unit", ["s", "us", "ns", "D"])
def test_every_unit_of_time_is_one_time(unit: str) -> None:
    days = np.arange(40) * 3
    times = (np.datetime64("2024-03-01") + days).astype(f"M8[{unit}]")
    x = np.sin(days)
    for op, expected in (
        (sw.ewm_mean(halflife="5 days"), sw.rolling(x, sw.ewm_mean(halflife=5), times=days, last="all")),
        (sw.slope, sw.rolling(x, sw.slope, times=days * 86_400, last="all")),
        (sw.rate, sw.rolling(x, sw.rate, times=days * 86_400, last="all")),
        (sw.age, days * 86_400.0),
    ):
        answers = sw.rolling(x, op, times=times, last="all")
        np.testing.assert_allclose(answers, expected, rtol=2e-15)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sw.ewm_mean("x"), "has to be made first; write sw.ewm_mean"),
        (lambda: sw.ewm_mean(halflife=0), "halflife is greater than 0"),
        (lambda: sw.ewm_sum(halflife=NAN), "halflife is greater than 0"),
        (lambda: sw.ewm_sum(halflife="1 month"), "halflife is a duration.*no fixed length"),
        (lambda: sw.ewm_sum(halflife=True), "halflife is a duration"),
        (lambda: sw.ewm_sum(halflife="20000 weeks"), "halflife is a duration"),
        (lambda: sw.DabaLite(sw.ewm_mean(halflife="1h")).insert(1, 2), "a moment as its halflife is"),
        (lambda: sw.DabaLite(sw.ewm_mean(halflife=1)).insert(1, START), "a number as its halflife is"),
        (lambda: sw.DabaLite(sw.ewm_mean(halflife=0.5)).insert(1, 2**60), "less than 2.63 half-lives"),
        (lambda: sw.rolling(np.ones(3), sw.ewm_mean(halflife=1), rows=2), "give them as times="),
        (lambda: sw.rolling(np.ones(2), sw.slope, rows=2), "give them as times="),
        (lambda: sw.rolling(np.ones(2), sw.rate, rows=2, times=np.array([2, 1])), "times run backwards"),
        (
            lambda: sw.rolling(np.ones(2), sw.ewm_sum(halflife=1), rows=2, times=np.array([1, 2], "M8[s]")),
            "halflife= is a number; give a duration",
        ),
        (lambda: sw.Sliding(a=sw.ewm_sum(halflife=1)("x").over("all")), "'a': ewm_sum goes by the rows' times"),
        (lambda: sw.Sliding(a=1 + sw.age().over(rows=2)), "'a': age goes by the rows' times"),
        (lambda: sw.Sliding(on="t", a=sw.intercept("y").over(rows=2)), "needs a column x"),
        (lambda: sw.rate("x").per("kind"), "has no map by category"),
        (lambda: sw.ewm_mean(halflife=3).per(), "ewm_mean goes by the rows' times, and has no map by category"),
        (lambda: sw.rate.per(top=3), "rate goes by the rows' times, and has no map by category"),
        (sw.age.per, "age goes by the rows' times, and has no map by category"),
        (sw.time_since_last.per, "time_since_last goes by the rows' times, and has no map by category"),
        (
            lambda: sw.age().over(next="1 day"),
            "age is about how long ago rows were, and the rows of .* are yet to come",
        ),
        (lambda: sw.time_since_last("x").over(next=3), "time_since_last is about how long ago"),
        (lambda: sw.ewm_sum(halflife=1)("x").over(next=3), "ewm_sum is about how long ago"),
        (lambda: sw.rolling(np.ones(2), sw.age, times=np.arange(2), next=3), "age is about how long ago"),
        (lambda: sw.Sliding.from_dict({"on": "t", "columns": {"a": {"operator": "age", "next": 3}}}), "how long ago"),
        (sw.rank.per, "rank is about the row's own value"),
        (lambda: sw.Sliding(a=sw.slope("y").over(rows=2)), "slope goes by the rows' times"),
    ],
)
def test_mistakes_are_named(make: Any, words: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=words):
        make()


def test_a_table_whose_times_do_not_fit_the_halflife() -> None:
    definition = sw.Sliding(on="t", mean=sw.ewm_mean(halflife="1h")("x").over("all"))
    with pytest.raises(sw.ExpressionError, match=r"column 'mean': .*halflife= is a duration; give a number"):
        definition(pa.table({"t": [1, 2], "x": [1.0, 2.0]}))
    with pytest.raises(sw.ExpressionError, match="column 'mean'"):
        definition.live().push({"t": 1, "x": 1.0})


def test_a_definition_is_written_and_read_back() -> None:
    columns = {
        "mean": sw.ewm_mean(halflife=timedelta(minutes=90))("x").over("1 day"),
        "sum": sw.ewm_sum(halflife="1h")(c("x") * 2).where("ok").over("all"),
        "late": sw.age().over("1 day") > 60,
        "since": sw.time_since_last("x").where(c("x") > 1).over(rows=9),
        "fit": sw.slope("x").over("1 day"),
    }
    definition = sw.Sliding(by="k", on="ts", columns=columns)
    assert sw.Sliding.from_toml(definition.to_toml()) == definition
    assert str(columns["mean"]) == "ewm_mean(halflife='90 minutes')(x) over 1 day"
    assert sw.ewm_mean(halflife="60 minutes") == sw.ewm_mean(halflife="1h") != sw.ewm_mean(halflife="2h")
    shown = str(definition.explain())
    assert "ticks" not in shown
    assert "half-lives" not in shown
