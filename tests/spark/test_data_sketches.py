"""Spark reads sketches that were made here, and merges them with its own of the same values."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from spark_data import QUIET

import slidewise as sw
from slidewise.kernels.passes.window_passes import WINDOW_PASSES

pytestmark = QUIET
N = 6_000
HLL, THETA = sw.hyperloglog(p=10, sketch=True), sw.theta(lg_k=10, sketch=True)


def sketches(op: Any, x: Any, *bounds: int) -> list[bytes]:
    """Of the rows between each two bounds."""
    starts, ends = np.array(bounds[:-1]), np.array(bounds[1:])
    return WINDOW_PASSES[op.traits.window_pass](op, x, starts, ends).fields[0].tolist()  # type: ignore[no-any-return]


def test_spark_reads_and_merges_them(spark: SparkSession) -> None:
    """One query: a sketch alone, of two parts, with an empty one, and with Spark's own, few values and many.

    Registers of the same values are the same ones, so all of these are equal. Theta sketches of more values than they
    hold may keep more or fewer of them, so there all are near.
    """
    n, texts = np.arange(N), [f"é {i}" if i else "" for i in range(N)]
    columns = {
        "id * 7 - 5000": n * 7 - 5_000,
        "int(id * 7 - 5000)": n * 7 - 5_000,
        "if(id = 2, double('NaN'), (id - 9) * 0.5D)": np.where(n == 2, np.nan, (n - 9) * 0.5),
        "if(id = 0, '', concat('é ', id))": np.array(texts, object),
        "binary(if(id = 0, '', concat('é ', id)))": np.array([text.encode() for text in texts], object),
    }
    families = (
        (HLL, F.hll_sketch_estimate, F.hll_union, F.hll_sketch_agg),
        (THETA, F.theta_sketch_estimate, lambda a, b: F.theta_union(a, b, 10), F.theta_sketch_agg),
    )
    asked, expected = [], []
    for (expression, x), (op, estimate, union, agg), rows in product(columns.items(), families, (40, N)):
        if op is HLL and x.dtype == np.float64:  # Spark's has no floats
            continue
        (whole,) = sketches(op, x, 0, rows)
        first, second = (F.lit(part) for part in sketches(op, x, 0, rows // 3, rows))
        own = agg(F.when(F.col("id") < rows, F.expr(expression)), 10)
        alike = [F.lit(whole), union(first, second), union(F.lit(whole), F.lit(op.lower(op.identity)))]
        asked += [estimate(sketch) for sketch in (*alike, union(F.lit(whole), own))]
        distinct = rows - (x.dtype == object)  # neither counts empty text
        expected += [(op, distinct)]
    parts = sketches(THETA, n[:700], 0, 700) + sketches(THETA, n[500:1_200], 0, 700)
    asked += [F.theta_sketch_estimate(F.theta_intersection(*map(F.lit, parts)))]
    empty = F.lit(HLL.lower(HLL.identity)), F.lit(THETA.lower(THETA.identity))
    asked += [F.hll_sketch_estimate(empty[0]), F.theta_sketch_estimate(empty[1])]
    *answers, in_both, no_hll, no_theta = spark.range(N).agg(*asked).collect()[0]
    assert (in_both, no_hll, no_theta) == (200, 0, 0)
    for i, (op, distinct) in enumerate(expected):
        alike = answers[4 * i : 4 * i + 4]
        if op is HLL or distinct <= 1_024:
            assert len(set(alike)) == 1, (op, distinct, alike)
        assert all(estimate == pytest.approx(distinct, rel=4 * 1.04 / 32) for estimate in alike), (op, distinct, alike)
        assert op is HLL or distinct > 1_024 or alike[0] == distinct


def test_the_error_of_registers_as_spark_estimates_them(spark: SparkSession) -> None:
    """Over 150 sketches of 3,000 values, and of few; answers of a definition on Spark are such bytes, too."""
    n, runs = 3_000, 150
    op = sw.hyperloglog(p=8, sketch=True)
    many = sketches(op, np.arange(n * runs), *range(0, n * runs + 1, n))
    few = sketches(op, np.arange(20 * runs), *range(0, 20 * runs + 1, 20))
    frame = spark.createDataFrame([(a, b) for a, b in zip(many, few, strict=True)], "many binary, few binary")
    estimates = frame.select(F.hll_sketch_estimate("many"), F.hll_sketch_estimate("few")).toArrow()
    errors = estimates.column(0).to_numpy() / n - 1
    promised = 1.04 / 16
    assert abs(errors.mean()) < 4 * promised / np.sqrt(runs)
    assert 0.8 * promised < errors.std() < 1.2 * promised
    assert abs(estimates.column(1).to_numpy().mean() - 20) < 0.5
    last = sw.Sliding(on="id", users=op("id").over("all"))
    answered = spark.range(50).transform(last).agg(F.hll_union_agg("users").alias("all"))
    (union,) = answered.select(F.hll_sketch_estimate("all")).collect()[0]
    assert 45 < union < 55
