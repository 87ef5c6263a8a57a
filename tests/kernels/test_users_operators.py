"""A user's own operator in a kernel: the interpreted answers, compiled once, and clear words where it fails."""

from __future__ import annotations

import functools
import marshal
import math
import operator
import types
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slidewise as sw
from slidewise.kernels.codegen.kernel import kernel_for

FORMS: list[dict[str, Any]] = [
    {"rows": 3},
    {"rows": 3, "closed": "left"},
    {"rows": 4, "at_least": 3},
    {"times": True, "last": 2},
    {"times": True, "last": 3, "closed": "neither", "by": True},
]


def interpreted(op: sw.Operator, columns: list[list[Any]], form: dict[str, Any]) -> list[Any]:
    """Each window's rows, by the semantics' words, through Recalc."""
    m = len(columns[0])
    times, keys = [i // 2 for i in range(m)], [i % 3 if form.get("by") else 0 for i in range(m)]
    closed, answers = form.get("closed", "right"), []
    for i in range(m):
        mine = [j for j in range(m) if keys[j] == keys[i]]
        if "rows" in form:
            end = mine.index(i) + (closed == "right")
            window = mine[max(0, end - form["rows"]) : end]
        else:
            t, open_left = times[i], closed in ("right", "neither")
            window = [j for j in mine if times[j] < t or (times[j] == t and closed in ("right", "both"))]
            oldest = t - form["last"]
            window = [j for j in window if times[j] > oldest or (times[j] == oldest and not open_left)]
        recalc = sw.Recalc(op)
        for j in window:
            recalc.insert(*(column[j] for column in columns))
        answers.append(recalc.query() if len(window) >= form.get("at_least", 1) else None)
    return answers


def compiled(op: sw.Operator, columns: list[list[Any]], form: dict[str, Any]) -> list[Any]:
    """`sw.rolling`, with warnings as errors: it must have compiled."""
    inputs = tuple(np.array(column) for column in columns)
    assert kernel_for(op, tuple(str(x.dtype) for x in inputs)) is not None
    m = len(columns[0])
    options = dict(form)
    if "times" in form:
        options["times"] = np.arange(m) // 2
    if "by" in form:
        options["by"] = np.arange(m) % 3
    answers = sw.rolling(inputs if len(inputs) > 1 else inputs[0], op, **options)
    hidden = np.ma.getmaskarray(answers)
    values = np.ma.getdata(answers).tolist()
    if not hidden.dtype.names:
        return [None if gone or value != value else value for gone, value in zip(hidden.tolist(), values, strict=True)]
    rows = [
        tuple(None if gone or value != value else value for gone, value in zip(masks, fields, strict=True))
        for masks, fields in zip(hidden.tolist(), values, strict=True)
    ]
    return [row if any(value is not None for value in row) else None for row in rows]


def check(op: sw.Operator, *columns: list[Any]) -> None:
    for form in FORMS:
        expected = interpreted(op, list(columns), form)
        assert compiled(op, list(columns), form) == [None if e != e else e for e in expected], form


INTS = [4, 5, 3, 4, 0, 4, 4, -2, 7, 7, 1]
FLOATS = [4.5, 5.0, -3.25, 4.0, 0.5, 4.0, 4.0, -2.0, 7.0, 7.0, 1.5]

maxcount = sw.operator(
    name="my maxcount",
    identity=(-math.inf, 0),
    lift=lambda x: (x, 1),
    combine=lambda a, b: a if a[0] > b[0] else b if a[0] < b[0] else (a[0], a[1] + b[1]),
    lower=lambda s: s[1],
)


@pytest.mark.parametrize("values", [INTS, FLOATS], ids=["int64", "float64"])
def test_maxcount_of_the_design(values: list[Any]) -> None:
    check(maxcount, values)


def test_a_scalar_state() -> None:
    check(sw.operator(name="my max", identity=-math.inf, combine=lambda a, b: a if a >= b else b), INTS)
    check(sw.operator(name="odd", identity=False, lift=lambda x: x % 2 == 1, combine=lambda a, b: a != b), INTS)
    check(sw.operator(name="trues", identity=0, combine=lambda a, b: a + b), [x > 3 for x in INTS])


def test_the_order_of_rows_is_kept() -> None:
    """Affine maps do not commute: any exchange of older and newer shows."""
    affine = sw.operator(
        name="affine",
        identity=(1, 0),
        lift=lambda x: (x % 5 + 1, x),
        combine=lambda f, g: (f[0] * g[0] % 9973, (f[1] * g[0] + g[1]) % 9973),
        lower=lambda f: f[0] * 10_000 + f[1],
    )
    check(affine, INTS)
    many = np.random.default_rng(5).integers(0, 1_000, 400)
    for n in (1, 2, 7, 64, 399, 400, 500):
        window, expected = sw.DabaLite(affine), []
        for value in many.tolist():
            window.insert(value)
            if len(window) > n:
                window.evict()
            expected.append(window.query())
        assert sw.rolling(many, affine, rows=n).tolist() == expected
        assert sw.rolling(many, affine, times=np.arange(400), last=n).tolist() == expected


def test_states_that_begin_as_integers_and_become_floats() -> None:
    check(sw.operator(name="halves", identity=0, combine=lambda a, b: (a + b) * 1.0), INTS)
    swap = sw.operator(
        name="swap",
        identity=(0, 0),
        lift=lambda x: (x, 0.5),
        combine=lambda a, b: (a[0] + b[0], a[1] * b[1]),
        lower=lambda s: s[0] * s[1],
    )
    check(swap, INTS)


def test_several_inputs() -> None:
    weighted = sw.operator(
        name="weighted mean",
        identity=(0.0, 0.0),
        lift=lambda x, w: (x * w, w),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda s: s[0] / s[1] if s[1] != 0 else None,
    )
    check(weighted, FLOATS, [1, 2, 0, 0, 0, 0, 4, 1, 1, 2, 2])


def test_nulls_are_skipped_for_a_users_operator_too() -> None:
    total = sw.operator(name="my total", identity=0, combine=lambda a, b: a + b)
    x = np.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0])
    assert sw.rolling(x, total, rows=2).tolist() == [1, 1, 3, 7]
    assert sw.rolling(x, total, rows=2, at_least=2).tolist() == [None, None, None, 7]
    assert sw.rolling(x, total, rows=1).tolist() == [1, None, 3, 4]


