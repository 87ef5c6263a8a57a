"""Compiled operators compute as Python does, and states of every type of number are what Numba has them."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
import pytest

import slidewise as sw
from slidewise.kernels.codegen.kernel import kernel_for
from slidewise.kernels.compiler.fingerprints import fingerprint
from slidewise.kernels.compiler.user_functions import compiled_function
from slidewise.kernels.passes.spanning import Spanning, spanning

INTS = [0, 1, -1, 2, 3, -7, 63, 64, 65, 2**53 + 1, -(2**53) - 1, 10**18 + 7, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 2.5, 1e-320, 1e300, -1e300, 709.0, 1000.0, 2.0**53, 2.0**63]
FLOATS += [math.inf, -math.inf, math.nan]


def outcome(function: Any, *arguments: Any) -> Any:
    """What a function gives, or the kind of error that it raises."""
    try:
        return function(*arguments)
    except Exception as error:
        return type(error)


def check(function: Any, *columns: list[Any]) -> None:
    """The compiled function gives what Python gives; what compiled code cannot hold is an error."""
    compiled = compiled_function(fingerprint(function))
    for row in zip(*columns, strict=True):
        expected, found = outcome(function, *row), outcome(compiled, *row)
        parts = expected if isinstance(expected, tuple) else (expected,)
        first = parts[0]
        if any(isinstance(part, int) and not -(2**63) <= part < 2**63 for part in parts):
            assert found is OverflowError, (row, expected, found)
        elif isinstance(first, complex) or (isinstance(first, float) and all(isinstance(x, int) for x in row)):
            assert found is ValueError or repr(found) == repr(expected), (row, expected, found)
        elif expected is OverflowError and row[0] < 0:  # Python may go through complex numbers
            assert found in (OverflowError, ValueError), (row, expected, found)
        else:
            assert repr(found) == repr(expected), (row, expected, found)


def pairs(one: list[Any], two: list[Any]) -> tuple[list[Any], list[Any]]:
    return [a for a in one for _ in two], [b for _ in one for b in two]


def test_integers_do_not_wrap_around() -> None:
    check(lambda a, b: a + b, *pairs(INTS, INTS))
    check(lambda a, b: a - b, *pairs(INTS, INTS))
    check(lambda a, b: a * b, *pairs(INTS, INTS))
    check(lambda a: (-a, abs(a)), INTS)
    check(lambda a, b: sum((a, b)), *pairs(INTS, INTS))


def test_integers_are_divided_and_shifted_as_in_python() -> None:
    check(lambda a, b: (a // b, a % b), *pairs(INTS, INTS))
    check(lambda a, b: a / b, *pairs(INTS, INTS))
    small = [b for b in INTS if b < 1000]
    check(lambda a, b: a << b, *pairs(INTS, small))
    check(lambda a, b: a >> b, *pairs(INTS, INTS))
    check(lambda a, b: a**b, *pairs(INTS, [b for b in small if b < 70]))


def test_floats_have_the_errors_of_python() -> None:
    check(lambda a, b: a**b, *pairs(FLOATS, [0.0, 0.5, 2.0, -1.0, 1.5, -3.0, math.inf, math.nan]))
    check(lambda a, b: a**b, *pairs(FLOATS, [0, 2, 3, -1, -3, 7]))
    check(lambda a, b: (a / b, a // b), *pairs(FLOATS, FLOATS))
    check(lambda a: int(a), FLOATS)  # noqa: PLW0108
    check(lambda a: round(a), [*FLOATS, 1.5, -0.5])  # noqa: PLW0108
    check(lambda a: (math.floor(a), math.ceil(a)), [*FLOATS, 1.5, -0.5, -1e-9])


@pytest.mark.parametrize("name", ["log", "exp", "sqrt", "acos", "sin", "atanh"])
def test_math_raises_as_in_python(name: str) -> None:
    from slidewise.kernels.compiler.python_numbers import DEFINED

    function = getattr(math, name)
    for value in [*FLOATS, 1.0000001, 0.999]:
        expected, found = outcome(function, value), outcome(DEFINED[function], value)
        assert repr(found) == repr(expected), (name, value)


def test_math_in_an_operator_however_it_is_named() -> None:
    from math import log as ln

    check(lambda a: ln(a) + math.sqrt(a), FLOATS)
    check(lambda a: math.log(a) + math.pow(a, 3), INTS)


def test_an_integer_is_compared_with_a_float_exactly() -> None:
    check(lambda a, b: (a < b, a == b, a >= b), *pairs(INTS, FLOATS))
    check(lambda a, b: (a <= b, a != b, a > b), *pairs(FLOATS, INTS))


def test_an_unsigned_integer_is_compared_with_a_signed_one_exactly() -> None:
    def compared(a: int, b: int) -> Any:
        u = np.uint64(a & (2**62 - 1)) << np.uint64(1)
        return (u < b, u == b, b >= u)

    compiled = compiled_function(fingerprint(compared))
    for a, b in zip(*pairs(INTS, INTS), strict=True):
        assert compiled(a, b) == compared(a, b), (a, b)


def test_what_becomes_a_float_where_it_meets_one() -> None:
    compiled = compiled_function(fingerprint(lambda a, b: a if a < b else b))
    assert [compiled(a, 2.5) for a in (0, 3, -5, 2**53)] == [0, 2.5, -5, 2.5]
    with pytest.raises(OverflowError, match=r"an integer beyond 2\*\*53 becomes a float"):
        compiled(2**53 + 1, 1e300)
    assert compiled(2**53 + 1, 0.5) == 0.5


def helper(x: float) -> float:
    return math.log(x)


def test_plain_functions_that_are_called_are_compiled_and_mean_the_same() -> None:
    check(lambda a: helper(a) + 1.0, [*FLOATS])


def test_bools_are_integers_where_they_are_computed_with() -> None:
    check(lambda a, b: (b - a, b * a + b), *pairs(INTS, [True, False]))
    check(lambda a, b: (b << a, -b), *pairs([0, 3, 62, 63, -1], [True, False]))
    check(lambda a, b: divmod(a, b)[0], *pairs(INTS, INTS))
    check(lambda a: (round(a), math.floor(a)), INTS)


@pytest.mark.parametrize(
    ("lift", "reason"),
    [
        (lambda x: np.uint64(x) + 1, "add of uint64 and int64 is .* and uint64 in NumPy"),
        (lambda x: np.int8(x) + np.int8(x), "add of int8 and int8 is int64 in compiled code and int8 in NumPy"),
        (lambda x: np.float32(x) * 2.5, "mul of float32 and float64"),
        (lambda x: np.float32(x) < 0.1, "float32 is compared with float64"),
        (lambda x: np.uint64(x) if x > 2 else 0, "a value is .* where they meet"),
        (lambda x: round(x / 7, 2), "round to some digits"),
        (lambda x: math.gamma(x), "math.gamma differs"),  # noqa: PLW0108
        (lambda x: x * 1j, "complex128"),
        (lambda x: ~(x > 3), "~ of a bool"),
        (lambda x: np.uint64(x) ** np.uint64(2), "is not as in NumPy"),
        (lambda x: math.atan(np.float32(x)), "atan of float32 is not as in Python"),
    ],
)
def test_what_cannot_be_as_in_python_runs_interpreted(lift: Any, reason: str) -> None:
    op = sw.operator(name="refused", identity=0, lift=lift, combine=lambda a, b: a)
    with pytest.warns(UserWarning, match=f"runs interpreted.*{reason}"):
        assert kernel_for(op, ("int64",)) is None


def test_errors_come_in_the_operators_name() -> None:
    logs = sw.operator(name="logs", identity=0.0, lift=lambda x: math.log(x), combine=lambda a, b: a + b)  # noqa: PLW0108
    with pytest.raises(sw.OperatorFailedError, match="operator 'logs' raised ValueError"):
        sw.rolling(np.array([1.0, -1.0]), logs, rows=2)
    text = sw.operator(name="text", identity=0, lift=lambda x: int(x), combine=lambda a, b: a + b)  # noqa: PLW0108
    with pytest.raises(sw.OperatorFailedError, match="operator 'text' raised ValueError"):
        sw.rolling(np.array(["1", "b"]), text, rows=2)


# -- states of every type


@numba.njit
def mixed(x: int) -> Any:
    h = np.uint64(x) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


def lift(x: int) -> Any:
    ints = np.int8(x & 127), np.int32(x), np.uint8(x & 127), np.uint16(x), np.uint32(x)
    return ints + (np.uint64(x) << 62, mixed(x), np.float32(x) / np.float32(4.0), x > 5)  # noqa: RUF005


def combine(a: Any, b: Any) -> Any:
    ints = (a[0] if a[0] < b[0] else b[0], max(a[1], b[1]), min(a[2], b[2]), a[3] if a[3] > b[3] else b[3])
    more = min(a[4], b[4]), max(a[5], b[5]), min(a[6], b[6]), a[7] + b[7], a[8] or b[8]
    return ints + more


def lower(s: Any) -> Any:
    return s


every_type = sw.operator(name="every type", identity=None, lift=lift, combine=combine, lower=lower)
minhash = sw.operator(
    name="minhash", identity=2**64 - 1, lift=lambda x: np.uint64(mixed(x)), combine=lambda a, b: a if a < b else b
)


def plain(values: Any) -> list[Any]:
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def test_states_of_every_type_are_what_numba_has_them() -> None:
    x = np.random.default_rng(3).integers(0, 1000, 60)
    numba_lift, numba_combine = numba.njit(lift), numba.njit(combine)

    @numba.njit
    def by_numba(rows: Any) -> Any:
        state = numba_lift(rows[0])
        for row in rows[1:]:
            state = numba_combine(state, numba_lift(row))
        return state

    found = sw.rolling(x, every_type, rows=3)
    kernel = kernel_for(every_type, ("int64",))
    assert kernel is not None
    kinds = ("int8", "int32", "uint8", "uint16", "uint32", "uint64", "uint64", "float32", "bool")
    assert kernel.layout.fields == kinds
    for i in range(len(x)):
        window = x[max(0, i - 2) : i + 1]
        interpreted = sw.Recalc(every_type)
        for value in window.tolist():
            interpreted.insert(value)
        assert list(found[i].tolist()) == plain(interpreted.query()) == list(by_numba(window))


def smallest(values: list[int], n: int) -> list[int]:
    hashes = [int(mixed(value)) for value in values]
    return [min(hashes[max(0, i - n + 1) : i + 1]) for i in range(len(values))]


def test_a_minhash_in_every_lane() -> None:
    """Half of these hashes lie beyond 2^63, which as int64 would be the least of all."""
    x = np.arange(1, 1500)
    values = x.tolist()
    assert max(smallest(values, 1)) >= 2**63
    for n in (3, 20):
        assert sw.rolling(x, minhash, rows=n).tolist() == smallest(values, n)
    times = np.arange(len(x))
    assert sw.rolling(x, minhash, times=times, last=4, grain=1).tolist() == smallest(values, 4)

    window = sw.compiled(sw.DabaLite, minhash, "int64")
    window.insert_many(x[:5])
    assert window.rounds(x[5:]).tolist() == smallest(values, 5)[5:]

    definition = sw.Sliding(on="t", near=minhash("x").over(3), all=minhash("x").over("all"))
    live = definition.live()
    import pyarrow as pa

    answers = [live.push({"t": i, "x": v}) for i, v in enumerate(values[:3])]
    batch = live.push_many(pa.table({"t": times[3:1400], "x": x[3:1400]}))
    answers += [{"near": a, "all": b} for a, b in zip(batch["near"].to_pylist(), batch["all"].to_pylist(), strict=True)]
    answers += [live.push({"t": i, "x": values[i]}) for i in range(1400, len(values))]
    assert [int(answer["near"]) for answer in answers] == smallest(values, 3)
    assert [int(answer["all"]) for answer in answers] == smallest(values, len(values))

    spans = spanning(minhash, ("int64",))
    assert isinstance(spans, Spanning)
    middle = spans.combine(spans.fold([x[5:9]]), spans.fold([x[9:14]]))
    starts, ends, enough = np.array([0, 2]), np.array([6, 8]), np.ones(2, np.bool_)
    rows = np.concatenate([x[:5], x[14:17]])
    found = spans.answers([rows], 5, middle, starts, ends, enough).fields[0].tolist()
    assert found == [min(int(mixed(v)) for v in part) for part in (values[:15], values[2:17])]


def test_rows_in_no_window_are_not_looked_at() -> None:
    logs = sw.operator(name="logs", identity=0.0, lift=lambda x: math.log(x), combine=lambda a, b: a + b)  # noqa: PLW0108
    x, keys = np.array([-1.0, 1.0, 1.0]), np.array([0, 1, 1])
    assert np.isnan(sw.rolling(x[:1], logs, rows=1, closed="left")).all()
    assert sw.rolling(x, logs, rows=2, by=keys, at_least=2).tolist()[2] == 0.0
    spans = spanning(logs, ("float64",))
    assert isinstance(spans, Spanning)
    empty, enough = np.zeros(1, np.int64), np.ones(1, np.bool_)
    assert spans.answers([np.zeros(0)], 0, (0.5,), empty, empty, enough).fields[0].tolist() == [0.5]
