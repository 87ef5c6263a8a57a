"""What tests of Spark share: random events, a definition over them, and a look at the rows that come back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw

QUIET = pytest.mark.filterwarnings(  # PySpark's own warnings about the packages it is used with
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"
)

HEALTH = sw.Sliding(
    by="k",
    on="ts",
    top=sw.max("x").over("20s"),
    mean=sw.mean("x").over("20s"),
    last=sw.collect("id").over(rows=3),
    all=sw.count().over("all"),
)
TIMED = sw.Sliding(
    by="k",
    on="ts",
    top=sw.max("x").over("20s"),
    mean=sw.mean("x").over("3s", closed="both"),
    before=sw.count().over("20s", closed="left"),
    last=sw.last("id").over("1s"),
)


def events(count: int = 5_000, keys: int = 40) -> pa.Table:
    """Events of some keys within 1,000 s, at whole milliseconds."""
    choose = np.random.default_rng(3)
    return pa.table(
        {
            "k": choose.integers(0, keys, count),
            "ts": pa.array(choose.integers(0, 10**6, count) * 1_000, pa.timestamp("us", "UTC")),
            "x": choose.random(count),
            "id": np.arange(count),
        }
    )


def same_rows(found: Any, expected: pa.Table, definition: sw.Sliding = HEALTH) -> bool:
    """Whether a DataFrame holds the rows of a table, by `id`."""
    names = ["id", *definition.columns]
    return bool(found.select(*names).toArrow().sort_by("id").to_pylist() == expected.select(names).to_pylist())
