"""What series `sw.rolling` reads, and that the same kind comes back, with nulls where there is no answer."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw

NAN = math.nan


def listed(answers: Any) -> list[Any]:
    """Answers as Python values, None where masked or null."""
    if isinstance(answers, (pa.Array, pa.ChunkedArray)):
        return list(answers.to_pylist())
    return list(answers.tolist())


# -- NumPy


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i4", ">f8"])
def test_numpy_numbers_keep_their_type_in_extremes(dtype: str) -> None:
    x = np.array([1, 5, 2, 3], dtype)
    for op, expected in ((sw.max, [1, 5, 5, 3]), (sw.min, [1, 1, 2, 2]), (sw.first, [1, 1, 5, 2])):
        answers = sw.rolling(x, op, rows=2)
        assert type(answers) is np.ndarray
        assert answers.dtype == x.dtype
        assert answers.tolist() == expected
    assert sw.rolling(x, sw.sum, rows=2).tolist() == [1, 6, 7, 5]
    assert sw.rolling(x, sw.sum, rows=2).dtype == (np.float64 if x.dtype.kind == "f" else np.int64)
    assert sw.rolling(x, sw.mean, rows=2).dtype == np.float64
    assert sw.rolling(x, sw.count, rows=2).dtype == np.int64


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint32])
def test_the_ends_of_every_integer_type(dtype: Any) -> None:
    ends = np.iinfo(dtype)
    x = np.array([ends.max, ends.min, 0], dtype)
    assert sw.rolling(x, sw.max, rows=3).tolist() == [ends.max] * 3
    assert sw.rolling(x, sw.min, rows=3).tolist() == [ends.max, ends.min, ends.min]
    assert sw.rolling(x, sw.sum, rows=1).tolist() == x.tolist()


def test_unsigned_integers_beyond_int64_are_refused_with_a_remedy() -> None:
    with pytest.raises(sw.InputError, match=r"18446744073709551615.*int64.*float64"):
        sw.rolling(np.array([2**64 - 1], np.uint64), sw.max, rows=1)


def test_numpy_without_an_answer_is_nan_in_floats_and_masked_elsewhere() -> None:
    floats = sw.rolling(np.array([1.0, 2.0]), sw.max, rows=2, at_least=2)
    assert type(floats) is np.ndarray
    assert math.isnan(floats[0])
    for x in (np.array([1, 2]), np.array([False, True]), np.array(["2020", "2021"], "M8[Y]")):
        answers = sw.rolling(x, sw.max, rows=2, at_least=2)
        assert isinstance(answers, np.ma.MaskedArray)
        assert answers.mask.tolist() == [True, False]
        assert answers.dtype == x.dtype
        assert answers[1] == x[1]
        assert not isinstance(sw.rolling(x, sw.max, rows=2), np.ma.MaskedArray)


def test_nan_in_a_numpy_array_is_a_value() -> None:
    x = np.array([1.0, NAN, 2.0])
    np.testing.assert_array_equal(sw.rolling(x, sw.max, rows=2), [1.0, NAN, NAN])
    np.testing.assert_array_equal(sw.rolling(x, sw.min, rows=2), [1.0, 1.0, 2.0])
    assert sw.rolling(x, sw.count, rows=2).tolist() == [1, 2, 2]


def test_masked_arrays() -> None:
    x = np.ma.array([1, 9, 3], mask=[False, True, False])
    assert sw.rolling(x, sw.max, rows=2).tolist() == [1, 1, 3]
    assert sw.rolling(x, sw.max, rows=1).tolist() == [1, None, 3]
    assert sw.rolling(x, sw.count, rows=2).tolist() == [1, 1, 1]
    assert sw.rolling(np.ma.array([1, 2, 3]), sw.sum, rows=2).tolist() == [1, 3, 5]
    assert sw.rolling(np.ma.masked_all(3, float), sw.count, rows=2).tolist() == [0, 0, 0]
    assert np.isnan(sw.rolling(np.ma.masked_all(3, float), sw.sum, rows=2)).all()


def test_a_masked_array_of_times_without_masked_rows() -> None:
    times = np.ma.array([1, 2, 3])
    assert sw.rolling(np.ones(3), sw.count, times=times, last=2).tolist() == [1, 2, 2]


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "5m", "2D"])
def test_numpy_times_of_every_unit(unit: str) -> None:
    moments = [np.datetime64(n, unit) for n in (4, 6, 5)]
    x = np.array([*moments, np.datetime64("NaT")], f"M8[{unit}]")
    answers = sw.rolling(x, sw.max, rows=2)
    assert answers.dtype == x.dtype
    assert (answers == x[[0, 1, 1, 2]]).all()
    gone = sw.rolling(x, sw.last, rows=1)
    assert isinstance(gone, np.ma.MaskedArray)
    assert gone.mask.tolist() == [False, False, False, True]
    assert sw.rolling(x - x[0], sw.max, rows=2).dtype == (x - x[0]).dtype


def test_far_dates_and_the_other_byte_order() -> None:
    for unit in ("Y", "h"):
        x = np.array(["3000", "3001"], f"M8[{unit}]")
        assert (sw.rolling(x, sw.max, rows=1) == x).all()
        assert sw.rolling(np.ones(2), sw.count, times=x, last="1000 days").tolist() == [1, 2]
    swapped = np.array(["2020-01-01", "2020-01-02"], ">M8[s]")
    assert (sw.rolling(swapped, sw.max, rows=1) == swapped).all()
    assert sw.rolling(np.ones(2), sw.count, times=swapped, last="1d", closed="both").tolist() == [1, 2]


def test_numpy_text() -> None:
    x = np.array(["b", "a", "c"])
    assert sw.rolling(x, sw.first, rows=2).tolist() == ["b", "b", "a"]
    assert sw.rolling(x, sw.last, rows=2).tolist() == ["b", "a", "c"]
    assert sw.rolling(x, sw.max, rows=2).tolist() == ["b", "b", "c"]
    assert sw.rolling(x, sw.maxcount, rows=2).tolist() == [1, 1, 1]
    assert sw.rolling(x, sw.collect, rows=2).tolist() == [["b"], ["b", "a"], ["a", "c"]]
    assert sw.rolling(x, sw.count_distinct, rows=2).tolist() == [1, 2, 2]
    assert sw.rolling((x, np.array([1, 3, 2])), sw.argmax, rows=2).tolist() == ["b", "a", "a"]
    assert sw.rolling((np.array([1, 3, 2]), x), sw.argmin, rows=2).tolist() == [1, 3, 3]
    assert sw.rolling(np.array(["a", None, "b"], object), sw.last, rows=1).tolist() == ["a", None, "b"]
    assert sw.rolling(np.array([b"x", b"y"]), sw.first, rows=2).tolist() == [b"x", b"x"]


def test_m4_of_text() -> None:
    answers = sw.rolling(np.array(["b", "a", "c"]), sw.m4, rows=2)
    assert [tuple(row) for row in answers.tolist()] == [
        ("b", "b", "b", "b"),
        ("b", "a", "b", "a"),
        ("a", "a", "c", "c"),
    ]
    arrow = sw.rolling(pa.array(["b", None]), sw.m4, rows=1)
    assert arrow.to_pylist() == [{"first": "b", "min": "b", "max": "b", "last": "b"}, None]


def test_m4_is_a_struct() -> None:
    answers = sw.rolling(np.array([2, 1, 3]), sw.m4, rows=2)
    assert answers.dtype.names == ("first", "min", "max", "last")
    assert answers.tolist() == [(2, 2, 2, 2), (2, 1, 2, 1), (1, 1, 3, 3)]
    arrow = sw.rolling(pa.array([2, None, 3]), sw.m4, rows=1)
    assert arrow.to_pylist() == [
        dict.fromkeys(("first", "min", "max", "last"), 2),
        None,
        dict.fromkeys(("first", "min", "max", "last"), 3),
    ]


@pytest.mark.parametrize(
    "x", [np.array([1, 2]), pa.array([1, 2], pa.timestamp("us")), np.array([1.0, 2.0])], ids=["int", "time", "float"]
)
def test_an_argmax_over_text_that_is_all_null(x: Any) -> None:
    missing = np.array([None, None], object)
    answers = sw.rolling((x, missing), sw.argmax, rows=2)
    if isinstance(x, np.ndarray) and x.dtype.kind == "f":
        assert np.isnan(answers).all()
    else:
        assert listed(answers) == [None, None]
    assert getattr(answers, "dtype", None) == getattr(x, "dtype", None)


def test_bools_are_numbers_where_numbers_are_asked_for() -> None:
    x = np.array([True, False, True])
    assert sw.rolling(x, sw.sum, rows=2).tolist() == [1, 1, 1]
    assert sw.rolling(x, sw.mean, rows=2).tolist() == [1.0, 0.5, 0.5]
    assert sw.rolling(x, sw.max, rows=2).dtype == bool
    assert sw.rolling(x, sw.value_range, rows=2).tolist() == [0, 1, 1]
    assert sw.rolling(x, sw.relative_variation, rows=2).tolist() == [0.0, 1.0, 1.0]


# -- Arrow


ARROW_TYPES = [
    pa.int8(),
    pa.uint32(),
    pa.int64(),
    pa.float16(),
    pa.float32(),
    pa.float64(),
    pa.timestamp("s"),
    pa.timestamp("ms", "Europe/Berlin"),
    pa.timestamp("us"),
    pa.timestamp("ns", "UTC"),
    pa.date32(),
    pa.time32("s"),
    pa.time64("ns"),
    pa.duration("ms"),
]


@pytest.mark.parametrize("kind", ARROW_TYPES, ids=str)
def test_arrow_types_come_back(kind: pa.DataType) -> None:
    wide = pa.array([9, 3, 5, None, 4, 7])
    wide = wide.cast(pa.int32()) if kind in (pa.date32(), pa.time32("s")) else wide
    whole = (
        pa.array([None if v is None else np.float16(v) for v in wide.to_pylist()], kind)
        if kind == pa.float16()
        else wide.cast(kind)
    )
    x = whole[1:5]
    expected = {sw.max: [0, 1, 1, 3], sw.last: [0, 1, 1, 3], sw.first: [0, 0, 1, 3], sw.min: [0, 0, 1, 3]}
    for op, places in expected.items():
        answers = sw.rolling(x, op, rows=2)
        assert type(answers) is type(x)
        assert answers.type == kind
        assert answers.to_pylist() == [x[i].as_py() for i in places]
        alone = sw.rolling(x, op, rows=1)
        assert alone.type == kind
        assert alone.equals(x)
    chunked = pa.chunked_array([whole[1:2], whole[2:2], whole[2:5]])
    answers = sw.rolling(chunked, sw.max, rows=2)
    assert isinstance(answers, pa.ChunkedArray)
    assert answers.type == kind
    assert answers.to_pylist() == [x[i].as_py() for i in (0, 1, 1, 3)]


def test_arrow_bools_nulls_and_nan() -> None:
    x = pa.array([False, True, None, True])[1:]
    assert sw.rolling(x, sw.bool_and, rows=2).to_pylist() == [True, True, True]
    assert sw.rolling(x, sw.bool_and, rows=1).to_pylist() == [True, None, True]
    assert sw.rolling(x, sw.bool_and, rows=1).type == pa.bool_()
    floats = sw.rolling(pa.array([NAN, None, 1.0]), sw.max, rows=1)
    assert floats.null_count == 1
    assert math.isnan(floats[0].as_py())
    assert sw.rolling(pa.array([1.0, None]), sw.count, rows=1).to_pylist() == [1, 0]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()], ids=str)
def test_arrow_text_comes_back_as_the_same_type(kind: pa.DataType) -> None:
    x = pa.array(["b", None, "a"]).cast(kind)
    for op in (sw.first, sw.last, sw.max):
        assert sw.rolling(x, op, rows=1).equals(x)
        nothing = sw.rolling(pa.nulls(2, kind), op, rows=1)
        assert nothing.type == kind
        assert nothing.null_count == 2


def test_arrow_dictionaries() -> None:
    x = pa.array(["b", None, "a"]).dictionary_encode()
    assert sw.rolling(x, sw.last, rows=2).to_pylist() == ["b", "b", "a"]
    assert sw.rolling(pa.array([1, 2]), sw.count, rows=9, by=pa.array(["u", "v"]).dictionary_encode()).to_pylist() == [
        1,
        1,
    ]
    assert sw.rolling(pa.array([1, 2]).dictionary_encode(), sw.sum, rows=2).to_pylist() == [1, 3]
    split = pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b", "a"]).dictionary_encode()])
    assert sw.rolling(split, sw.max, rows=2).to_pylist() == ["a", "b", "b"]


def test_an_empty_chunked_array() -> None:
    answers = sw.rolling(pa.chunked_array([], type=pa.int32()), sw.max, rows=2)
    assert isinstance(answers, pa.ChunkedArray)
    assert (len(answers), answers.type) == (0, pa.int32())


def test_a_series_of_nulls_of_no_type() -> None:
    assert sw.rolling(pa.nulls(2), sw.max, rows=2).to_pylist() == [None, None]
    assert sw.rolling(pa.nulls(2), sw.count, rows=2).to_pylist() == [0, 0]


def test_collect_keeps_values_and_types() -> None:
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
    moments = [dt.datetime(2020, 1, 1, 3), dt.datetime(2020, 1, 2)]
    for values in (days, moments):
        assert sw.rolling(pa.array(values), sw.collect, rows=2).to_pylist() == [values[:1], values]
    assert sw.rolling(np.array(days, "M8[D]"), sw.collect, rows=2).tolist() == [days[:1], days]
    for kind in (pa.int8(), pa.float32(), pa.string(), pa.timestamp("s", "UTC")):
        x = pa.array([1, 2]).cast(kind)
        assert sw.rolling(x, sw.collect, rows=2).type == pa.list_(kind)
        assert sw.rolling(x[:1], sw.collect, rows=2, closed="left").type == pa.list_(kind)
    assert sw.rolling(pa.array([1, None]), sw.collect, rows=1).to_pylist() == [[1], []]
    assert sw.rolling(pa.array([1, None]), sw.collect, rows=1, at_least=1).to_pylist() == [[1], None]


def test_sketches_that_arrow_cannot_hold_are_refused_with_a_remedy() -> None:
    with pytest.raises(sw.SlidewiseError, match="bloom"):
        sw.rolling(pa.array([1, 2]), sw.bloom, rows=2)
    assert sw.rolling(np.array([1, 2]), sw.bloom, rows=2)[1].ones == 8
    assert sw.rolling(pa.array([1, 2]), sw.hyperloglog, rows=2).type == pa.int64()


# -- pandas


def test_pandas_keeps_index_and_name() -> None:
    pd = pytest.importorskip("pandas")
    x = pd.Series([1.0, NAN, 3.0], index=["a", "a", "c"], name="temp")
    answers = sw.rolling(x, sw.sum, rows=2)
    pd.testing.assert_series_equal(answers, pd.Series([1.0, 1.0, 3.0], index=["a", "a", "c"], name="temp"))
    assert sw.rolling(x, sw.count, rows=2).tolist() == [1, 1, 1]
    assert sw.rolling(x, sw.count, rows=1).tolist() == [1, 0, 1]
    alone = sw.rolling(x, sw.max, rows=1)
    assert np.isnan(alone.iloc[1]), "NaN means null in pandas"


@pytest.mark.parametrize(
    "dtype", ["int8", "int64", "uint16", "float32", "float64", "bool", "datetime64[ns]", "datetime64[s]"]
)
def test_pandas_types_backed_by_numpy(dtype: str) -> None:
    pd = pytest.importorskip("pandas")
    x = pd.Series(np.array([1, 0, 1]), name="x").astype(dtype)
    answers = sw.rolling(x, sw.max, rows=2)
    assert answers.dtype == x.dtype
    assert answers.tolist() == x.iloc[[0, 0, 2]].tolist()
    late = sw.rolling(x, sw.max, rows=2, at_least=2)
    assert late.isna().tolist() == [True, False, False]
    assert late.iloc[1:].tolist() == x.iloc[[0, 2]].tolist()
    assert late.name == "x"


@pytest.mark.parametrize("dtype", ["Int64", "Int32", "Float64", "boolean", "int64[pyarrow]", "float[pyarrow]"])
def test_pandas_nullable_types_come_back(dtype: str) -> None:
    pd = pytest.importorskip("pandas")
    x = pd.Series([1, None, 0], dtype=dtype)
    answers = sw.rolling(x, sw.max, rows=2)
    assert answers.dtype == x.dtype
    assert answers.tolist() == [1, 1, 0]
    alone = sw.rolling(x, sw.max, rows=1)
    assert alone.dtype == x.dtype
    assert alone.isna().tolist() == [False, True, False]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_pandas_times_with_a_zone_come_back(zone: str) -> None:
    pd = pytest.importorskip("pandas")
    x = pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-03"])).dt.tz_localize(zone)
    answers = sw.rolling(x, sw.max, rows=2)
    pd.testing.assert_series_equal(answers, x.iloc[[0, 0, 2]].reset_index(drop=True))
    pd.testing.assert_series_equal(sw.rolling(x, sw.last, rows=1), x)
    assert sw.rolling(pd.Series([1, 2, 3]), sw.sum, times=x.ffill(), last="1d").tolist() == [3, 3, 3]


def test_pandas_text_and_categories() -> None:
    pd = pytest.importorskip("pandas")
    for dtype in ("str", "object", "string", "category"):
        x = pd.Series(["b", None, "a"], dtype=dtype, name="who")
        answers = sw.rolling(x, sw.last, rows=1)
        assert answers.isna().tolist() == [False, True, False]
        assert answers.dropna().tolist() == ["b", "a"]
        assert answers.name == "who"
        assert sw.rolling(x, sw.maxcount, rows=2).tolist() == [1, 1, 1]
        assert sw.rolling(pd.Series([1, 2, 3]), sw.sum, rows=2, by=x).tolist() == [1, 2, 3]


def test_pandas_m4_of_times() -> None:
    pd = pytest.importorskip("pandas")
    x = pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])).astype("datetime64[ns]")
    answers = sw.rolling(x, sw.m4, rows=2)
    assert answers.iloc[1] == {"first": x[0], "min": x[0], "max": x[1], "last": x[1]}


def test_a_pandas_index_of_times() -> None:
    """The times of a pandas series are in its index more often than not."""
    pd = pytest.importorskip("pandas")
    x = pd.Series([1.0, 2.0, 3.0], index=pd.date_range("2020", periods=3))
    with pytest.raises(sw.InputError, match=r"DatetimeIndex.*(to_series|np\.asarray)"):
        sw.rolling(x, sw.sum, times=x.index, last="1d", closed="both")
    times = x.index.to_series()
    assert sw.rolling(x, sw.sum, times=times, last="1d", closed="both").tolist() == [1.0, 3.0, 5.0]


# -- polars


def test_polars_series() -> None:
    pl = pytest.importorskip("polars")
    x = pl.Series("temp", [1.0, None, NAN, 2.0])
    answers = sw.rolling(x, sw.max, rows=1)
    assert isinstance(answers, pl.Series)
    assert answers.name == "temp"
    assert answers.equals(x, null_equal=True)
    assert sw.rolling(x, sw.count, rows=2).to_list() == [1, 1, 1, 2]


def test_polars_types_come_back() -> None:
    pl = pytest.importorskip("polars")
    moments = [dt.datetime(2020, 1, 1), None, dt.datetime(2020, 1, 3)]
    for x in (
        pl.Series("x", [1, None, 3], dtype=pl.UInt8),
        pl.Series("x", [1, None, 3], dtype=pl.Float32),
        pl.Series("x", [True, None, False]),
        pl.Series("x", moments, dtype=pl.Datetime("ms")),
        pl.Series("x", moments, dtype=pl.Datetime("ns")).dt.replace_time_zone("Europe/Berlin"),
        pl.Series("x", [dt.date(2020, 1, 1), None, dt.date(2020, 1, 2)]),
        pl.Series("x", ["a", None, "b"]),
        pl.Series("x", [dt.timedelta(1), None, dt.timedelta(2)]),
    ):
        answers = sw.rolling(x, sw.last, rows=1)
        assert (answers.dtype, answers.name, answers.to_list()) == (x.dtype, "x", x.to_list())
        nothing = sw.rolling(pl.Series("x", [None, None], dtype=x.dtype), sw.last, rows=1)
        assert (nothing.dtype, nothing.to_list()) == (x.dtype, [None, None])
    assert sw.rolling(pl.Series("x", ["a", "b"], dtype=pl.Categorical), sw.last, rows=1).to_list() == ["a", "b"]
    assert sw.rolling(pl.Series("x", [1, 2]), sw.m4, rows=2).struct.fields == ["first", "min", "max", "last"]


def test_kinds_may_be_mixed_and_the_first_decides() -> None:
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    times = pd.Series(pd.date_range("2020", periods=3))
    answers = sw.rolling(pl.Series("v", [1, 2, 3]), sw.sum, times=times, last="2d", by=np.array(["a", "b", "a"]))
    assert isinstance(answers, pl.Series)
    assert answers.to_list() == [1, 2, 3]
    both = sw.rolling((pa.array([1, 2]), np.array([2.0, 1.0])), sw.argmax, rows=2)
    assert both.equals(pa.array([1, 1]))


# -- what is refused, and how it is said


@pytest.mark.parametrize(
    "values",
    [pa.array([Decimal("1.5")]), np.array([Decimal("1.5")], object), pa.array([Decimal("1.5")], pa.decimal256(40, 2))],
    ids=["decimal128", "objects", "decimal256"],
)
def test_decimals_are_refused_with_a_remedy(values: Any) -> None:
    with pytest.raises(sw.InputError, match=r"decimals.*float"):
        sw.rolling(values, sw.sum, rows=2)


def test_decimals_in_pandas_and_polars_are_refused() -> None:
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    for values in (pl.Series([Decimal("1.5")]), pd.Series([Decimal("1.5"), None])):
        with pytest.raises(sw.InputError, match=r"decimals.*float"):
            sw.rolling(values, sw.max, rows=2)


@pytest.mark.parametrize("values", [[1, 2], range(3), "text", 5, {"a": 1}, None], ids=repr)
def test_what_is_no_series_is_refused_with_a_remedy(values: Any) -> None:
    with pytest.raises(sw.InputError, match=r"NumPy array.*np\.asarray"):
        sw.rolling(values, sw.max, rows=2)
    with pytest.raises(sw.SlidewiseError):
        sw.rolling((np.ones(2), values), sw.argmax, rows=2)


def test_arrow_lists_cannot_be_summed() -> None:
    with pytest.raises(sw.InputError, match="sum takes numbers"):
        sw.rolling(pa.array([[1], [2]]), sw.sum, rows=2)


@pytest.mark.parametrize("op", [sw.sum, sw.mean, sw.variance, sw.product, sw.value_range], ids=lambda op: op.name)
def test_text_and_times_have_no_sums(op: sw.Operator) -> None:
    with pytest.raises(sw.InputError, match=f"{op.name} takes numbers, but the input holds text"):
        sw.rolling(np.array(["a"]), op, rows=2)
    with pytest.raises(sw.InputError, match=f"{op.name} takes numbers, but the input holds times"):
        sw.rolling(np.array(["2020"], "M8[s]"), op, rows=2)


def test_shapes_and_lengths() -> None:
    with pytest.raises(sw.InputError, match=r"one dimension.*\(2, 2\)"):
        sw.rolling(np.ones((2, 2)), sw.max, rows=2)
    with pytest.raises(sw.SlidewiseError, match=r"same length.*input 1 has 3, input 2 has 2"):
        sw.rolling((np.ones(3), np.ones(2)), sw.argmax, rows=2)
    with pytest.raises(sw.SlidewiseError, match=r"same length.*times has 2"):
        sw.rolling(np.ones(3), sw.max, times=np.arange(2), last=2)
    with pytest.raises(sw.SlidewiseError, match=r"same length.*by has 4"):
        sw.rolling(np.ones(3), sw.max, rows=2, by=np.arange(4))
    with pytest.raises(sw.SlidewiseError, match=r"argmax takes the columns \(x, y\), but got 1 series"):
        sw.rolling(np.ones(3), sw.argmax, rows=2)
    with pytest.raises(sw.SlidewiseError, match=r"max takes the columns \(x\), but got 2 series"):
        sw.rolling((np.ones(3), np.ones(3)), sw.max, rows=2)
    with pytest.raises(sw.InputError, match="complex128"):
        sw.rolling(np.array([1j]), sw.max, rows=2)
    with pytest.raises(sw.InputError, match="bool_and takes True and False"):
        sw.rolling(np.array([1]), sw.bool_and, rows=2)


def test_windows_that_make_no_sense() -> None:
    x = np.ones(3)
    for options in (
        {},
        {"rows": 0},
        {"rows": 2.5},
        {"rows": 2, "closed": "both"},
        {"rows": 2, "at_least": 3},
        {"rows": 2, "at_least": 0},
        {"last": 3},
        {"times": np.arange(3)},
        {"rows": 2, "times": np.arange(3), "last": "all"},
        {"times": np.arange(3), "last": -1},
        {"times": np.arange(3), "last": "3 parsecs"},
    ):
        with pytest.raises(sw.WindowError):
            sw.rolling(x, sw.max, **options)
    with pytest.raises(sw.SlidewiseError, match=r"operator, such as sw\.max"):
        sw.rolling(x, max, rows=2)


# -- times


def test_times_and_their_window_must_be_of_one_kind() -> None:
    with pytest.raises(sw.WindowError, match=r"times are numbers.*give last= as a number"):
        sw.rolling(np.ones(2), sw.count, times=np.arange(2), last="10 minutes")
    with pytest.raises(sw.WindowError, match=r"timestamps.*10 minutes"):
        sw.rolling(np.ones(2), sw.count, times=np.arange(2).astype("M8[s]"), last=10)
    for times in (np.array(["a", "b"]), np.array([True, True])):
        with pytest.raises(sw.WindowError, match="timestamps, dates or numbers"):
            sw.rolling(np.ones(2), sw.count, times=times, last=10)


@pytest.mark.parametrize(
    "times",
    [
        pa.array([0, 60, 60, 600], pa.timestamp("s")),
        pa.array([0, 60_000, 60_000, 600_000], pa.timestamp("ms", "Asia/Tokyo")),
        np.array([0, 60_000_000, 60_000_000, 600_000_000], "M8[us]"),
        np.array([0, 60, 60, 600], "m8[s]").astype("m8[ns]"),
    ],
    ids=["s", "ms with a zone", "us", "timedelta ns"],
)
def test_the_unit_of_times_does_not_matter(times: Any) -> None:
    x = np.ones(4)
    assert sw.rolling(x, sw.count, times=times, last="9 minutes").tolist() == [1, 3, 3, 1]
    assert sw.rolling(x, sw.count, times=times, last="9 minutes", closed="both").tolist() == [1, 3, 3, 3]
    assert sw.rolling(x, sw.count, times=times, last=dt.timedelta(minutes=10), closed="left").tolist() == [0, 1, 1, 3]
    assert sw.rolling(x, sw.count, times=times, last="1 min", closed="neither").tolist() == [0, 0, 0, 0]
    assert sw.rolling(x, sw.count, times=times, last="60s", closed="both").tolist() == [1, 3, 3, 1]
    assert sw.rolling(x, sw.count, times=times, last="60000000001ns").tolist() == [1, 3, 3, 1]
    assert sw.rolling(x, sw.count, times=times, last="1ns").tolist() == [1, 2, 2, 1]


def test_dates_and_the_time_of_year() -> None:
    days = pa.array([dt.date(2021, 3, 27), dt.date(2021, 3, 28), dt.date(2021, 3, 29)])
    assert sw.rolling(np.ones(3), sw.count, times=days, last="1d").tolist() == [1, 1, 1]
    assert sw.rolling(np.ones(3), sw.count, times=days, last="36h").tolist() == [1, 2, 2]
    # Clocks in Berlin go forward on 28 March: a day is 24 hours all the same.
    noon = pa.array([dt.datetime(2021, 3, 27, 11), dt.datetime(2021, 3, 28, 10)]).cast(
        pa.timestamp("us", "Europe/Berlin")
    )
    assert sw.rolling(np.ones(2), sw.count, times=noon, last="1d").tolist() == [1, 2]


def test_times_that_run_backwards() -> None:
    with pytest.raises(sw.TimeOrderError, match=r"position 2: 3 comes after 5 at position 1"):
        sw.rolling(np.ones(4), sw.sum, times=np.array([1, 5, 3, 4]), last=2)
    with pytest.raises(sw.TimeOrderError, match=r"position 1: 2020-01-01.* comes after 2020-01-02"):
        sw.rolling(np.ones(2), sw.sum, times=np.array(["2020-01-02", "2020-01-01"], "M8[D]"), last="1d")
    times = pa.array([dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 1)])
    with pytest.raises(sw.TimeOrderError, match=r"position 1: 2020-01-01.* comes after 2020-01-02"):
        sw.rolling(np.ones(2), sw.sum, times=times, last="1d")


def test_times_may_run_backwards_between_keys_only() -> None:
    keys = np.array(["b", "a", "b", "a", "b"])
    times = np.array([10, 1, 10, 2, 11])
    assert sw.rolling(np.ones(5), sw.count, times=times, last=5, by=keys).tolist() == [2, 1, 2, 2, 3]
    times[4] = 9
    with pytest.raises(sw.TimeOrderError, match=r"position 4: 9 comes after 10 at position 2"):
        sw.rolling(np.ones(5), sw.count, times=times, last=5, by=keys)


def test_the_first_position_is_named_where_several_keys_run_backwards() -> None:
    with pytest.raises(sw.TimeOrderError, match=r"position 1: 4 comes after 5 at position 0"):
        sw.rolling(np.ones(4), sw.count, times=np.array([5, 4, 5, 4]), last=2, by=np.array([1, 1, 0, 0]))


def test_null_and_infinite_times() -> None:
    for times in (pa.array([1, None, None]), np.ma.array([1, 2, 3], mask=[0, 1, 1])):
        with pytest.raises(sw.SlidewiseError, match=r"times.*2 nulls.*position 1"):
            sw.rolling(np.ones(3), sw.count, times=times, last=2)
    with pytest.raises(sw.SlidewiseError, match=r"times.*1 null.*position 0"):
        sw.rolling(np.ones(2), sw.count, times=np.array(["NaT", "2020"], "M8[s]"), last="1d")
    for odd in (NAN, math.inf):
        with pytest.raises(sw.SlidewiseError, match=r"times.*position 1.*finite"):
            sw.rolling(np.ones(2), sw.count, times=np.array([1.0, odd]), last=2)
