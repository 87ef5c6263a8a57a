"""Sketches against the truth: the promised bounds hold, with fixed values, so that a failure repeats."""

from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from functools import reduce
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slidewise.errors import InputError, SlidewiseError
from slidewise.operators.families.data_sketches import theta
from slidewise.operators.families.sketches import BloomFilter, CountMin, bloom, countmin, hyperloglog
from slidewise.operators.operator import Operator
from slidewise.operators.values.hashing import hash64

SKETCHES = [
    *(bloom, bloom(bits=100, hashes=3), countmin, countmin(width=7, depth=2), hyperloglog, hyperloglog(p=4)),
    *(hyperloglog(p=4, sketch=True), theta(lg_k=4), theta(lg_k=4, sketch=True)),
]
VALUES = st.one_of(st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=10), st.binary(max_size=10))


def state_of(operator: Operator, values: Any) -> Any:
    return reduce(operator.combine, map(operator.lift, values), operator.identity)


@pytest.mark.parametrize("operator", SKETCHES, ids=repr)
@settings(deadline=None)  # the first combine may import numpy
@given(values=st.tuples(*[st.lists(VALUES, max_size=4)] * 3))
def test_states_are_a_commutative_monoid(operator: Operator, values: tuple[list[Any], ...]) -> None:
    a, b, c = (state_of(operator, some) for some in values)
    combine, identity = operator.combine, operator.identity
    assert combine(combine(a, b), c) == combine(a, combine(b, c))
    assert combine(a, b) == combine(b, a)
    assert combine(a, identity) == a == combine(identity, a)
    if operator.inverse is not None:
        assert operator.inverse(combine(a, b), a) == b
    assert operator.lift_row(None) == identity
    assert type(a) is type(identity)
    assert type(identity) in (int, bytes)


@pytest.mark.parametrize(
    ("n", "bits", "hashes"), [(250, 4096, 4), (500, 4096, 4), (1000, 4096, 4), (1000, 10_007, 7), (2000, 16_384, 5)]
)
def test_bloom_finds_every_value_and_few_others(n: int, bits: int, hashes: int) -> None:
    found = BloomFilter(bits, hashes, state_of(bloom(bits=bits, hashes=hashes), range(n)))
    assert all(i in found for i in range(n))
    promised = (1 - math.exp(-hashes * n / bits)) ** hashes
    others = 40_000
    measured = sum(f"other {i}" in found for i in range(others)) / others
    assert promised / 1.5 < measured < promised * 1.5
    assert found.false_positive_rate() == pytest.approx(promised, rel=0.2)


def test_bloom_filter_is_a_small_value() -> None:
    operator = bloom(bits=20, hashes=2)
    a, b = operator.lower(operator.lift("ann")), operator.lower(operator.lift("ann"))
    assert a == b
    assert hash(a) == hash(b)
    assert a != operator.lower(0)
    assert a != bloom(bits=21, hashes=2).lower(a.state)
    assert (a.bits, a.hashes, a.ones) == (20, 2, 2)
    assert repr(a) == "BloomFilter(bits=20, hashes=2, ones=2)"
    assert len(a.to_bytes()) == 3
    assert int.from_bytes(a.to_bytes(), "little") == a.state
    assert a.false_positive_rate() == pytest.approx(0.01)
    assert "ann" not in operator.lower(operator.identity)
    with pytest.raises(AttributeError):
        a.state = 0


def skewed_values(n: int) -> list[str]:
    """Values with frequencies that fall like 1 / rank, in an order that looks random."""
    return [f"v{int(math.exp(hash64(i, 99) / 2**64 * math.log(3000)))}" for i in range(n)]


