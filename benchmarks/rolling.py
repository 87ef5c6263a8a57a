"""Whole arrays: `sw.rolling` and the compiled algorithms against what people use today, row by row of the Speed table.

Within a case the contenders take turns, and the median turn counts. Preparing a peer's own kind of table is not timed,
nor is anyone's first call, which compiles. Everyone has one thread. First calls are also where answers are compared.
Where two differ, NumPy over that very window says who is wrong, and some of our rows are checked against it anyway.
Sums must also be right again after 1e16 or inf have left the window. Who is wrong is marked, and is not one to beat; if
we are, no target is met.

    python benchmarks/rolling.py [--quick | --rows N | --first-result]
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import importlib
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("SLIDEWISE_THREADS", "1")  # as the peers have

import numpy as np
from common import RESULTS, describe_machine, make_console, save_csv, say_saved
from numba import njit
from rich.console import Console
from rich.table import Table

import slidewise as sw

OURS = "slidewise"
PEERS = {
    "pandas": "pandas",
    "polars": "polars",
    "bottleneck": "bottleneck",
    "scipy": "scipy.ndimage",
    "TA-Lib": "talib",
    "DuckDB": "duckdb",
    "DataFusion": "datafusion",
}
peers: dict[str, Any] = {}

GAP = 1_000  # nanoseconds between rows, on average
KEYS = 1_000
COMPARED = 200_000  # rows of the first call
FULL_WINDOWS = 2_000  # what a custom function of pandas or polars is measured on


def load_peers() -> list[str]:
    """Import the peers, each on one thread; the names of those that are missing."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    for name, module in PEERS.items():
        try:
            peers[name] = importlib.import_module(module)
        except ImportError:
            continue
    return [name for name in PEERS if name not in peers]


class Data:
    """A series with times and keys, as each peer likes to have it."""

    def __init__(self, x: Any, times: Any, keys: Any) -> None:
        self.x, self.times, self.keys = x, times, keys
        self._heads: dict[int, Data] = {}

    @classmethod
    def random(cls, rows: int) -> Data:
        choose = np.random.default_rng(3)
        times = np.cumsum(choose.exponential(GAP - 1, rows).astype(np.int64) + 1)
        return cls(choose.random(rows), times, choose.integers(0, KEYS, rows))

    def having(self, x: Any) -> Data:
        return Data(x, self.times, self.keys)

    def head(self, rows: int) -> Data:
        if rows >= len(self.x):
            return self
        if rows not in self._heads:
            self._heads[rows] = Data(self.x[:rows], self.times[:rows], self.keys[:rows])
        return self._heads[rows]

    @cached_property
    def pandas(self) -> Any:
        return peers["pandas"].Series(self.x)

    @cached_property
    def pandas_timed(self) -> Any:
        pd = peers["pandas"]
        return pd.Series(self.x, index=pd.DatetimeIndex(self.times.view("M8[ns]")))

    @cached_property
    def polars(self) -> Any:
        pl = peers["polars"]
        frame = pl.DataFrame({"x": self.x, "time": self.times.view("M8[ns]"), "key": self.keys})
        return frame.with_columns(pl.col("time").set_sorted())

    @cached_property
    def arrow(self) -> Any:
        import pyarrow as pa

        return pa.table({"i": np.arange(len(self.x)), "x": self.x, "time": self.times})

    @cached_property
    def duckdb(self) -> Any:
        connection = peers["DuckDB"].connect(config={"threads": 1})
        connection.register("source", self.arrow)
        connection.sql("CREATE TABLE t AS FROM source")
        return connection

    @cached_property
    def datafusion(self) -> Any:
        df = peers["DataFusion"]
        context = df.SessionContext(df.SessionConfig().with_target_partitions(1))
        context.from_arrow(self.arrow, name="t")
        return context


Make = Callable[[Data, int], Callable[[], Any]]  # with the data and the window, what is to be timed


class Contender(NamedTuple):
    make: Make
    rows: int | None = None  # at most so many; None: all
    only_full: bool = False  # answers only full windows, and only these count
    compare: bool = True


class Goal(NamedTuple):
    """To be so many times as fast as the best of these peers, or to reach so many million rows a second."""

    factor: float
    peers: tuple[str, ...] = ()
    words: str = "right peers"
    on_two_cores: float | None = None

    def text(self, cores: float) -> str:
        return f"{self.needed(cores):.3g} x {self.words}" if self.peers else f"{self.factor:g} million/s"

    def needed(self, cores: float) -> float:
        return self.on_two_cores if self.on_two_cores and cores > 1.2 else self.factor


