"""Settings of an evaluation: the paper's sizes, and smaller ones for five minutes."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

ALGORITHMS = ("TwoStacks", "TwoStacksLite", "Daba", "DabaLite", "FlatFit", "Fiba")
OTHERS = ("Recalc", "SubtractOnEvict", "FlatFat", "BInt", "Amta", "SlickDeque")
REFERENCES = ("TwoStacksLite", "DabaLite")  # stand beside the others
SECOND = 1_000_000
WIDTHS = (10_000, 100_000, SECOND, 10 * SECOND, 60 * SECOND, 600 * SECOND, 3_600 * SECOND, 21_600 * SECOND)
GIB = 1 << 30


@dataclass(frozen=True)
class ExperimentSettings:
    """The sizes and names of the experiments; a run is resumed only with the same settings."""

    name: str
    seed: int = 2021
    repetitions: int = 5
    algorithms: tuple[str, ...] = ALGORITHMS
    others: tuple[str, ...] = ()  # which are no part of the paper's experiments
    operators: tuple[str, ...] = ("sum", "geomean", "bloom")
    latency_n: int = 1 << 14
    latency_rounds: int = 10_000_000
    growth: tuple[int, int] = (1 << 10, 1 << 20)
    growth_rounds: int = 4 << 20
    rounds: dict[str, int] = field(default_factory=dict)  # of one run of throughput, at least; twice n where more
    sizes: tuple[int, ...] = tuple(1 << power for power in range(23))
    memory: int = 8 * GIB  # no window is made whose arrays take more
    events: int = 32_300_000
    data: str = ""  # a file of events, instead of made ones
    widths: tuple[int, ...] = WIDTHS
    events_latency: int = 600 * SECOND
    count_n: int = 1 << 10
    count_rounds: int = 1 << 21  # at the larger size of `growth`
    noise_rounds: int = 20_000_000

    @property
    def all_algorithms(self) -> tuple[str, ...]:
        """The paper's algorithms and the others."""
        return (*self.algorithms, *self.others)

    @property
    def compared(self) -> tuple[str, ...]:
        """The others, and what they are compared with."""
        return (*(name for name in REFERENCES if name in self.algorithms), *self.others) if self.others else ()

    def rounds_at(self, operator: str, n: int) -> int:
        """Rounds of a run: whole turns of n, and two at least, so that every rare step is in it in its due share."""
        return max(-(-self.rounds[operator] // n), 2) * n

    def digest(self) -> str:
        """A few characters that stand for all settings."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]


def full(memory: int) -> ExperimentSettings:
    """The paper's sizes: 10 million rounds of latency in each repetition, 200 million of throughput in all five."""
    rounds = dict.fromkeys(("sum", "sum of floats", "geomean", "bloom", "max"), 40_000_000)
    return ExperimentSettings("full", rounds=rounds, memory=memory)


def quick(memory: int) -> ExperimentSettings:
    """Five minutes on two cores, compiling included."""
    return ExperimentSettings(
        "quick",
        repetitions=3,
        latency_rounds=1_000_000,
        growth_rounds=2 << 20,
        rounds={"sum": 1_000_000, "sum of floats": 1_000_000, "geomean": 200_000, "bloom": 50_000, "max": 1_000_000},
        sizes=tuple(1 << power for power in range(0, 23, 2)),
        memory=min(memory, GIB // 8),
        events=2_000_000,
        count_rounds=20_000,
        noise_rounds=2_000_000,
    )


def memory_of_machine() -> int:
    """Half of the machine's memory, in bytes; 1 GiB where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        total = next(line for line in lines if line.startswith("MemTotal"))
    except (OSError, StopIteration):
        return GIB
    return int(total.split()[1]) * 1024 // 2
