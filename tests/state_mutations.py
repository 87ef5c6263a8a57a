"""Changes to stored state that an accident would not make: values in their places, with the checksum made anew."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from slidewise.engine.codec import NotPlainError, Reader, Writer

ODD_NUMBERS = [0, 1, -1, 2, 7, 63, 64, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 2**64, 10**30, -(10**40)]
ODD_FLOATS = [0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), 1e308, 5e-324, 2.0**63]
ODD_VALUES: list[Any] = [
    *(None, True, False, "", "a", "error", b"", b"\0" * 16, (), [], {}, (1,), [1, 2], {"a": 1}, ((0, 1),)),
    *(datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=UTC), timedelta(1), (0.0, 0.0), (1.0, 0.0, 1)),
]


class Span:
    """A part of a payload, as the reader asked for it."""

    def __init__(self, kind: str, start: int, end: int, value: Any) -> None:
        self.kind, self.start, self.end, self.value = kind, start, end, value


class Recorder(Reader):
    """A reader that remembers what it was asked for, and where that lay."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.spans: list[Span] = []
        self._nested = False

    def _recorded(self, kind: str, read: Callable[[], Any]) -> Any:
        if self._nested:
            return read()
        start, self._nested = self._at, True
        try:
            value = read()
        finally:
            self._nested = False
        self.spans.append(Span(kind, start, self._at, value))
        return value

    def size(self) -> int:
        found: int = self._recorded("size", super().size)
        return found

    def value(self) -> Any:
        return self._recorded("value", super().value)

    def row(self) -> list[Any]:
        found: list[Any] = self._recorded("row", super().row)
        return found


def mutated_payload(draw: random.Random, payload: bytes, spans: list[Span]) -> bytes:
    """The payload with one to three changes: in its values mostly, and in its bytes."""
    out = payload
    for span in sorted(draw.sample(spans, min(len(spans), draw.choice((1, 1, 1, 2, 3)))), key=lambda one: -one.start):
        changed = _changed_span(draw, span, spans) if draw.random() < 0.85 else None
        piece = mutated_bytes(draw, out[span.start : span.end]) if changed is None else changed
        out = out[: span.start] + piece + out[span.end :]
    if draw.random() < 0.05:
        out = mutated_bytes(draw, out)
    return out


def _changed_span(draw: random.Random, span: Span, spans: list[Span]) -> bytes | None:
    writer = Writer()
    try:
        if draw.random() < 0.1:  # what stands elsewhere
            other = draw.choice([one for one in spans if one.kind == span.kind])
            _write(writer, span.kind, other.value)
        else:
            value = _odd_size(draw, span.value) if span.kind == "size" else mutated(draw, span.value)
            _write(writer, span.kind, value)
    except (NotPlainError, TypeError, ValueError, OverflowError, AttributeError):
        return None
    return bytes(writer.data)


def _odd_size(draw: random.Random, size: int) -> int:
    return max(0, draw.choice([size + 1, size - 1, 0, 1, 2 * size, 2**31, 2**62, 2**63 - 1, draw.randrange(300)]))


def _write(writer: Writer, kind: str, value: Any) -> None:
    if kind == "size":
        writer.size(value)
    elif kind == "row":
        writer.row(value if isinstance(value, list) else [value])
    else:
        writer.value(value)


def mutated(draw: random.Random, value: Any, depth: int = 0) -> Any:
    """A value like another, with something in it changed."""
    if isinstance(value, (list, tuple)) and value and draw.random() < 0.9:
        items = list(value)
        at = draw.randrange(len(items))
        match draw.randrange(9):
            case 0:
                del items[at]
            case 1:
                items.insert(at, items[at])
            case 2:
                other = draw.randrange(len(items))
                items[at], items[other] = items[other], items[at]
            case 3:
                items.reverse()
            case 4:
                items = items[:at]
            case _:
                items[at] = mutated(draw, items[at], depth + 1)
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict) and value and draw.random() < 0.8:
        name = draw.choice(list(value))
        return {**value, name: mutated(draw, value[name], depth + 1)}
    if isinstance(value, bool):
        return draw.choice([not value, *ODD_VALUES])
    if isinstance(value, int) and draw.random() < 0.9:
        near = value + draw.choice((-1, 1, 2, -2, 10**9, -(10**9), 10**13))
        return draw.choice([near, near, -value, 2 * value, draw.choice(ODD_NUMBERS), float(min(value, 10**300))])
    if isinstance(value, float) and draw.random() < 0.9:
        return draw.choice([value + 1, -value, draw.choice(ODD_FLOATS), draw.choice(ODD_NUMBERS)])
    if isinstance(value, str) and draw.random() < 0.7:
        return draw.choice([value + "x", value[:-1], value.upper(), "\udcff", "wait:3", "drop", "revise", "9" * 300])
    if isinstance(value, bytes) and draw.random() < 0.8:
        return mutated_bytes(draw, value)
    return draw.choice([*ODD_VALUES, *ODD_NUMBERS, *ODD_FLOATS])


def mutated_bytes(draw: random.Random, data: bytes) -> bytes:
    """Bytes with some flipped, left out, put in, or given twice."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 5))):
        at = draw.randrange(len(out) + 1)
        match draw.randrange(5):
            case 0 if at < len(out):
                out[at] ^= 1 << draw.randrange(8)
            case 1 if at < len(out):
                out[at] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
            case 2:
                del out[at : at + draw.randrange(1, 9)]
            case 3:
                out[at:at] = bytes(draw.randrange(256) for _ in range(draw.randrange(1, 9)))
            case _:
                other = draw.randrange(len(out) + 1)
                out[at:at] = out[other : other + draw.randrange(1, 40)]
    return bytes(out)
