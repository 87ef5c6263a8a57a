"""What compiled code has read from outside is never older than the call: interpreted and compiled answers agree."""

from __future__ import annotations

import base64
import gc
import importlib
import math
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba import cloudpickle

import slidewise as sw
from slidewise.kernels.codegen.kernel import kernel_for
from slidewise.kernels.compiler import user_functions
from slidewise.kernels.compiler.fingerprints import fingerprint
from slidewise.kernels.compiler.user_functions import compiled_function

settings = types.ModuleType("settings")
settings.K = 2.0  # type: ignore[attr-defined]
settings.inner = types.SimpleNamespace(K=1.0)  # type: ignore[attr-defined]
settings.deep = types.ModuleType("deep")  # type: ignore[attr-defined]
settings.deep.K = 1.0  # type: ignore[attr-defined]
TABLE = np.array([1.0, 10.0])
WEIGHTS = (1.0, 2.0)


@numba.njit
def scaled(v: float) -> float:
    return v * settings.K  # type: ignore[no-any-return, attr-defined]


@numba.njit
def scaled_twice(v: float) -> float:
    return scaled(v) * 2.0


def total(lift: Any) -> sw.Operator:
    return sw.operator(name="total", identity=0.0, lift=lift, combine=lambda a, b: a + b)


def rolled(op: sw.Operator, x: Any) -> list[Any]:
    """The kernel's answers, which must be those of the interpreted window."""
    found: list[Any] = sw.rolling(x, op, rows=2).tolist()
    window, expected = sw.Recalc(op), []
    for value in x.tolist():
        window.insert(value)
        if len(window) > 2:
            window.evict()
        expected.append(window.query())
    assert found == expected
    return found


def both(lift: Any, value: Any) -> Any:
    """What a function gives compiled, which must be what it gives interpreted."""
    answer = compiled_function(fingerprint(lift))(value)
    assert answer == lift(value)
    return answer


X = np.array([1.0, 2.0])


def test_a_module_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    op = total(lambda v: v * settings.K)
    assert rolled(op, X) == [2.0, 6.0]
    monkeypatch.setattr(settings, "K", 5.0)
    assert rolled(op, X) == [5.0, 15.0]
    assert both(op.lift, 1) == 5.0, "what is made for another type is made from what is there now"
    monkeypatch.undo()
    assert rolled(op, X) == [2.0, 6.0]


def test_attributes_of_attributes_and_other_names_for_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    def aliased(v: float) -> Any:
        known = settings
        return v * known.deep.K * getattr(known, "K")  # noqa: B009

    assert both(aliased, 1.0) == 2.0
    monkeypatch.setattr(settings.deep, "K", 10.0)
    assert both(aliased, 1.0) == 20.0
    monkeypatch.setattr(settings, "K", 1.0)
    assert both(aliased, 1.0) == 10.0


def test_a_compiled_helper_that_reads_what_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    def lift(v: float) -> float:
        return scaled_twice(v) + 0.0

    assert both(lift, 1.0) == both(scaled_twice, 1.0) == 4.0
    monkeypatch.setattr(settings, "K", 5.0)
    assert both(lift, 1.0) == both(scaled_twice, 1.0) == 10.0
    assert scaled(1.0) == 5.0


def test_arrays_tuples_and_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    def lift(v: float, d: Any = WEIGHTS) -> Any:
        return v * TABLE[1] * d[1]

    assert both(lift, 1.0) == 20.0
    monkeypatch.setattr(sys.modules[__name__], "TABLE", TABLE.copy())
    TABLE[1] = 7.0
    assert both(lift, 1.0) == 14.0
    lift.__defaults__ = ((0.0, 1.0),)
    assert both(lift, 1.0) == 7.0


def test_a_closure_that_changes_before_another_type_comes() -> None:
    def made(k: int) -> tuple[sw.Operator, Any]:
        def change(new: int) -> None:
            nonlocal k
            k = new

        return total(lambda v: v * k), change

    op, change = made(3)
    assert rolled(op, np.array([1, 2])) == [3, 9]
    change(70)
    other, _ = made(3)
    assert both(other.lift, 1.0) == 3.0
    assert rolled(op, X) == [70.0, 210.0]


def test_one_text_in_two_namespaces() -> None:
    text = "import numba\n@numba.njit\ndef helper(v):\n    return v * K\nlift = lambda v: helper(v)"
    one: dict[str, Any] = {"K": 3}
    two: dict[str, Any] = {"K": 70}
    exec(text, one)
    exec(text, two)
    assert [both(one["lift"], 1), both(two["lift"], 1.0)] == [3, 70.0]
    assert [both(one["lift"], 1.0), both(two["lift"], 1)] == [3.0, 70]


HELPERS = """
import numba
import {settings} as limits
@numba.njit(cache=True)
def helper(v):
    return v * limits.K{more}
"""


def test_a_module_that_is_edited_and_loaded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "edited_limits.py").write_text("K = 2.0\n")
    (tmp_path / "edited_helpers.py").write_text(HELPERS.format(settings="edited_limits", more=""))
    import edited_helpers  # type: ignore[import-not-found]

    def lift(v: float) -> Any:
        return edited_helpers.helper(v) + 0.0

    assert both(lift, 1.0) == 2.0
    (tmp_path / "edited_limits.py").write_text("K = 5.0\n# edited")
    importlib.reload(edited_helpers.limits)
    assert both(lift, 1.0) == 5.0
    (tmp_path / "edited_helpers.py").write_text(HELPERS.format(settings="edited_limits", more=" + 1.0"))
    importlib.reload(edited_helpers)
    assert both(lift, 1.0) == 6.0