def test_lower_may_have_no_answer() -> None:
    check(sw.operator(name="small", identity=0, combine=lambda a, b: a + b, lower=lambda s: None if s > 8 else s), INTS)


def test_lower_may_give_several_fields() -> None:
    ends = sw.operator(
        name="ends",
        identity=(0, 0),
        lift=lambda x: (x, x),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda s: (s[1], s[0] / 2),
    )
    check(ends, INTS)


def test_several_fields_or_none_and_none_in_fields() -> None:
    ends = sw.operator(
        name="ends or none",
        identity=(0, 0),
        lift=lambda x: (x, x),
        combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
        lower=lambda s: None if s[1] > 5 else (s[1], None if s[0] < 0 else s[0] / 2, s[0] > 3),
    )
    check(ends, INTS)
    either = sw.operator(
        name="a field or none", identity=0, combine=lambda a, b: a + b, lower=lambda s: (s, None) if s > 8 else (s, s)
    )
    check(either, INTS)
    answers = sw.rolling(pa.array(INTS), either, rows=1)
    assert answers.type == pa.struct([("0", pa.int64()), ("1", pa.int64())])
    assert answers.to_pylist()[:2] == [{"0": 4, "1": 4}, {"0": 5, "1": 5}]
    frame = sw.rolling(pd.Series([9, 1]), either, rows=1)
    assert frame.tolist() == [{"0": 9, "1": None}, {"0": 1, "1": 1}]


def test_a_number_that_may_be_none_is_still_one_of_pythons() -> None:
    def next_but(s: int) -> int | None:
        x = None if s == 3 else s
        return None if x is None else x + 1

    op = sw.operator(name="the next but 3", identity=0, combine=lambda a, b: a + b, lower=next_but)
    check(op, INTS)
    with pytest.raises(sw.OperatorFailedError, match="64 bits"):
        sw.rolling(np.array([2**63 - 1]), op, rows=1)


def test_a_state_of_a_fixed_length_array() -> None:
    histogram = sw.operator(
        name="histogram",
        identity=np.zeros(4, np.int64),
        lift=lambda x: (np.arange(4) == x % 4).astype(np.int64),
        combine=lambda a, b: a + b,
        lower=lambda s: s[0] * 1000 + s[1] * 100 + s[2] * 10 + s[3],
    )
    check(histogram, INTS)


