"""Expressions over whole columns against pyarrow.compute and polars, and over single events, for each node.

Columns: ten million rows in memory; each contender gives the whole column, written as a user would, with our meaning
where that is easy. Answers are compared before anything is timed. Contenders take turns, and the median turn counts.
polars and Slidewise run on all cores, as installed; pyarrow.compute on one. Events: what `live.push` pays for each node
of an expression, columns and constants counted as nodes, too; `push` of a definition with the expression, less that of
the same aggregates without it.

    python benchmarks/expressions.py [--quick] [--only columns|events] [--turns N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import reduce
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from common import describe_machine, make_console, save_csv, say_saved
from rich.console import Console

import slidewise as sw
from slidewise.expressions.expression import Expression, RowColumn
from slidewise.expressions.over_arrays import evaluate_all
from slidewise.kernels.compiler.threads import share_out

FIELDS = ("part", "expression", "rival", "ours", "rivals", "unit", "ratio", "target", "met")
COUNTRIES = ["DE", "FR", "US", "GB", "IT", "ES", "NL"]
CHOSEN = ["DE", "FR", "IT"]
RATIO, NANOSECONDS = 1.3, 300.0
Line = tuple[str, str, str, str, str, str, str, float, str]


class Work(NamedTuple):
    """An expression in our words, in pyarrow's and in polars'."""

    ours: Expression
    arrow: Callable[[dict[str, pa.Array]], pa.Array]
    polars: pl.Expr


def make_columns(rows: int) -> dict[str, pa.Array]:
    choose = np.random.default_rng(7)
    second = 10**6
    start = choose.integers(1_700_000_000 * second, 1_730_000_000 * second, rows)
    return {
        "price": pa.array(choose.random(rows) * 100),
        "quantity": pa.array(choose.integers(1, 100, rows)),
        "a": pa.array(choose.random(rows) * 200),
        "b": pa.array(choose.random(rows)),
        "m": pa.array(choose.random(rows) * 40),
        "s": pa.array(choose.random(rows) + 0.1),
        "x": pa.array(choose.random(rows), mask=choose.random(rows) < 0.1),
        "i": pa.array(choose.integers(-(10**9), 10**9, rows)),
        "country": pa.array(COUNTRIES).take(pa.array(choose.integers(0, len(COUNTRIES), rows))),
        "start": pa.array(start, pa.timestamp("us")),
        "end": pa.array(start + choose.integers(0, 3_600 * second, rows), pa.timestamp("us")),
    }


c, p = sw.col, pl.col
WORK = {
    "price * quantity": Work(
        c("price") * c("quantity"),
        lambda t: pc.multiply(t["price"], t["quantity"]),
        p("price") * p("quantity"),
    ),
    "(a - m) / s": Work(
        (c("a") - c("m")) / c("s"),
        lambda t: pc.divide(pc.subtract(t["a"], t["m"]), pc.if_else(pc.equal(t["s"], 0.0), None, t["s"])),
        (p("a") - p("m")) / pl.when(p("s") != 0).then(p("s")),
    ),
    "a > 3 * m": Work(
        c("a") > 3 * c("m"),
        lambda t: pc.greater(t["a"], pc.multiply(3.0, t["m"])),
        p("a") > 3 * p("m"),
    ),
    "case": Work(
        sw.when(c("a") > 100).then(c("a")).when(c("a") > 50).then(c("b")).otherwise(0.0),
        lambda t: pc.case_when(
            pc.make_struct(pc.greater(t["a"], 100.0), pc.greater(t["a"], 50.0)), t["a"], t["b"], pa.scalar(0.0)
        ),
        pl.when(p("a") > 100).then(p("a")).when(p("a") > 50).then(p("b")).otherwise(0.0),
    ),
    "a > 100 and country in": Work(
        (c("a") > 100) & c("country").is_in(CHOSEN),
        lambda t: pc.and_kleene(
            pc.greater(t["a"], 100.0), pc.is_in(t["country"], value_set=pa.array(CHOSEN))
        ),
        (p("a") > 100) & p("country").is_in(CHOSEN),
    ),
    "coalesce": Work(
        sw.coalesce(c("x"), c("b")),
        lambda t: pc.coalesce(t["x"], t["b"]),
        pl.coalesce("x", "b"),
    ),
    "end - start": Work(
        c("end") - c("start"),
        lambda t: pc.divide(pc.subtract(t["end"], t["start"]).cast(pa.int64()).cast(pa.float64()), 1e6),
        (p("end") - p("start")).cast(pl.Int64) / 1e6,
    ),
    "hour": Work(
        c("start").hour(),
        lambda t: pc.hour(t["start"]),
        p("start").dt.hour().cast(pl.Int64),
    ),
    "hour in a zone": Work(
        c("start").hour("Europe/Berlin"),
        lambda t: pc.hour(t["start"].cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", "Europe/Berlin"))),
        p("start").dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin").dt.hour().cast(pl.Int64),
    ),
    "i + quantity": Work(
        c("i") + c("quantity"),
        lambda t: pc.add_checked(t["i"], t["quantity"]),
        p("i") + p("quantity"),
    ),
    "sqrt(a*a + b*b)": Work(
        (c("a") * c("a") + c("b") * c("b")).sqrt(),
        lambda t: pc.sqrt(pc.add(pc.multiply(t["a"], t["a"]), pc.multiply(t["b"], t["b"]))),
        (p("a") * p("a") + p("b") * p("b")).sqrt(),
    ),
}  # fmt: skip

EVENT = {"k": 7, "a": 120.5, "m": 31.25, "s": 2.5, "n": 7, "ok": True, "country": "DE"}
PLAIN = {"peak": sw.max("a").over(100), "mean": sw.mean("m").over(100)}
EVENTS: dict[str, dict[str, Expression]] = {
    "numbers: (a - mean) / s * 2 + n": {"x": (c("a") - PLAIN["mean"]) / c("s") * 2 + c("n")},
    "whole numbers: n * 3 + n - 1": {"x": c("n") * 3 + c("n") - 1},
    "comparison: a > 3 * peak": {"x": c("a") > 3 * PLAIN["peak"]},
    "logic: a > 100 and (n < 5 or not ok)": {"x": (c("a") > 100) & ((c("n") < 5) | ~c("ok"))},
    "text: country in ('DE', 'FR')": {"x": c("country").is_in(["DE", "FR"])},
    "sum of eight": {"x": reduce(lambda x, y: x + y, [c("a") + n for n in range(8)])},
    "argument: max(a * s)": {"peak": sw.max(c("a") * c("s")).over(100)},
}


def median_turns(contenders: dict[str, Callable[[], object]], turns: int) -> dict[str, float]:
    """The median time of each in seconds; they take turns."""
    took: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(turns):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            took[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in took.items()}


def check_equal(name: str, ours: pa.Array, others: pa.Array) -> None:
    """The answers of others are ours, floats up to rounding."""
    assert ours.null_count == others.null_count, name
    if pa.types.is_floating(ours.type):
        pair = [np.asarray(side.cast(pa.float64()).fill_null(0)) for side in (ours, others)]
        assert np.allclose(*pair, rtol=1e-12, atol=0), name
    else:
        assert ours.cast(others.type).equals(others), name


def over_columns(console: Console, rows: int, turns: int) -> list[Line]:
    columns = make_columns(rows)
    frame = pl.DataFrame(dict(columns))
    lines: list[Line] = []
    for name, work in WORK.items():

        def ours(work: Work = work) -> pa.Array:
            return evaluate_all({"x": work.ours}, lambda leaf: columns[_name(leaf)], rows, share_out)["x"]

        rivals: dict[str, Callable[[], Any]] = {
            "pyarrow.compute": lambda work=work: work.arrow(columns),
            "polars": lambda work=work: frame.select(x=work.polars)["x"],
        }
        check_equal(name, ours(), rivals["pyarrow.compute"]())
        check_equal(name, ours(), rivals["polars"]().to_arrow())
        took = median_turns({"ours": ours, **rivals}, turns)
        fastest = min(rivals, key=took.__getitem__)
        for rival in rivals:
            ratio = took["ours"] / took[rival]
            target = RATIO if rival == fastest else 0.0
            met = "" if rival != fastest else "yes" if ratio <= RATIO else "no"
            shown = (f"{took['ours'] * 1e3:.1f}", f"{took[rival] * 1e3:.1f}", "ms", f"{ratio:.2f}")
            lines.append(("columns", name, rival, *shown, target, met))
            console.print(*lines[-1])
    return lines


def _name(leaf: Expression) -> str:
    assert isinstance(leaf, RowColumn)
    return leaf.name


def over_events(console: Console, events: int, turns: int) -> list[Line]:
    """What `push` pays for each node, in nanoseconds: both take turns, and the medians' difference counts."""
    lines: list[Line] = []
    for name, columns in EVENTS.items():
        nodes = sum(_nodes(column) for column in columns.values())
        definitions = [sw.Sliding(by="k", on="t", columns=added) for added in (PLAIN, {**PLAIN, **columns})]
        took = median_turns(
            {which: _pushes(one, events) for which, one in zip(("plain", "with"), definitions, strict=True)}, turns
        )
        paid = (took["with"] - took["plain"]) / events / nodes * 1e9
        shown = (f"{paid:.0f}", f"{took['plain'] / events * 1e6:.1f} us a push", "ns per node", "")
        lines.append(("events", name, f"{nodes} nodes", *shown, NANOSECONDS, "yes" if paid <= NANOSECONDS else "no"))
        console.print(*lines[-1])
    return lines


def _nodes(column: Expression) -> int:
    """The nodes that a column adds to its aggregates."""
    return column.size - 1 if column.is_aggregate else column.size


def _pushes(definition: sw.Sliding, events: int) -> Callable[[], None]:
    """Pushes so many events of one key, each later than the last, into a live definition that goes on."""
    live = definition.live()
    clock = iter(range(10**12))

    def run() -> None:
        push = live.push
        for t in islice(clock, events):
            push({**EVENT, "t": t})

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rows and turns, and nothing is saved")
    parser.add_argument("--only", choices=("columns", "events"))
    parser.add_argument("--turns", type=int, default=9)
    options = parser.parse_args()
    console = make_console(140)
    machine = describe_machine(["numpy", "pyarrow", "polars"])
    console.print(machine)
    rows, turns = (1_000_000, 3) if options.quick else (10_000_000, options.turns)
    lines: list[Line] = []
    if options.only != "events":
        lines += over_columns(console, rows, turns)
    if options.only != "columns":
        lines += over_events(console, 5_000 if options.quick else 50_000, turns)
    if not options.quick and options.only is None:
        say_saved(console, [save_csv("expressions.csv", machine, FIELDS, lines)])


if __name__ == "__main__":
    main()
