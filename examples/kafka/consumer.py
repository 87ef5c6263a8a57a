"""Payments from Kafka become features in Redis and over HTTP: python consumer.py --help

A batch goes through four steps, of which each may be the last before a crash: push its events; send what was not taken
in to the dead-letter topic; write features and state to Redis, in one transaction; commit the offsets to Kafka.
Where a partition goes on is the offset beside its snapshot in Redis, whatever Kafka has.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from features import warm
from http_server import serve
from partition import Partition
from redis import Redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

BATCH = 5_000  # messages in hand at most; the others wait in Kafka, but for 16 MB that its client fetches ahead
log = logging.getLogger("consumer")


class Service:
    """One consumer of a group: the partitions that it has, and the loop that feeds them."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.topic, self.group, self.every = arguments.topic, arguments.group, arguments.snapshot_every
        self.partitions: dict[int, Partition] = {}
        self.stopping = threading.Event()
        self.redis = Redis.from_url(arguments.redis, retry=Retry(ExponentialBackoff(cap=1, base=0.05), 10))
        servers = {"bootstrap.servers": arguments.kafka} | dict(text.split("=", 1) for text in arguments.set)
        self.dead_letters = Producer(servers | {"enable.idempotence": True})
        settings = {
            "group.id": self.group,
            "enable.auto.commit": False,
            "auto.offset.reset": "error",  # an offset that Kafka has deleted is a hole in the windows
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": arguments.session_timeout,
            "queued.max.messages.kbytes": 16_384,
        }
        self.kafka = Consumer(servers | settings)
        self.server = serve(self, arguments.host, arguments.port)
        self.url = f"http://{arguments.host}:{self.server.server_port}"

    def run(self) -> None:
        """Consume until `stopping` is set, then hand everything over."""
        warm()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        log.info("listening on %s", self.url)
        self.subscribe()
        try:
            while not self.stopping.is_set():
                self.step(self.kafka.consume(BATCH, timeout=0.1))
        except BaseException:
            self.partitions.clear()  # a step broke off in the middle: what Redis has not is read again
            raise
        finally:
            self.kafka.close()  # calls `revoked`
            self.server.shutdown()

    def subscribe(self) -> None:
        self.kafka.subscribe([self.topic], on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.lost)

    def step(self, messages: list[Any]) -> None:
        """Take messages in, and write what they changed."""
        batches: dict[int, list[Any]] = {}
        for message in messages:
            if message.error():
                self.failed(message.error())
            else:
                batches.setdefault(message.partition(), []).append(message)
        for number, partition in list(self.partitions.items()):
            self.put_aside(partition.take(batches.get(number, [])))
            _, partition.end = self.kafka.get_watermark_offsets(self.place(partition), cached=True)
            due = partition.offset != partition.saved and time.monotonic() - partition.saved_at >= self.every
            if (number in batches or due) and not self.save(partition, snapshot=due):
                log.warning("partition %d was written by another consumer: loading it anew", number)
                with partition.lock:
                    partition.load()
                self.kafka.seek(self.place(partition))

    def save(self, partition: Partition, snapshot: bool) -> bool:
        """Write to Redis; and once a snapshot is there, tell Kafka, for those who watch the group's lag."""
        if not partition.save(snapshot):
            return False
        if snapshot and partition.saved is not None:
            try:
                self.kafka.commit(offsets=[self.place(partition)], asynchronous=True)
            except KafkaException as error:
                log.warning("offset of partition %d not committed: %s", partition.number, error)
        return True

    def put_aside(self, dead: list[tuple[Any, str]]) -> None:
        """Send messages to the dead-letter topic, and wait until they are there."""
        errors: list[KafkaError] = []
        for message, reason in dead:
            origin = {"reason": reason, "partition": str(message.partition()), "offset": str(message.offset())}
            self.dead_letters.produce(
                f"{self.topic}.dead",
                message.value(),
                message.key(),
                headers=origin,
                on_delivery=lambda error, _: errors.append(error) if error else None,
            )
        if dead and (self.dead_letters.flush(30) or errors):
            raise RuntimeError(f"the dead-letter topic does not take messages: {errors or 'no answer'}")

    def failed(self, error: KafkaError) -> None:
        if error.fatal() or error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise KafkaException(error)
        log.warning("Kafka: %s", error)

    def place(self, partition: Partition) -> TopicPartition:
        offset = OFFSET_BEGINNING if partition.saved is None else partition.saved
        return TopicPartition(self.topic, partition.number, offset)

    def assigned(self, kafka: Consumer, given: list[TopicPartition]) -> None:
        """Load the partitions' windows, and read on from where these stand."""
        for number in (place.partition for place in given):
            self.partitions[number] = Partition(self.redis, self.group, number)
            self.redis.set(f"{self.group}:owner:{number}", self.url)
            log.info("partition %d from offset %s", number, self.partitions[number].saved or "0, the beginning")
        kafka.incremental_assign([self.place(self.partitions[place.partition]) for place in given])

    def revoked(self, kafka: Consumer, taken: list[TopicPartition]) -> None:
        """Store the windows for the consumer that comes next."""
        for partition in [
            self.partitions.pop(place.partition) for place in taken if place.partition in self.partitions
        ]:
            saved = self.save(partition, snapshot=True)
            log.info("partition %d handed over at offset %s%s", partition.number, partition.saved, "" if saved else "?")
        kafka.incremental_unassign(taken)

    def lost(self, kafka: Consumer, taken: list[TopicPartition]) -> None:
        """Forget the windows: another consumer has them already, from the last snapshot on."""
        for place in taken:
            self.partitions.pop(place.partition, None)
        kafka.incremental_unassign(taken)


def arguments_of(words: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Payments from Kafka become features in Redis and over HTTP.")
    parser.add_argument("--kafka", required=True, help="host:port of a broker")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of librdkafka's")
    parser.add_argument("--redis", default="redis://localhost:6379")
    parser.add_argument("--topic", default="payments")
    parser.add_argument("--group", default="features", help="another definition needs another group")
    parser.add_argument("--host", default="127.0.0.1", help="where HTTP is served, and others find it")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--snapshot-every", type=float, default=10.0, help="seconds")
    parser.add_argument("--session-timeout", type=int, default=45_000, help="milliseconds without a sign of life")
    return parser.parse_args(words)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stderr)
    service = Service(arguments_of())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: service.stopping.set())
    service.run()