class Point(NamedTuple):
    total: float
    rows: int


class Mean(NamedTuple):
    mean: float | None
    rows: int


class Deep(NamedTuple):
    point: Point
    pair: tuple[int, tuple[bool, float]]


mean_of_points = sw.operator(
    name="mean of points",
    identity=None,
    lift=lambda x: Point(x, 1),
    combine=lambda a, b: Point(a.total + b.total, rows=a.rows + b.rows),
    lower=lambda s: (
        None if s is None or s.total > 9 else Mean(None, 1) if s.rows == 1 else Mean(s.total / s.rows, s.rows)
    ),
)


def test_a_named_tuple_as_state_and_as_answer() -> None:
    check(mean_of_points, FLOATS)
    answers = sw.rolling(pa.array(FLOATS), mean_of_points, rows=2)
    assert [field.name for field in answers.type] == ["mean", "rows"]
    assert sw.rolling(np.array(FLOATS), mean_of_points, rows=2).dtype.names == ("mean", "rows")
    window = sw.compiled(sw.DabaLite, mean_of_points, "float64")
    window.insert(2.0)
    assert window.query() == Mean(None, 1)
    window.insert(4.0)
    assert window.query() == Mean(3.0, 2)
    means, rows = window.rounds(np.array([1.0, 20.0]))
    assert (means[0], math.isnan(means[1]), rows.tolist()) == (2.5, True, [2, None])


