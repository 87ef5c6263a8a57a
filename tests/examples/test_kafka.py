"""examples/kafka on a mock cluster and a real Redis: killed between any two steps, its features are right."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed")
redis = pytest.importorskip("redis", reason="redis is not installed")
if shutil.which("redis-server") is None:
    pytest.skip("there is no redis-server", allow_module_level=True)

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition  # noqa: E402

FOLDER = Path(__file__).parents[2] / "examples" / "kafka"
PARTITIONS = 4  # of a topic in the mock cluster
START = datetime(2024, 3, 1, tzinfo=UTC)
MODULES = ("consumer", "demo", "features", "http_server", "partition")

# A service that has all partitions without a group's rebalance, takes small batches, and writes a snapshot each third
# time; it is killed at the n-th call of a step, before or after it, or stops once everything is consumed. For each line
# that comes in, `step when nth`, a new process is forked that knows nothing but what is in Redis and Kafka.
KILLED = """
import os, signal, sys
import consumer
from confluent_kafka import TopicPartition
from partition import Partition

ends, *arguments = sys.argv[1:]
consumer.BATCH, calls, ends = 30, {}, [int(end) for end in ends.split(",")]
consumer.warm()  # imports what it needs, once
consumer.warm = lambda: None
for line in sys.stdin:
    step, when, nth = line.split()
    child = os.fork()
    if child == 0:
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()

def dying(owner, method, name):
    run = getattr(owner, method)
    def wrapped(*args, **kwargs):
        if not all(args):  # no messages to take, or to put aside
            return run(*args, **kwargs)
        calls[name] = calls.get(name, 0) + 1
        now = name == step and calls[name] == int(nth)
        if now and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = run(*args, **kwargs)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return result
    return wrapped

class Service(consumer.Service):
    saves = 0

    def subscribe(self):
        self.assigned(self.kafka, [TopicPartition(self.topic, number) for number in range(4)])

    def step(self, messages):
        super().step(messages)
        if all(self.partitions[number].offset == end for number, end in enumerate(ends)):
            self.revoked(self.kafka, [TopicPartition(self.topic, number) for number in range(4)])
            self.stopping.set()

    def save(self, partition, snapshot):
        self.saves += 1
        return super().save(partition, snapshot or self.saves % 3 == 0)

class Kafka:
    def __init__(self, kafka):
        self.kafka = kafka
        self.commit = dying(kafka, "commit", "commit")

    def __getattr__(self, name):
        return getattr(self.kafka, name)

save = Partition.save
Partition.save_snapshot = lambda self: save(self, True)
Partition.save_features = lambda self: save(self, False)
wrapped = {True: dying(Partition, "save_snapshot", "snapshot"), False: dying(Partition, "save_features", "features")}
Partition.save = lambda self, snapshot: wrapped[snapshot](self)
Partition.take = dying(Partition, "take", "take")
service = Service(consumer.arguments_of(arguments))
service.put_aside = dying(service, "put_aside", "dead_letters")
service.kafka = Kafka(service.kafka)
service.run()
"""
KILLS = [
    ("features", "after", 5),
    ("features", "after", 1),  # while events come again that Redis has features of
    ("take", "before", 8),
    ("take", "after", 9),
    ("dead_letters", "after", 5),
    ("snapshot", "before", 3),
    ("features", "after", 1),
    ("snapshot", "after", 3),
    ("commit", "after", 3),
]


@pytest.fixture(scope="module")
def example() -> Iterator[SimpleNamespace]:
    """The example's modules by their names."""
    before = {name: sys.modules.pop(name, None) for name in MODULES}
    sys.path.insert(0, str(FOLDER))
    try:
        yield SimpleNamespace(**{name: __import__(name) for name in MODULES})
    finally:
        sys.path.remove(str(FOLDER))
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


@pytest.fixture(scope="module")
def kafka(example: SimpleNamespace) -> Iterator[str]:
    producer, address = example.demo.mock_kafka()
    yield address
    del producer


@pytest.fixture(scope="module")
def store(example: SimpleNamespace) -> Iterator[str]:
    with example.demo.redis_server() as url:
        yield url


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    """A name of the test's own, for its topic and its group."""
    return re.sub(r"\W", "_", request.node.name)


