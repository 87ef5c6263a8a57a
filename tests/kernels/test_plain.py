"""Plain Python in the place of machine code, over few rows: the same bits and errors, and when it ends."""

from __future__ import annotations

import math
import os
import pickle
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.kernels.compiler import tiers
from slidewise.kernels.compiler.jit import cached_jit, jit, njit, tiered_jit
from slidewise.kernels.compiler.plain import plain
from slidewise.kernels.sums.fma import fma, plain_fma
from slidewise.kernels.sums.row_sums import sum_rows

CASES = Path(__file__).with_name("plain_cases.py")


def test_all_operators_have_the_same_bits_and_errors(tmp_path: Path) -> None:
    """Over decimals, NaN, infinities, both zeros, nulls and integers; and plain Python compiles nothing."""

    def answers(*more: str) -> tuple[dict[str, Any], list[str]]:
        file = tmp_path / "answers"
        environment = {**os.environ, "PYTHONPATH": str(Path(sw.__file__).parents[1])}
        subprocess.run([sys.executable, str(CASES), str(file), "7", *more], env=environment, check=True)
        loaded: tuple[dict[str, Any], list[str]] = pickle.loads(file.read_bytes())
        return loaded

    plain_answers, compiled = answers("plain")
    assert compiled == []
    expected, _ = answers()
    assert len(expected) > 1_500
    assert {name for name in expected if plain_answers[name] != expected[name]} == set()
    errors = [answer[0] for answer in expected.values() if isinstance(answer, tuple)]
    assert "SumOverflowError" in errors


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels may run as plain Python, and none is kept on disk."""
    monkeypatch.delenv(tiers.VARIABLE, raising=False)
    monkeypatch.setattr("slidewise.kernels.compiler.machine_code.cache_folder", lambda: None)


def total(x: Any, out: Any) -> None:
    for i in range(len(x)):
        out[i] = x[i] / 2


def is_compiled(kernel: Any) -> bool:
    return bool(kernel.overloads)


def run(kernel: Any, rows: int, dtype: Any = np.float64) -> Any:
    out = np.empty(rows, dtype)
    kernel(np.arange(rows).astype(dtype), out)
    return out


def test_few_rows_run_as_python_and_many_are_compiled(later: None) -> None:
    kernel = tiered_jit(total)
    assert run(kernel, 5).tolist() == [0.0, 0.5, 1.0, 1.5, 2.0]
    assert not is_compiled(kernel)
    assert run(kernel, tiers.FEW + 1)[3] == 1.5
    assert is_compiled(kernel)


def test_a_kernel_is_compiled_once_python_has_taken_its_time(later: None, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [0.0]

    def clock() -> float:
        seconds[0] += 0.1
        return seconds[0]

    monkeypatch.setattr(tiers.time, "thread_time", clock)
    kernel = tiered_jit(total)
    for _ in range(math.ceil(tiers.BUDGET / 0.1)):
        assert not is_compiled(kernel)
        run(kernel, 5)
    run(kernel, 5)
    assert is_compiled(kernel)


@pytest.mark.parametrize("dtype", [np.float32, np.int16])
def test_numbers_that_numba_makes_wider_are_compiled(later: None, dtype: Any) -> None:
    kernel = tiered_jit(total)
    run(kernel, 5, dtype)
    assert is_compiled(kernel)


def test_all_is_compiled_where_it_is_asked_for(later: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tiers.VARIABLE, tiers.ALWAYS)
    kernel = tiered_jit(total)
    run(kernel, 5)
    assert is_compiled(kernel)


def test_other_kernels_are_compiled_at_once(later: None) -> None:
    kernel = cached_jit(total)
    run(kernel, 5)
    assert is_compiled(kernel)


def test_machine_code_on_disk_is_used_at_once(tmp_path: Path) -> None:
    """By a process that would else run plain Python."""
    program = (
        "import sys, numpy as np, slidewise as sw\n"
        "sw.rolling(np.arange(9.0), sw.max, rows=3)\n"
        "from slidewise.kernels.passes.extremes import max_rows\n"
        "print(len(max_rows.overloads), sum(max_rows.stats.cache_hits.values()))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(sw.__file__).parents[1])}
    environment["SLIDEWISE_CACHE_DIR"] = str(tmp_path / "kernels")

    def printed(compile_when: str) -> str:
        environment[tiers.VARIABLE] = compile_when
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()

    assert printed("") == "0 0"
    assert printed(tiers.ALWAYS) == "1 0"
    assert printed("")[0] == "1"


def test_plain_functions_know_their_closure_and_one_another() -> None:
    half = 0.5

    @jit
    def inner(x: float) -> float:
        return math.sqrt(x) * half

    @njit(nogil=True)
    def outer(x: float) -> float:
        return inner(x) + fma(x, x, 1.0)

    assert plain(outer)(9.0) == 1.5 + 82.0
    with np.errstate(all="ignore"):
        assert math.isnan(plain(outer)(-1.0))
    assert not is_compiled(inner)
    assert not is_compiled(outer)


def test_a_sum_of_plain_python_is_that_of_machine_code(later: None) -> None:
    x = np.random.default_rng(2).normal(size=500)
    compiled = sum_rows(x, np.array([0, 500]), 20, mean=True)
    assert compiled is not None
    assert np.array_equal(compiled, sw.rolling(x, sw.mean, rows=20))


floats = st.floats(allow_nan=True, allow_infinity=True)


@given(floats, floats, floats)
def test_a_multiply_and_add_is_rounded_once(a: float, b: float, c: float) -> None:
    with np.errstate(all="ignore"):
        answer = float(plain_fma(a, b, c))
    compiled = _compiled_fma(a, b, c)
    assert (math.isnan(answer) and math.isnan(compiled)) or answer.hex() == compiled.hex()
    if all(map(math.isfinite, (a, b, c, answer))):
        exact = Fraction(a) * Fraction(b) + Fraction(c)
        assert abs(Fraction(answer) - exact) <= Fraction(math.ulp(answer)) / 2


@jit
def _compiled_fma(a: float, b: float, c: float) -> float:
    result: float = fma(a, b, c)
    return result
