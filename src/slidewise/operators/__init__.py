"""WHAT is computed: the operators, their laws, and how to make one of your own."""

from slidewise.operators.aggregate import Aggregate
from slidewise.operators.families import (
    ages,
    classifiers,
    contents,
    counters,
    data_sketches,
    decay,
    extremes,
    logic,
    moments,
    quantiles,
    ranks,
    regression,
    shape,
    sketches,
    sums,
    weighted,
)
from slidewise.operators.families.ages import age, time_since_last
from slidewise.operators.families.classifiers import naive_bayes
from slidewise.operators.families.contents import (
    collect,
    count_by,
    count_distinct,
    entropy,
    first_k,
    histogram,
    lag,
    last_k,
    mode,
    top_k,
)
from slidewise.operators.families.counters import delta, increase, rate
from slidewise.operators.families.data_sketches import theta
from slidewise.operators.families.decay import ewm_mean, ewm_sum
from slidewise.operators.families.extremes import (
    argmax,
    argmin,
    first,
    last,
    m4,
    maxcount,
    mincount,
    relative_variation,
    value_range,
)
from slidewise.operators.families.extremes import max_ as max
from slidewise.operators.families.extremes import min_ as min
from slidewise.operators.families.logic import bool_and, bool_or, current_run, longest_run
from slidewise.operators.families.moments import correlation, covariance, stddev, variance
from slidewise.operators.families.quantiles import iqr, mad, median, quantile
from slidewise.operators.families.ranks import percent_rank, rank
from slidewise.operators.families.regression import intercept, r2, residual, slope
from slidewise.operators.families.shape import kurtosis, skew
from slidewise.operators.families.sketches import bloom, countmin, hyperloglog
from slidewise.operators.families.sums import count, geomean, mean, product
from slidewise.operators.families.sums import sum_ as sum
from slidewise.operators.families.weighted import weighted_mean
from slidewise.operators.laws import check_laws
from slidewise.operators.operator import Operator, operator

# The modules that define the built-in operators: each of their operators is in the catalogue.
FAMILIES = (
    *(sums, moments, weighted, shape, decay, regression, extremes, counters, ages, logic, contents, sketches),
    *(data_sketches, classifiers, quantiles, ranks),
)

# The order of the operators in tables; others follow in the order of their modules.
_ORDER = (
    sum,
    count,
    mean,
    weighted_mean,
    ewm_mean,
    ewm_sum,
    geomean,
    variance,
    stddev,
    skew,
    kurtosis,
    product,
    max,
    min,
    argmax,
    argmin,
    maxcount,
    mincount,
    first,
    last,
    lag,
    first_k,
    last_k,
    value_range,
    delta,
    increase,
    rate,
    age,
    time_since_last,
    m4,
    relative_variation,
    bool_and,
    bool_or,
    longest_run,
    current_run,
    covariance,
    correlation,
    slope,
    intercept,
    r2,
    residual,
    count_distinct,
    mode,
    top_k,
    count_by,
    histogram,
    entropy,
    bloom,
    countmin,
    hyperloglog,
    theta,
    naive_bayes,
    median,
    quantile,
    iqr,
    mad,
    rank,
    percent_rank,
    collect,
)

CATALOGUE: tuple[Operator, ...] = tuple(
    dict.fromkeys(
        (*_ORDER, *(op for family in FAMILIES for op in vars(family).values() if isinstance(op, Operator))),
    )
)
BY_NAME: dict[str, Operator] = {op.name: op for op in CATALOGUE}

__all__ = [
    "BY_NAME",
    "CATALOGUE",
    "Aggregate",
    "Operator",
    "age",
    "argmax",
    "argmin",
    "bloom",
    "bool_and",
    "bool_or",
    "check_laws",
    "collect",
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
    "percent_rank",
    "product",
    "quantile",
    "r2",
    "rank",
    "rate",
    "relative_variation",
    "residual",
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
]