class Case(NamedTuple):
    work: str
    name: str
    data: Data
    window: int
    contenders: dict[str, Contender]
    goals: tuple[Goal, ...] = ()
    timed: bool = False
    keyed: bool = False
    truth: Callable[[Any], Any] | None = None  # of a window's rows; None: the other contenders are right
    sums: str = ""  # sum, mean or stddev: what 1e16 and inf must not leave a trace in


class Result(NamedTuple):
    work: str
    case: str
    contender: str
    rows: int
    seconds: float
    fastest_s: float
    slowest_s: float
    million_rows_per_s: float
    cores: float
    first_call_s: float
    trouble: str


# What is measured: rows


def ours(op: sw.Operator) -> Make:
    return lambda d, n: lambda: sw.rolling(d.x, op, rows=n)


def pandas_rows(method: str) -> Make:
    return lambda d, n: lambda s=d.pandas: getattr(s.rolling(n, min_periods=1), method)()


def polars_rows(method: str) -> Make:
    return lambda d, n: lambda s=d.polars["x"]: getattr(s, method)(n, min_samples=1)


def bottleneck_rows(method: str, **more: int) -> Make:
    def make(d: Data, n: int) -> Callable[[], Any]:
        move = getattr(peers["bottleneck"], method)
        return lambda: move(d.x, min(n, len(d.x)), min_count=1, **more)

    return make


