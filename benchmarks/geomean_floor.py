"""What a round of the geometric mean costs where there is no window: its logarithm, its exponential, its additions.

DABA Lite's round combines four times. The loops here do so with numbers that lie in registers or in one small array,
and so are a floor below which no algorithm with as many calls gets: with sums of plain floats, as the C++ has them, and
with sums of 106 bits, as ours are. Times are the processor's, of the best of several turns.

    python benchmarks/geomean_floor.py
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from common import describe_machine, make_console, save_csv, say_saved
from rich.table import Table

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit
from slidewise.kernels.sums import double_double as dd

ROUNDS = 1_000_000
TURNS = 9

Pair = tuple[float, float]


@jit
def nothing(x: Array, rounds: int) -> float:
    """A logarithm and an exponential, and nothing else."""
    total = 0.0
    for i in range(rounds):
        total += math.exp(math.log(x[i & 1023]))
    return total


@jit
def add_floats(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], 0.0


@jit
def divide_floats(a: Pair, n: float) -> float:
    return a[0] / n


def loop(add: Any, divide: Any) -> Any:
    @jit
    def four_calls(x: Array, rounds: int) -> float:
        total = 0.0
        back = inner = (0.0, 0.0)
        rest = (1.0, 1e-17)
        for i in range(rounds):
            at = i & 1023
            v = (math.log(x[at]), 0.0)
            back = v if at == 0 else add(back, v)
            inner = v if at == 0 else add((x[1023 - at], 0.0), inner)
            front = add((x[1023 - at], 1e-20), rest)
            total += math.exp(divide(add(front, back), 1024.0))
        return total + inner[0]

    return four_calls


def nanoseconds(function: Callable[[Array, int], float], x: Array) -> float:
    """The processor's time for a round, in the best turn."""
    function(x, 1)
    best = math.inf
    for _ in range(TURNS):
        start = time.thread_time_ns()
        function(x, ROUNDS)
        best = min(best, (time.thread_time_ns() - start) / ROUNDS)
    return best


def main() -> None:
    console = make_console(110)
    machine = describe_machine(["numpy", "numba", "llvmlite"])
    console.print(machine)
    x = np.random.default_rng(1).uniform(0.5, 2.0, 1024)
    cases = {
        "a logarithm and an exponential": nothing,
        "and four sums of floats, one division": loop(add_floats, divide_floats),
        "and four sums of 106 bits, one quotient": loop(dd.add, dd.quotient),
    }
    fields = ("a round has", "ns", "million rounds/s")
    lines = []
    for name, function in cases.items():
        spent = nanoseconds(function, x)
        lines.append((name, round(spent, 1), round(1e3 / spent, 1)))
    table = Table(*fields)
    for line in lines:
        table.add_row(*map(str, line))
    console.print(table)
    say_saved(console, [save_csv("geomean_floor.csv", machine, fields, lines)])


if __name__ == "__main__":
    main()
