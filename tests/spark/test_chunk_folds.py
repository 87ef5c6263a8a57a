"""The states of a large key's chunks: windows of several lengths over the same columns fold each chunk once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import slidewise as sw
from slidewise.kernels.passes.spanning import Spanning
from slidewise.spark.sort.sorted_rows import SortedRows
from slidewise.spark.state.chunk_window import chunk_aggregates, folded
from slidewise.spark.state.stored_specs import stored_specs


def test_a_chunk_is_folded_once_for_windows_of_several_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """And apart for other columns, other conditions, and other operators, with the states that each has alone."""
    definition = sw.Sliding(
        on="ts",
        short=sw.sum("x").over("1 minute"),
        long=sw.sum("x").over("1 hour"),
        other=sw.sum("y").over("1 hour"),
        some=sw.sum("x").where("flag").over("1 hour"),
        peak=sw.max("x").over("1 hour"),
        ranked=sw.median("x").over("1 hour"),
        rows=sw.count().over("1 hour"),
    )
    count = 100
    table = pa.table(
        {
            "ts": pa.array(np.arange(count) * 1_000_000, pa.timestamp("us", "UTC")),
            "x": pa.array([float(i) if i % 3 else None for i in range(count)]),
            "y": pa.array([float(i * i) for i in range(count)]),
            "flag": pa.array([i % 7 == 0 for i in range(count)]),
        }
    )
    rows = SortedRows(table, definition, np.zeros(count, np.int64))
    groups = chunk_aggregates(stored_specs(definition, {}), rows)
    alone = [folded([group], rows)[0] for group in groups]
    calls = []
    fold = Spanning.fold

    def counted(self: Spanning, inputs: list[Any]) -> Any:
        calls.append(self)
        return fold(self, inputs)

    monkeypatch.setattr(Spanning, "fold", counted)
    assert folded(groups, rows) == alone
    assert len(calls) == 4
    by_name = {
        member.name: None if state is None else (state[0], state[1][i])
        for group, state in zip(groups, alone, strict=True)
        for i, member in enumerate(group.spec.members)
    }
    assert by_name["short"] == by_name["long"] != by_name["some"]
    assert by_name["ranked"] is None
    assert by_name["rows"] == (count, None)