@pytest.mark.parametrize(("width", "depth"), [(1024, 4), (64, 2), (272, 5), (300, 1)])
def test_countmin_is_never_too_low_and_seldom_much_too_high(width: int, depth: int) -> None:
    values = skewed_values(10_000)
    truth = Counter(values)
    operator = countmin(width=width, depth=depth)
    answer = operator.lower(sum(operator.lift(value) * count for value, count in truth.items()))
    assert answer.total == len(values)
    over = {value: answer.frequency(value) - count for value, count in truth.items()}
    over |= {f"absent {i}": answer.frequency(f"absent {i}") for i in range(2000)}
    assert min(over.values()) >= 0
    within = sum(extra <= math.e / width * answer.total for extra in over.values()) / len(over)
    assert within >= 1 - math.exp(-depth)


def test_countmin_rows_use_independent_hashes() -> None:
    values = range(20_000)
    pairs = Counter(map(countmin(width=16, depth=2).lift, values))
    # With one hash for both rows only 16 pairs of places would occur.
    assert len(pairs) == 256
    assert max(pairs.values()) < 2 * len(values) / 256


@given(st.lists(st.integers(0, 20), max_size=60), st.integers(0, 60))
def test_countmin_forgets_exactly(values: list[int], cut: int) -> None:
    operator = countmin(width=16, depth=3)
    state = state_of(operator, values)
    assert operator.inverse is not None
    for value in values[:cut]:
        state = operator.inverse(state, operator.lift(value))
    assert state == state_of(operator, values[cut:])
    assert operator.lower(state).total == len(values[cut:])


def test_countmin_counts_do_not_spill_into_each_other() -> None:
    many = 2**40
    state = countmin(width=2, depth=2).lift("a") * many
    answer = CountMin(2, 2, state)
    assert (answer.total, answer.frequency("a")) == (many, many)
    assert answer == CountMin(2, 2, state)
    assert answer != CountMin(2, 2, 0)
    assert repr(answer) == f"CountMin(width=2, depth=2, total={many})"


def registers_of(p: int, values: Any) -> bytes:
    """The hyperloglog state, by a direct reading of its definition."""
    registers = bytearray(2**p)
    for value in values:
        bits = f"{hash64(value):064b}"
        place, rest = int(bits[:p], 2), bits[p:]
        rank = (rest + "1").index("1") + 1
        registers[place] = max(registers[place], rank)
    return bytes(registers)


@pytest.mark.parametrize("p", [4, 12, 18])
def test_hyperloglog_state_is_the_greatest_rank_per_register(p: int) -> None:
    values = [f"v{i}" for i in range(300)]
    assert state_of(hyperloglog(p=p), values) == registers_of(p, values)


@pytest.mark.parametrize("p", [10, 12, 14])
@pytest.mark.parametrize("n", [10, 1000, 100_000])
def test_hyperloglog_error_is_within_four_standard_errors(p: int, n: int) -> None:
    estimate = hyperloglog(p=p).lower(registers_of(p, range(n)))
    assert isinstance(estimate, int)
    assert abs(estimate / n - 1) < 4 * 1.04 / math.sqrt(2**p)


@pytest.mark.parametrize("n", [20, 100, 640, 2000])
def test_hyperloglog_has_no_bias_and_the_promised_standard_error(n: int) -> None:
    p, runs = 8, 200
    errors = [hyperloglog(p=p).lower(registers_of(p, range(run * n, run * n + n))) / n - 1 for run in range(runs)]
    promised = 1.04 / math.sqrt(2**p)
    assert abs(sum(errors) / runs) < 4 * promised / math.sqrt(runs)
    assert math.sqrt(sum(e * e for e in errors) / runs) < 1.2 * promised


def test_hyperloglog_ignores_duplicates_and_merges_to_the_union() -> None:
    left, right = [f"u{i}" for i in range(300)], [f"u{i}" for i in range(200, 500)]
    a, b = state_of(hyperloglog, left), state_of(hyperloglog, right)
    assert state_of(hyperloglog, left * 3) == a
    assert hyperloglog.combine(a, b) == state_of(hyperloglog, [f"u{i}" for i in range(500)])


