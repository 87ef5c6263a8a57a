"""Columns of pandas objects: definitions, batches and `rolling` read them alike."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pandas as pd
import pytest

import slidewise as sw

READABLE = {
    "dates": [date(2024, 1, 2), None, date(2024, 1, 1)],
    "times of day": [time(1), None, time(2)],
    "bytes": [b"b", None, b"a"],
    "integers": [2**60 + 1, None, 3],
    "numbers": [1.5, None, 2],
    "bools": [True, None, False],
    "nanoseconds": [pd.Timedelta(2), None, pd.Timedelta(1)],
    "nothing": [None, None, None],
}
MIXED = {
    "numbers and text": [1, "a", None],
    "dates and datetimes": [date(2024, 1, 1), datetime(2024, 1, 1, 5), None],
}


def frame(values: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"t": range(len(values)), "x": pd.Series(values, dtype=object)})


@pytest.mark.parametrize("name", READABLE)
@pytest.mark.parametrize("op", [sw.max, sw.last, sw.count, sw.count_distinct, sw.collect, sw.m4])
def test_definitions_read_what_rolling_reads(name: str, op: sw.Operator) -> None:
    events = frame(READABLE[name])
    definition = sw.Sliding(by="x", on="t", same=op("x").over(2))
    whole = sw.Sliding(on="t", same=op("x").over(2))
    rolled = sw.rolling(events["x"], op, times=events["t"], last=2)
    for found in (whole(events), whole.live().push_many(events)):
        assert [repr(value) for value in found["same"]] == [repr(value) for value in rolled]
    assert len(definition(events)) == len(definition.live().push_many(events)) == 3


@pytest.mark.parametrize("name", MIXED)
def test_values_of_several_kinds_are_counted_and_not_given_back(name: str) -> None:
    events = frame(MIXED[name])
    counted = sw.Sliding(by="x", on="t", n=sw.count("x").over(9), kinds=sw.count_distinct("x").over(9))
    assert counted(events)["n"].tolist() == counted.live().push_many(events)["n"].tolist() == [1, 1, 0]
    for op in (sw.last, sw.collect):
        definition = sw.Sliding(on="t", a=op("x").over(9))
        for run in (definition, definition.live().push_many):
            with pytest.raises(sw.InputError, match=r"column 'a'|'a' has answers that no column can hold"):
                run(events)


def test_decimals_are_refused_by_name() -> None:
    events = frame([Decimal("1.5"), None])
    for run in (
        sw.Sliding(on="t", a=sw.last("x").over(9)),
        sw.Sliding(on="t", a=sw.last("x").over(9)).live().push_many,
    ):
        with pytest.raises(sw.InputError, match="'x' holds decimals"):
            run(events)


@pytest.mark.parametrize("values", [[Decimal("1.5"), Decimal(2)], [date(2024, 1, 1), date(2024, 1, 2)]])
def test_keys_of_objects_come_back_on_a_beat(values: list[Any]) -> None:
    events = frame([*values, values[0]]).assign(t=[1, 2, 3])
    definition = sw.Sliding(by="x", on="t", every=5, n=sw.count().over(5))
    live = definition.live()
    assert len(live.push_many(events)) == 0
    later = live.push_many(events.assign(t=[6, 7, 8]))
    assert sorted(later["x"]) == sorted(definition(events)["x"]) == sorted(values)
