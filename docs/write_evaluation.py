"""Write docs/evaluation.md, and its figures, from the folder of a run of `slidewise bench paper`.

python docs/write_evaluation.py FOLDER [--quick] [--others] [--note FILE]

The options are those of the run; the note is a paragraph on what was special about it.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from slidewise.evaluation import report
from slidewise.evaluation.claims import claims_of
from slidewise.evaluation.commands import Options
from slidewise.evaluation.store import Store
from slidewise.evaluation.summary import Results

DOCS = Path(__file__).parent
FIGURES = DOCS / "evaluation"
PAGE = """\
# Evaluation

The experiments of the paper's section 7, run again with the compiled algorithms by one command:

```
slidewise bench paper            # the paper's sizes: hours; it says beforehand how many
slidewise bench paper --quick    # minutes; --out FOLDER, and --resume after a stop
```

It writes `report.html`, one file that needs nothing else, the figures as SVG and PNG, and the raw tables as Parquet,
each with machine, versions and seed. An experiment that is done is not run again. `--data FILE` takes the real file of
the DEBS 2012 challenge, which the [pipeline](pipeline.md)'s cleaning on Spark parses and puts in order (or its
Parquet); without it, events are made and put in order by the same rule. `--floats` adds sums of floats, `--others`
counts the calls of the algorithms that have no compiled form.

This page is one run. {where}.

{note}

## What the paper says

A statement is confirmed or refuted by this run alone. A setting counts against "faster, always" only where the
repetitions of both algorithms lie apart, and it takes more than twice as many such settings as chance alone would give
to refute it. Whether a worst case grows is decided from the smaller n to the larger: calls are exact, so one more call
is growth; the longest time may be 4 times as long where n is 1,024 times as large, for caches, and is called growth
from 32 times on.

{claims}

## Latency on static windows

A round of evict, insert and query at n = {latency_n:,}, {latency_rounds:,} rounds in each of {repetitions} repetitions.
"Longest" is mostly the machine's; "longest in all" is the longest round that was so long in every repetition, and so
the algorithm's. A violin's width is the logarithm of the number of rounds.

{latency_figures}

{latency}

## Throughput on static windows

Million rounds per second: the median, and the slowest and fastest repetition. An empty cell was not run, since the
window's arrays would have been larger than {memory:.2f} GiB, this run's limit.

{throughput_figures}

{throughput}

## Fill and drain

{drain_figures}

## Event-time windows

Relative variation over windows of 10 ms to 6 hours, where the events last longer than that, and the latency at 10
minutes. Rows leave one by one, as in the paper; `sw.Timed` hands a bulk to `evict_many`, which takes fewer calls.

{events_figures}

{events}

## Counts

Calls of combine in a round, from the interpreted classes with an operator that counts. On fill and drain a round has
the calls of the drain before it. At the larger n they are those of {count_rounds:,} rounds after the fill: the worst
round is among them, and averages there say little. For events n is the window in microseconds. Partials are the most
seen in a few looks.

{counts}

## How it was measured

{notes}

The operator `bloom` (4,096 bits, 4 hashes, the bits of `sw.bloom`) is compiled for these experiments only:
`sw.compiled` keeps a state as one array per number of it, and a filter of 64 words would lie in 64 places. Here a state
is one vector of 64 words in a row. A query gives the exclusive or of all words, so that no word of the product can be
left out by the compiler.
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(name.lstrip("#") for name in head) + " |"]
    lines.append("|" + "|".join("---:" if name.startswith("#") else "---" for name in head) + "|")
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def pictures(prefix: str, names: Iterable[str]) -> str:
    return "\n".join(f"![{n.replace('_', ' ')}](evaluation/{n}.svg)" for n in names if n.startswith(prefix))


def speeds(results: Results) -> str:
    settings, curve = results.settings, results.speeds("throughput")
    sizes = [n for n in (16, 1 << 14, 1 << 20, 1 << 22) if n in settings.sizes]

    def cell(operator: str, algorithm: str, n: int) -> str:
        speed = curve.get((operator, algorithm, n))
        return f"{speed.per_second:.1f} ({1e3 / speed.most:.1f} to {1e3 / speed.least:.1f})" if speed else ""

    rows = [
        (operator, algorithm, *(cell(operator, algorithm, n) for n in sizes))
        for operator in settings.operators
        for algorithm in settings.algorithms
    ]
    return table(("operator", "algorithm", *(f"#n = {n:,}" for n in sizes)), rows)


def write(options: Options, note: str) -> None:
    settings = options.settings()
    results = Results(Store(options.out, settings, True))
    FIGURES.mkdir(exist_ok=True)
    names = sorted(path.stem for path in (options.out / "figures").glob("*.svg"))
    for name in names:
        shutil.copy(options.out / "figures" / f"{name}.svg", FIGURES)
    claims = [(c.statement, f"**{c.verdict}**", c.figures) for c in claims_of(results)]
    page = PAGE.format(
        where=report.where(results),
        note=note,
        claims=table(("statement", "this run", "figures"), claims),
        latency_n=settings.latency_n,
        latency_rounds=settings.latency_rounds,
        repetitions=settings.repetitions,
        latency_figures=pictures("latency", names),
        latency=table(report.LATENCY_HEAD, report.latency_rows(results, "latency")),
        memory=settings.memory / 2**30,
        throughput_figures=pictures("throughput", names),
        throughput=speeds(results),
        drain_figures=pictures("fill_and_drain", names),
        events_figures=pictures("events", names),
        events=table(report.LATENCY_HEAD, report.latency_rows(results, "events latency")),
        count_rounds=settings.count_rounds,
        counts=table(report.COUNT_HEAD, report.count_rows(results)),
        notes="\n".join(f"- {text}" for text in report.notes(results)),
    )
    (DOCS / "evaluation.md").write_text(page.replace("\n\n\n", "\n\n"), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    for flag in ("--quick", "--floats", "--others"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--data")
    parser.add_argument("--note", type=Path)
    asked = parser.parse_args()
    said = asked.note.read_text(encoding="utf-8").strip() if asked.note else ""
    write(Options(asked.folder, asked.quick, True, asked.data, asked.floats, asked.others), said)
