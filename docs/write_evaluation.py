"""Write docs/evaluation.md, and its figures, from the folder of a run of `slidewise bench paper`.

python docs/write_evaluation.py FOLDER [--note FILE]

It draws the figures and writes the folder's report anew, too. The note is a paragraph on what was special about it.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from slidewise.evaluation.applicability import applicability_rows
from slidewise.evaluation.report import page as report
from slidewise.evaluation.report.claims import claims_of
from slidewise.evaluation.report.figures import draw_all, lasting
from slidewise.evaluation.report.summary import Results
from slidewise.evaluation.result_store import ResultStore, settings_in

DOCS = Path(__file__).parent
FIGURES = DOCS / "evaluation"
OTHERS = """
## Other algorithms

{note}

{applied}

{figures}

{latency}

Throughput on static windows:

{throughput}

Fill and drain:

{drain}

Event-time windows:

{events}
"""
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
the algorithms that the paper did not run.

This page is one run of `{command}`. {where}.

{note}

## What the paper says

A statement is confirmed or refuted by this run alone. A setting counts against "faster, always" only where the
repetitions of both algorithms lie apart, and it takes more than twice as many such settings as chance alone would give
to refute it. Whether a worst case grows is decided from the smaller n to the larger: calls are exact, so one more call
is growth; the longest time may be 4 times as long where n is 1,024 times as large, for caches, and is called growth
from 32 times on. For bloom, whose states have 512 bytes, the smaller window lies in a cache and the larger one does
not: that alone may be what its times say. Where memory was short, its larger n is smaller than that of the others.

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

{drain}

## Event-time windows

Relative variation over windows of 10 ms to 6 hours, where the events last longer than that, and the latency at
{lasting}. Rows leave one by one, as in the paper; `sw.Timed` hands a bulk to `evict_many`, which takes fewer calls.

{events_figures}

{events}
{others}
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


def others(results: Results, names: Iterable[str]) -> str:
    """What was run beside the paper's algorithms; nothing for a run without --others."""
    compared = results.settings.compared
    if not compared:
        return ""
    return OTHERS.format(
        note=report.OTHERS_NOTE,
        applied=table(report.applicability_head(results), applicability_rows(results.settings)),
        figures=pictures("others", names),
        latency=table(report.LATENCY_HEAD, report.latency_rows(results, "latency", compared)),
        throughput=table(*report.speeds(results, "throughput", compared)),
        drain=table(*report.speeds(results, "fill and drain", compared)),
        events=table(report.LATENCY_HEAD, report.latency_rows(results, "events latency", compared)),
    )


def write(folder: Path, note: str) -> None:
    settings = settings_in(folder)
    results = Results(ResultStore(folder, settings, True))
    FIGURES.mkdir(exist_ok=True)
    claims = claims_of(results)
    figures = draw_all(results, folder / "figures")
    report.write_report(folder, results, claims, figures)
    names = [name for name in figures if not name.startswith("others_")]
    for old in FIGURES.glob("*.svg"):
        old.unlink()
    for name in figures:
        shutil.copy(folder / "figures" / f"{name}.svg", FIGURES)
    paper = settings.algorithms
    page = PAGE.format(
        command=report.command(results),
        where=report.where(results),
        note=note,
        claims=table(
            ("statement", "this run", "figures"), [(c.statement, f"**{c.verdict}**", c.figures) for c in claims]
        ),
        latency_n=settings.latency_n,
        latency_rounds=settings.latency_rounds,
        repetitions=settings.repetitions,
        latency_figures=pictures("latency", names),
        latency=table(report.LATENCY_HEAD, report.latency_rows(results, "latency", paper)),
        memory=settings.memory / 2**30,
        throughput_figures=pictures("throughput", names),
        throughput=table(*report.speeds(results, "throughput", paper)),
        drain_figures=pictures("fill_and_drain", names),
        drain=table(*report.speeds(results, "fill and drain", paper)),
        lasting=lasting(max((n for _, _, n in results.latencies("events latency")), default=settings.events_latency)),
        events_figures=pictures("events", names),
        events=table(report.LATENCY_HEAD, report.latency_rows(results, "events latency", paper)),
        others=others(results, figures),
        count_rounds=settings.count_rounds,
        counts=table(report.COUNT_HEAD, report.count_rows(results)),
        notes="\n".join(f"- {text}" for text in report.notes(results)),
    )
    (DOCS / "evaluation.md").write_text(page.replace("\n\n\n", "\n\n"), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--note", type=Path)
    asked = parser.parse_args()
    write(asked.folder, asked.note.read_text(encoding="utf-8").strip() if asked.note else "")
