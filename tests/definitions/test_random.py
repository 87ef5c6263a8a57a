"""Random tables under random definitions: every lane gives what the semantics say, row by row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, note, settings
from lanes import LANES, Case, assert_same, direct, run
from random_definitions import SCHEMA, definitions, rows

import slidewise as sw


@pytest.mark.parametrize("lane", LANES)
@given(rows=rows, definition=definitions())
@settings(max_examples=40)
def test_random_definitions_over_random_tables(lane: str, rows: list[dict[str, Any]], definition: sw.Sliding) -> None:
    note(repr(definition))
    case = Case("random", definition, pa.Table.from_pylist(rows, schema=SCHEMA))
    assert_same(case, run(lane, [case])["random"], direct(definition, case.table))


@given(definition=definitions())
def test_a_definition_is_what_it_writes(definition: sw.Sliding) -> None:
    assert sw.Sliding.from_dict(definition.to_dict()) == definition
    again = sw.Sliding.from_toml(definition.to_toml())
    assert again == definition
    assert hash(again) == hash(definition)
    assert again.fingerprint() == definition.fingerprint()
    assert eval(repr(definition)) == definition
