"""A month of card payments, made up: honest ones, stolen cards that are tried out first, and bursts that look alike."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

START = datetime(2024, 3, 1, tzinfo=UTC)
HOUR = 3600.0
DAY = 24 * HOUR
REPORTED = 0.95  # the share of frauds that somebody notices


class Month(NamedTuple):
    """What a bank has after a month.

    `requests` are what shops asked, may this card pay this amount, each with `fraud`, which is known only weeks later.
    `payments` are what became of them: booked some seconds after the request, or declined.
    """

    requests: pa.Table  # card_id, asked_at, amount, fraud
    payments: pa.Table  # card, booked_at, amount, declined


class Purchases(NamedTuple):
    """Purchases as arrays of one length: which card, seconds since the start, the amount, and whether it is stolen."""

    card: np.ndarray
    time: np.ndarray
    amount: np.ndarray
    stolen: np.ndarray


def make(days: int = 28, cards: int = 1_000, seed: int = 23) -> Month:
    """A month of about four purchases a day and card; the same for the same arguments."""
    rng = np.random.default_rng(seed)
    usual = rng.lognormal(3.2, 0.5, cards)  # what a card's purchases cost, about
    parts = [
        honest(rng, usual, days),
        stolen(rng, usual, days, episodes=cards // 3),
        parking(rng, usual, days, episodes=cards // 3),
    ]
    card, time, amount, is_stolen = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(time, kind="stable")
    card, time, amount, is_stolen = (column[order] for column in (card, time, amount, is_stolen))
    n = len(card)
    declined = rng.random(n) < np.where(is_stolen, 0.4, 0.02)
    booked = time + 1.0 + rng.exponential(4.0, n)
    columns = {"card": card, "booked_at": moments(booked), "amount": amount, "declined": declined}
    fraud = is_stolen & (rng.random(n) < REPORTED)
    requests = pa.table({"card_id": card, "asked_at": moments(time), "amount": amount, "fraud": fraud})
    return Month(requests, pa.table(columns).take(pa.array(np.argsort(booked, kind="stable"))))


def honest(rng: np.random.Generator, usual: np.ndarray, days: int) -> Purchases:
    """Purchases by day, most of them around noon; one in four is a coffee, and one in fifty ten times as dear."""
    busy = rng.gamma(2.0, 2.0, len(usual))
    card = np.repeat(np.arange(len(usual)), rng.poisson(busy * days))
    time = (rng.integers(0, days, len(card)) + np.clip(rng.normal(0.55, 0.17, len(card)), 0.0, 0.999)) * DAY
    dear = np.where(rng.random(len(card)) < 0.02, 10.0, 1.0)
    amount = usual[card] * dear * rng.lognormal(0.0, 0.6, len(card))
    coffee = rng.random(len(card)) < 0.25
    amount = np.round(np.where(coffee, rng.uniform(0.5, 5.0, len(card)), amount), 2)
    return Purchases(card, time, amount, np.zeros(len(card), bool))


def stolen(rng: np.random.Generator, usual: np.ndarray, days: int, episodes: int) -> Purchases:
    """Stolen cards: four in five are tried out by a burst of small purchases, then all are charged with large ones."""
    card = rng.integers(0, len(usual), episodes)
    start = rng.uniform(0.0, days * DAY - 3 * HOUR, episodes)
    tries = np.where(rng.random(episodes) < 0.8, rng.integers(3, 9, episodes), 0)
    tested, small_at = burst(rng, start, tries, pause=40.0)
    charged, large_at = burst(rng, start + 0.25 * HOUR, rng.integers(1, 5, episodes), pause=400.0)
    small = np.round(rng.uniform(0.5, 4.0, len(tested)), 2)
    large = np.round(usual[card[charged]] * rng.lognormal(1.6, 0.6, len(charged)), 2)
    owner = card[np.concatenate([tested, charged])]
    return Purchases(
        owner, np.concatenate([small_at, large_at]), np.concatenate([small, large]), np.ones(len(owner), bool)
    )


def parking(rng: np.random.Generator, usual: np.ndarray, days: int, episodes: int) -> Purchases:
    """Honest bursts of small amounts: parking meters, vending machines, tickets."""
    card = rng.integers(0, len(usual), episodes)
    episode, time = burst(
        rng, rng.uniform(0.0, days * DAY - 3 * HOUR, episodes), rng.integers(2, 6, episodes), pause=120.0
    )
    amount = np.round(rng.uniform(0.5, 6.0, len(episode)), 2)
    return Purchases(card[episode], time, amount, np.zeros(len(episode), bool))


def burst(
    rng: np.random.Generator, start: np.ndarray, length: np.ndarray, pause: float
) -> tuple[np.ndarray, np.ndarray]:
    """For each start some moments after it, seconds apart: to which start they belong, and when they are."""
    episode = np.repeat(np.arange(len(start)), length)
    place = np.arange(len(episode)) - np.repeat(np.cumsum(length) - length, length)
    return episode, start[episode] + pause * (place + rng.uniform(0.2, 1.0, len(episode)))


def moments(seconds: np.ndarray) -> pa.Array:
    """Seconds since the start as timestamps of whole milliseconds, stored in microseconds as Spark has them."""
    micros = np.round(seconds * 1e3).astype(np.int64) * 1_000 + int(START.timestamp()) * 1_000_000
    return pa.array(micros, pa.int64()).cast(pa.timestamp("us", "UTC"))


def feed(requests: pa.Table, payments: pa.Table, since: datetime) -> Iterator[tuple[str, dict[str, Any]]]:
    """Requests and payments from a moment on, as a message bus hands them over: by time, payments first."""
    requests = requests.filter(pc.field("asked_at") >= since)
    payments = payments.filter(pc.field("booked_at") >= since)
    times = [column.cast("int64").to_numpy() for column in (payments["booked_at"], requests["asked_at"])]
    kinds = ["payment"] * len(payments) + ["request"] * len(requests)
    rows = payments.to_pylist() + requests.to_pylist()
    for at in np.argsort(np.concatenate(times), kind="stable").tolist():
        yield kinds[at], rows[at]
