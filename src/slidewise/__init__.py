"""Slidewise: sliding-window aggregates, exact at every event, for any associative operator."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from slidewise.choosing import choose
from slidewise.compiled import compiled
from slidewise.errors import (
    EmptyWindowError,
    ExpressionError,
    InputError,
    LawError,
    NumberOverflowError,
    OperatorFailedError,
    SlidewiseError,
    SnapshotError,
    SumOverflowError,
    TimeOrderError,
    UnsuitableOperatorError,
    WindowError,
    did_you_mean,
)
from slidewise.expressions.expression import coalesce, col, lit, when
from slidewise.feature_set import FeatureSet
from slidewise.operators import BY_NAME as _BY_NAME
from slidewise.operators import (
    Operator,
    age,
    argmax,
    argmin,
    bloom,
    bool_and,
    bool_or,
    check_laws,
    collect,
    correlation,
    count,
    count_by,
    count_distinct,
    countmin,
    covariance,
    current_run,
    delta,
    entropy,
    ewm_mean,
    ewm_sum,
    first,
    first_k,
    geomean,
    histogram,
    hyperloglog,
    increase,
    intercept,
    iqr,
    kurtosis,
    lag,
    last,
    last_k,
    longest_run,
    m4,
    mad,
    max,
    maxcount,
    mean,
    median,
    min,
    mincount,
    mode,
    naive_bayes,
    operator,
    percent_rank,
    product,
    quantile,
    r2,
    rank,
    rate,
    relative_variation,
    residual,
    skew,
    slope,
    stddev,
    sum,
    theta,
    time_since_last,
    top_k,
    value_range,
    variance,
    weighted_mean,
)
from slidewise.operators.table import operators_table
from slidewise.rolling import rolling
from slidewise.sliding import Sliding
from slidewise.spark.ship.ship import ship
from slidewise.stream_state import read_state
from slidewise.swag import (
    Amta,
    BInt,
    Daba,
    DabaLite,
    Fiba,
    FlatFat,
    FlatFit,
    Merged,
    OrderStatistics,
    Recalc,
    SlickDeque,
    SlideSide,
    SubtractOnEvict,
    Timed,
    TwoStacks,
    TwoStacksLite,
)

if _TYPE_CHECKING:
    from slidewise.scikit_learn.sliding_features import SlidingFeatures as SlidingFeatures

__version__ = "0.1.0"

__all__ = [
    "Amta",
    "BInt",
    "Daba",
    "DabaLite",
    "EmptyWindowError",
    "ExpressionError",
    "FeatureSet",
    "Fiba",
    "FlatFat",
    "FlatFit",
    "InputError",
    "LawError",
    "Merged",
    "NumberOverflowError",
    "Operator",
    "OperatorFailedError",
    "OrderStatistics",
    "Recalc",
    "SlickDeque",
    "SlideSide",
    "SlidewiseError",
    "Sliding",
    "SnapshotError",
    "SubtractOnEvict",
    "SumOverflowError",
    "TimeOrderError",
    "Timed",
    "TwoStacks",
    "TwoStacksLite",
    "UnsuitableOperatorError",
    "WindowError",
    "age",
    "argmax",
    "argmin",
    "bloom",
    "bool_and",
    "bool_or",
    "check_laws",
    "choose",
    "coalesce",
    "col",
    "collect",
    "compiled",
    "correlation",
    "count",
    "count_by",
    "count_distinct",
    "countmin",
    "covariance",
    "current_run",
    "delta",
    "entropy",
    "ewm_mean",
    "ewm_sum",
    "first",
    "first_k",
    "geomean",
    "histogram",
    "hyperloglog",
    "increase",
    "intercept",
    "iqr",
    "kurtosis",
    "lag",
    "last",
    "last_k",
    "lit",
    "longest_run",
    "m4",
    "mad",
    "max",
    "maxcount",
    "mean",
    "median",
    "min",
    "mincount",
    "mode",
    "naive_bayes",
    "operator",
    "operators_table",
    "percent_rank",
    "product",
    "quantile",
    "r2",
    "rank",
    "rate",
    "read_state",
    "relative_variation",
    "residual",
    "rolling",
    "ship",
    "skew",
    "slope",
    "stddev",
    "sum",
    "theta",
    "time_since_last",
    "top_k",
    "value_range",
    "variance",
    "weighted_mean",
    "when",
]

# Public names that need an extra, and are imported when they are used. `from slidewise import *` leaves them out.
_LAZY = {"SlidingFeatures": "slidewise.scikit_learn.sliding_features"}

# What other engines call some of these.
_ELSEWHERE = {
    "approx_count_distinct": "hyperloglog",
    "average": "mean",
    "avg": "mean",
    "list": "collect",
    "nunique": "count_distinct",
    "percentile": "quantile",
    "std": "stddev",
    "stdev": "stddev",
    "var": "variance",
}


def __getattr__(name: str) -> object:
    """A name that needs an extra, a built-in operator that has no line above, or an error with the name meant."""
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    if name in _BY_NAME:
        return _BY_NAME[name]
    hint = f"; did you mean {_ELSEWHERE[name]!r}?" if name in _ELSEWHERE else did_you_mean(name, [*__all__, *_LAZY])
    raise AttributeError(f"module 'slidewise' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
