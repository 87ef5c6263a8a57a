"""A query's description, as text beside its state: which definition wrote it, over which columns, with which options.

An error can say what differs where another one is started on it, and a reader of the state needs nothing else.
"""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from slidewise.definition import Definition
from slidewise.definition_files import to_dict
from slidewise.errors import SlidewiseError
from slidewise.windows import Duration

_MAX_LISTED = 6  # differences in an error
_QUERY = "query"  # what programs read; all else is for people


class QueryDescription(NamedTuple):
    """What a description says to programs: the definition as `to_dict` gives it, or None where no text can hold it; the
    stream's columns with Spark's types, the number of shards, and after how many microseconds keys are forgotten."""

    definition: dict[str, Any] | None
    columns: tuple[tuple[str, str], ...]
    shards: int
    forget_after: int | None


def describe_query(
    definition: Definition, columns: Sequence[tuple[str, str]], shards: int, forget_after: Duration | None
) -> str:
    """A query's definition, its columns with Spark's types and its options as JSON, each under a name."""
    options: dict[str, Any] = {"by": definition.by, "on": definition.on, "ties": definition.ties}
    options |= {"every": definition.every, "offset": definition.offset, "forget_after": forget_after, "shards": shards}
    description: dict[str, Any]
    description = {f"{name}=": str(value) for name, value in options.items() if value is not None and value != ()}
    description |= {f"column {name!r}": kind for name, kind in columns}
    description |= {f"aggregate {name!r}": repr(aggregate) for name, aggregate in definition.columns.items()}
    lifetime = None if forget_after is None else forget_after.ns // 1_000
    description[_QUERY] = QueryDescription(_written(definition), tuple(columns), shards, lifetime)._asdict()
    return json.dumps(description)


def query_fingerprint(
    definition: Definition, columns: Sequence[tuple[str, str]], shards: int, forget_after: int | None
) -> str:
    """A digest of all that the state in a checkpoint depends on; `forget_after` is in microseconds."""
    text = repr((definition.fingerprint(), list(columns), shards, forget_after))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _written(definition: Definition) -> dict[str, Any] | None:
    try:
        written = to_dict(definition)
        json.dumps(written)
    except (SlidewiseError, TypeError):  # an operator that no module has, or a parameter that no text can hold
        return None
    return written


def read_description(text: str) -> QueryDescription | None:
    """What a description says to programs; None where it makes no sense."""
    try:
        description = json.loads(text)
        query = description.get(_QUERY) or _from_words(description)
        definition, columns = query["definition"], tuple((name, kind) for name, kind in query["columns"])
        shards, forget_after = query["shards"], query["forget_after"]
    except (ValueError, KeyError, TypeError, AttributeError, SyntaxError, RecursionError, SlidewiseError):
        return None
    sound = (definition is None or isinstance(definition, dict)) and type(shards) is int
    sound = sound and (forget_after is None or type(forget_after) is int)
    sound = sound and all(type(name) is str and type(kind) is str for name, kind in columns)
    return QueryDescription(definition, columns, shards, forget_after) if sound else None


def _from_words(description: dict[str, str]) -> dict[str, Any]:
    """What older descriptions, which are for people only, say of a query."""
    column, lifetime = "column ", description.get("forget_after=")
    columns = [
        (literal_eval(name[len(column) :]), kind) for name, kind in description.items() if name.startswith(column)
    ]
    return {
        "definition": None,
        "columns": columns,
        "shards": int(description["shards="]),
        "forget_after": None if lifetime is None else Duration.of(lifetime).ns // 1_000,
    }


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
    was.pop(_QUERY, None)
    now.pop(_QUERY, None)
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


def why_not_other_shards(old: int, new: int) -> str:
    """Why an upgrade cannot change the number of shards, and what to do instead."""
    return (
        f"the checkpoint has {old} shards and this query {new}: a shard is a group of Spark's state, and no group can "
        f"reach another's pages to take over its keys; say shards={old}. To spread these over more tasks, up to one "
        "for each shard, repartition the checkpoint of the stopped query (docs/streaming.md, Change while running); "
        "for another number of shards start from a new checkpoint, with history="
    )