def scipy_max(d: Data, n: int) -> Callable[[], Any]:
    extreme = peers["scipy"].maximum_filter1d
    return lambda: extreme(d.x, n, origin=(n - 1) // 2, mode="constant", cval=-np.inf)


def talib_rows(method: str) -> Make:
    return lambda d, n: lambda: getattr(peers["TA-Lib"], method)(d.x, timeperiod=n)


def sql(engine: str, function: str, frame: str) -> Make:
    def make(d: Data, n: int) -> Callable[[], Any]:
        over = "ORDER BY time RANGE" if frame == "time" else "ORDER BY i ROWS"
        before = n if frame == "time" else n - 1
        query = f"SELECT {function}(x) OVER ({over} BETWEEN {before} PRECEDING AND CURRENT ROW) AS y FROM t"
        run = getattr(d, engine.lower()).sql
        return lambda: run(query).to_arrow_table()

    return make


class Names(NamedTuple):
    """What everyone calls an operator."""

    op: sw.Operator
    pandas: str
    sql: str
    talib: str = ""

    @property
    def bottleneck(self) -> Make:
        return bottleneck_rows(f"move_{self.pandas}", **({"ddof": 1} if self.pandas == "std" else {}))


TRUTH: dict[str, Callable[[Any], Any]] = {
    "max": np.max,
    "sum": np.sum,
    "mean": np.mean,
    "stddev": lambda w: np.std(w, ddof=1),
}

OPERATORS = {
    "max": Names(sw.max, "max", "max", "MAX"),
    "sum": Names(sw.sum, "sum", "sum", "SUM"),
    "mean": Names(sw.mean, "mean", "avg", "SMA"),
    "stddev": Names(sw.stddev, "std", "stddev_samp"),
}


def over_rows(name: str, few: int) -> dict[str, Contender]:
    names = OPERATORS[name]
    found = {OURS: Contender(ours(names.op))}
    if names.talib:
        found["TA-Lib"] = Contender(talib_rows(names.talib))
    found["bottleneck"] = Contender(names.bottleneck)
    found["polars"] = Contender(polars_rows(f"rolling_{names.pandas}"))
    if name == "max":
        found["scipy"] = Contender(scipy_max)
    found["pandas"] = Contender(pandas_rows(names.pandas))
    for engine in ("DuckDB", "DataFusion"):
        found[engine] = Contender(sql(engine, names.sql, "rows"), few)
    return found


# Times and keys


def over_times(name: str, few: int) -> dict[str, Contender]:
    op, method, function, _ = OPERATORS[name]

    def slidewise(d: Data, width: int) -> Callable[[], Any]:
        return lambda: sw.rolling(d.x, op, times=d.times, last=width, closed="both")

    def polars(d: Data, width: int) -> Callable[[], Any]:
        by = getattr(peers["polars"].col("x"), f"rolling_{method}_by")("time", f"{width}ns", closed="both")
        return lambda frame=d.polars: frame.select(by).to_series()

    def pandas(d: Data, width: int) -> Callable[[], Any]:
        return lambda s=d.pandas_timed: getattr(s.rolling(f"{width}ns", closed="both"), method)()

    return {
        OURS: Contender(slidewise),
        "polars": Contender(polars),
        "pandas": Contender(pandas),
        "DuckDB": Contender(sql("DuckDB", function, "time"), few),
        "DataFusion": Contender(sql("DataFusion", function, "time"), few),
    }


def by_keys(name: str, frame: str) -> dict[str, Contender]:
    op, method, _, _ = OPERATORS[name]

    def slidewise(d: Data, n: int) -> Callable[[], Any]:
        if frame == "time":
            return lambda: sw.rolling(d.x, op, times=d.times, last=n, closed="both", by=d.keys)
        return lambda: sw.rolling(d.x, op, rows=n, by=d.keys)

    def polars(d: Data, n: int) -> Callable[[], Any]:
        x = peers["polars"].col("x")
        if frame == "time":
            answer = getattr(x, f"rolling_{method}_by")("time", f"{n}ns", closed="both")
        else:
            answer = getattr(x, f"rolling_{method}")(n, min_samples=1)
        return lambda table=d.polars: table.select(answer.over("key")).to_series()

    return {OURS: Contender(slidewise), "polars": Contender(polars)}


# Operators that no peer has: Two-Stacks by hand, one for each. Unlike ours, these do not look out for NaN.


@njit
def maxcount_by_hand(x, n):
    out = np.empty(len(x), np.int64)
    tops, counts = np.empty(n), np.empty(n, np.int64)
    front = 0
    top, count = -np.inf, 0
    for i in range(len(x)):
        if i >= n:
            if front == 0:
                top, count = -np.inf, 0
                for j in range(n):
                    y = x[i - 1 - j]
                    if y > top:
                        top, count = y, 1
                    elif y == top:
                        count += 1
                    tops[j], counts[j] = top, count
                front = n
                top, count = -np.inf, 0
            front -= 1
        if x[i] > top:
            top, count = x[i], 1
        elif x[i] == top:
            count += 1
        out[i] = count
        if front and tops[front - 1] >= top:
            out[i] = counts[front - 1] + (count if tops[front - 1] == top else 0)
    return out


@njit
def m4_by_hand(x, n):
    m = len(x)
    out = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    firsts, lows, highs, lasts = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    front = back = 0
    first = low = high = last = 0.0
    for i in range(m):
        if i >= n:
            if front == 0:
                low = high = last = x[i - 1]
                for j in range(n):
                    first = x[i - 1 - j]
                    low, high = min(low, first), max(high, first)
                    firsts[j], lows[j], highs[j], lasts[j] = first, low, high, last
                front, back = n, 0
            front -= 1
        y = x[i]
        if back == 0:
            first = low = high = y
        low, high, last = min(low, y), max(high, y), y
        back += 1
        a, b, c = first, low, high
        if front:
            a, b, c = firsts[front - 1], min(lows[front - 1], low), max(highs[front - 1], high)
        out[0][i], out[1][i], out[2][i], out[3][i] = a, b, c, last
    return out


@njit
def add_double_double(a, b, c, d):
    s = a + c
    if not math.isfinite(s):
        return s, 0.0
    t = s - a
    e = (a - (s - t)) + (c - t)
    u = b + d
    t = u - b
    f = (b - (u - t)) + (d - t)
    e += u
    s, e = s + e, e - ((s + e) - s)
    e += f
    return s + e, e - ((s + e) - s)


@njit
def geomean_by_hand(x, n):
    out = np.empty(len(x))
    highs, lows, logs = np.empty(n), np.empty(n), np.empty(n)
    front = back = 0
    high = low = 0.0
    for i in range(len(x)):
        if i >= n:
            if front == 0:
                high = low = 0.0
                for j in range(n):
                    high, low = add_double_double(logs[n - 1 - j], 0.0, high, low)
                    highs[j], lows[j] = high, low
                front, back = n, 0
                high = low = 0.0
            front -= 1
        y = math.log(x[i])
        logs[back] = y
        back += 1
        high, low = add_double_double(high, low, y, 0.0)
        total = high
        if front:
            total, _ = add_double_double(highs[front - 1], lows[front - 1], high, low)
        out[i] = math.exp(total / (front + back))
    return out


@njit
def peak_share_by_hand(x, n):
    out = np.empty(len(x))
    peaks, sums = np.empty(n), np.empty(n)
    front = 0
    peak, total = -np.inf, 0.0
    for i in range(len(x)):
        if i >= n:
            if front == 0:
                peak, total = -np.inf, 0.0
                for j in range(n):
                    peak, total = max(peak, x[i - 1 - j]), x[i - 1 - j] + total
                    peaks[j], sums[j] = peak, total
                front = n
                peak, total = -np.inf, 0.0
            front -= 1
        peak, total = max(peak, x[i]), total + x[i]
        if front:
            out[i] = max(peaks[front - 1], peak) / (sums[front - 1] + total)
        else:
            out[i] = peak / total
    return out


peak_share = sw.operator(
    name="peak_share",
    identity=(-math.inf, 0.0),
    lift=lambda x: (x, x),
    combine=lambda a, b: (a[0] if a[0] >= b[0] else b[0], a[1] + b[1]),
    lower=lambda s: s[0] / s[1],
)


# The same as a function of a window's rows, which is what peers take. It must give one number.
def maxcount_of(w):
    return np.sum(w == np.max(w))


def m4_of(w):
    return w[0] + np.min(w) + np.max(w) + w[-1]


def geomean_of(w):
    return np.exp(np.mean(np.log(w)))


def peak_share_of(w):
    return np.max(w) / np.sum(w)


CUSTOM: dict[str, tuple[sw.Operator, Any, Any]] = {
    "maxcount": (sw.maxcount, maxcount_by_hand, maxcount_of),
    "m4": (sw.m4, m4_by_hand, m4_of),
    "geomean": (sw.geomean, geomean_by_hand, geomean_of),
    "peak share, of two fields": (peak_share, peak_share_by_hand, peak_share_of),
}


def custom(name: str, n: int) -> dict[str, Contender]:
    op, kernel, function = CUSTOM[name]

    def pandas(engine: str) -> Make:
        return lambda d, n: lambda s=d.pandas: s.rolling(n, min_periods=n).apply(function, raw=True, engine=engine)

    def polars(d: Data, n: int) -> Callable[[], Any]:
        return lambda s=d.polars["x"]: s.rolling_map(lambda w: float(function(w.to_numpy())), n, min_samples=n)

    few = n + FULL_WINDOWS - 1
    return {
        OURS: Contender(ours(op)),
        "by hand": Contender(lambda d, n: lambda: kernel(d.x, n)),
        "pandas numba": Contender(pandas("numba"), few, only_full=True),
        "pandas Python": Contender(pandas("cython"), few, only_full=True),
        "polars": Contender(polars, few, only_full=True),
    }


# Sketches, and rounds of the paper's algorithm


def bloom_probe(d: Data) -> sw.Operator:
    """Asks for a value of the first third."""
    return sw.bloom(bits=4096, probe=d.x[len(d.x) // 3].item())


def interpreted(op: sw.Operator) -> Make:
    """Row by row through the class: what the answers must be."""

    def make(d: Data, n: int) -> Callable[[], Any]:
        def run() -> Any:
            window, answers = sw.DabaLite(op), []
            for i, x in enumerate(d.x.tolist()):
                if i >= n:
                    window.evict()
                window.insert(x)
                answers.append(window.query())
            return np.array(answers)

        return run

    return make


def rounds(algorithm: Any, op: sw.Operator, dtype: str) -> Make:
    def make(d: Data, n: int) -> Callable[[], Any]:
        try:
            compiled = sw.compiled
        except AttributeError:
            from slidewise.compiled.build import compiled
        window = compiled(algorithm, op, dtype)
        window.insert_many(np.resize(d.x, n))
        return lambda: window.rounds(d.x)

    return make


def cases(rows: int) -> Iterator[Case]:
    """Every row of the table of targets."""
    data, few = Data.random(rows), rows // 10
    copied = np.empty_like(data.x)
    copies = {
        "np.copyto": Contender(lambda d, _: lambda: np.copyto(copied[: len(d.x)], d.x)),
        "x.copy()": Contender(lambda d, _: d.x.copy, compare=False),
    }
    yield Case("a plain copy", "float64", data, 1, copies)

    sizes = (10, 1_000, 100_000, 1_000_000)
    others = ("pandas", "polars", "bottleneck", "scipy")
    everyone = (*others, "DuckDB", "DataFusion")
    for n in sizes:
        goals = (Goal(3, others, "the others"), Goal(1, ("TA-Lib",), "TA-Lib"))
        yield Case("max over rows", f"random, {n:,}", data, n, over_rows("max", few), goals, truth=np.max)
    n, i = 100_000, np.arange(rows, dtype=np.float64)
    for pattern, x in (("rising", i), ("falling", -i), ("sawtooth", -(i % n))):
        on_random = {f"{OURS}, random": Contender(lambda _, n: ours(sw.max)(data, n), compare=False)}
        goals = (Goal(1, everyone, "all but TA-Lib"), Goal(1 / 1.5, tuple(on_random), "ours on random"))
        contenders = over_rows("max", few) | on_random
        yield Case("max over rows, other data", f"{pattern}, {n:,}", data.having(x), n, contenders, goals, truth=np.max)
    right = (*everyone, "TA-Lib")
    for name, factor in (("sum", 1.5), ("mean", 1.5), ("stddev", 1.0)):
        for n in sizes:
            known = {"truth": TRUTH[name], "sums": name}
            yield Case(f"{name} over rows", f"{n:,}", data, n, over_rows(name, few), (Goal(factor, right),), **known)
    for name, goal in (("max", Goal(2, right, on_two_cores=2.5)), ("sum", Goal(1.2, right))):
        known = {"timed": True, "truth": TRUTH[name], "sums": name if name == "sum" else ""}
        for n in sizes[:3]:
            words = f"{name}, about {n:,} rows"
            yield Case("a time window", words, data, n * GAP, over_times(name, few), (goal,), **known)
    for name in ("max", "sum"):
        for frame, n in (("rows", 1_000), ("time", 1_000 * GAP * KEYS)):
            words = "1,000 rows" if frame == "rows" else "about 1,000 rows of time"
            known = {"timed": frame == "time", "keyed": True, "truth": TRUTH[name]}
            known["sums"] = name if name == "sum" else ""
            goals = (Goal(2, ("polars",), "polars"),)
            yield Case(f"by {KEYS:,} keys", f"{name}, {words}", data, n, by_keys(name, frame), goals, **known)
    functions = ("pandas numba", "pandas Python", "polars")
    for name in CUSTOM:
        for n in (1_000, 100_000):
            goals = (Goal(0.9, ("by hand",), "by hand"), Goal(100, functions, "their functions"))
            yield Case(
                "operators that no peer has", f"{name}, {n:,}", data, n, custom(name, n), goals, truth=CUSTOM[name][2]
            )
    n, small = 1 << 14, data.head(max(rows // 50, 60_000))
    drifting = small.having(np.arange(len(small.x)) // 64 + small.keys % 16)  # a window has some 270 values
    hyperloglog = sw.hyperloglog(p=12)
    for name, used, op, rate in (
        ("bloom of 4,096 bits, one probe; all values differ", small, bloom_probe(small), 2.4),
        ("bloom of 4,096 bits, one probe; drifting values", drifting, bloom_probe(drifting), 2.4),
        ("hyperloglog, p = 12; all values differ", small, hyperloglog, 0.4),
    ):
        contenders = {OURS: Contender(ours(op)), f"{OURS} interpreted": Contender(interpreted(op), 50_000)}
        yield Case(f"sketches over {n:,} rows", name, used, n, contenders, (Goal(rate),))
    whole = data.having((data.x * 2_000).astype(np.int64) - 1_000)
    for n in (1 << 14, 1 << 20):
        for name, op, dtype in (("int64 sum", sw.sum, "int64"), ("float64 max", sw.max, "float64")):
            contenders = {
                OURS: Contender(rounds(sw.DabaLite, op, dtype)),
                f"{OURS} TwoStacksLite": Contender(rounds(sw.TwoStacksLite, op, dtype)),
            }
            used = whole if dtype == "int64" else data
            yield Case("rounds of compiled DabaLite", f"{name}, n = {n:,}", used, n, contenders, (Goal(110),))


# Measuring


def plain(answer: Any) -> Any:
    """An answer as one array of floats; several fields are added up."""
    if answer is None:
        return None
    if hasattr(answer, "column_names"):
        answer = answer.column(0).to_numpy()
    if isinstance(answer, tuple):
        return np.sum([plain(part) for part in answer], axis=0)
    if isinstance(answer, np.ma.MaskedArray):
        answer = answer.astype(np.float64).filled(np.nan)
    array = np.asarray(answer)
    if array.dtype.names:
        return plain(tuple(array[name] for name in array.dtype.names))
    return array.astype(np.float64)


def true_answer(case: Case, data: Data, i: int) -> float:
    """NumPy over the rows of one window."""
    rows = np.arange(i + 1)
    if case.keyed:
        rows = rows[data.keys[: i + 1] == data.keys[i]]
    rows = rows[data.times[rows] >= data.times[i] - case.window] if case.timed else rows[-case.window :]
    return float(case.truth(data.x[rows]))


def close(a: Any, b: Any) -> Any:
    return np.isclose(a, b, rtol=1e-9, atol=1e-12, equal_nan=True)


def judge(case: Case, answers: dict[str, Any]) -> dict[str, str]:
    """Who is wrong, and where. A peer may have no answer before the window is full."""
    wrong: dict[str, str] = {}
    mine = answers.get(OURS)
    if mine is None:
        return wrong
    data = case.data.head(len(mine))
    if case.truth:
        for i in [*np.random.default_rng(5).integers(1, len(mine), 20).tolist(), len(mine) - 1]:
            if not close(mine[i], right := true_answer(case, data, i)):
                wrong[OURS] = f"{mine[i]} at row {i:,} instead of {right}"
    for name, theirs in answers.items():
        if name == OURS or not case.contenders[name].compare:
            continue
        early = np.isnan(theirs) & (np.arange(len(theirs)) < case.window - 1)
        off = np.flatnonzero(~early & ~close(theirs, mine[: len(theirs)]))
        if not len(off):
            continue
        i = int(off[0])
        right = true_answer(case, data, i) if case.truth else theirs[i]
        for who, answer in ((OURS, mine[i]), (name, theirs[i])):
            if not close(answer, right):
                wrong[who] = f"{answer} at row {i:,} instead of {right}"
    return wrong


def traces(case: Case, make: Make) -> str:
    """Whether 1e16 or inf spoil the answers once they have left the window, on 60 rows."""
    n, at = 10, 20
    width = n - 1 if case.timed else n  # bounds included
    for strange in (1e16, np.inf):
        x = 1 + np.arange(60) % 7 / 100
        x[at] = strange
        answers = plain(make(Data(x, np.arange(60), np.zeros(60, np.int64)), width)())
        for i in range(at + n, 60):
            right = TRUTH[case.sums](x[i - n + 1 : i + 1])
            if not math.isclose(answers[i], right, rel_tol=1e-6):
                return f"{answers[i]:.4g} instead of {right:.4g} after {strange:g} has left the window"
    return ""


def run_first(case: Case) -> dict[str, tuple[float, str]]:
    """Everyone's first call, on few rows: how long it took, and what is wrong with the answers."""
    found: dict[str, tuple[float, str]] = {}
    answers: dict[str, Any] = {}
    for name, contender in case.contenders.items():
        try:
            run = contender.make(case.data.head(min(contender.rows or COMPARED, COMPARED)), case.window)
            begin = time.perf_counter()
            answer = run()
            took = time.perf_counter() - begin
            answers[name] = plain(answer)
            trouble = traces(case, contender.make) if case.sums else ""
        except Exception as error:
            answers.pop(name, None)
            took, reason = math.nan, " ".join(str(error).split())[:150]
            found[name] = took, f"fails: {type(error).__name__}: {reason}"
            continue
        found[name] = took, f"wrong: {trouble}" if trouble else ""
    for name, trouble in judge(case, answers).items():
        found[name] = found[name][0], f"wrong: {trouble}"
    return found


def touch_memory(words: int) -> None:
    """Use some memory and give it back at once, so that the one whose turn it is finds as much of it as the next.

    In a virtual machine, memory that was free for a second may have gone back to the host. To get it again took ten
    times as long where this was tried: more than the work, and always at the expense of who came after a slow one.
    """
    np.ones(words)


def measure(case: Case, repeats: int) -> list[Result]:
    """All contenders that are there, in turns. One that takes seconds has three turns at most."""
    case = case._replace(contenders={name: c for name, c in case.contenders.items() if is_there(name)})
    first = run_first(case)
    runs, took, cpu = {}, {}, {}
    for name, contender in case.contenders.items():
        if not first[name][1].startswith("fails"):
            runs[name] = contender.make(case.data.head(contender.rows or len(case.data.x)), case.window)
            took[name], cpu[name] = [], []
    for _ in range(repeats):
        for name, run in runs.items():
            if len(took[name]) >= 3 and sum(took[name]) > 5:
                continue
            gc.collect()
            touch_memory(4 * len(case.data.x))
            begin, begin_cpu = time.perf_counter(), time.process_time()
            answer = run()
            took[name].append(time.perf_counter() - begin)
            cpu[name].append(time.process_time() - begin_cpu)
            del answer
    results = []
    for name, contender in case.contenders.items():
        first_s, trouble = first[name]
        rows = min(contender.rows or len(case.data.x), len(case.data.x))
        rows -= case.window - 1 if contender.only_full else 0
        seconds = statistics.median(took[name]) if name in took else math.nan
        cores = sum(cpu[name]) / sum(took[name]) if name in took else math.nan
        ends = (min(took[name]), max(took[name])) if name in took else (math.nan, math.nan)
        rate = rows / seconds / 1e6
        results.append(Result(case.work, case.name, name, rows, seconds, *ends, rate, cores, first_s, trouble))
    return results


def is_there(name: str) -> bool:
    peer = name.partition(" ")[0]
    return peer not in PEERS or peer in peers


def source_digest() -> str:
    """What Slidewise's source says now: a run is worth nothing if it changes on the way."""
    folder = Path(sw.__file__).parent
    texts = [path.read_bytes() for path in sorted(folder.rglob("*.py"))]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:10]


class Verdict(NamedTuple):
    target: str
    measured: float
    met: bool | None


def verdicts(case: Case, results: list[Result]) -> tuple[float, list[Verdict]]:
    """How much faster than the best right peer, and each target: None where there is no such peer."""
    right = {r.contender: r.million_rows_per_s for r in results if not r.trouble}
    rate = right.get(OURS, math.nan)
    best = max((value for name, value in right.items() if not name.startswith(OURS)), default=math.nan)
    cores = next((r.cores for r in results if r.contender == OURS), 1.0)
    found = []
    for goal in case.goals:
        against = max((right[name] for name in goal.peers if name in right), default=math.nan) if goal.peers else 1.0
        measured = rate / against
        met = None if math.isnan(against) else measured >= goal.needed(cores)
        found.append(Verdict(goal.text(cores), measured, met))
    return rate / best, found


# Showing and saving


def number(value: float) -> str:
    return "·" if math.isnan(value) else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def cell(result: Result | None) -> str:
    if result is None:
        return ""
    if result.trouble.startswith("fails"):
        return "fails"
    return number(result.million_rows_per_s) + (" [red]wrong[/red]" if result.trouble else "")


def show(console: Console, work: str, group: list[tuple[Case, list[Result]]], notes: set[str]) -> None:
    names = list(dict.fromkeys(result.contender for _, results in group for result in results))
    goals = any(case.goals for case, _ in group)
    table = Table(title=f"{work}: million rows per second", title_justify="left")
    table.add_column("", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    if goals:
        for column in ("x best\nright peer", "target", "measured", "met"):
            table.add_column(column, justify="left" if column == "target" else "right")
    for case, results in group:
        by_name = {result.contender: result for result in results}
        line = [case.name, *(cell(by_name.get(name)) for name in names)]
        if goals:
            ratio, found = verdicts(case, results)
            words = {True: "[green]yes[/green]", False: "[red]no[/red]", None: "no peer"}
            line += [number(ratio), "\n".join(v.target for v in found), "\n".join(number(v.measured) for v in found)]
            line.append("\n".join(words[v.met] for v in found))
        table.add_row(*line)
    console.print(table)
    for case, results in group:
        for r in results:
            if r.trouble and (note := f"{r.contender}, {work.partition(' over')[0]}: {r.trouble}") not in notes:
                notes.add(note)
                console.print(f"  {r.contender}, {case.name}: {r.trouble}", highlight=False)
            if r.cores > 1.2:
                console.print(f"  {r.contender}, {case.name}: used {r.cores:.1f} cores", highlight=False)
    mine = [r.million_rows_per_s for _, results in group for r in results if r.contender == OURS and not r.trouble]
    if work.endswith("over rows") and mine:
        console.print(f"  {OURS}, over all sizes: the slowest is {min(mine) / max(mine):.2f} of the fastest")


def saved_rows(cases_done: list[tuple[Case, list[Result]]]) -> Iterator[list[Any]]:
    for case, results in cases_done:
        ratio, found = verdicts(case, results)
        targets = "; ".join(v.target for v in found)
        met = "; ".join({True: "yes", False: "no", None: "no peer"}[v.met] for v in found)
        for r in results:
            end = [f"{ratio:.3g}", targets, met] if r.contender == OURS else ["", "", ""]
            numbers = [f"{value:.4g}" for value in r[4:10]]
            yield [r.work, r.case, r.contender, r.rows, *numbers, r.trouble, *end]


def plot(cases_done: list[tuple[Case, list[Result]]], machine: str) -> Path:
    """A panel for each kind of work, with a bar for each contender, on a logarithmic scale."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    works = list(dict.fromkeys(case.work for case, _ in cases_done if case.goals))
    names = list(dict.fromkeys(r.contender for case, results in cases_done if case.goals for r in results))
    palette = (*pyplot.get_cmap("tab10").colors, *pyplot.get_cmap("Set2").colors)
    colours = dict(zip(names, palette, strict=False))
    figure, axes = pyplot.subplots(-(-len(works) // 3), 3, figsize=(17, 4.6 * -(-len(works) // 3)), squeeze=False)
    for axis in axes.flat[len(works) :]:
        axis.set_visible(False)
    for axis, work in zip(axes.flat, works, strict=False):
        group = [(case, results) for case, results in cases_done if case.work == work]
        here = list(dict.fromkeys(r.contender for _, results in group for r in results))
        height = 0.85 / len(here)
        for y, (_, results) in enumerate(group):
            for r in results:
                at = y + (here.index(r.contender) - (len(here) - 1) / 2) * height
                wrong = {"hatch": "////", "alpha": 0.5} if r.trouble else {}
                axis.barh(at, r.million_rows_per_s, height, color=colours[r.contender], **wrong)
        axis.set_yticks(range(len(group)), [case.name for case, _ in group], fontsize=8)
        axis.invert_yaxis()
        axis.set_xscale("log")
        axis.set_title(work, fontsize=10)
        axis.grid(axis="x", alpha=0.3)
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=colours[name]) for name in colours]
    figure.legend(handles, list(colours), loc="lower right", fontsize=9, ncols=2)
    figure.suptitle(f"Million rows per second, one thread; hatched: wrong answers\n{machine}", fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 0.97))
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / "rolling.png"
    figure.savefig(path, dpi=110)
    return path


# Starting up

FIRST_RESULT = """
import time, numpy, numba
begin = time.perf_counter()
import slidewise as sw
sw.rolling(numpy.arange(10_000.0), sw.max, rows=1_000)
print(time.perf_counter() - begin)
"""


def show_start(console: Console, repeats: int) -> None:
    """What importing costs, and how long processes take to their first result when kernels are or are not on disk."""
    imports: dict[str, list[float]] = {"pass": [], "import slidewise": []}
    for _ in range(repeats):
        for code, took in imports.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True)
            took.append(time.perf_counter() - begin)
    cost = 1_000 * (statistics.median(imports["import slidewise"]) - statistics.median(imports["pass"]))
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"SLIDEWISE_CACHE_DIR": folder}
        run = [sys.executable, "-c", FIRST_RESULT]
        firsts = [
            float(subprocess.run(run, check=True, env=environment, capture_output=True, text=True).stdout)
            for _ in range(repeats + 1)
        ]
    second = statistics.median(firsts[1:])
    table = Table(title="starting up", title_justify="left")
    for column in ("", "measured", "target", "met"):
        table.add_column(column, justify="left" if not column else "right")
    table.add_row("import slidewise", f"{cost:.0f} ms", "150 ms", "yes" if cost < 150 else "no")
    table.add_row("first result after import numba, kernels compiled", f"{firsts[0]:.2f} s", "", "")
    table.add_row("the same in a second process", f"{second:.2f} s", "1 s", "yes" if second < 1 else "no")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000, help="rows of the arrays (10 million)")
    parser.add_argument("--quick", action="store_true", help="a million rows and two turns, and nothing is saved")
    parser.add_argument("--first-result", action="store_true", help="only the time to start up")
    options = parser.parse_args()
    rows, repeats = (1_000_000, 2) if options.quick else (options.rows, 5)
    if rows < COMPARED:
        parser.error(f"--rows must be at least {COMPARED:,}")
    console = make_console(width=170)
    packages = ["numpy", "numba", *(module.partition(".")[0] for module in PEERS.values() if module != "talib")]
    machine = (
        describe_machine([*packages, "TA-Lib"]) + f", {os.cpu_count()} cores, source {(source := source_digest())}"
    )
    console.print(machine, highlight=False)
    if options.first_result:
        show_start(console, repeats)
        return
    begin = time.perf_counter()
    sw.rolling(np.arange(10_000.0), sw.max, rows=1_000)
    console.print(f"first result in this process after {time.perf_counter() - begin:.2f} s", highlight=False)
    missing = load_peers()
    if missing:
        console.print(f"missing: {', '.join(missing)}", highlight=False)
    console.print(
        f"{rows:,} rows, the median of {repeats} turns, everyone on one thread (POLARS_MAX_THREADS, DuckDB's threads "
        f"and DataFusion's target_partitions are 1).\nDuckDB and DataFusion: on {rows // 10:,} rows. Functions for "
        f"pandas and polars: on {FULL_WINDOWS:,} full windows. "
        f"Sketches: on {max(rows // 50, 60_000):,} rows, interpreted on 50,000.",
        highlight=False,
    )
    with console.status("starting up"):
        show_start(console, repeats)
    planned = list(cases(rows))
    done: list[tuple[Case, list[Result]]] = []
    group: list[tuple[Case, list[Result]]] = []
    notes: set[str] = set()
    for i, case in enumerate(planned, 1):
        if group and group[0][0].work != case.work:
            show(console, group[0][0].work, group, notes)
            group = []
        with console.status(f"{i} of {len(planned)}: {case.work}, {case.name} (a quarter of an hour in all)"):
            group.append((case, measure(case, repeats)))
        done.append(group[-1])
    show(console, group[0][0].work, group, notes)
    reached = [v.met for case, results in done for v in verdicts(case, results)[1] if v.met is not None]
    console.print(f"{sum(reached)} of {len(reached)} targets met", highlight=False)
    shaken = [r.slowest_s / r.fastest_s for _, results in done for r in results if r.contender == OURS]
    shaken = [ratio for ratio in shaken if not math.isnan(ratio)]
    console.print(
        f"our slowest turn took {statistics.median(shaken):.1f} x the fastest in the median case, at worst "
        f"{max(shaken):.1f} x; load average {os.getloadavg()[1]:.1f}",
        highlight=False,
    )
    if source_digest() != source:
        sys.exit("Slidewise's source changed during the run: figures may be of different versions, nothing is saved")
    if not options.quick:
        fields = [*Result._fields, "x_best_right_peer", "target", "met"]
        say_saved(console, [save_csv("rolling.csv", machine, fields, saved_rows(done)), plot(done, machine)])


if __name__ == "__main__":
    main()
