"""Every feature of a definition, in every lane, against a direct evaluation of the semantics."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from lanes import LANES, Case, assert_same, direct, run

import slidewise as sw

c = sw.col
NAN = float("nan")
longest_drop = sw.operator(
    name="longest_drop",
    identity=(0.0, 0.0, 0.0),
    lift=lambda x: (x, x, 0.0),
    combine=lambda a, b: (max(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2], a[0] - b[1])),
    lower=lambda s: s[2],
)


class Spread(NamedTuple):
    low: int
    high: int
    ends: tuple[int, int]


class Answered(NamedTuple):
    width: int
    middle: float | None


# A NamedTuple, which holds a tuple, as state; None for no rows, and as a field, in answers that are structs.
spread_of = sw.operator(
    name="spread_of",
    identity=None,
    lift=lambda x: Spread(x, x, (x, x)),
    combine=lambda a, b: Spread(min(a.low, b.low), max(a.high, b.high), (a.ends[0], b.ends[1])),
    lower=lambda s: (
        None
        if s is None or s.ends[1] - s.ends[0] == 3
        else Answered(s.high - s.low, None if s.high == s.low else (s.low + s.high) / 2)
    ),
)
words = sw.operator(name="words", identity="", combine=lambda a, b: a + b)


def answering(name: str, lower: Any, answers: Any = None) -> Any:
    """The last of the values, and what `lower` makes of it."""
    return sw.operator(name=name, identity=None, combine=lambda a, b: b, lower=lower, answers=answers)


alone = answering("alone", lambda x: (x,))
doubled = answering("doubled", lambda x: (x, x + 0.5))
parsed = answering("parsed", lambda x: (x, len(x), (x * 2, None if x == "y" else True)))
looked_up = answering("looked_up", lambda x: {"x": 10, "y": None, "zz": -1}[x], "int64")
none_at_first = answering("none_at_first", lambda x: None if x == 1 else x * 0.5, "float32")
pair = answering("pair", lambda x: (x, len(x)), pa.struct([("0", pa.string()), ("1", pa.int16())]))

EVENTS = pa.schema(
    [
        *(("machine", pa.string()), ("line", pa.int64()), ("ts", pa.timestamp("ms")), ("seq", pa.int64())),
        *(("temp", pa.float64()), ("load", pa.int64()), ("ok", pa.bool_()), ("tag", pa.string())),
    ]
)


def events(count: int, seed: int) -> pa.Table:
    """Interleaved keys, many equal times, nulls and NaN in every place they may be, in no order."""
    choose = random.Random(seed)
    start = datetime(2024, 3, 1)
    rows = [
        {
            "machine": choose.choice(["a", "b", None]),
            "line": choose.choice([1, 2]),
            "ts": start + timedelta(seconds=choose.randrange(count // 2)),
            "seq": i,
            "temp": choose.choice([None, NAN, -0.0, 0.0, 70.5, 71.25, -3.0, 1e16]),
            "load": choose.choice([None, -5, 0, 1, 2, 3]),
            "ok": choose.choice([True, True, False, None]),
            "tag": choose.choice([None, "x", "y", "zz"]),
        }
        for i in range(count)
    ]
    return pa.Table.from_pylist(rows, schema=EVENTS)


BIG, SMALL = events(60, 1), events(9, 2)
MONTH_ENDS = [
    datetime(2024, month, day, hour) for month in range(1, 8) for day in (1, 15, 28, 29) for hour in (0, 1, 2)
]
MONTH_ENDS += [
    datetime(2024, month, day, hour) for month in (1, 3, 5, 7) for day in (30, 31) for hour in (0, 1, 22, 23)
]
OVER_MONTHS = BIG.set_column(
    2, EVENTS.field("ts"), pa.array(random.Random(5).choices(MONTH_ENDS, k=len(BIG)), EVENTS.field("ts").type)
)


def sliding(**columns: Any) -> sw.Sliding:
    return sw.Sliding(by="machine", on="ts", **columns)


CASES = [
    Case("one", sliding(peak=sw.max("temp").over("10s")), BIG),
    Case("the same definition over other rows", sliding(peak=sw.max("temp").over("10s")), SMALL),
    Case("no rows", sliding(peak=sw.max("temp").over("10s")), BIG.slice(0, 0)),
    Case("one row", sliding(peak=sw.max("temp").over("10s")), BIG.slice(3, 1)),
    Case(
        "closed ends",
        sliding(
            right=sw.sum("load").over("5s"),
            both=sw.sum("load").over("5s", closed="both"),
            left=sw.sum("load").over("5s", closed="left"),
            neither=sw.sum("load").over("5s", closed="neither"),
            rows=sw.sum("load").over(rows=3),
            rows_left=sw.sum("load").over(rows=3, closed="left"),
            one=sw.sum("load").over(rows=1),
        ),
        BIG,
    ),
    Case(
        "the same operators over many windows",
        sliding(
            **{f"max_{n}": sw.max("load").over(f"{n}s") for n in (1, 2, 3, 5, 9, 30)},
            **{f"drop_{n}": longest_drop("load").over(f"{n}s", closed="both") for n in (1, 2, 5, 30)},
            **{f"rows_{n}": words("tag").over(rows=n) for n in (1, 2, 3, 7, 20)},
            **{f"at_least_{n}": sw.mean("load").where("ok").over(f"{n}s", at_least=2) for n in (1, 4, 8, 20)},
            both=sw.mean("load").over("5s", closed="both"),
            open=sw.max("load").over("5s", closed="neither"),
        ),
        BIG,
    ),
    Case(
        "everything so far",
        sliding(
            total=sw.sum("load").over("all"),
            before=sw.count().over("all", closed="left"),
            seen=sw.max("temp").over("all", at_least=3),
            drop=longest_drop("load").over("all"),
        ),
        BIG,
    ),
    Case(
        "at least",
        sliding(
            some=sw.mean("load").over("8s", at_least=3),
            many=sw.count("load").over("8s", at_least=4),
            none=sw.count("load").over(rows=2, closed="left"),
            listed=sw.collect("load").over(rows=2, closed="left"),
        ),
        BIG,
    ),
    Case(
        "where",
        sliding(
            good=sw.max("load").where("ok").over("8s"),
            rows=sw.sum("load").where("ok").over(rows=3),
            count=sw.count().where("ok").over("8s"),
            seen=sw.count().where("ok").over("all"),
        ),
        BIG,
    ),
    Case(
        "order of equal times",
        sliding(
            first=sw.first("load").over("6s"),
            last=sw.last("tag").over("6s"),
            all=sw.collect("load").over("6s"),
            best=sw.argmax("tag", "load").over("6s"),
            worst=sw.argmin("load", "load").over(rows=4),
            four=sw.m4("load").over(rows=4),
            text=words("tag").over("6s"),
        ),
        BIG,
    ),
    Case(
        "ties",
        sw.Sliding(by="machine", on="ts", ties=["tag", "seq"], last=sw.collect("load").over(rows=3)),
        BIG,
    ),
    Case("no keys", sw.Sliding(on="ts", top=sw.maxcount("load").over("5s"), two=sw.last("load").over(rows=2)), BIG),
    Case(
        "two keys",
        sw.Sliding(by=["line", "machine"], on="ts", top=sw.maxcount("load").over("9s"), n=sw.count().over(rows=3)),
        BIG,
    ),
    Case(
        "numbers",
        sliding(
            mean=sw.mean("temp").over("9s"),
            sum=sw.sum("temp").over(rows=5),
            deviation=sw.stddev("load").over("9s"),
            variance=sw.variance("temp").over(rows=4),
            together=sw.covariance("load", "seq").over(rows=6),
            correlated=sw.correlation("load", "seq").over("9s"),
            product=sw.product("load").over("9s"),
            geometric=sw.geomean("load").over("9s"),
            swing=sw.relative_variation("load").over("9s"),
            range=sw.value_range("load").over("9s"),
        ),
        BIG,
    ),
    Case(
        "weights, shape and least squares",
        sliding(
            weighted=sw.weighted_mean("temp", "load").over("9s"),
            lopsided=sw.skew("load").over("9s"),
            tailed=sw.kurtosis("temp").over(rows=7),
            slope=sw.slope("load", "seq").over(rows=6),
            intercept=sw.intercept("load", "seq").over("9s"),
            explained=sw.r2("temp", "seq").over("all"),
            left_over=sw.residual("load", "seq").over("9s"),
        ),
        BIG,
    ),
    Case(
        "counters",
        sliding(
            change=sw.delta("load").over("9s"),
            change_of_floats=sw.delta("temp").over(rows=4, closed="left"),
            up=sw.increase("load").over("9s"),
            up_of_floats=sw.increase("temp").over("all"),
            up_by_rows=sw.increase("seq").where("ok").over(rows=6, closed="left"),
            up_in_cells=sw.increase("load").over("9s", grain="4s"),
        ),
        BIG,
    ),
    Case(
        "fits on time and rates",
        sliding(
            rate=sw.rate("load").over("9s"),
            rate_of_floats=sw.rate("temp").where("ok").over("all"),
            rate_by_rows=sw.rate("seq").over(rows=4, closed="left"),
            slope=sw.slope("load").over("9s"),
            slope_by_rows=sw.slope("seq").over(rows=5),
            slope_in_cells=sw.slope("seq").over("9s", grain="4s"),
            explained=sw.r2("seq").over("all"),
            left_over=sw.residual("load").over("9s"),
            beside_others=sw.slope("seq").over("9s") / sw.rate(c("seq") * 2).over("9s"),
        ),
        BIG,
    ),
    Case(
        "decay and ages",
        sliding(
            mean=sw.ewm_mean(halflife="4s")("load").over("9s"),
            mean_so_far=sw.ewm_mean(halflife="1500ms")("seq").over("all"),
            mean_by_rows=sw.ewm_mean(halflife="1 minute")("temp").over(rows=5, closed="left"),
            sum=sw.ewm_sum(halflife="4s")("load").where("ok").over("9s"),
            sum_so_far=sw.ewm_sum(halflife="3s")("load").over("all", closed="left"),
            sum_in_cells=sw.ewm_sum(halflife="4s")("seq").over("9s", grain="4s"),
            age=sw.age().over("9s"),
            age_of_rows=sw.age("load").where("ok").over(rows=4, closed="left"),
            since=sw.time_since_last("load").where("ok").over("all"),
            since_any=sw.time_since_last().where(c("tag") == "x").over("9s", at_least=2),
            share=sw.age().over("9s") / (sw.time_since_last("load").over("all") + 1),
        ),
        BIG,
    ),
    Case(
        "operators by times that are numbers",
        sw.Sliding(
            on="seq",
            mean=sw.ewm_mean(halflife=2.5)("load").over(10),
            sum=sw.ewm_sum(halflife=3)("load").over("all"),
            age=sw.age().over(10),
            since=sw.time_since_last("temp").over("all"),
            rate=sw.rate("load").over(10),
            slope=sw.slope("load").over(10),
        ),
        BIG,
    ),
    Case(
        "sets and sketches",
        sliding(
            kinds=sw.count_distinct("tag").over("9s"),
            about=sw.hyperloglog(p=5)("load").over("9s"),
            seen=sw.bloom(bits=64, hashes=2, probe="x")("tag").over("9s"),
            theta=sw.theta(lg_k=4)("seq").over("40s"),
            theta_rows=sw.theta(lg_k=4, sketch=True)("temp").over(rows=5, closed="left"),
            theta_cells=sw.theta(lg_k=4, sketch=True)("seq").over("9s", grain="4s"),
            theta_all=sw.theta(lg_k=4)("seq").over("all"),
            registers=sw.hyperloglog(p=4, sketch=True)("load").over("9s", closed="left"),
            registers_all=sw.hyperloglog(p=4, sketch=True)("tag").over("all"),
            registers_cells=sw.hyperloglog(p=4, sketch=True)("temp").where("ok").over("9s", grain="4s"),
            all=sw.bool_and("ok").over(rows=2),
            any=sw.bool_or("ok").over("9s"),
            low=sw.mincount("tag").over("9s"),
        ),
        BIG,
    ),
    Case(
        "quantiles",
        sliding(
            middle=sw.median("temp").over("9s"),
            upper=sw.quantile(0.9)("temp").over("9s"),
            chosen=sw.quantile(0.9, interpolation="higher")("temp").over("9s"),
            again=sw.median("temp").over("9s"),
            middle_half=sw.iqr("temp").over("9s"),
            off=sw.mad("temp").over("9s"),
            off_rows=sw.mad("load").over(rows=6, closed="left"),
            off_all=sw.mad("load").over("all"),
            enough=sw.quantile(0.1)("temp").over("9s", at_least=3),
            rows=sw.median("load").over(rows=4),
            high=sw.quantile(0.9)("load").over("9s", closed="both"),
            before=sw.quantile(0.9)("load").over(rows=6, closed="left"),
            low=sw.quantile(0.2, interpolation="lower")("load").over(rows=5),
            near=sw.quantile(0.3, interpolation="nearest")("seq").over("9s"),
            word=sw.quantile(0.5, interpolation="higher")("tag").over("9s"),
            good=sw.quantile(0.75, interpolation="midpoint")("load").where("ok").over("8s", at_least=2),
            about=sw.quantile(0.6, approximate=0.05)("temp").over("9s"),
            about_rows=sw.quantile(0.6, approximate=0.05)("load").over(rows=5),
            about_all=sw.quantile(0.6, approximate=0.05)("load").over("all"),
            so_far=sw.median("load").over("all"),
            seen=sw.quantile(0.99)("seq").over("all", at_least=3),
        ),
        BIG,
    ),
    Case(
        "ranks of the row's own value",
        sliding(
            rows=sw.count("temp").over("9s"),
            place=sw.rank("temp").over("9s"),
            share=sw.percent_rank("temp").over("9s", closed="both"),
            middle=sw.median("temp").over("9s"),
            before=sw.rank("load").over("9s", closed="left"),
            average=sw.rank(method="average")("load").over(rows=6),
            behind=sw.rank(method="max")("load").over(rows=4, closed="left"),
            good=sw.percent_rank("load").where("ok").over("8s", at_least=2),
            word=sw.rank("tag").over("9s"),
            moment=sw.rank("ts").over(rows=5),
            so_far=sw.rank("temp").over("all"),
            so_far_before=sw.rank(method="max")("tag").where("ok").over("all", closed="left"),
            few=sw.rank("load").over("9s", rows=3),
            late=sw.rank("load").over("9s", delay="2s"),
            few_before=sw.percent_rank("temp").where("ok").over("9s", rows=4, closed="left"),
        ),
        BIG,
    ),
    Case(
        "runs and values at the ends",
        sliding(
            longest=sw.longest_run("ok").over("9s"),
            current=sw.current_run("ok").over(rows=6),
            so_far=sw.longest_run("ok").over("all"),
            cells=sw.current_run("ok").over("9s", grain="4s"),
            before=sw.lag(1)("temp").over("9s"),
            word=sw.lag(2)("tag").over(rows=7, closed="left"),
            newest=sw.last_k(3)("temp").over("9s"),
            words=sw.last_k(2)("tag").over("9s", closed="left"),
            flags=sw.last_k(2)("ok").over("6s", grain="4s"),
            oldest=sw.first_k(2)("load").over(rows=5),
        ),
        BIG,
    ),
    Case(
        "counts of values",
        sliding(
            mode=sw.mode("temp").over("9s"),
            word=sw.mode("tag").over(rows=6),
            flag=sw.mode("ok").over("9s", grain="4s"),
            top=sw.top_k(2)("temp").over("9s"),
            top_words=sw.top_k(2)("tag").over(rows=7, closed="left"),
            top_so_far=sw.top_k(2)("load").over("all"),
            bins=sw.histogram(edges=[-3, 0.5, 71])("temp").over("9s"),
            bins_of_integers=sw.histogram(edges=[0.5, 2])("load").over("9s", grain="4s"),
            bins_so_far=sw.histogram(edges=[0])("load").over("all"),
            bits=sw.entropy("load").over("9s"),
            bits_of_words=sw.entropy("tag").over(rows=9),
            bits_so_far=sw.entropy("temp").over("all"),
        ),
        BIG,
    ),
    Case(
        "per category",
        sliding(
            spent=sw.sum("temp").per("tag").over("9s"),
            rows=sw.count().per("tag").over(rows=7, closed="left"),
            known=sw.count("load").per("ok").over("9s", closed="neither"),
            loads=sw.sum("load").per("tag").where("ok").over("9s", at_least=2),
            few=sw.mean("load").per("line").over("9s", rows=5),
            cells=sw.max("load").per("tag").over("9s", grain="4s"),
            so_far=sw.sum("load").per("tag").over("all"),
            before=sw.count_by("tag").over("all", closed="left"),
            moments=sw.count_by("ts").over("9s"),
            newest=sw.last("ts").per("tag").over("9s"),
            best=sw.argmax("tag", "load").per("line").over("9s"),
            four=sw.m4("load").per("tag").over(rows=6),
            four_so_far=sw.m4("temp").per("ok").over("all", closed="left"),
            spread=sw.variance("load").per("tag").over("9s"),
            middle=sw.median("load").per("line").over("9s"),
            texts=words("tag").per("line").over("9s"),
            drop=longest_drop("load").per("tag").over(rows=9),
            codes=looked_up("tag").per("load").over("9s"),
            kinds=sw.count_distinct("tag").per("line").over("9s"),
            computed=sw.sum(sw.col("load") * 2).per(sw.col("tag").upper()).over("9s"),
            top=sw.sum("load").per("tag", top=1).over("9s"),
            top_so_far=sw.max("load").per("load", top=2, rest=-9).over("all"),
            top_cells=sw.count_by(top=2, rest="zz")("tag").over("9s", grain="4s"),
        ),
        BIG,
    ),
    Case(
        "time and rows",
        sliding(
            few=sw.sum("load").over("9s", rows=3),
            edge=sw.collect("load").over("5s", rows=2, closed="both"),
            before=sw.collect("load").over("6s", rows=3, closed="left"),
            inside=sw.count().over("7s", rows=4, closed="neither"),
            good=sw.sum("temp").where("ok").over("9s", rows=4, at_least=2),
            good_before=sw.last("tag").where("ok").over("30s", rows=3, closed="left"),
            middle=sw.median("load").over("9s", rows=5),
            middle_before=sw.quantile(0.9)("load").over("9s", rows=4, closed="left"),
            wide=sw.max("load").over("5s", rows=1_000_000_000_000),
        ),
        BIG,
    ),
    Case(
        "a delay",
        sliding(
            week=sw.sum("load").over("9s", delay="4s"),
            edge=sw.collect("load").over("5s", delay="1s", closed="both"),
            before=sw.collect("load").over("6s", delay="2s", closed="left"),
            inside=sw.count().over("7s", delay="30s", closed="neither"),
            good=sw.max("temp").where("ok").over("9s", delay="3s", at_least=2),
            middle=sw.median("load").over("9s", delay="4s"),
            middle_before=sw.quantile(0.9)("load").over("9s", delay="1s", closed="left"),
            word=words("tag").over("6s", delay="3s"),
            rise=sw.sum("load").over("3s") - sw.sum("load").over("3s", delay="3s"),
        ),
        BIG,
    ),
    Case(
        "a delay where times are numbers",
        sw.Sliding(
            by="line",
            on="temp_place",
            ties="seq",
            some=sw.sum("load").over(2.5, delay=1.25),
            listed=sw.collect("load").over(3, delay=0.5, closed="both"),
        ),
        BIG.append_column("temp_place", pa.array([i // 3 * 0.75 for i in range(len(BIG))])),
    ),
    Case(
        "months",
        sliding(
            month=sw.sum("load").over("1 month"),
            edge=sw.collect("load").over("1 month", closed="both", zone="Europe/Berlin"),
            before=sw.count().over("1 quarter", closed="left", zone="America/New_York"),
            inside=sw.max("temp").where("ok").over("1 month", closed="neither", at_least=2),
            middle=sw.median("load").over("1 year", zone="Europe/Berlin"),
            word=words("tag").over("2 months"),
            rank=sw.rank("load").over("1 month", zone="Europe/Berlin"),
        ),
        OVER_MONTHS,
    ),
    Case(
        "months of dates",
        sw.Sliding(
            by="line",
            on="ts",
            s=sw.sum("seq").over("1 month"),
            n=sw.count().over("1 month", closed="left"),
        ),
        pa.table(
            {
                "line": [i % 2 for i in range(90)],
                "ts": pa.array([date(1972, 1, 20) + timedelta(i // 2) for i in range(90)]),
                "seq": list(range(90)),
            }
        ),
    ),
    Case(
        "grain",
        sliding(
            right=sw.sum("load").over("7s", grain="3s"),
            both=sw.sum("load").over("7s", closed="both", grain="3s"),
            left=sw.sum("load").over("7s", closed="left", grain="3s"),
            neither=sw.count().over("7s", closed="neither", grain="3s"),
            whole=sw.max("temp").over("6s", grain="6s"),
            fine=sw.mean("temp").over("5s", grain="1ms"),
            odd=sw.last("tag").over("5s", grain="700ms"),
            enough=sw.mean("temp").over("8s", at_least=3, grain="4s"),
            good=sw.sum("load").where("ok").over("9s", at_least=2, grain="2s"),
            seen=sw.count("load").where("ok").over("9s", closed="left", grain="2s"),
            exact=sw.sum("load").over("7s"),
        ),
        BIG,
    ),
    Case(
        "grain, every kind of state",
        sliding(
            text=words("tag").over("6s", grain="4s"),
            before=words("tag").over("6s", closed="left", grain="4s"),
            all=sw.collect("load").over("6s", grain="4s"),
            best=sw.argmax("tag", "load").over("6s", grain="4s"),
            four=sw.m4("load").over("6s", grain="4s"),
            kinds=sw.count_distinct("tag").over("9s", grain="4s"),
            about=sw.hyperloglog(p=5)("load").over("9s", grain="4s"),
            probe=sw.bloom(bits=64, hashes=2, probe="x")("tag").over("9s", grain="4s"),
            all_true=sw.bool_and("ok").over("9s", grain="4s"),
            low=sw.mincount("tag").over("9s", grain="4s"),
            drop=longest_drop("load").over("9s", grain="4s"),
            near=sw.quantile(0.6, approximate=0.05)("temp").over("9s", grain="4s"),
            swing=sw.relative_variation("load").over("9s", closed="both", grain="4s"),
        ),
        BIG,
    ),
    Case(
        "sessions",
        sliding(
            total=sw.sum("load").over(gap="1s"),
            rows=sw.count().over(gap="2s"),
            good=sw.mean("temp").where("ok").over(gap="1s", at_least=2),
            before=sw.sum("load").over(gap="1s", closed="left"),
            listed=sw.collect("load").over(gap="1500ms"),
            word=sw.last("tag").over(gap="1s"),
            middle=sw.median("load").over(gap="2s"),
            drop=longest_drop("load").over(gap="1s"),
            newest=sw.first_k(2)("load").over(gap="1s", closed="left"),
        ),
        BIG,
    ),
    Case(
        "since a row",
        sliding(
            total=sw.sum("load").over(since="ok"),
            rows=sw.count().over(since=sw.col("load") > 2),
            good=sw.mean("temp").where(sw.col("load") > 0).over(since="ok", at_least=2),
            before=sw.sum("load").over(since="ok", closed="left"),
            listed=sw.collect("load").over(since=sw.col("tag") == "x", closed="left"),
            word=sw.last("tag").over(since="ok"),
            middle=sw.median("load").over(since="ok"),
            drop=longest_drop("load").over(since="ok"),
        ),
        BIG,
    ),
    Case("grain, times as states", sliding(newest=sw.argmax("load", "ts").over("6s", grain="4s")), BIG),
    Case(
        "tuples as answers",
        sliding(
            one=alone("load").over("9s"),
            one_so_far=alone("load").over("all"),
            one_of_rows=alone("seq").over(rows=3),
            one_text=alone("tag").over("9s", at_least=2),
            two=doubled("load").where("ok").over("9s"),
            mixed=parsed("tag").over("9s"),
            mixed_so_far=parsed("tag").over("all", closed="left"),
            mixed_cells=parsed("tag").over("6s", grain="4s"),
        ),
        BIG,
    ),
    Case(  # none of which can be told from a made-up row
        "declared answers",
        sliding(
            code=looked_up("tag").over("9s"),
            code_so_far=looked_up("tag").over("all"),
            code_of_rows=looked_up("tag").over(rows=3, closed="left"),
            none_at_first=none_at_first("load").over("9s"),
            small=answering("small", lambda x: x * 2, "int8")("load").over(rows=4),
            pair=pair("tag").over("6s", grain="4s"),
            letters=answering("letters", list, pa.list_(pa.string()))("tag").over("9s"),
        ),
        BIG,
    ),
    Case(
        "a named tuple as state",
        sliding(
            rows=spread_of("load").over(rows=4),
            time=spread_of("load").over("9s", closed="both"),
            grain=spread_of("load").over("9s", grain="4s"),
            all=spread_of("load").over("all"),
        ),
        BIG,
    ),
    Case("own operator", sliding(drop=longest_drop("load").over("9s"), by_rows=longest_drop("seq").over(rows=4)), BIG),
    Case(
        "in input order",
        sw.Sliding(
            by="machine",
            last=sw.collect("seq").over(rows=3),
            all=sw.sum("seq").over("all"),
            since=sw.sum("seq").over(since="ok"),
            since_before=sw.count().over(since="ok", closed="left"),
        ),
        BIG,
    ),
]


def _with_times(times: pa.Array) -> pa.Table:
    return BIG.slice(0, len(times)).set_column(2, "ts", times)


_SECONDS = random.Random(5).choices(range(20), k=30)
CASES += [
    Case(
        f"times as {kind}, last {last}",
        sliding(n=sw.count().over(last), back=sw.sum("load").over(last, closed="left")),
        _with_times(pa.array(values, kind)),
    )
    for kind, values, last in [
        (pa.timestamp("ns"), [s * 10**9 + s for s in _SECONDS], "4s"),
        (pa.timestamp("us", "Europe/Paris"), [datetime(2024, 3, 31, 0, s, tzinfo=UTC) for s in _SECONDS], "4 minutes"),
        (pa.timestamp("s"), _SECONDS, "2500ms"),
        (pa.date32(), [date(2024, 3, 1) + timedelta(days=s) for s in _SECONDS], "4d"),
        (pa.int64(), _SECONDS, 4),
        (pa.int64(), _SECONDS, 2.5),
        (pa.float64(), [s / 8 for s in _SECONDS], 0.5),
        (pa.float64(), [2.0**60 + s * 2.0**10 for s in _SECONDS], 3),  # the window's start is rounded to its end
    ]
]
CASES += [
    Case(
        f"grain of {grain} in {last}, times as {kind}",
        sliding(
            n=sw.count().over(last, grain=grain),
            back=sw.sum("load").over(last, closed="left", grain=grain),
            edge=sw.sum("load").over(last, closed="both", grain=grain),
        ),
        _with_times(pa.array(values, kind)),
    )
    for kind, values, last, grain in [
        (pa.timestamp("ns"), [(s - 10) * 10**9 + s for s in _SECONDS], "4s", "1500ms"),
        (pa.timestamp("us", "UTC"), [(s - 10) * 10**6 for s in _SECONDS], "4s", "3s"),
        (pa.timestamp("s"), [s - 10 for s in _SECONDS], "2500ms", "300ms"),
        (pa.date32(), [date(1969, 12, 20) + timedelta(days=s) for s in _SECONDS], "4d", "36h"),
        (pa.int64(), [s - 10 for s in _SECONDS], 4, 3),
        (pa.int64(), [s - 10 for s in _SECONDS], 2.5, 0.75),
        (pa.float64(), [s / 8 - 1 for s in _SECONDS], 0.75, 0.5),
        (pa.float64(), [2.0**60 + s * 2.0**10 for s in _SECONDS], 2.0**12, 3),
    ]
]

_ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe")
_HOURS = [random.Random(6).randrange(-200, 200) for _ in range(30)]  # hours about changes of clocks
CASES += [
    Case(
        f"calendar, times as {kind}",
        sliding(
            hour=sw.count().over("this hour", zone=zones[0]),
            day=sw.sum("load").over("this day", zone=zones[0]),
            before=sw.sum("load").over("this day", zone=zones[1], closed="left"),
            plain=sw.sum("load").where("ok").over("this day"),
            week=sw.collect("load").over("this week", zone=zones[2]),
            month=sw.max("temp").over("this month", zone=zones[0]),
            quarter=sw.count().over("this quarter"),
            year=sw.median("load").over("this year"),
            iso_year=sw.count("load").over("this iso year", zone=zones[3]),
        ),
        _with_times(pa.array([moment + timedelta(hours=hour / per) for hour in _HOURS]).cast(kind)),
    )
    for kind, moment, per, zones in [
        (pa.timestamp("us", "UTC"), datetime(2024, 3, 31, tzinfo=UTC), 24, _ZONES),
        (pa.timestamp("s"), datetime(2024, 10, 27), 60, _ZONES),
        (pa.timestamp("ns"), datetime(1970, 1, 1), 2, _ZONES),
        (pa.date32(), datetime(1964, 12, 27), 1 / 24, (None,) * 4),
    ]
]


def _of_every_type(count: int) -> pa.Table:
    """A column of each type that Spark has for plain values, with values that are equal at times, and nulls."""
    choose = random.Random(7)
    start, day = datetime(2024, 3, 1, tzinfo=UTC), date(2024, 3, 1)
    kinds: dict[str, tuple[pa.DataType, list[Any]]] = {
        "bool": (pa.bool_(), [True, False]),
        "int8": (pa.int8(), [-128, -1, 0, 127]),
        "int64": (pa.int64(), [2**62, -(2**62), 1, 0]),
        "float32": (pa.float32(), [0.1, -0.0, 0.0, NAN, 1e30]),
        "text": (pa.string(), ["", "a", "é"]),
        "binary": (pa.binary(), [b"", b"\xff", b"a"]),
        "date": (pa.date32(), [day, day + timedelta(days=1)]),
        "moment": (pa.timestamp("us", "UTC"), [start, start + timedelta(microseconds=1)]),
        "local": (pa.timestamp("us"), [datetime(2024, 3, 31, 2, 30), datetime(2024, 10, 27, 2, 30, 0, 1)]),
    }
    columns = {
        "machine": pa.array([choose.choice("ab") for _ in range(count)]),
        "ts": pa.array(
            [start + timedelta(seconds=choose.randrange(count)) for _ in range(count)], EVENTS.field("ts").type
        ),
        "order": pa.array([choose.randrange(9) for _ in range(count)], pa.int64()),
    }
    return pa.table(
        columns
        | {
            name: pa.array([choose.choice([None, *values]) for _ in range(count)], kind)
            for name, (kind, values) in kinds.items()
        }
    )


EVERY_TYPE = _of_every_type(40)
_NUMBERS = [
    *(sw.sum, sw.mean, sw.variance, sw.stddev, sw.product, sw.geomean, sw.value_range, sw.relative_variation),
    *(sw.median, sw.quantile(0.25), sw.quantile(0.5, approximate=0.05)),
]
_ANY = [
    *(sw.max, sw.min, sw.first, sw.last, sw.count, sw.count_distinct, sw.maxcount, sw.mincount, sw.collect, sw.m4),
    sw.quantile(0.5, interpolation="lower"),
]
_FEW = [sw.max, sw.first, sw.count, sw.count_distinct, sw.collect]  # the others would take long to compile


def _every_operator(over: Any) -> dict[str, Any]:
    """Every operator over every type that it takes, but for a few; sums of the greatest integers would not fit."""
    found: list[Any] = [sw.bool_and("bool"), sw.bool_or("bool"), sw.sum("float32"), sw.mean("float32")]
    for name in EVERY_TYPE.column_names[3:]:
        found += [op(name) for op in (_FEW if name in ("bool", "float32") else _ANY)]
        if name in ("bool", "int8"):
            found += [op(name) for op in _NUMBERS] + [sw.covariance(name, "order"), sw.correlation("order", name)]
        if name not in ("bool", "float32"):
            found += [sw.argmax(name, "order"), sw.argmin("order", name)]
        if name in ("bool", "int8", "float32", "text", "binary"):
            found += [sw.hyperloglog(p=4)(name), sw.bloom(bits=32, hashes=2, probe=1)(name)]
    return {repr(one): over(one) for one in found}


CASES += [
    Case("every operator and type over time", sliding(columns=_every_operator(lambda one: one.over("9s"))), EVERY_TYPE),
    Case(
        "every operator and type over rows and so far",
        sliding(
            columns={
                f"{name} {i}": one
                for i, over in enumerate([lambda one: one.over(rows=3), lambda one: one.over("all")])
                for name, one in _every_operator(over).items()
            }
        ),
        EVERY_TYPE,
    ),
    Case(
        "moments in lists and counts",
        sliding(
            before=sw.lag("moment").over("all"),
            oldest=sw.first_k(2)("moment").over("9s", at_least=2),
            newest=sw.last_k(2)("moment").over("all"),
            session=sw.lag("moment").over(gap="2s"),
            mode=sw.mode("moment").over("all"),
            top=sw.top_k(1)("moment").over("9s", closed="both"),
            top_so_far=sw.top_k(2)("moment").over("all"),
        ),
        EVERY_TYPE,
    ),
]

CASES += [
    Case(
        "expressions as arguments and conditions",
        sliding(
            spent=sw.sum(c("temp") * c("load")).over("8s"),
            total=sw.sum(c("load") * 2 - 1).over("8s"),
            large=sw.count().where((c("load") > 0) & c("tag").is_in(["x", "zz"])).over("8s"),
            known=sw.count().where(~c("temp").is_null() | c("ok")).over(rows=4),
            first=sw.first(c("tag").upper()).where(c("load") != 0).over(rows=3),
            listed=sw.collect(c("load") // 2).over("4s", closed="both"),
            most=sw.argmax(c("tag"), -c("load")).over("6s"),
            cells=sw.sum(c("load") % 3).over("7s", grain="3s"),
            so_far=sw.mean(sw.when(c("ok")).then(c("load")).otherwise(0.5)).over("all", at_least=2),
            middle=sw.median(c("load") + 0.5).over("9s"),
            drop=longest_drop(c("load") * c("load")).over("9s"),
            words=words(sw.coalesce(c("tag"), "-")).over("4s"),
        ),
        BIG,
    ),
    Case(
        "expressions over aggregates",
        sliding(
            z=(c("load") - sw.mean("load").over("9s")) / sw.stddev("load").over("9s"),
            share=sw.count().where("ok").over("9s") / sw.count().over("9s"),
            jump=c("load") > 2 * sw.max("load").over("9s", closed="left"),
            mean=sw.mean("load").over("9s"),
            since=c("ts") - sw.last("ts").over("30s", closed="left"),
            new=sw.coalesce(sw.count().where(c("tag") == "x").over("all", closed="left") == 0, True),
            same=sw.first("tag").over(rows=3) == c("tag"),
            late=c("ts").hour() + c("ts").weekday("Europe/Berlin") * 100 + c("ts").day("Asia/Kolkata") * 1_000,
            room=sw.when(sw.max("temp").over("5s") > 70).then("hot").when(c("temp") < 0).then("cold").otherwise(None),
            text=sw.count().over(rows=2).cast(str),
            near=sw.sum("load").over("5s").between(c("load"), c("load") + 3),
            hidden=sw.quantile(0.25)("load").over("9s") + sw.median("load").over("9s"),
            twice=sw.mean("load").over("9s") * 2,
        ),
        BIG,
    ),
    Case(
        "every function",
        sliding(
            n=sw.count().over("5s"),
            power=(c("load") ** 2).sqrt() + c("load").abs().cast("float").exp() + (c("load") + 6).log(),
            rounded=(c("load") / 3).round(1)
            + (c("load") / 3).floor()
            - (c("load") / 3).ceil()
            + (c("load") / 7).round(),
            sign=c("load").sign() - c("temp").sign().cast("int"),
            text=sw.when(c("tag").starts_with("z")).then(c("tag").length()).otherwise(-c("tag").lower().length()),
            has=c("tag").contains("z") | (c("tag") >= "y"),
            numbers=sw.coalesce(c("load").cast("text").cast("int"), c("temp").cast("int") // 10**9),
            float=c("tag").cast("float").is_null(),
            nan=(c("temp") > 71) | (c("temp") == c("temp")),
            middle=c("temp").between(c("load"), 71.25),
            missing=sw.when(c("temp") == NAN).then(c("load")).otherwise(c("temp")),
        ),
        BIG,
    ),
    Case(
        "expressions where times are numbers",
        sw.Sliding(
            on="seq",
            rate=sw.sum(c("load") * c("load")).over(10) / (c("seq") - sw.first("seq").over(10)),
            gap=c("seq") - sw.last("seq").over("all", closed="left"),
        ),
        BIG,
    ),
]


def _payments(count: int, seed: int) -> pa.Table:
    """Payments of three cards over some weeks, many of them close together."""
    choose = random.Random(seed)
    time, rows = datetime(2024, 3, 25, tzinfo=UTC), []  # a week in which clocks in Berlin change
    for _ in range(count):
        time += timedelta(seconds=choose.choice([0, 20, 200, 4_000, 90_000]))
        rows.append(
            {
                "card": choose.choice([1, 2, 3]),
                "ts": time,
                "amount": choose.choice([None, 5.0, 40.0, 120.0, 900.0]),
                "country": choose.choice([None, "DE", "US"]),
                "device": choose.choice("abcde"),
                "declined": choose.random() < 0.3,
                "price": choose.choice([1.25, 3.0]),
                "quantity": choose.randrange(4),
            }
        )
    return pa.Table.from_pylist(rows)


def _features_of_the_page() -> sw.Sliding:
    """The definition in docs/expressions.md."""
    page = (Path(__file__).parents[2] / "docs" / "expressions.md").read_text()
    names: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    features: sw.Sliding = names["features"]
    return features


CASES.append(Case("the features of docs/expressions.md", _features_of_the_page(), _payments(70, 5)))
# Answers of these are due before their rows come, so they are for tables and batches; tests/windows/test_ahead.py.
LOOKING_AHEAD = [
    Case(
        "looking ahead",
        sliding(
            next=sw.sum("load").over(next="5s"),
            both=sw.collect("load").over(next="4s", closed="both"),
            left=sw.count().over(next="9s", closed="left"),
            neither=sw.max("temp").where("ok").over(next="6s", closed="neither", at_least=2),
            middle=sw.median("load").over(next="9s"),
            word=words("tag").over(next="100s"),
            before=sw.sum("load").over("5s"),
            rows=sw.last("tag").over(rows=3),
            so_far=sw.count().over("all"),
            share=sw.sum("load").over(next="5s") / sw.count().over("5s", delay="2s"),
        ),
        BIG,
    ),
    Case(
        "looking ahead where times are numbers",
        sw.Sliding(
            by="line",
            on="place",
            ties="seq",
            some=sw.sum("load").over(next=2.5),
            listed=sw.collect("load").over(next=1.5, closed="left"),
        ),
        BIG.append_column("place", pa.array([i // 3 * 0.75 for i in range(len(BIG))])),
    ),
]
BY_TYPE = {case.name for case in CASES if case.table is EVERY_TYPE}
BY_NAME = {case.name: case for case in CASES}
EVERY_CASE = BY_NAME | {case.name: case for case in LOOKING_AHEAD}
assert len(BY_NAME) == len(CASES)


@cache
def answers(lane: str) -> dict[str, Any]:
    return run(lane, list(BY_NAME.values()))


@cache
def expected(name: str) -> list[dict[str, Any]]:
    case = EVERY_CASE[name]
    return direct(case.definition, case.table)


@pytest.mark.rule(11, 12, 13, 14, 15, 17, 20)
@pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("lane", LANES)
def test_every_lane_gives_the_answers_of_the_semantics(lane: str, name: str) -> None:
    assert_same(BY_NAME[name], answers(lane)[name], expected(name))
