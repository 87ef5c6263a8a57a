"""The definitions and events of the snapshots in definitions/golden."""

from __future__ import annotations

from datetime import time
from typing import Any

import pandas as pd

import slidewise as sw


def golden_live(kind: str) -> sw.Sliding:
    return {
        "daba_lite": sw.Sliding(by="k", on="t", a=sw.max("x").over(40), b=sw.mean("x").over(40)),
        "subtract_on_evict": sw.Sliding(by="k", on="t", a=sw.count("x").over(40, closed="both")),
        "slick_deque": sw.Sliding(by="k", on="t", a=sw.max("x").over(40)),
        "running": sw.Sliding(by="k", on="t", a=sw.sum("x").over("all"), b=sw.stddev("x").over("all", closed="left")),
        "open_and_waiting": sw.Sliding(by="k", on="t", a=sw.last("x").over(rows=4, closed="left")),
        "shared": sw.Sliding(
            by="k", on="t", columns={f"{n}": sw.mean("x").over(n) for n in (3, 5, 9, 40)}, top=sw.max("x").over(5)
        ),
        "grain": sw.Sliding(
            by="k", on="t", a=sw.mean("x").over(9, grain=4), b=sw.last("x").over(9, closed="left", grain=4)
        ),
        "revised": sw.Sliding(by="k", on="t", a=sw.max("x").over(9), b=sw.first("x").over(6, closed="both")),
        "finer_times": sw.Sliding(by="k", on="t", a=sw.max("x").over(9), b=sw.last("at").over(rows=3)),
        "text_and_guard": sw.Sliding(by="k", on="t", a=sw.last("s").over(9), b=sw.count("s").over("all")),
    }[kind]


def golden_events(kind: str, start: int = 0, stop: int = 30) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [
        {"k": "ab"[i % 2], "t": i, "x": (i * 7) % 11 / 4 if i < 30 else i / 4} for i in range(start, stop)
    ]
    if kind == "text_and_guard":
        for i, event in enumerate(events):
            event["s"] = float("nan") if i % 3 == 0 else f"word {i}"
    if kind == "finer_times":
        for event in events:
            ticks = int(event["x"] * 1_000)
            event |= {
                "k": pd.Timedelta(1 + (event["k"] == "a"), "ns"),
                "x": pd.Timedelta(ticks, "ns"),
                "at": time(1, 2, ticks % 60, 3),
            }
    return events