def test_hyperloglog_of_few_values() -> None:
    assert hyperloglog.lower(hyperloglog.identity) == 0
    assert [hyperloglog.lower(state_of(hyperloglog, range(n))) for n in range(1, 6)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("n", [1e2, 1e4, 1e6, 1e12, 1e18, 2.0**62, 2.0**63, 2.0**64, 2.0**65])
def test_hyperloglog_answers_typical_registers_at_every_size(n: float) -> None:
    p, size = 14, 2**14
    # A register is at most k with probability e^(-n / (size 2^k)); give each register its own quantile of that.
    quantiles = ((i + 0.5) / size for i in range(size))
    ranks = (math.log2(n / size / -math.log(quantile)) for quantile in quantiles)
    registers = bytes(min(max(math.ceil(rank), 0), 65 - p) for rank in ranks)
    assert hyperloglog(p=p).lower(registers) == pytest.approx(n, rel=2e-3)


@pytest.mark.parametrize("p", [4, 12])
def test_hyperloglog_grows_with_every_register_to_the_last_rank(p: int) -> None:
    operator = hyperloglog(p=p)
    estimates = [operator.lower(bytes([rank]) * 2**p) for rank in range(65 - p)]
    assert estimates == sorted(estimates)
    nearly_full = bytes([65 - p]) * (2**p - 1) + bytes([64 - p])
    assert operator.lower(nearly_full) > estimates[-1] > 2**60


def test_the_default_operator_makes_others() -> None:
    assert bloom(bits=64).parameters == {"bits": 64, "hashes": 4}
    assert bloom(64, 2).parameters == {"bits": 64, "hashes": 2}
    assert bloom(bits=4096, hashes=4) == bloom
    assert countmin(depth=2).parameters == {"width": 1024, "depth": 2}
    assert hyperloglog(p=14) == hyperloglog(p=13)(p=14) != hyperloglog
    assert repr(hyperloglog(p=14)) == "sw.hyperloglog(p=14)"
    assert len(hyperloglog(p=14).identity) == 2**14


@pytest.mark.parametrize(
    ("operator", "parameters", "range_"),
    [
        (bloom, {"bits": 7}, "from 8 to"),
        (bloom, {"bits": 2**31}, "from 8 to"),
        (bloom, {"hashes": 0}, "from 1 to 64"),
        (bloom, {"hashes": 2.5}, "from 1 to 64"),
        (countmin, {"width": 0}, "from 1 to"),
        (countmin, {"depth": 65}, "from 1 to 64"),
        (hyperloglog, {"p": 3}, "from 4 to 18"),
        (hyperloglog, {"p": 19}, "from 4 to 18"),
        (hyperloglog, {"p": "12"}, "from 4 to 18"),
        (countmin, {"depth": True}, "from 1 to 64"),
    ],
)
def test_wrong_parameters_are_refused_with_the_range(
    operator: Operator, parameters: dict[str, Any], range_: str
) -> None:
    (name,) = parameters
    with pytest.raises(SlidewiseError, match=f"{operator.name}: {name} is a whole number {range_}"):
        operator(**parameters)


@pytest.mark.parametrize("operator", [bloom, countmin, hyperloglog], ids=repr)
def test_a_value_that_cannot_be_hashed_is_refused(operator: Operator) -> None:
    with pytest.raises(InputError, match="a list cannot be hashed"):
        operator.lift([1])


def test_states_do_not_depend_on_the_process() -> None:
    code = (
        "from slidewise.operators.families.sketches import bloom, countmin, hyperloglog\n"
        "import sys\n"
        "assert 'numpy' not in sys.modules\n"
        "states = bloom.lift('ann'), countmin.lift(0.5), hyperloglog.lift(('ann', 7))\n"
        "sys.stdout.write(f'{states[0]:x} {states[1]:x} {states[2].hex()}')"
    )
    output = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert output == f"{bloom.lift('ann'):x} {countmin.lift(0.5):x} {hyperloglog.lift(('ann', 7)).hex()}"