JOB = """
import {helpers} as h
from slidewise.kernels.compiler.fingerprints import fingerprint
from slidewise.kernels.compiler.user_functions import compiled_function
lift = lambda v: h.helper(v) + 0.0
print(compiled_function(fingerprint(lift))(3.0), lift(3.0))
"""


def test_a_helper_cached_on_disk_by_an_earlier_process(tmp_path: Path) -> None:
    (tmp_path / "disk_helpers.py").write_text(HELPERS.format(settings="disk_limits", more=""))
    (tmp_path / "job.py").write_text(JOB.format(helpers="disk_helpers"))
    for k, expected in ((2.0, "6.0 6.0"), (5.0, "15.0 15.0")):
        (tmp_path / "disk_limits.py").write_text(f"K = {k}\n")
        done = subprocess.run(
            [sys.executable, "-B", str(tmp_path / "job.py")], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == expected


class Config:
    def __init__(self, k: float) -> None:
        self.k = k


config = Config(2.0)


def test_objects_of_unknown_value_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    op = total(lambda v: v * config.k)
    with pytest.warns(UserWarning, match=r"runs interpreted.*global name 'config'.*Config"):
        assert sw.rolling(X, op, rows=2).tolist() == [2.0, 6.0]
    monkeypatch.setattr(config, "k", 5.0)
    assert rolled(op, X) == [5.0, 15.0]
    with pytest.raises(Exception, match="SimpleNamespace"):
        both(lambda v: v * settings.inner.K, 1.0)


def test_names_that_only_look_as_if_they_were_read() -> None:
    """`real` is an attribute of the value here, and of the module something of unknown value."""
    named = types.ModuleType("named")
    named.K, named.real = 3.0, Config(1.0)  # type: ignore[attr-defined]
    assert both(lambda v: v.real * named.K, 2.0) == 6.0


def test_a_window_of_compiled_code_keeps_what_it_was_made_with(monkeypatch: pytest.MonkeyPatch) -> None:
    w = sw.compiled(sw.DabaLite, total(lambda v: v * settings.K), "float64")
    monkeypatch.setattr(settings, "K", 5.0)
    w.insert_many(X)
    assert w.query() == 6.0


def test_numpy_types_math_and_functions_by_name() -> None:
    from math import sqrt

    from numpy import float64, maximum

    assert rolled(total(lambda v: float64(v) + sqrt(v)), np.array([1, 4])) == [2.0, 8.0]
    assert both(lambda v: maximum(v, 1.5), 1.0) == 1.5


def test_what_is_kept_is_bounded_and_ids_are_not_taken_for_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_functions, "_CAPACITY", 3)
    kept: user_functions.LruCache[int] = user_functions.LruCache()
    for i in range(9):
        assert kept.get_or_make(i % 5, lambda i=i: i % 5) == i % 5  # type: ignore[misc]
    assert sorted(kept) == [1, 2, 3]
    keys = set()
    for _ in range(4):
        cls = type("Odd", (tuple,), {"__slots__": (), "_fields": ()})
        keys.add(fingerprint(eval("lambda v: cls()", {"cls": cls})))
        del cls
        gc.collect()
    assert len(keys) == 4


def test_recursive_and_mutual_functions_have_a_fingerprint() -> None:
    space: dict[str, Any] = {"numba": numba}
    exec(
        "@numba.njit\ndef even(n):\n    return True if n == 0 else odd(n - 1)\n"
        "@numba.njit\ndef odd(n):\n    return False if n == 0 else even(n - 1)\n"
        "lift = lambda v: 1 if even(v) else 0\n",
        space,
    )
    assert fingerprint(space["lift"]) == fingerprint(space["lift"])
    assert [both(space["lift"], n) for n in (2, 3)] == [1, 0]


def test_nan_infinity_and_signed_zero_are_told_apart() -> None:
    def made(k: Any) -> Any:
        return lambda v: v * k

    values = [0.0, -0.0, 0, False, math.nan, math.inf, 1, True, 1.0, 1 + 0j]
    assert len({fingerprint(made(k)) for k in values}) == len(values)
    assert fingerprint(made(math.nan)) == fingerprint(made(float("nan")))
    assert kernel_for(total(made(2.0)), ("float64",)) is kernel_for(total(made(2.0)), ("float64",))


WORKER = """
import base64, sys
from numba import cloudpickle
from slidewise.kernels.compiler.fingerprints import fingerprint
from slidewise.kernels.compiler.user_functions import compiled_function
for line in sys.stdin:
    lift = cloudpickle.loads(base64.b64decode(line))
    print(compiled_function(fingerprint(lift))(1.0), lift(1.0), flush=True)
"""


def test_a_worker_that_gets_a_function_again_after_a_change() -> None:
    """As Spark's workers do, which are used again: Numba knows a function that arrives by its id."""
    space: dict[str, Any] = {"K": 2.0, "__name__": "surroundings"}
    exec("import numba\n@numba.njit\ndef helper(v):\n    return v * K\nlift = lambda v: helper(v) + 0.0", space)
    with subprocess.Popen([sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        for k in (2.0, 5.0):
            space["K"] = k
            assert both(space["lift"], 1.0) == k  # as the driver does to know the answers' type
            worker.stdin.write(base64.b64encode(cloudpickle.dumps(space["lift"])) + b"\n")
            worker.stdin.flush()
            assert worker.stdout.readline().decode().split() == [str(k), str(k)]
        worker.stdin.close()
