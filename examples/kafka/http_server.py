"""GET /features/<card>, as of now or `?at=2024-03-01T12:00:00Z`, and GET /metrics in the text format of Prometheus."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from features import FEATURES, BadMessage, moment
from redis import RedisError

from slidewise.errors import SlidewiseError


def serve(service: Any, host: str, port: int) -> ThreadingHTTPServer:
    """A server that answers from the service's partitions, and sends those who ask for others' cards to their owner."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet

        def do_GET(self) -> None:
            path, query = urlsplit(self.path).path, parse_qs(urlsplit(self.path).query)
            if path == "/metrics":
                self.give(200, metrics(service), "text/plain; version=0.0.4")
            elif path.startswith("/features/"):
                try:
                    asked = moment(query["at"][0]) if "at" in query else None
                    status, answer = features(service, unquote(path.removeprefix("/features/")), asked)
                except (BadMessage, SlidewiseError) as error:
                    status, answer = 400, {"error": str(error)}
                except RedisError as error:
                    status, answer = 503, {"error": f"Redis: {error}"}
                self.give(status, json.dumps(answer), "application/json", answer.get("owner"))
            else:
                self.give(404, '{"error": "there are /features/<card> and /metrics"}', "application/json")

        def give(self, status: int, text: str, kind: str, owner: str | None = None) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if status == 307:
                self.send_header("Location", f"{owner}{self.path}")
            if status == 503:
                self.send_header("Retry-After", "1")
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # who asked has gone
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer((host, port), Handler)
    server.daemon_threads = True
    return server


def features(service: Any, card: str, asked: datetime | None) -> tuple[int, dict[str, Any]]:
    """The features of a card as of a time, or as of now, and the status that says who has them."""
    at = asked or datetime.now(UTC)
    stored = service.redis.get(f"{service.group}:features:{card}")
    if stored is None:  # a card that has had no event, so that all windows are empty
        return 200, {"card": card, "at": at.isoformat(), **FEATURES.live().get({"card": card}, at=at)}
    record = json.loads(stored)
    partition = service.partitions.get(record["partition"])
    if partition is not None:
        if asked is None:  # a clock that is behind the one that made the newest event
            at = max(at, datetime.fromisoformat(record["at"]))
        with partition.lock:
            answer = partition.live.get({"card": card}, at=at)
        return 200, {"card": card, "at": at.isoformat(), **answer}
    owner = service.redis.get(f"{service.group}:owner:{record['partition']}")
    if owner is None or owner.decode() == service.url:
        return 503, {"error": f"partition {record['partition']} is being handed over"}
    return 307, {"owner": owner.decode()}


def metrics(service: Any) -> str:
    """Counts of each partition of this consumer, each exact also after crashes, since they are in its snapshot."""
    kinds = ("events_total", "late_total", "ahead_total", "bad_total", "keys", "offset", "snapshot_offset", "lag")
    lines: dict[str, list[str]] = {kind: [] for kind in kinds}
    for number, partition in sorted(service.partitions.items()):
        stats, offset = partition.live.stats, partition.offset or 0
        counts = (stats.events, stats.late, stats.ahead, partition.bad, stats.keys, offset)
        values = (*counts, partition.saved or 0, max(partition.end - offset, 0))
        for kind, value in zip(kinds, values, strict=True):
            lines[kind].append(f'slidewise_{kind}{{partition="{number}"}} {value}')
    typed = [(kind, "counter" if kind.endswith("total") else "gauge") for kind in kinds]
    return "".join(f"# TYPE slidewise_{kind} {word}\n" + "\n".join(lines[kind] + [""]) for kind, word in typed)
