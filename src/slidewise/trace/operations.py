"""The operations of a trace, parsed from text such as `insert 4 5 3; evict 2; insert 6`."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from slidewise.errors import SlidewiseError, did_you_mean

# Section 2 of the paper: seven values go in, two leave, two more come in; then more, so that every case occurs.
PAPER = "insert 4 5 3 4 0 4 4; evict 2; insert 2 6"
VALUES = (4, 5, 3, 4, 0, 4, 4, 2, 6, 6, 1, 3, 6, 2, 2, 7, 0, 5, 5, 1)
MOST = 1_000
HOW = "write operations as in 'insert 4 5 3; evict 2; insert 6'"


class TraceError(SlidewiseError):
    """A trace that cannot be read or recorded."""


class Operation(NamedTuple):
    """One step: a row that comes in, or the oldest that leaves; and where the text says so, for errors.

    `time` is that of a row written as `4@10`, which only algorithms for rows out of order take.
    """

    name: str
    row: tuple[Any, ...] = ()
    time: float | None = None
    where: str = ""


class _Word(NamedTuple):
    text: str
    where: str


def parse(text: str) -> list[Operation]:
    """The operations that a text says; lines and semicolons end an operation, and # begins a comment.

    >>> [operation[:2] for operation in parse("insert 4 5.5; evict 2")]
    [('insert', (4,)), ('insert', (5.5,)), ('evict', ()), ('evict', ())]
    """
    operations: list[Operation] = []
    size = 0
    for name, *arguments in _sentences(text):
        verb = name.text.lower()
        if verb == "insert":
            if not arguments:
                raise TraceError(f"{name.where}: insert says no values; write them behind it, as in 'insert 4 5 3'")
            operations += [_insert(word) for word in arguments]
            size += len(arguments)
        elif verb == "evict":
            count = _count(name, arguments)
            if count > size:
                raise TraceError(
                    f"{name.where}: {count} row{'s' * (count > 1)} cannot leave, since the window holds {size} there; "
                    "insert more before, or evict fewer"
                )
            operations += [Operation("evict", where=name.where)] * count
            size -= count
        else:
            hint = did_you_mean(verb, ("insert", "evict")) or f"; {HOW}"
            raise TraceError(f"{name.where}: {name.text!r} is no operation, these are insert and evict{hint}")
        if len(operations) > MOST:
            raise TraceError(
                f"{name.where}: a trace has at most {MOST} steps, and here there are {len(operations)} of them"
            )
    if not operations:
        raise TraceError(f"the trace is empty: it says no operation; {HOW}")
    return operations


def _sentences(text: str) -> list[list[_Word]]:
    sentences: list[list[_Word]] = []
    lines = text.splitlines()
    for at, line in enumerate(lines, 1):
        start = 0
        for part in line.partition("#")[0].split(";"):
            words = [
                _Word(word.group(), f"line {at}, column {start + word.start() + 1}")
                for word in re.finditer(r"\S+", part)
            ]
            if words:
                sentences.append(words)
            start += len(part) + 1
    return sentences


def _insert(word: _Word) -> Operation:
    value, at, time = word.text.partition("@")
    row = tuple(_value(part) for part in value.split(","))
    if "" in row:
        raise TraceError(f"{word.where}: {word.text!r} lacks a value; the columns of one row are written 3,5")
    if not at:
        return Operation("insert", row, where=word.where)
    moment = _value(time)
    if isinstance(moment, str) or moment != moment:
        raise TraceError(f"{word.where}: the time of {word.text!r} is no number; a row with a time is written 4@10")
    return Operation("insert", row, moment, word.where)


def _count(name: _Word, arguments: Sequence[_Word]) -> int:
    if len(arguments) > 1:
        raise TraceError(
            f"{arguments[1].where}: evict takes one number, how many rows leave, but then came {arguments[1].text!r}; "
            "end the operation with a semicolon"
        )
    if not arguments:
        return 1
    text = arguments[0].text
    if not text.isdecimal() or not 0 < int(text) <= MOST:
        raise TraceError(f"{arguments[0].where}: evict takes a number of rows from 1 on, not {text!r}")
    return int(text)


def _value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def text_of(operations: Sequence[Operation]) -> str:
    """The operations as text again, neighbours of one kind together.

    >>> text_of(parse("insert 4; insert 5,1 6@2; evict; evict"))
    'insert 4 5,1 6@2; evict 2'
    """
    parts: list[list[str]] = []
    for operation in operations:
        if not parts or parts[-1][0] != operation.name:
            parts.append([operation.name])
        time = "" if operation.time is None else f"@{operation.time}"
        parts[-1].append(",".join(map(str, operation.row)) + time)
    texts = []
    for name, *rows in parts:
        texts.append(f"insert {' '.join(rows)}" if name == "insert" else f"evict {len(rows)}" if rows[1:] else name)
    return "; ".join(texts)


def random_operations(steps: int, seed: int, columns: int = 1) -> list[Operation]:
    """So many random steps, in a window that wanders between empty and a dozen rows."""
    chance = random.Random(seed)
    operations: list[Operation] = []
    size = 0
    for _ in range(steps):
        if not size or chance.random() < (0.65 if size < 6 else 0.5 if size < 12 else 0.2):
            operations.append(Operation("insert", tuple(chance.randrange(10) for _ in range(columns))))
            size += 1
        else:
            operations.append(Operation("evict"))
            size -= 1
    return operations


def scheduled_operations(schedule: str, columns: int = 1) -> list[Operation]:
    """The steps of a schedule such as `+3 -1 +1`: three rows in, one out, one in.

    >>> text_of(scheduled_operations("+3 -1 +1"))
    'insert 4 5 3; evict; insert 4'
    """
    operations: list[Operation] = []
    inserted = 0
    for word in schedule.split():
        for _ in range(int(word[1:])):
            if word[0] == "+":
                operations.append(
                    Operation("insert", tuple(VALUES[(inserted + i) % len(VALUES)] for i in range(columns)))
                )
                inserted += 1
            else:
                operations.append(Operation("evict"))
    return operations
