"""The windows of one partition's cards: in memory, and as a snapshot in Redis from which any consumer goes on."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pyarrow as pa
from features import COLUMNS, FEATURES, KEEP, BadMessage, event_of
from redis import Redis, WatchError

DAYS = 86_400 * KEEP.days


class Partition:
    """One partition of the topic.

    A Redis hash, `<group>:partition:<number>`, has its `snapshot`; `offset`, the first message that is not in it;
    `bad`, how many messages before that were no events; and `written`, the first message whose features are not in
    Redis. A transaction writes all of them, and the features of cards, `<group>:features:<card>`, or nothing.
    """

    def __init__(self, redis: Redis, group: str, number: int) -> None:
        self.redis, self.group, self.number = redis, group, number
        self.key = f"{group}:partition:{number}"
        self.lock = threading.Lock()  # a live definition serves one thread at a time
        self.load()

    def load(self) -> None:
        """Go on from what is in Redis; from the topic's beginning where there is nothing."""
        stored = {name.decode(): value for name, value in self.redis.hgetall(self.key).items()}
        self.saved = int(stored["offset"]) if "offset" in stored else None
        self.written = int(stored["written"]) if "written" in stored else None
        self.dropped: list[tuple[int, str]] = []
        if "snapshot" in stored:
            self.live = FEATURES.restore(stored["snapshot"], late_to=self.drop)
        else:
            self.live = FEATURES.live(late="drop", ahead="1 hour", late_to=self.drop)
        self.offset, self.bad = self.saved, int(stored.get("bad", 0))
        self.fresh: dict[str, dict[str, Any]] = {}  # the newest features of cards that are not in Redis yet
        self.newest = None
        self.end = 0  # how far the topic's partition goes, as far as known
        self.saved_at = time.monotonic()

    def drop(self, event: dict[str, Any], reason: str) -> None:
        self.dropped.append((event["offset"], reason))

    def take(self, messages: list[Any]) -> list[tuple[Any, str]]:
        """Push the messages' events, and give those messages that were not taken in, each with the reason."""
        messages = [message for message in messages if self.offset is None or message.offset() >= self.offset]
        if not messages:
            return []
        events, dead = [], []
        for message in messages:
            try:
                events.append(event_of(message.key(), message.value()) | {"offset": message.offset()})
            except BadMessage as error:
                dead.append((message, str(error)))
        self.bad += len(dead)
        with self.lock:
            answers = self.live.push_many(pa.Table.from_pylist(events, schema=COLUMNS)).to_pylist()
        self.fresh |= {row["card"]: row for row in answers}
        self.newest = max([row["at"] for row in answers] + [self.newest] * (self.newest is not None), default=None)
        self.offset = messages[-1].offset() + 1
        by_offset = {message.offset(): message for message in messages}
        dead += [(by_offset[offset], reason) for offset, reason in self.dropped]
        self.dropped.clear()
        return [(message, reason) for message, reason in dead if message.offset() >= (self.written or 0)]

    def save(self, snapshot: bool) -> bool:
        """Write the features of cards with new events, and a snapshot; False where another consumer wrote since."""
        if self.offset is None or self.offset < (self.written or 0):
            self.fresh.clear()  # events that come again after a crash: Redis has newer features
            return True
        fields: dict[str, Any] = {"written": self.offset}
        if snapshot:
            with self.lock:
                if self.newest is not None:
                    self.live.forget(before=self.newest - KEEP)
                fields |= {"snapshot": self.live.snapshot(), "offset": self.offset, "bad": self.bad}
        with self.redis.pipeline() as transaction:
            try:
                transaction.watch(self.key)
                stored = transaction.hget(self.key, "written")
                if (None if stored is None else int(stored)) != self.written:
                    return False
                transaction.multi()
                for card, row in self.fresh.items():
                    features = {name: row[name] for name in FEATURES.columns}
                    record = {"partition": self.number, "at": row["at"].isoformat(), "features": features}
                    transaction.set(f"{self.group}:features:{card}", json.dumps(record), ex=DAYS)
                transaction.hset(self.key, mapping=fields)
                transaction.execute()
            except WatchError:
                return False
        self.fresh.clear()
        self.written = self.offset
        if snapshot:
            self.saved, self.saved_at = self.offset, time.monotonic()
        return True
