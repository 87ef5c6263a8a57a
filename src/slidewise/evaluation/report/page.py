"""The report: one HTML file that needs nothing else, on a phone as on a desk, light or dark."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Container, Sequence
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

from slidewise.evaluation.applicability import applicability_rows
from slidewise.evaluation.report.claims import Claim, time_text
from slidewise.evaluation.report.summary import PERCENTILES, Results
from slidewise.folders import whole_file

STYLE = """
:root { color-scheme: light dark; --ink: #1f2933; --soft: #616e7c; --line: #d3d9e0; --page: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7eb; --soft: #9aa5b1; --line: #3b4652; --page: #14191f; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--page); max-width: 1180px;
  margin: 1.5em auto; padding: 0 1em; }
h1 { font-size: 1.5em; margin-bottom: 0; } h2 { font-size: 1.15em; margin: 2em 0 .5em; } .sub { color: var(--soft); }
h3 { font-size: 1em; margin: 1.5em 0 .5em; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(320px, 100%), 1fr)); gap: 1em; }
.figures img { width: 100%; height: auto; } .wide { overflow-x: auto; margin-top: .8em; }
table { border-collapse: collapse; font-size: .92em; } td, th { padding: .3em 1em .3em 0; text-align: left;
  vertical-align: top; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.confirmed, .refuted, .unclear { font-weight: 600; white-space: nowrap; }
.confirmed { color: #2f9e5b; } .refuted { color: #d64545; } .unclear { color: #c98a1b; }
@media (max-width: 640px) {
  .claims tr, .claims td { display: block; } .claims th { display: none; }
  .claims td { border: 0; padding: 0; } .claims tr { border-bottom: 1px solid var(--line); padding: .5em 0; }
  .claims td:last-child { color: var(--soft); }
}
"""
HEADINGS = {
    "latency": "Static windows: latency",
    "throughput": "Static windows: throughput",
    "fill_and_drain": "Dynamic windows: fill and drain",
    "events": "Event-time windows",
}


def write_report(folder: Path, results: Results, claims: Sequence[Claim], figures: Sequence[str]) -> Path:
    """Write `report.html`."""
    path = folder / "report.html"
    with whole_file(path) as file:
        file.write(page(folder, results, claims, figures).encode())
    return path


def page(folder: Path, results: Results, claims: Sequence[Claim], figures: Sequence[str]) -> str:
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>The paper, run again</title>',
        f"<style>{STYLE}</style></head><body><h1>In-order sliding windows: the paper's experiments, run again</h1>",
        f'<p class="sub">{escape(where(results))}</p><p class="sub"><code>{escape(command(results))}</code></p>',
        "<h2>What the paper says, and what this run says of it</h2>",
        _table(("statement", "verdict", "figures"), [(c.statement, c.verdict, c.figures) for c in claims], verdict=1),
    ]
    for prefix, heading in HEADINGS.items():
        parts += [f"<h2>{heading}</h2>", *_section(folder, results, figures, prefix, results.settings.algorithms)]
    if results.settings.others:
        parts += ["<h2>Other algorithms</h2>", f"<p>{escape(OTHERS_NOTE)}</p>"]
        parts.append(_table(applicability_head(results), applicability_rows(results.settings)))
        for prefix, heading in HEADINGS.items():
            shown = _section(folder, results, figures, prefix, results.settings.compared, "others_")
            parts += [f"<h3>{heading}</h3>", *shown]
    parts += ["<h2>Counts, which no machine changes</h2>", _table(COUNT_HEAD, count_rows(results))]
    parts += ["<h2>How it was measured</h2>", *(f"<p>{escape(text)}</p>" for text in notes(results))]
    if results.skipped:
        rows = [
            (row["workload"], row["operator"], f"{row['n']:,}", row["algorithm"], row["why"]) for row in results.skipped
        ]
        parts += ["<h2>Not run</h2>", _table(("workload", "operator", "#n", "algorithm", "why"), rows)]
    return "\n".join([*parts, "</body></html>"]) + "\n"


def where(results: Results) -> str:
    """The machine, the date, the versions."""
    machine = results.machine
    packages = ", ".join(
        f"{name} {machine[name]}" for name in ("slidewise", "numba", "numpy", "pyarrow") if name in machine
    )
    return (
        f"{machine.get('date', '')}; {machine.get('processor', '')}, {machine.get('cores', '?')} cores, load averages "
        f"{machine.get('load', '?')}; {machine.get('system', '')}; Python {machine.get('python', '')}, {packages}; "
        f"{results.settings.name} run, seed {results.settings.seed}"
    )


def command(results: Results) -> str:
    """The command that produced these results."""
    settings = results.settings
    words = ["slidewise bench paper", *(["--quick"] if settings.name == "quick" else [])]
    words += ["--floats"] if "sum of floats" in settings.operators else []
    words += ["--others"] if settings.others else []
    return " ".join([*words, *(["--data", Path(settings.data).name] if settings.data else [])])


OTHERS_NOTE = (
    "Algorithms that the paper did not run, or that serve some operators only, beside two of the paper's; max, an "
    "operator that the paper did not run, is there for SlickDeque. What is not timed, and why:"
)


def applicability_head(results: Results) -> tuple[str, ...]:
    return ("algorithm", *results.settings.operators, "relative_variation")


def _section(
    folder: Path, results: Results, figures: Sequence[str], kind: str, algorithms: Sequence[str], prefix: str = ""
) -> list[str]:
    """Figures of one kind, and their table."""
    shown = [_image(folder, name) for name in figures if name.startswith(prefix + kind)]
    parts = ['<div class="figures">', *shown, "</div>"] if shown else ["<p>Not run.</p>"]
    if kind in ("latency", "events"):
        rows = latency_rows(results, "latency" if kind == "latency" else "events latency", algorithms)
        parts.append(_table(LATENCY_HEAD, rows))
    else:
        note = "Million rounds per second: the median, and the slowest and fastest repetition."
        parts += [f'<p class="sub">{note}</p>', _table(*speeds(results, kind.replace("_", " "), algorithms))]
    return parts


LATENCY_HEAD = ("operator", "algorithm", "#least", *(f"#{p:g} %" for p in PERCENTILES), "#longest", "#longest in all")


def latency_rows(results: Results, workload: str, algorithms: Sequence[str]) -> list[tuple[str, ...]]:
    """A line for each operator and algorithm."""
    latencies = {(operator, name): latency for (operator, name, _), latency in results.latencies(workload).items()}
    rows: list[tuple[str, ...]] = []
    for operator, name in _in_order(results, algorithms, latencies):
        latency = latencies[operator, name]
        times = (latency.least, *latency.percentiles, latency.most, latency.longest_in_all)
        rows.append((operator, name, *(time_text(ns) for ns in times)))
    return rows


def speeds(results: Results, workload: str, algorithms: Sequence[str]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Million rounds per second at some sizes: the head of a table, and a line for each operator and algorithm."""
    curve = results.speeds(workload)
    sizes = [n for n in (16, 1 << 14, 1 << 20, 1 << 22) if n in results.settings.sizes]

    def cell(operator: str, algorithm: str, n: int) -> str:
        speed = curve.get((operator, algorithm, n))
        return f"{speed.per_second:.1f} ({1e3 / speed.most:.1f} to {1e3 / speed.least:.1f})" if speed else ""

    pairs = _in_order(results, algorithms, {key[:2] for key in curve})
    return (
        ("operator", "algorithm", *(f"#n = {n:,}" for n in sizes)),
        [(*pair, *(cell(*pair, n) for n in sizes)) for pair in pairs],
    )


def _in_order(
    results: Results, algorithms: Sequence[str], measured: Container[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Pairs of operator and algorithm in the order of the settings; `max` is for those that stand beside the others."""
    paper = tuple(algorithms) == results.settings.algorithms
    operators = [name for name in results.settings.operators if not (paper and name == "max")]
    return [
        (operator, name)
        for operator in (*operators, "relative_variation")
        for name in algorithms
        if (operator, name) in measured
    ]


COUNT_HEAD = (
    "algorithm",
    "operator",
    "workload",
    "#n",
    "#rounds",
    "#calls, average",
    "#calls, worst",
    "#partials, peak",
)


def count_rows(results: Results) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for row in results.counts:
        numbers = (f"{row['n']:,}", f"{row['rounds']:,}", f"{row['average']:.2f}", f"{row['worst']:,}")
        rows.append((row["algorithm"], row["operator"], row["workload"], *numbers, f"{row['stored']:,}"))
    return rows


def notes(results: Results) -> list[str]:
    """Notes on the measurement, which a reader needs before trusting a figure."""
    clock, settings = results.clock, results.settings
    paragraphs = [
        f"Clock: {clock.get('name', '?')}, {clock.get('ticks_per_ns', 0):.3f} ticks per nanosecond, measured against "
        f"Python's clock; it steps by {clock.get('step', 0):.1f} ns. A round with nothing in it takes "
        f"{clock.get('cost', 0):.1f} ns at the median; that is in every latency, and was not taken off. Reads do not "
        "wait for the instructions before them, so the shortest rounds may be shorter than that.",
        f"{settings.repetitions} repetitions; in each one all algorithms run in turn, and each begins with another "
        "algorithm. Throughput is the median, its band reaches from the slowest repetition to the fastest.",
        "No round was left out of any figure. The longest round is mostly the machine's; so each round is also taken "
        "at its shortest over all repetitions, which have the same rows and the same steps. What is slow in "
        "all of them is the algorithm's: the column 'longest in all'.",
    ]
    if results.noise:
        share = median(row["share"] for row in results.noise)
        lost = median(row["lost"] for row in results.noise)
        worst = max(row["longest"] for row in results.noise)
        paragraphs.append(
            f"Preemption: of rounds with nothing in them, {share:.5%} took over a microsecond, {lost:.1%} of the time "
            f"(medians of {len(results.noise)} looks; the longest {time_text(worst)}). Of the timed rounds "
            f"{_slow(results):.5%} took over a microsecond though they did not in another repetition."
        )
    even = all(row["few"] == row["many"] for row in results.allocations)
    differs = "did not" if even else "DID"
    paragraphs.append(
        "Memory: a window's arrays are made, and every page of them touched, before the clock starts, and a run is one "
        "call of compiled code, in which Python's collector cannot run; it is switched off, too. Numba's runtime "
        f"counts what it hands out: between 64 rounds and 4,096 the count {differs} differ, for "
        f"{len(results.allocations)} pairs of algorithm and operator."
    )
    agree = "the same" if results.totals_agree() else "DIFFERENT"
    paragraphs.append(f"Answers: the totals of all answers are {agree} for all algorithms in every experiment.")
    if results.source:
        paragraphs.append(
            f"Events: {results.source['source']}, of which {results.source['dropped']:,} came after a newer one and "
            f"were dropped; {results.source['events']:,} were left."
        )
    return [*paragraphs, *_durations(results)]


def _durations(results: Results) -> list[str]:
    """Notes on how long it took to compile and to run."""
    paragraphs = []
    new = [row for row in results.compiled if row["compiled"]]
    if results.compiled:
        pairs = len(results.compiled)
        text = f"Compiled: of {pairs} pairs of algorithm and operator {len(new)} before the first experiment"
        if new:
            longest = max(new, key=lambda row: float(row["seconds"]))
            work = sum(row["seconds"] for row in new)
            seconds, processes = results.compiling["seconds"], results.compiling["processes"]
            by = f"{processes} processes" if processes > 1 else "one process"
            text += (
                f", in {seconds:.0f} s by {by} ({work:.0f} s of the processor; "
                f"{longest['algorithm']} for {longest['operator']} took longest, {longest['seconds']:.0f} s)"
            )
        paragraphs.append(text + ("." if len(new) == pairs else "; the rest was found on disk."))
    took = sum(results.seconds.values())
    paragraphs.append(f"The {len(results.seconds)} experiments took {took / 60:.1f} minutes, after that.")
    return paragraphs


def _slow(results: Results) -> float:
    latencies = [*results.latencies("latency").values(), *results.latencies("growth").values()]
    rounds = sum(latency.rounds for latency in latencies)
    return sum(latency.slow * latency.rounds for latency in latencies) / rounds if rounds else 0.0


def _image(folder: Path, name: str) -> str:
    data = b64encode((folder / "figures" / f"{name}.svg").read_bytes()).decode()
    return f'<img alt="{escape(name.replace("_", " "))}" src="data:image/svg+xml;base64,{data}">'


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]], verdict: int | None = None) -> str:
    """A table; a heading that begins with # is one of numbers."""
    marks = [' class="n"' if name.startswith("#") else "" for name in head]
    cells = "".join(f"<th{mark}>{escape(name.lstrip('#'))}</th>" for name, mark in zip(head, marks, strict=True))
    kind = "" if verdict is None else ' class="claims"'
    lines = [f'<div class="wide"><table{kind}><tr>{cells}</tr>']
    for row in rows:
        shown = list(marks)
        if verdict is not None:
            shown[verdict] = f' class="{"unclear" if row[verdict] == "not clear" else row[verdict]}"'
        cells = "".join(f"<td{mark}>{escape(str(cell))}</td>" for cell, mark in zip(row, shown, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    return "\n".join([*lines, "</table></div>"])
