"""Two consumers share a topic, one is killed, the other goes on: are all features those of the table of all events?

python examples/kafka/demo.py needs a redis-server (apt install redis-server); Kafka is librdkafka's mock cluster.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from confluent_kafka import Producer
from features import COLUMNS, FEATURES
from redis import Redis
from redis.exceptions import ConnectionError

CARDS, EVENTS = 200, 20_000


@contextlib.contextmanager
def redis_server() -> Iterator[str]:
    """A Redis of our own, on a free port of this machine alone, that stores nothing on disk."""
    program = shutil.which("redis-server") or sys.exit("There is no redis-server here: apt install redis-server")
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        words = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        server = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
        try:
            client = Redis(port=port)
            wait_for(lambda: answers(client), "Redis does not answer")
            yield f"redis://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


def answers(client: Redis) -> bool:
    with contextlib.suppress(ConnectionError):
        return bool(client.ping())
    return False


def mock_kafka() -> tuple[Producer, str]:
    """A cluster inside of a producer, which lives as long as it does, and its address; topics have four partitions."""
    producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
    brokers = producer.list_topics(timeout=10).brokers.values()
    return producer, ",".join(f"{broker.host}:{broker.port}" for broker in brokers)


def payments(count: int, cards: int, seed: int = 7) -> list[dict[str, Any]]:
    """Made-up payments of the last three hours, by time; no two at the same millisecond."""
    rng = np.random.default_rng(seed)
    start = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=3)
    after = np.sort(rng.choice(3 * 3_600_000, count, replace=False)).tolist()
    columns = rng.integers(0, cards, count), rng.lognormal(3, 1, count).round(2), rng.random(count) < 0.05
    card, amount, declined = (column.tolist() for column in columns)
    return [
        {"card": f"c{c}", "at": start + timedelta(milliseconds=ms), "amount": a, "declined": d}
        for c, ms, a, d in zip(card, after, amount, declined, strict=True)
    ]


def send(producer: Producer, events: list[dict[str, Any]], topic: str = "payments") -> None:
    for event in events:
        value = json.dumps(event | {"at": event["at"].isoformat()})
        while True:
            try:
                producer.produce(topic, value, event["card"])
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(30):
        raise RuntimeError("Kafka takes no messages")


def consumer(kafka: str, redis: str, port: int, *more: str) -> subprocess.Popen[bytes]:
    """The service as a process of its own; its own pace of snapshots, and a session short enough for a demo."""
    words = ["--kafka", kafka, "--redis", redis, "--port", str(port), "--snapshot-every", "0.5"]
    program = str(Path(__file__).with_name("consumer.py"))
    return subprocess.Popen([sys.executable, program, *words, "--session-timeout", "6000", *more])


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as response:  # follows redirects to the owner of a card
        body = response.read()
    return json.loads(body) if response.headers["Content-Type"] == "application/json" else body.decode()


def count(url: str, name: str) -> int:
    """A number of /metrics, summed over partitions; nothing where nobody answers yet."""
    with contextlib.suppress(OSError):
        lines = get(f"{url}/metrics").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(f"slidewise_{name}{{"))
    return 0


def wait_for(done: Any, otherwise: str, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise TimeoutError(otherwise)
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    events = payments(EVENTS, CARDS)
    producer, kafka = mock_kafka()
    with redis_server() as redis, contextlib.ExitStack() as stack:
        send(producer, events[: EVENTS // 2])
        print("two consumers start; the first time on a machine they compile, which may take a minute ...", flush=True)
        urls, running = [], []
        for _ in range(2):
            port = free_port()
            running.append(consumer(kafka, redis, port))
            stack.callback(running[-1].kill)
            urls.append(f"http://127.0.0.1:{port}")
        wait_for(lambda: sum(count(url, "events_total") for url in urls) == EVENTS // 2, "half is not consumed")
        for url in urls:
            print(f"{url} has taken in {count(url, 'events_total'):,} of {EVENTS // 2:,} events")
        wait_for(lambda: sum(count(url, "snapshot_offset") for url in urls) == EVENTS // 2, "no snapshots are written")
        send(producer, events[EVENTS // 2 :])
        running[0].kill()
        running[0].wait()
        print(f"{urls[0]} was killed; the other one takes over when its session ends ...")
        wait_for(lambda: count(urls[1], "events_total") == EVENTS, "not everything is consumed")

        now = datetime.now(UTC)
        table = pa.Table.from_pylist([event | {"offset": 0} for event in events], schema=COLUMNS)
        asked = pa.table({"card": [f"c{number}" for number in range(CARDS)], "at": [now] * CARDS})
        expected = FEATURES.as_of(asked, table).select(["card", *FEATURES.columns]).to_pylist()
        at = now.isoformat().replace("+00:00", "Z")
        served = [get(f"{urls[1]}/features/{row['card']}?at={at}") for row in expected]
        equal = [{"card": row["card"], "at": now.isoformat()} | row for row in expected] == served
        print(f"GET {urls[1]}/features/c1 ->", json.dumps(get(f"{urls[1]}/features/c1")))
        verdict = "equal those" if equal else "DIFFER from those"
        print(f"{len(served)} cards: their features {verdict} of one table of all {EVENTS:,} events")
        running[1].terminate()
        sys.exit(running[1].wait() or not equal)


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
