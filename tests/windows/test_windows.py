"""Durations and windows as users write them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slidewise as sw
from slidewise.windows import Duration, Window

SECOND = 1_000_000_000


@pytest.mark.rule(2)
@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("90s", 90 * SECOND),
        ("10 minutes", 600 * SECOND),
        ("1 Minute", 60 * SECOND),
        ("7d", 7 * 86_400 * SECOND),
        ("1h 30m", 5_400 * SECOND),
        ("1h30m", 5_400 * SECOND),
        ("1 hour, 30 minutes", 5_400 * SECOND),
        ("1.5h", 5_400 * SECOND),
        (".5h", 1_800 * SECOND),
        ("10 \u03bcs", 10_000),
        ("10 \u00b5s", 10_000),
        ("0.1s", SECOND // 10),
        ("250 ms", SECOND // 4),
        ("5us", 5_000),
        ("100ns", 100),
        ("2 weeks", 14 * 86_400 * SECOND),
        (" 3 min ", 180 * SECOND),
    ],
)
def test_durations_are_read_exactly(text: str, ns: int) -> None:
    assert Duration.of(text).ns == ns


@pytest.mark.rule(2)
def test_a_timedelta_is_a_duration() -> None:
    assert Duration.of(timedelta(days=1, microseconds=1)).ns == 86_400 * SECOND + 1_000
    assert Duration.of("90s").timedelta() == timedelta(seconds=90)
    assert Duration.of(Duration.of("90s")) == Duration.of("90s")
    with pytest.raises(sw.WindowError, match="microseconds"):
        Duration.of("100ns").timedelta()


@given(st.integers(1, 10**18))
def test_a_duration_prints_as_what_it_is_read_from(ns: int) -> None:
    assert Duration.of(str(Duration(ns))) == Duration(ns)


@pytest.mark.rule(2)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("", "cannot read the duration ''"),
        ("minutes", "cannot read"),
        ("10", "cannot read"),
        ("10 minutse", "unknown unit 'minutse'.*did you mean 'minute"),
        ("10M", "minutes or months; .*'1 month'"),
        ("1 month", "no fixed length; write it in days"),
        ("2 years", "no fixed length"),
        ("0s", "longer than nothing"),
        ("-5s", "cannot read"),
        ("0.0000000001s", "whole number of nanoseconds"),
        (timedelta(0), "longer than nothing"),
        (timedelta(seconds=-1), "longer than nothing"),
        (10, "is text such as '10 minutes'"),
        (None, "is text such as"),
    ],
)
def test_what_is_no_duration(wrong: Any, message: str) -> None:
    with pytest.raises(sw.WindowError, match=message):
        Duration.of(wrong)


def test_windows() -> None:
    assert Window.of(rows=3) == Window(rows=3)
    assert Window.of(rows=np.int64(3), at_least=np.int8(2)) == Window(rows=3, at_least=2)
    assert Window.of("1h") == Window(last=Duration.of("60m"))
    assert Window.of("all") == Window()
    assert Window.of(2.5, closed="neither").last == 2.5
    assert hash(Window.of("1h")) == hash(Window.of("60 minutes"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "either a length"),
        ({"last": "all", "rows": 3}, "two windows"),
        ({"rows": 0}, "from 1 on, but is 0"),
        ({"rows": -1}, "from 1 on"),
        ({"rows": 2.0}, "whole number"),
        ({"rows": True}, "whole number"),
        ({"rows": 3, "closed": "both"}, "closed 'right' or 'left'"),
        ({"rows": 3, "closed": "rihgt"}, "did you mean 'right'"),
        ({"rows": 3, "at_least": 4}, "can never be met"),
        ({"rows": 3, "at_least": 0}, "from 1 on"),
        ({"last": 0}, "positive"),
        ({"last": -2.0}, "positive"),
        ({"last": float("nan")}, "positive"),
        ({"last": float("inf")}, "finite"),
        ({"last": True}, "duration or a number"),
    ],
)
def test_what_is_no_window(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.WindowError, match=message):
        Window.of(**arguments)
