"""What a query says, as text beside its state: whoever starts another one on its checkpoint is told what differs."""

from __future__ import annotations

import json
from typing import Any

from slidewise.definition import Definition

_MOST = 6  # differences that are told


def words_of(definition: Definition, schema: Any, shards: int, forget_after: Any) -> str:
    """A query's definition, its columns and its options, each under a name."""
    options: dict[str, Any] = {"by": definition.by, "on": definition.on, "ties": definition.ties}
    options |= {"every": definition.every, "offset": definition.offset, "forget_after": forget_after, "shards": shards}
    said = {f"{name}=": str(value) for name, value in options.items() if value is not None and value != ()}
    said |= {f"column {field.name!r}": field.dataType.simpleString() for field in schema.fields}
    return json.dumps(said | {f"aggregate {name!r}": repr(one) for name, one in definition.columns.items()})


def differences(old: str, new: str) -> str:
    """What differs between two queries, in words.

    >>> differences('{"shards=": "16", "a": "1"}', '{"shards=": "8", "b": "1"}')
    'shards= was 16 and is 8; a is gone; b is new'
    """
    try:
        was, now = json.loads(old), json.loads(new)
    except (ValueError, RecursionError):
        was = None
    if not isinstance(was, dict):
        return "what the other one says cannot be read"
    told = [
        f"{name} is gone" if name not in now else f"{name} was {was[name]} and is {now[name]}"
        for name in was
        if was[name] != now.get(name)
    ]
    told += [f"{name} is new" for name in now if name not in was]
    if not told:
        return "the text is the same, so the functions of an operator of your own differ"
    return "; ".join([*told[:_MOST], *([f"and {len(told) - _MOST} more"] if len(told) > _MOST else [])])