Start = Callable[[], Any]


@pytest.fixture
def start(example: SimpleNamespace, kafka: str, store: str, group: str) -> Iterator[Start]:
    """Start services in this process, which have no partitions yet and whose loop does not run."""
    services = []

    def make() -> Any:
        words = ["--kafka", kafka, "--redis", store, "--topic", group, "--group", group, "--snapshot-every", "0"]
        services.append(example.consumer.Service(example.consumer.arguments_of(words)))
        threading.Thread(target=services[-1].server.serve_forever, daemon=True).start()
        return services[-1]

    yield make
    for service in services:
        service.kafka.close()
        service.server.shutdown()
        service.server.server_close()


def test_killed_between_any_two_steps(
    example: SimpleNamespace, kafka: str, store: str, group: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    sent = send(kafka, group, messages())
    ends = ends_of(sent)
    client = redis.Redis.from_url(store)
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    environment = os.environ | {"PYTHONPATH": str(FOLDER), "PYTHONDONTWRITEBYTECODE": "1"}
    arguments = ["--kafka", kafka, "--redis", store, "--topic", group, "--group", group, "--snapshot-every", "1000"]
    written = 0
    words = [sys.executable, str(script), ",".join(map(str, ends)), *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    parent = subprocess.Popen(words, env=environment, **pipes)
    request.addfinalizer(lambda: (parent.kill(), parent.communicate()))
    for step, when, nth in [*KILLS, ("nothing", "before", 1)]:
        print(step, when, nth, file=parent.stdin, flush=True)
        assert parent.stdout.readline() == f"{0 if step == 'nothing' else -9}\n", (step, when)
        state = [client.hgetall(f"{group}:partition:{number}") for number in range(PARTITIONS)]
        places = [int(fields.get(b"written", 0)) for fields in state]
        committed = Consumer({"bootstrap.servers": kafka, "group.id": group}).committed(
            [TopicPartition(group, number) for number in range(PARTITIONS)], timeout=10
        )
        for place, fields in zip(committed, state, strict=True):
            assert place.offset <= int(fields.get(b"offset", 0)) <= int(fields.get(b"written", 0))
        assert sum(places) >= written, "Redis never goes back"
        written = sum(places)
        known = [message for message in sent if message.offset < places[message.partition]]
        assert features_in(client, group) == table_of(example, known), (step, when)
    assert places == ends
    for number, fields in enumerate(state):
        mine = [message for message in sent if message.partition == number]
        stats = example.features.FEATURES.restore(fields[b"snapshot"]).stats
        assert stats.events == sum(message.fate != "bad" for message in mine), "each event was counted once"
        assert stats.late == sum(message.fate == "late" for message in mine)
        assert int(fields[b"bad"]) == sum(message.fate == "bad" for message in mine)
    assert {*dead_letters(kafka, group)} == {*aside(sent)}, "some of them twice, perhaps"


def test_a_consumer_whose_partition_was_taken_over_writes_nothing(
    example: SimpleNamespace, kafka: str, store: str, group: str, start: Start
) -> None:
    sent = send(kafka, group, messages())
    old, new = start(), start()
    give(old, group)
    consume(old, sent, until=len(sent) // 2)
    give(new, group)
    consume(new, sent)
    client = redis.Redis.from_url(store)
    newest = features_in(client, group)
    stale = {number: partition.offset for number, partition in old.partitions.items()}
    ends = {number: partition.offset for number, partition in new.partitions.items()}
    assert any(stale[number] < ends[number] for number in stale)
    step(old)  # it still reads, as after a long pause, and finds that it has no say any more
    assert features_in(client, group) == newest == table_of(example, sent)
    consume(old, sent)  # having loaded what the other one wrote, it goes on from there
    assert {number: partition.offset for number, partition in old.partitions.items()} == ends
    assert features_in(client, group) == newest


def test_features_over_http(example: SimpleNamespace, kafka: str, store: str, group: str, start: Start) -> None:
    sent = send(kafka, group, messages())
    first, second = start(), start()
    give(first, group, [0, 1])
    give(second, group, [2, 3])
    for service in (first, second):
        consume(service, sent)
    cards = sorted({message.event["card"] for message in sent if message.fate == "taken in"})
    at = START + timedelta(hours=3)
    table = example.features.FEATURES.as_of(
        pa.table({"card": cards, "at": pa.array([at] * len(cards), pa.timestamp("us", "UTC"))}),
        events_of(example, sent),
    )
    for row in table.to_pylist():
        for service in (first, second):  # whichever is asked, the owner answers
            answer = example.demo.get(f"{service.url}/features/{row['card']}?at=2024-03-01T03:00:00Z")
            assert answer == row | {"at": at.isoformat()}
    now = example.demo.get(f"{first.url}/features/{cards[0]}")
    assert (now["n_10m"], now["most"]) == (0, None), "by now all events have left the windows"
    assert abs(datetime.fromisoformat(now["at"]) - datetime.now(UTC)) < timedelta(minutes=5)
    unknown = example.demo.get(f"{first.url}/features/nobody%2Fever?at=2024-03-01T03:00:00Z")
    assert unknown["card"] == "nobody/ever"
    assert (unknown["n_10m"], unknown["usual"]) == (0, None)
    for asked in (
        f"features/{cards[0]}?at=2024-01-01T00:00:00Z",
        "features/c1?at=yesterday",
        "features/c1?at=2024-03-01",
    ):
        assert refusal(f"{first.url}/{asked}")[0] == 400
    assert refusal(f"{first.url}/anything")[0] == 404
    for name, fate in (("late_total", "late"), ("bad_total", "bad")):
        expected = sum(message.fate == fate for message in sent)
        assert sum(example.demo.count(service.url, name) for service in (first, second)) == expected > 0
    for number in range(PARTITIONS):
        redis.Redis.from_url(store).delete(f"{group}:owner:{number}")
    record = json.loads(first.redis.get(f"{group}:features:{cards[0]}"))
    owner, other = (first, second) if record["partition"] in first.partitions else (second, first)
    assert refusal(f"{owner.url}/features/{cards[0]}")[0] == 200
    assert refusal(f"{other.url}/features/{cards[0]}")[0] == 503, "nobody knows who has the card's windows"


def test_a_redis_that_hangs_holds_back_the_batch_and_no_more(
    example: SimpleNamespace, kafka: str, store: str, group: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(example.consumer, "BATCH", 50)
    sent = send(kafka, group, messages())
    service = start()
    monkeypatch.setattr(example.consumer, "warm", lambda: None)
    monkeypatch.setattr(service, "subscribe", lambda: give(service, group))
    client = redis.Redis.from_url(store)
    client.client_pause(1_500, all=False)  # writes wait, reads do not
    loop = threading.Thread(target=service.run)
    loop.start()
    time.sleep(0.7)
    taken = sum(partition.offset or 0 for partition in service.partitions.values())
    assert taken <= 50, "one batch is in hand, the others are in Kafka"
    example.demo.wait_for(lambda: features_in(client, group) == table_of(example, sent), "not everything is written")
    service.stopping.set()
    loop.join(30)
    assert not loop.is_alive()


def test_events_that_come_again_bring_no_old_features_back(
    example: SimpleNamespace, kafka: str, store: str, group: str, start: Start
) -> None:
    sent = send(kafka, group, messages())
    killed, again = start(), start()
    killed.every = 1_000  # seconds: it writes no snapshot
    give(killed, group)
    consume(killed, sent)
    client = redis.Redis.from_url(store)
    newest = features_in(client, group)
    assert newest == table_of(example, sent)
    give(again, group)
    replayed = 0
    while (offsets := [partition.offset or 0 for partition in again.partitions.values()]) != ends_of(sent):
        assert features_in(client, group) == newest, offsets
        again.step(again.kafka.consume(20, timeout=0.1))
        replayed += 1
    assert replayed > 10
    assert features_in(client, group) == newest
    assert dead_letters(kafka, group) == aside(sent), "and none is put aside again"


def test_no_state_goes_past_messages_that_could_not_be_put_aside(
    example: SimpleNamespace, kafka: str, store: str, group: str, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(kafka, group, messages())
    monkeypatch.setattr(example.consumer, "warm", lambda: None)
    service = start()
    service.dead_letters = Producer({"bootstrap.servers": "127.0.0.1:1", "message.timeout.ms": 200, "log_level": 0})
    service.kafka = HandingOver(service, group)
    monkeypatch.setattr(service, "subscribe", lambda: give(service, group))
    with pytest.raises(RuntimeError, match="dead-letter topic"):
        service.run()
    client = redis.Redis.from_url(store)
    places = [int(client.hget(f"{group}:partition:{number}", "written") or 0) for number in range(PARTITIONS)]
    assert 0 in places, "the partition whose message was not put aside has no state"
    assert sum(client.hexists(f"{group}:partition:{number}", "snapshot") for number in range(PARTITIONS)) == 0


def test_a_topic_whose_stored_offset_is_gone_stops_the_consumer(
    kafka: str, store: str, group: str, start: Start
) -> None:
    send(kafka, group, messages())
    client = redis.Redis.from_url(store)
    for number in range(PARTITIONS):
        client.hset(f"{group}:partition:{number}", mapping={"offset": 10**6, "written": 10**6})
    service = start()
    give(service, group)
    with pytest.raises(KafkaException, match=r"(?i)offset"):
        step(service)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"\xff",
        b"[1]",
        b"[" * 100_000,
        b'{"card": "c"}',
        b'{"card": "d", "at": "2024-03-01T00:00:00Z", "amount": 1, "declined": false}',
        b'{"card": "c", "at": "2024-03-01T00:00:00", "amount": 1, "declined": false}',
        b'{"card": "c", "at": "0001-01-01T00:00:00Z", "amount": 1, "declined": false}',
        b'{"card": "c", "at": 1709251200, "amount": 1, "declined": false}',
        b'{"card": "c", "at": "2024-03-01T00:00:00Z", "amount": NaN, "declined": false}',
        b'{"card": "c", "at": "2024-03-01T00:00:00Z", "amount": 1e999, "declined": false}',
        b'{"card": "c", "at": "2024-03-01T00:00:00Z", "amount": true, "declined": false}',
        b'{"card": "c", "at": "2024-03-01T00:00:00Z", "amount": 1, "declined": null}',
        b'{"card": "\\ud800", "at": "2024-03-01T00:00:00Z", "amount": 1, "declined": false}',
    ],
)
def test_what_is_no_payment_is_refused(example: SimpleNamespace, value: bytes | None) -> None:
    with pytest.raises(example.features.BadMessage):
        example.features.event_of(b"c", value)


def test_the_demo_as_its_readme_says() -> None:
    command = re.search(r"^python (examples/kafka/\S+)$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert command is not None
    done = subprocess.run(
        [sys.executable, command[1]], cwd=FOLDER.parents[1], capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "their features equal those of one table" in done.stdout
    handed_over = re.findall(r"handed over at offset (\d+)$", done.stderr, re.MULTILINE)
    assert len(handed_over) == PARTITIONS
    assert sum(map(int, handed_over)) == 20_000
    taken_over = re.findall(r"from offset (\d+)$", done.stderr, re.MULTILINE)
    assert taken_over, "the killed consumer's partitions go on from its snapshots"
    assert min(map(int, taken_over)) > 0


# --- what is sent, and what must come of it


def messages(count: int = 900) -> list[dict[str, Any]]:
    """Payments of 13 cards in 3 hours, some of which come late, and some messages that are no payments."""
    made = []
    for number in range(count):
        at = START + timedelta(seconds=11 * number + number % 7)
        fate = "bad" if number % 20 == 7 else "late" if number % 40 == 23 else "taken in"
        if fate == "late":
            at = START - timedelta(seconds=number)
        amount = round(number * 7.31 % 97, 2) if fate != "bad" else "a lot"
        event = {"card": f"c{number * 7 % 13}", "at": at, "amount": amount, "declined": number % 11 == 0}
        made.append({"event": event, "fate": fate if number > 100 or fate != "late" else "early"})
    return [message for message in made if message["fate"] != "early"]


def send(kafka: str, topic: str, made: list[dict[str, Any]]) -> list[SimpleNamespace]:
    """Send them, in one batch; each with the partition and the offset that it got."""
    sent: list[SimpleNamespace] = []
    producer = Producer({"bootstrap.servers": kafka, "partitioner": "murmur2_random"})
    for message in made:
        event = message["event"]

        def delivered(error: Any, got: Any, message: dict[str, Any] = message) -> None:
            assert error is None
            sent.append(SimpleNamespace(**message, partition=got.partition(), offset=got.offset()))

        value = json.dumps(event | {"at": event["at"].isoformat()})
        producer.produce(topic, value, event["card"], on_delivery=delivered)
    assert producer.flush(30) == 0
    sent.sort(key=lambda message: (message.partition, message.offset))
    assert {message.partition for message in sent} == set(range(PARTITIONS))
    return sent


def events_of(example: SimpleNamespace, sent: list[SimpleNamespace]) -> pa.Table:
    rows = [message.event | {"offset": message.offset} for message in sent if message.fate == "taken in"]
    return pa.Table.from_pylist(rows, schema=example.features.COLUMNS)


def table_of(example: SimpleNamespace, sent: list[SimpleNamespace]) -> dict[str, Any]:
    """What the table of these events says of each card at its newest event."""
    newest: dict[str, Any] = {}
    for row in example.features.FEATURES(events_of(example, sent)).sort_by("at").to_pylist():
        names = example.features.FEATURES.columns
        newest[row["card"]] = {"at": row["at"].isoformat(), "features": {name: row[name] for name in names}}
    return newest


def features_in(client: Any, group: str) -> dict[str, Any]:
    found = {}
    for key in client.scan_iter(f"{group}:features:*"):
        record = json.loads(client.get(key))
        del record["partition"]
        found[key.decode().rpartition(":")[2]] = record
    return found


def ends_of(sent: list[SimpleNamespace]) -> list[int]:
    return [sum(message.partition == number for message in sent) for number in range(PARTITIONS)]


def aside(sent: list[SimpleNamespace]) -> list[tuple[int, int]]:
    """The partitions and offsets of messages that belong into the dead-letter topic."""
    return [(message.partition, message.offset) for message in sent if message.fate != "taken in"]


def dead_letters(kafka: str, topic: str) -> list[tuple[int, int]]:
    """The partitions and offsets of messages that are there, as often as they are."""
    settings = {"bootstrap.servers": kafka, "group.id": "reader", "enable.partition.eof": True}
    reader, found, ended = Consumer(settings), [], 0
    reader.assign([TopicPartition(f"{topic}.dead", number, 0) for number in range(PARTITIONS)])
    while ended < PARTITIONS:
        message = reader.poll(10)
        assert message is not None
        if message.error():
            ended += 1
            continue
        headers = dict(message.headers())
        found.append((int(headers["partition"]), int(headers["offset"])))
    reader.close()
    return sorted(found)


# --- a service without its loop


class HandingOver:
    """A consumer that gives its partitions back when it closes, as one does that has them from a group."""

    def __init__(self, service: Any, topic: str) -> None:
        self.service, self.topic, self.kafka, self.closed = service, topic, service.kafka, False

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.service.revoked(self.kafka, [TopicPartition(self.topic, number) for number in self.service.partitions])
            self.kafka.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.kafka, name)


def give(service: Any, topic: str, numbers: Any = range(PARTITIONS)) -> None:
    service.assigned(service.kafka, [TopicPartition(topic, number) for number in numbers])


def step(service: Any) -> None:
    """A step that has messages to take."""
    end = time.monotonic() + 30
    while not (batch := service.kafka.consume(200, timeout=0.1)):
        assert time.monotonic() < end
    service.step(batch)


def consume(service: Any, sent: list[SimpleNamespace], until: int | None = None) -> None:
    """Take everything that the service's partitions have, or so many messages of each partition at least."""
    ends = {number: sum(message.partition == number for message in sent) for number in service.partitions}
    if until is not None:
        ends = {number: min(end, until // PARTITIONS) for number, end in ends.items()}
    end = time.monotonic() + 30
    while any((service.partitions[number].offset or 0) < ends[number] for number in ends):
        assert time.monotonic() < end
        service.step(service.kafka.consume(40 if until else 500, timeout=0.1))


def refusal(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
