"""Double-doubles of compiled code: the bits of those that the interpreted operators use."""

from __future__ import annotations

import random
from fractions import Fraction

import slidewise as sw
from slidewise.kernels.sums import double_double as compiled
from slidewise.operators.values import double_double as dd


def test_a_quotient_is_rounded_once_and_has_the_same_bits_compiled() -> None:
    choose = random.Random(5)
    for _ in range(20_000):
        high = choose.uniform(-1, 1) * 2.0 ** choose.randint(-890, 890)
        low = high * choose.uniform(-1, 1) * choose.choice([0.0, 2.0**-53, 2.0**-54, 2.0**-90])
        a = dd.two_sum(high, low)
        n = choose.choice([choose.randint(1, 9), choose.randint(1, 2**20), choose.randint(1, 2**53)])
        exact = (Fraction(a[0]) + Fraction(a[1])) / n
        rounded = exact.numerator / exact.denominator
        assert dd.quotient(a, float(n)) == rounded == compiled.quotient(a, float(n)), (a, n)


def test_a_quotient_at_the_ends_of_floats_has_the_same_bits_compiled() -> None:
    ends = [0.0, 5e-324, 1e-310, 2.0**-900, 2.0**900, 1.7e308, float("inf")]
    for high in [*ends, *(-end for end in ends)]:
        for n in (1.0, 3.0, 7.0, 1e15):
            assert dd.quotient((high, 0.0), n) == compiled.quotient((high, 0.0), n), (high, n)


def test_geometric_means_have_the_same_bits_in_compiled_windows() -> None:
    choose = random.Random(6)
    values = [choose.lognormvariate(0, 30) for _ in range(500)]
    for algorithm in (sw.TwoStacks, sw.DabaLite):
        interpreted, window = algorithm(sw.geomean), sw.compiled(algorithm, sw.geomean, "float64")
        for i, value in enumerate(values):
            interpreted.insert(value)
            window.insert(value)
            if i >= 20:
                interpreted.evict()
                window.evict()
            assert interpreted.query() == window.query(), (algorithm.__name__, i)