def test_tuples_in_tuples_as_state() -> None:
    """Fields are told apart: an exchange of any two would show."""
    deep = sw.operator(
        name="deep",
        identity=Deep(Point(0.0, 0), (0, (False, 0.0))),
        lift=lambda x: Deep(Point(x, 1), (x // 2, (x > 4, x * 0.5))),
        combine=lambda a, b: Deep(
            Point(a.point.total + b.point.total, a.point.rows + b.point.rows),
            (max(a.pair[0], b.pair[0]), (a.pair[1][0] or b.pair[1][0], b.pair[1][1])),
        ),
        lower=lambda s: (s.point.total, s.point.rows, s.pair[0], s.pair[1][0], s.pair[1][1]),
    )
    check(deep, INTS)


class Adding(NamedTuple):
    n: int

    def __add__(self, other: Any) -> Any:
        return Adding(self.n * other.n)


class Default(NamedTuple):
    n: int
    rows: int = 1


@pytest.mark.parametrize(
    ("lift", "combine", "why"),
    [
        (lambda x: Adding(x * 1), lambda a, b: a + b, "Adding has __add__ of its own"),
        (lambda x: Default(x * 1), lambda a, b: Default(a.n + b.n), "Default is made with fewer values than"),
    ],
    ids=["methods", "defaults"],
)
def test_named_tuples_that_compiled_code_does_not_know(lift: Any, combine: Any, why: str) -> None:
    op = sw.operator(name=why, identity=None, lift=lift, combine=combine, lower=lambda s: s.n)
    with pytest.warns(UserWarning, match=f"runs interpreted.*{why}"):
        answers = sw.rolling(np.array([2, 3, 4]), op, rows=2)
    assert answers.tolist() == [2, combine(lift(2), lift(3)).n, combine(lift(3), lift(4)).n]


@settings(deadline=None, max_examples=25, derandomize=True)
@given(st.lists(st.integers(-5, 5), max_size=14), st.integers(1, 16))
def test_any_data(values: list[int], n: int) -> None:
    window, expected = sw.Recalc(maxcount), []
    for value in values:
        window.insert(value)
        if len(window) > n:
            window.evict()
        expected.append(window.query())
    x = np.array(values, np.int64)
    assert sw.rolling(x, maxcount, rows=n).tolist() == expected
    assert sw.rolling(x, maxcount, times=np.arange(len(values)), last=n).tolist() == expected


# -- functions of every kind


@pytest.mark.parametrize(
    "combine",
    [max, operator.add, np.maximum, math.gcd, functools.partial(lambda k, a, b: a + b + k, 1)],
    ids=["max", "operator.add", "np.maximum", "math.gcd", "partial"],
)
def test_callables_that_are_no_python_functions_still_work(combine: Callable[[Any, Any], Any]) -> None:
    """Compiled or, with a warning, interpreted: never an error from the compiler."""
    op = sw.operator(name="callable", identity=0, combine=combine)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*runs interpreted", category=UserWarning)
        answers = sw.rolling(np.array([4, 6, 3]), op, rows=2)
    assert answers.tolist() == [4, combine(4, 6), combine(6, 3)]


def test_a_class_as_lift() -> None:
    op = sw.operator(name="float total", identity=0.0, lift=float, combine=lambda a, b: a + b)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*runs interpreted", category=UserWarning)
        assert sw.rolling(np.array([1, 2]), op, rows=2).tolist() == [1.0, 3.0]


def divisor(a: int, b: int) -> int:
    return a if b == 0 else divisor(b, a % b)


def test_a_recursive_function() -> None:
    op = sw.operator(name="divisor", identity=0, combine=divisor)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*runs interpreted", category=UserWarning)
        assert sw.rolling(np.array([4, 6, 9]), op, rows=2).tolist() == [4, 2, 3]


def test_arguments_with_defaults_and_any_number_of_arguments() -> None:
    def scaled(factor: int) -> sw.Operator:
        return sw.operator(name="scaled", identity=0, lift=lambda x, k=factor: x * k, combine=lambda a, b: a + b)

    def named(factor: int) -> sw.Operator:
        return sw.operator(name="named", identity=0, lift=lambda x, *, k=factor: x * k, combine=lambda a, b: a + b)

    either = sw.operator(name="either", identity=0, lift=lambda *v: v[0] * v[1], combine=lambda a, b: a + b)
    x = np.array([1, 2])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*runs interpreted", category=UserWarning)
        assert sw.rolling(x, scaled(2), rows=2).tolist() == [2, 6]
        assert sw.rolling(x, scaled(3), rows=2).tolist() == [3, 9]
        assert sw.rolling((x, x), scaled(3), rows=2).tolist() == [1, 5]
        assert sw.rolling(x, named(2), rows=2).tolist() == [2, 6]
        assert sw.rolling(x, named(3), rows=2).tolist() == [3, 9]
        assert sw.rolling((x, x), either, rows=2).tolist() == [1, 5]


def test_at_least_is_decided_outside_the_operator() -> None:
    """`lower` is not asked about windows of too few rows, compiled or not."""
    spread = sw.operator(
        name="spread",
        identity=(0.0, 0),
        lift=lambda x: (x, 1),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda s: s[0] / (s[1] - 1),
    )
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(sw.rolling(x, spread, rows=2, at_least=2), [math.nan, 3.0, 5.0])
    np.testing.assert_array_equal(sw.rolling(x, spread, times=np.arange(3), last=2, at_least=2), [math.nan, 3.0, 5.0])


def test_an_empty_window_is_not_asked_of_an_interpreted_operator() -> None:
    mean = sw.operator(
        name="text mean",
        identity=("", 0),
        lift=lambda x: (str(x), 1),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lower=lambda s: len(s[0]) // s[1],
    )
    x = np.array(["aa", "bb"])
    assert sw.rolling(x, mean, rows=2, closed="left").tolist() == [None, 2]
    most = sw.operator(name="longest", identity=-math.inf, lift=len, combine=max)
    answers = sw.rolling(x, most, rows=2, closed="left")
    assert answers.dtype == np.int64, "the identity must not turn integers into floats"
    assert answers.tolist() == [None, 2]


# -- compiled once


def make_clipped(limit: Any) -> sw.Operator:
    return sw.operator(
        name="clipped",
        identity=0,
        lift=lambda x: x if x < limit else limit,
        combine=lambda a, b: a + b,
        lower=lambda s: s,
    )


def rebuilt(function: Callable[..., Any]) -> Any:
    """The same function as another object, with its code through bytes, as after pickling in another process."""
    code = marshal.loads(marshal.dumps(function.__code__))
    cells = tuple(types.CellType(cell.cell_contents) for cell in function.__closure__ or ())
    return types.FunctionType(code, function.__globals__, function.__name__, function.__defaults__, cells)


def rebuilt_operator(op: sw.Operator) -> sw.Operator:
    return sw.operator(
        name=op.name,
        identity=op.identity,
        lift=rebuilt(op.lift),
        combine=rebuilt(op.combine),
        lower=rebuilt(op.lower),
    )


def test_the_same_functions_as_other_objects_compile_once() -> None:
    first = kernel_for(make_clipped(3), ("int64",))
    assert first is not None
    assert kernel_for(make_clipped(3), ("int64",)) is first
    assert kernel_for(rebuilt_operator(make_clipped(3)), ("int64",)) is first
    assert kernel_for(rebuilt_operator(rebuilt_operator(make_clipped(3))), ("int64",)) is first
    x = np.array([1, 5])
    sw.rolling(x, make_clipped(3), rows=2)
    signatures = list(first.compiled_pass("rows_pass").signatures)
    sw.rolling(x, rebuilt_operator(make_clipped(3)), rows=2)
    assert list(first.compiled_pass("rows_pass").signatures) == signatures
    assert len(signatures) == 1


def test_other_closure_values_do_not_share() -> None:
    x = np.array([1, 5, 9])
    for limit in (3, 4, 3.5, 3.0, True):
        expected = [x_i if x_i < limit else limit for x_i in x.tolist()]
        assert sw.rolling(x, make_clipped(limit), rows=1).tolist() == expected
    kernels = [kernel_for(make_clipped(limit), ("int64",)) for limit in (3, 4, 3.0, 3.5, True)]
    assert len(set(map(id, kernels))) == 5
    assert kernel_for(make_clipped(3), ("float64",)) is not kernels[0]


SCALE = 2


def test_a_global_that_changes_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    op = sw.operator(name="scaled by a global", identity=0, lift=lambda x: x * SCALE, combine=lambda a, b: a + b)
    x = np.array([1, 2])
    assert sw.rolling(x, op, rows=1).tolist() == [2, 4]
    monkeypatch.setitem(globals(), "SCALE", 5)
    assert sw.rolling(x, op, rows=1).tolist() == [5, 10]


def helper_two(x: int) -> int:
    return x + 2


def test_functions_that_call_functions() -> None:
    def make(step: int) -> sw.Operator:
        def helper(x: int) -> int:
            return x + step

        return sw.operator(name="helped", identity=0, lift=lambda x: helper(x) * 1, combine=lambda a, b: a + b)

    x = np.array([1, 2])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*runs interpreted", category=UserWarning)
        assert sw.rolling(x, make(1), rows=1).tolist() == [2, 3]
        assert sw.rolling(x, make(10), rows=1).tolist() == [11, 12]
        plain = sw.operator(
            name="global helper", identity=0, lift=lambda x: helper_two(x) * 1, combine=lambda a, b: a + b
        )
        assert sw.rolling(x, plain, rows=1).tolist() == [3, 4]


# -- what cannot be compiled


def _through_text(s: Any) -> Any:
    return int(f"{s:05d}".lstrip("0") or "0")


def test_what_cannot_be_compiled_runs_interpreted_with_one_warning() -> None:
    op = sw.operator(name="through text", identity=0, combine=lambda a, b: a + b, lower=_through_text)
    x = np.array([1, 2, 3])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert sw.rolling(x, op, rows=2).tolist() == [1, 3, 5]
        assert sw.rolling(x, op, rows=2).tolist() == [1, 3, 5]
        assert sw.rolling(x, op, times=np.arange(3), last=2).tolist() == [1, 3, 5]
        copy = sw.operator(name="through text", identity=0, combine=lambda a, b: a + b, lower=rebuilt(_through_text))
        sw.rolling(x, copy, rows=2)
    told = [warning for warning in caught if "through text" in str(warning.message)]
    assert len(told) == 1, [str(warning.message) for warning in told]
    message = str(told[0].message)
    assert "interpreted" in message
    assert "test_users_operators.py" in message
    line = _through_text.__code__.co_firstlineno + 1
    assert f"line {line}" in message, message
    assert told[0].filename == __file__


def test_only_one_warning_is_given() -> None:
    """Not Numba's own as well."""

    def lower(s: Any) -> Any:
        found = {"a": 1}
        found[1] = s
        return s

    op = sw.operator(name="a strange dict", identity=0, combine=lambda a, b: a + b, lower=lower)
    with pytest.warns(UserWarning, match="strange dict") as caught:
        assert sw.rolling(np.array([1, 2]), op, rows=2).tolist() == [1, 3]
    assert len(caught) == 1, [str(warning.message) for warning in caught]
    assert "'a strange dict'" in str(caught[0].message)


def test_text_states_run_interpreted_with_a_warning() -> None:
    op = sw.operator(name="joined", identity="", lift=lambda x: "" + str(x), combine=lambda a, b: a + b)
    with pytest.warns(UserWarning, match=r"'joined' cannot be compiled.*unicode"):
        assert sw.rolling(np.array([1, 2, 3]), op, rows=2).tolist() == ["1", "12", "23"]


def test_text_input_needs_no_compiler_and_no_warning() -> None:
    op = sw.operator(name="glued", identity="", combine=lambda a, b: a + b)
    assert sw.rolling(np.array(["a", "b", "c"]), op, rows=2).tolist() == ["a", "ab", "bc"]


def test_integers_beyond_64_bits_in_an_interpreted_operator() -> None:
    op = sw.operator(name="powers", identity=0, lift=lambda x: 10 ** len(x), combine=lambda a, b: a + b)
    x = np.array(["a", "b" * 30])
    try:
        answers = sw.rolling(x, op, rows=1).tolist()
    except sw.SlidewiseError:
        return
    assert answers == [10, 10**30]


# -- failures


def test_a_users_exception_names_the_operator() -> None:
    def refuse(s: int) -> int:
        if s > 8:
            raise ValueError("more than eight")
        return s

    op = sw.operator(name="strict", identity=0, combine=lambda a, b: a + b, lower=refuse)
    assert sw.rolling(np.array([1, 2]), op, rows=2).tolist() == [1, 3]
    for window in ({"rows": 2}, {"times": np.arange(2), "last": 2}):
        with pytest.raises(sw.OperatorFailedError, match=r"'strict'.*more than eight") as found:
            sw.rolling(np.array([4, 5]), op, **window)
        assert isinstance(found.value.__cause__, ValueError)


def test_division_by_zero_names_the_operator() -> None:
    op = sw.operator(name="ratio", identity=0, lift=lambda x: 1 / x, combine=lambda a, b: a + b)
    with pytest.raises(sw.OperatorFailedError, match=r"'ratio'.*ZeroDivisionError"):
        sw.rolling(np.array([1, 0]), op, rows=2)
    assert sw.rolling(np.array([1, 2]), op, rows=2).tolist() == [1.0, 1.5]


def test_a_users_overflow_is_the_users() -> None:
    def refuse(s: int) -> int:
        if s > 8:
            raise OverflowError("more than eight")
        return s

    op = sw.operator(name="bounded", identity=0, combine=lambda a, b: a + b, lower=refuse)
    with pytest.raises(sw.OperatorFailedError, match=r"'bounded'.*more than eight"):
        sw.rolling(np.array([4, 5]), op, rows=2)


def test_an_index_out_of_range_names_the_operator() -> None:
    op = sw.operator(name="lookup", identity=0, lift=lambda x: (3, 4)[x], combine=lambda a, b: a + b)
    assert sw.rolling(np.array([0, 1]), op, rows=2).tolist() == [3, 7]
    with pytest.raises(sw.OperatorFailedError, match="'lookup'"):
        sw.rolling(np.array([0, 7]), op, rows=2)


def test_a_sum_that_does_not_fit_is_an_error_exactly_there() -> None:
    half = 2**62
    for values, n, fits in (
        ([half, half - 1, half], 2, True),
        ([half, half], 2, False),
        ([half, half, -half], 3, False),
        ([-half, half, half - 1], 3, True),
        ([-half, -half], 2, True),
        ([-half, -half, -1], 3, False),
        ([2**63 - 1, -(2**63)], 1, True),
    ):
        x = np.array(values)
        windows = ({"rows": n}, {"times": np.arange(len(x)), "last": n}, {"rows": n, "by": np.zeros(len(x))})
        for window in windows:
            if fits:
                expected = [sum(values[max(0, i - n + 1) : i + 1]) for i in range(len(values))]
                assert sw.rolling(x, sw.sum, **window).tolist() == expected
            else:
                with pytest.raises(sw.SumOverflowError, match="64-bit"):
                    sw.rolling(x, sw.sum, **window)
