"""The few cases of `make check`: operators of each kind over windows of each kind, in rows and in beats."""

from __future__ import annotations

import definitions.test_lanes as features
from lanes import Case

import slidewise as sw

ROWS = Case(
    "rows",
    features.sliding(
        peak=sw.max("temp").over("10s"),
        total=sw.sum("load").where("ok").over(rows=3, closed="left"),
        so_far=sw.mean("temp").over("all", at_least=3),
        drop=features.longest_drop("load").over("9s", closed="both"),
        text=features.words("tag").over("6s"),
        middle=sw.median("load").over("9s"),
        cells=sw.sum("load").over("7s", grain="3s"),
        doubled=sw.sum(sw.col("load") * 2).where(sw.col("tag") != "x").over("9s"),
        share=sw.col("load") / sw.sum("load").over("9s"),
    ),
    features.BIG,
)
BEATS = Case(
    "beats",
    sw.Sliding(
        by="machine",
        on="ts",
        every="5s",
        peak=sw.max("temp").over("10s"),
        n=sw.count().over("3s"),
        rate=sw.sum(sw.col("load") * 2).over("3s") / sw.count().over("3s"),
    ),
    features.BIG,
)
