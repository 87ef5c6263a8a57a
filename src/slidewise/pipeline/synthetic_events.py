"""Synthetic events like those of real manufacturing equipment (DEBS 2012 Grand Challenge), made from a seed.

About 100 a second with jitter and rare gaps; three signals that drift slowly and jump between the machine's states; and
about 1.5 % of the rows come later than newer ones. A line has the 56 fields of the challenge's small file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from slidewise.arrays import Array
from slidewise.folders import whole_file

TICK = 10_000_000  # times are in ticks of 100 ns, as in the challenge's file
START = 1_329_929_188  # 2012-02-22 16:46:28, in seconds
LATE = 0.015
CHUNK = 100_000

# The levels of mf01, mf02 and mf03 while the machine rests, works and strains, and how often it is in each state.
LEVELS = np.array([[13_050, 14_400, 8_110], [13_900, 15_250, 7_450], [17_200, 18_900, 9_350]])
OFTEN = np.array([0.5, 0.4, 0.1])
# Behind the three signals: three that wander a little, four that are zero, and 44 switches of which four are on.
SWITCHES = "".join("1" if at in (21, 22, 29, 32) else "0" for at in range(44))


def write_events(path: Path, count: int = 1_000_000, seed: int = 2012, malformed: int = 0) -> None:
    """Write so many lines into a file; `malformed` of them are broken, each in one of six ways."""
    random = np.random.default_rng(seed)
    times = make_times(count, random)
    signals = make_signals(times, random)
    order = make_order(count, random)
    positions = sorted(random.choice(count, min(malformed, count), replace=False).tolist())
    broken = {at: BROKEN[number % len(BROKEN)] for number, at in enumerate(positions)}
    with whole_file(path) as file:
        for first in range(0, count, CHUNK):
            rows = order[first : first + CHUNK]
            lines = _lines(times[rows], 10_000_000 + rows, signals[:, rows], random)
            done = 0
            for at in [at - first for at in broken if first <= at < first + len(rows)]:
                file.write(lines[done:at].tobytes())
                file.write(broken[at + first](lines[at].tobytes()))
                done = at + 1
            file.write(lines[done:].tobytes())


def make_times(count: int, random: np.random.Generator) -> Array:
    """Times in ticks: 10 ms apart, give or take some microseconds, a few rows up to 8 ms late, and rare gaps."""
    steps = 100_000 + random.normal(0, 150, count)
    steps += (random.random(count) < 1 / 50_000) * random.uniform(1, 30, count) * TICK
    delays = (random.random(count) < 0.01) * random.uniform(0, 80_000, count)
    return (START * TICK + np.cumsum(steps) + delays).astype(np.int64)


def make_signals(times: Array, random: np.random.Generator) -> Array:
    """mf01, mf02 and mf03 as whole numbers: the state's level, a slow drift, and noise."""
    seconds = (times - times[0]) / TICK
    end = float(seconds[-1]) + 1
    changes = np.cumsum(random.exponential(90, int(end / 60) + 20) + 5)
    states = random.choice(len(OFTEN), len(changes) + 1, p=OFTEN)
    signals = np.empty((3, len(times)), np.int64)
    for signal in range(3):
        # A change of state takes two seconds.
        levels = LEVELS[states, signal].astype(float)
        corners = np.stack([changes, changes + 2], axis=1).ravel()
        level = np.interp(seconds, corners, np.stack([levels[:-1], levels[1:]], axis=1).ravel())
        periods, phases = random.uniform(700, 5_000, 3), random.uniform(0, 2 * np.pi, 3)
        drift = sum(np.sin(2 * np.pi * seconds / p + f) for p, f in zip(periods, phases, strict=True))
        noise = random.normal(0, 12, len(times))
        signals[signal] = np.clip(level * (1 + 0.006 * drift) + noise, 1_000, 9_999 if signal == 2 else 99_999)
    return signals


def make_order(count: int, random: np.random.Generator) -> Array:
    """The order of the rows in the file: a few come up to 50 rows after their place."""
    late = random.random(count) < LATE
    delay = np.where(late, random.integers(1, 51, count) + 0.5, 0)
    return np.argsort(np.arange(count) + delay, kind="stable")


def _lines(times: Array, index: Array, signals: Array, random: np.random.Generator) -> Array:
    """Lines as a matrix of bytes: every field has a fixed width."""
    count = len(times)
    seconds, ticks = np.divmod(times, TICK)
    first = int(seconds.min())
    moments = np.arange(first, int(seconds.max()) + 1).astype("datetime64[s]").astype("S19")
    tab = np.full((count, 1), ord("\t"), np.uint8)
    parts = [moments.view(np.uint8).reshape(-1, 19)[seconds - first], _text(count, "."), _digits(ticks, 7)]
    parts += [_text(count, "+00:00\t"), _digits(index, 8), tab]
    for values, width in zip(signals, (5, 5, 4), strict=True):
        parts += [_digits(values, width), tab]
    for level in (70, 190, 150):
        parts += [_digits(random.integers(level - 15, level + 16, count), 4), tab]
    parts.append(_text(count, "0000\t" * 4 + "\t".join(SWITCHES) + "\r\n"))
    return np.concatenate(parts, axis=1)


def _digits(values: Array, width: int) -> Array:
    powers = 10 ** np.arange(width - 1, -1, -1)
    return (values[:, None] // powers % 10 + ord("0")).astype(np.uint8)


def _text(count: int, text: str) -> Array:
    return np.broadcast_to(np.frombuffer(text.encode(), np.uint8), (count, len(text)))


# What may happen to a line: cut short, run together with another, a wrong time, a wrong number, lost, or garbled.
BROKEN: list[Callable[[bytes], bytes]] = [
    lambda line: line[:60] + b"\r\n",
    lambda line: line[:-2] + b"\t" + line[34:],
    lambda line: b"2012-02-30" + line[10:],
    lambda line: line.replace(b"\t1", b"\tx", 2),
    lambda line: b"\r\n",
    lambda line: line[:50] + b"\xff\xfe" + line[52:],
]
