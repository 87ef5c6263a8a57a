"""WHAT is computed: the operators, their laws, and how to make one of your own."""

from slidewise.operators import classifiers, contents, extremes, logic, moments, quantiles, sketches, sums
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.classifiers import naive_bayes
from slidewise.operators.contents import collect, count_distinct
from slidewise.operators.extremes import (
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
from slidewise.operators.extremes import max_ as max
from slidewise.operators.extremes import min_ as min
from slidewise.operators.laws import check_laws
from slidewise.operators.logic import bool_and, bool_or
from slidewise.operators.moments import correlation, covariance, stddev, variance
from slidewise.operators.operator import Operator, operator
from slidewise.operators.quantiles import median, quantile
from slidewise.operators.sketches import bloom, countmin, hyperloglog
from slidewise.operators.statistics import regression, shape, weighted
from slidewise.operators.statistics.regression import intercept, r2, residual, slope
from slidewise.operators.statistics.shape import kurtosis, skew
from slidewise.operators.statistics.weighted import weighted_mean
from slidewise.operators.sums import count, geomean, mean, product
from slidewise.operators.sums import sum_ as sum

# The modules that define the built-in operators: each of their operators is in the catalogue.
FAMILIES = (sums, moments, weighted, shape, regression, extremes, logic, contents, sketches, classifiers, quantiles)

# The order of the operators in tables; others follow in the order of their modules.
_ORDER = (
    sum,
    count,
    mean,
    weighted_mean,
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
    value_range,
    m4,
    relative_variation,
    bool_and,
    bool_or,
    covariance,
    correlation,
    slope,
    intercept,
    r2,
    residual,
    count_distinct,
    bloom,
    countmin,
    hyperloglog,
    naive_bayes,
    median,
    quantile,
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
    "argmax",
    "argmin",
    "bloom",
    "bool_and",
    "bool_or",
    "check_laws",
    "collect",
    "correlation",
    "count",
    "count_distinct",
    "countmin",
    "covariance",
    "first",
    "geomean",
    "hyperloglog",
    "intercept",
    "kurtosis",
    "last",
    "m4",
    "max",
    "maxcount",
    "mean",
    "median",
    "min",
    "mincount",
    "naive_bayes",
    "operator",
    "product",
    "quantile",
    "r2",
    "relative_variation",
    "residual",
    "skew",
    "slope",
    "stddev",
    "sum",
    "value_range",
    "variance",
    "weighted_mean",
]
