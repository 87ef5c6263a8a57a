"""Answers at other times than the events' own, in every lane, against a direct evaluation of the semantics."""

from __future__ import annotations

from functools import cache
from typing import Any

import as_of_lanes
import pyarrow as pa
import pytest
from definitions.test_lanes import BY_NAME as LANE_CASES
from point_in_time import assert_answers, judge_table

CASES = {name: case for name, case in LANE_CASES.items() if case.definition.on is not None}


@cache
def labels_of(name: str) -> pa.Table:
    return as_of_lanes.labels_for(CASES[name])


@cache
def expected(name: str) -> list[dict[str, Any]]:
    return judge_table(CASES[name].definition, labels_of(name), CASES[name].table)


@pytest.mark.rule(19)
@pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lane", as_of_lanes.LANES)
def test_every_lane_gives_the_answers_of_the_semantics(lane: str, name: str) -> None:
    case, labels = CASES[name], labels_of(name)
    found = as_of_lanes.answers(as_of_lanes.LANES[lane], case.definition, labels, case.table)
    assert_answers(case.definition, found, expected(name), labels.to_pylist())
