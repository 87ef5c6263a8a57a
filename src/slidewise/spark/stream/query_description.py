"""A query's description, as text beside its state: an error can say what differs where another one is started on it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from slidewise.definition import Definition
from slidewise.windows import Duration

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_MAX_LISTED = 6  # differences in an error


def describe_query(definition: Definition, schema: StructType, shards: int, forget_after: Duration | None) -> str:
    """A query's definition, its columns and its options as JSON, each under a name."""
    options: dict[str, Any] = {"by": definition.by, "on": definition.on, "ties": definition.ties}
    options |= {"every": definition.every, "offset": definition.offset, "forget_after": forget_after, "shards": shards}
    description = {f"{name}=": str(value) for name, value in options.items() if value is not None and value != ()}
    description |= {f"column {field.name!r}": field.dataType.simpleString() for field in schema.fields}
    description |= {f"aggregate {name!r}": repr(aggregate) for name, aggregate in definition.columns.items()}
    return json.dumps(description)


def differences(old: str, new: str) -> str:
    """Differences between two descriptions, in words.

    >>> differences('{"shards=": "16", "a": "1"}', '{"shards=": "8", "b": "1"}')
    'shards= was 16 and is 8; a is gone; b is new'
    """
    try:
        was, now = json.loads(old), json.loads(new)
    except (ValueError, RecursionError):
        was = None
    if not isinstance(was, dict):
        return "what the other one says cannot be read"
    changes = [
        f"{name} is gone" if name not in now else f"{name} was {was[name]} and is {now[name]}"
        for name in was
        if was[name] != now.get(name)
    ]
    changes += [f"{name} is new" for name in now if name not in was]
    if not changes:
        return "the text is the same, so the functions of an operator of your own differ"
    more = [f"and {len(changes) - _MAX_LISTED} more"] if len(changes) > _MAX_LISTED else []
    return "; ".join([*changes[:_MAX_LISTED], *more])
