"""What is computed, and how a message becomes an event: the file to change first."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

import slidewise as sw

FEATURES = sw.Sliding(
    by="card",
    on="at",
    n_10m=sw.count().over("10 minutes"),
    declined_1h=sw.count().where("declined").over("1 hour"),
    spent_1h=sw.sum("amount").over("1 hour"),
    usual=sw.median("amount").over("1 day"),
    most=sw.max("amount").over("1 day"),
)
KEEP = timedelta(days=2)  # cards without an event for so long are forgotten: longer than every window
COLUMNS = pa.schema(
    {
        "card": pa.string(),
        "at": pa.timestamp("us", "UTC"),
        "amount": pa.float64(),
        "declined": pa.bool_(),
        "offset": pa.int64(),  # of the message; no aggregate reads it
    }
)


class BadMessage(ValueError):
    """A message that is no payment; the text says why."""


def event_of(key: bytes | None, value: bytes | None) -> dict[str, Any]:
    """The event in a message: {"card": "c7", "at": "2024-03-01T12:00:00Z", "amount": 9.5, "declined": false}."""
    try:
        read, sent_for = json.loads(value or b""), (key or b"").decode()
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"no JSON, or no UTF-8: {error}") from None
    if not isinstance(read, dict):
        raise BadMessage(f"not an object: {type(read).__name__}")
    card, at, amount, declined = (read.get(name) for name in ("card", "at", "amount", "declined"))
    if not isinstance(card, str) or not card or card != sent_for:
        raise BadMessage("the card is not the message's key, by which cards are spread over partitions")
    if not isinstance(amount, int | float) or isinstance(amount, bool) or not abs(amount) < 1e12:
        raise BadMessage("amount is no number, or none that a payment has")
    if not isinstance(declined, bool):
        raise BadMessage("declined is neither true nor false")
    return {"card": card, "at": moment(at), "amount": float(amount), "declined": declined}


def moment(text: Any) -> datetime:
    """A time in ISO 8601 with its zone."""
    try:
        at = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise BadMessage("at is no time in ISO 8601") from None
    if at.tzinfo is None or not 1970 < at.year < 9000:
        raise BadMessage("at has no zone, such as Z, or lies outside of our age")
    return at


def warm() -> None:
    """Compile what batches need, where this machine has not yet, before anybody counts on this process."""
    start = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [{"card": "c", "at": start + timedelta(seconds=n), "amount": 1.0, "declined": False} for n in range(4_000)]
    live, table = FEATURES.live(late="drop"), pa.Table.from_pylist(rows, schema=COLUMNS)
    for part in (table.slice(0, 2_000), table.slice(2_000)):
        live.push_many(part)
