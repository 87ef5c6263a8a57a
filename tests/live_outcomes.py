"""What calls of live definitions give, or how they fail: windows in arrays are compared by it with others."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import slidewise as sw

SCHEMA = pa.schema(
    [
        ("k", pa.int64()),
        ("t", pa.int64()),
        ("x", pa.float64()),
        ("i", pa.int64()),
        ("ok", pa.bool_()),
        ("id", pa.string()),
    ]
)


def outcome(run: Any) -> Any:
    """What a call gives, or how it fails."""
    try:
        result = run()
    except sw.SlidewiseError as error:
        return type(error), str(error), getattr(error, "__notes__", [])
    if isinstance(result, pa.Table):
        return result.schema, result.to_pylist()
    return (list(result), result.dropped) if hasattr(result, "dropped") else result
