"""Answers on a beat, in every lane, against a direct evaluation; what is refused, and what it costs."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any

import definitions.test_lanes as features
import pyarrow as pa
import pytest
from lanes import LANES, Case, assert_same, direct, run

import slidewise as sw

BIG, SMALL = features.events(40, 3), features.events(9, 4)
longest_drop, words = features.longest_drop, features.words


def sliding(every: Any = "3s", offset: Any = None, **columns: Any) -> sw.Sliding:
    return sw.Sliding(by="machine", on="ts", every=every, offset=offset, **columns)


CASES = [
    Case("one", sliding(peak=sw.max("temp").over("9s")), BIG),
    Case("the same definition over other rows", sliding(peak=sw.max("temp").over("9s")), SMALL),
    Case("no rows", sliding(peak=sw.max("temp").over("9s")), BIG.slice(0, 0)),
    Case("one row", sliding(peak=sw.max("temp").over("9s")), BIG.slice(3, 1)),
    *(
        Case(
            f"closed ends, {every} {offset}",
            sliding(
                *(every, offset),
                right=sw.sum("load").over("6s"),
                both=sw.sum("load").over("6s", closed="both"),
                left=sw.sum("load").over("6s", closed="left"),
                neither=sw.sum("load").over("6s", closed="neither"),
                odd=sw.count().over("4500ms", closed="both"),
            ),
            BIG,
        )
        for every, offset in (("2s", None), ("3s", "1s"), ("5s", "-7s"), ("7s", "100 days"))
    ),
    Case("open on the right alone", sliding("2s", n=sw.count().over("4s", closed="left")), BIG),
    Case("windows shorter than a beat", sliding("9s", "2s", n=sw.count().over("2s"), s=sw.sum("load").over("1s")), BIG),
    Case(
        "some windows short, one open",
        sliding("6s", n=sw.count("temp").over("1s", closed="neither"), s=sw.sum("load").over("2s", closed="left")),
        BIG,
    ),
    Case(
        "operators that go by time",
        sliding(
            "2s",
            rate=sw.rate("load").over("9s"),
            slope=sw.slope("seq").over("6s"),
            mean=sw.ewm_mean(halflife="3s")("load").over("9s"),
            sum=sw.ewm_sum(halflife="3s")("load").where("ok").over("9s", closed="left"),
            age=sw.age().over("6s"),
            since=sw.time_since_last("load").over("9s"),
            change=sw.delta("load").over("9s"),
        ),
        BIG,
    ),
    Case(
        "many windows of one operator",
        sliding(
            **{f"max_{n}": sw.max("load").over(f"{n}s") for n in (1, 3, 4, 9, 30)},
            **{f"at_least_{n}": sw.mean("load").where("ok").over(f"{n}s", at_least=2) for n in (3, 8)},
            drop=longest_drop("load").over("9s"),
        ),
        BIG,
    ),
    Case(
        "order",
        sliding(
            first=sw.first("temp").over("6s"),
            last=sw.last("load").over("4s"),
            list=sw.collect("seq").over("6s"),
            best=sw.argmax("tag", "load").over("6s"),
            four=sw.m4("load").over("6s"),
            text=words("tag").over("6s"),
        ),
        BIG,
    ),
    Case("times", sliding(all=sw.collect("ts").over("3s", closed="both"), newest=sw.max("ts").over("6s")), BIG),
    Case("no keys", sw.Sliding(on="ts", every="4s", top=sw.maxcount("load").over("10s")), BIG),
    Case("two keys", sw.Sliding(by=["line", "machine"], on="ts", every="4s", n=sw.count("load").over("8s")), BIG),
    Case(
        "numbers",
        sliding(
            mean=sw.mean("temp").over("9s"),
            sum=sw.sum("temp").over("4s"),
            deviation=sw.stddev("load").over("9s"),
            correlated=sw.correlation("load", "seq").over("9s"),
            product=sw.product("load").over("9s"),
            swing=sw.relative_variation("load").over("9s"),
        ),
        BIG,
    ),
    Case(
        "sets and sketches",
        sliding(
            kinds=sw.count_distinct("tag").over("9s"),
            by_tag=sw.sum("load").per("tag", top=2).over("9s"),
            by_line=sw.count().per("line").over("4s", closed="left"),
            about=sw.hyperloglog(p=5)("load").over("9s"),
            seen=sw.bloom(bits=64, hashes=2, probe="x")("tag").over("9s"),
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
            enough=sw.quantile(0.1)("temp").over("9s", at_least=3),
            other=sw.quantile(0.9)("temp").over("4s", closed="both"),
            word=sw.quantile(0.5, interpolation="higher")("tag").over("9s"),
            good=sw.quantile(0.75, interpolation="midpoint")("load").where("ok").over("8s", at_least=2),
            about=sw.quantile(0.6, approximate=0.05)("temp").over("9s"),
        ),
        BIG,
    ),
]
_SECONDS = random.Random(5).choices(range(20), k=30)
CASES += [
    Case(
        f"times as {kind}, every {every}, offset {offset}",
        sliding(every, offset, n=sw.count().over(last), back=sw.sum("load").over(last, closed="left")),
        BIG.slice(0, len(_SECONDS)).set_column(2, "ts", pa.array(values, kind)),
    )
    for kind, values, every, offset, last in [
        (pa.timestamp("ns"), [s * 10**9 + s for s in _SECONDS], "2s", "5ns", "4s"),
        (
            pa.timestamp("us", "Europe/Paris"),
            [datetime(2024, 3, 31, 0, s, tzinfo=UTC) for s in _SECONDS],
            "3m",
            None,
            "4m",
        ),
        (pa.timestamp("s"), _SECONDS, "1s", None, "2500ms"),
        (pa.date32(), [date(1969, 12, 20) + timedelta(days=s) for s in _SECONDS], "2d", "1d", "4d"),
        (pa.int64(), [s - 9 for s in _SECONDS], 3, -1, 4),
        (pa.int32(), _SECONDS, 3, 0, 2.5),
        (pa.float64(), [s / 10 for s in _SECONDS], 0.1, None, 0.3),
        (pa.float64(), [s / 10 - 1 for s in _SECONDS], 0.25, 0.1, 0.6),
    ]
]
BY_NAME = {case.name: case for case in CASES}
assert len(BY_NAME) == len(CASES)


@cache
def answers(lane: str) -> dict[str, Any]:
    return run(lane, CASES)


@cache
def expected(name: str) -> list[dict[str, Any]]:
    return direct(BY_NAME[name].definition, BY_NAME[name].table)


@pytest.mark.rule(15, 18)
@pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("lane", [lane for lane in LANES if lane not in ("compiled", "revised")])
def test_every_lane_gives_the_answers_of_the_semantics(lane: str, name: str) -> None:
    assert_same(BY_NAME[name], answers(lane)[name], expected(name))
