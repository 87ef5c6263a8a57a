"""Compiled rounds of evict, insert and query against the same algorithms in C++, written for this and compiled here.

The C++ is a plain rendering of the algorithms, in `against_cpp.cpp`, compiled by `g++ -O3`. All run the same rounds on
the same values in this run, in turns; times are the processor's, those of the best turn. The authors' own loop has a
memory fence in each round, which keeps it from overlapping the one before; the C++ is timed with one, too. Beside them
stand the figures that the authors' C++ reached on such a machine. A Bloom filter is a state of 4,096 bits with four
hashes, all of which is kept and combined, and folded into one word by a query.

    python benchmarks/against_cpp.py [--quick]
"""

from __future__ import annotations

import argparse
import math
import shutil
import subprocess
import tempfile
from pathlib import Path

from common import describe_machine, make_console, save_csv, say_saved
from rich.table import Table

from slidewise.arrays import Array
from slidewise.evaluation.measure.timed_runs import rounds, values_of

SOURCE = Path(__file__).with_suffix(".cpp")
ALGORITHMS = ("TwoStacks", "TwoStacksLite", "Daba", "DabaLite", "FlatFit", "FlatFat", "Fiba")
SIZES = (2**10, 2**14, 2**20)
TARGETS = {"sum": 1.2, "geomean": 1.2, "bloom": 1.5}
ROUNDS = {"sum": 2_000_000, "geomean": 320_000, "bloom": 40_000}
TURNS = 9  # 3 for windows of the largest size

# Million rounds a second of the authors' C++, for the sizes above; None where they have no figure.
PUBLISHED: dict[str, dict[str, tuple[float | None, float | None, float | None]]] = {
    "sum": {
        "TwoStacks": (51, 49, 42),
        "TwoStacksLite": (82, 100, 83),
        "Daba": (70, 80, 79),
        "DabaLite": (95, 90, 82),
        "FlatFit": (64, 56, 55),
        "FlatFat": (4.1, 3.0, 2.4),
        "Fiba": (15, 15, 13),
    },
    "geomean": {
        "TwoStacks": (None, 32, None),
        "TwoStacksLite": (None, 33, None),
        "Daba": (None, 28, None),
        "DabaLite": (None, 30, None),
        "FlatFit": (None, 31, None),
        "Fiba": (None, 13, None),
    },
    "bloom": {
        "TwoStacks": (None, 1.49, None),
        "TwoStacksLite": (None, 1.67, None),
        "Daba": (None, 0.81, None),
        "DabaLite": (None, 1.60, None),
        "FlatFit": (None, 1.08, None),
        "Fiba": (None, 0.30, None),
    },
}


class Match:
    """One algorithm in one window: our loop and the programs in C++, timed in turns."""

    def __init__(self, operator: str, values: Array, path: Path, binaries: tuple[Path, Path]) -> None:
        self.operator, self.values, self.path, self.binaries = operator, values, path, binaries

    def play(self, algorithm: str, n: int, count: int, turns: int) -> list[float]:
        """Million rounds a second: ours, those of the C++, and those of the C++ with a fence."""
        rounds(algorithm, self.operator, self.values, 4, 4)  # compiled, or loaded
        fills, spent = [], []
        theirs: tuple[list[float], list[float]] = ([], [])
        for _ in range(turns):
            fills.append(rounds(algorithm, self.operator, self.values, n, 0).seconds)
            timing = rounds(algorithm, self.operator, self.values, n, count)
            spent.append(timing.seconds)
            for binary, seconds in zip(self.binaries, theirs, strict=True):
                command = [str(binary), algorithm, self.operator, str(n), str(count), str(self.path)]
                answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
                seconds.append(float(answer[0]))
                same = self.operator == "bloom" or math.isclose(float(answer[1]), timing.total, rel_tol=1e-5)
                assert same, (answer, timing)
        return [count / seconds / 1e6 for seconds in (min(spent) - min(fills), *map(min, theirs))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, one turn; nothing is saved")
    parser.add_argument("--operator", choices=TARGETS, help="one operator only; nothing is saved")
    options = parser.parse_args()
    console = make_console(140)
    compiler = shutil.which("g++")
    if compiler is None:
        console.print("there is no g++ here to compile the other side with")
        return
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
    machine = f"{describe_machine(['numpy', 'numba', 'llvmlite'])}, g++ {version} -O3"
    console.print(machine)
    fields = ("operator", "algorithm", "n", "ours", "cpp", "ratio", "fenced", "ratio_fenced", "published", "ratio_pub")
    lines: list[tuple[str | int | float, ...]] = []
    with tempfile.TemporaryDirectory() as directory:
        binaries = (Path(directory, "plain"), Path(directory, "fence"))
        for binary, fence in zip(binaries, ("false", "true"), strict=True):
            command = [compiler, "-O3", "-std=c++17", f"-DFENCE={fence}", "-o", str(binary), str(SOURCE)]
            subprocess.run(command, check=True)
        for operator in TARGETS if options.operator is None else (options.operator,):
            values = values_of(operator, 1)
            path = Path(directory, operator)
            path.write_bytes(values.tobytes())
            match = Match(operator, values, path, binaries)
            for size, n in enumerate(SIZES[: 2 if operator == "bloom" else 3]):
                for algorithm in ALGORITHMS:
                    count = ROUNDS[operator] // (8 if algorithm == "FlatFat" else 1)
                    count = count // 8 if options.quick else max(count, 2 * n)
                    turns = 1 if options.quick else TURNS if n < SIZES[-1] else TURNS // 3
                    ours, cpp, fenced = match.play(algorithm, n, count, turns)
                    published = PUBLISHED[operator].get(algorithm, (None, None, None))[size]
                    line = (operator, algorithm, n, round(ours, 2), round(cpp, 2), round(ours / cpp, 2))
                    line += (round(fenced, 2), round(ours / fenced, 2))
                    lines.append((*line, "" if published is None else published))
                    lines[-1] += ("" if published is None else round(ours / published, 2),)
                    console.print(*lines[-1])
    table = Table(*fields)
    for line in lines:
        table.add_row(*map(str, line))
    console.print(table)
    for ratio in ("ratio", "ratio_pub"):
        at = fields.index(ratio)
        missed = [line for line in lines if line[at] != "" and float(line[at]) < TARGETS[str(line[0])]]
        console.print(f"{ratio} below the target: {[line[:3] for line in missed]}")
    if options.quick or options.operator:
        console.print("nothing is saved of a quick run, or of one operator")
        return
    say_saved(console, [save_csv("against_cpp.csv", machine, fields, lines)])


if __name__ == "__main__":
    main()
