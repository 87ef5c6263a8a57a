"""Answers of built-in operators over few rows, pickled: as machine code gives them, or plain Python where `plain`.

python tests/kernels/plain_cases.py FILE SEED [plain]
"""

from __future__ import annotations

import os
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import slidewise as sw
from slidewise.operators import CATALOGUE
from slidewise.operators.traits import Takes

ROWS = 150
STRANGE = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e16, -1e16, 5e-324, 1e308, -1e308]
TABLE = ("max", "sum", "mean", "stddev", "median", "first", "value_range")


def main(file: str, seed: int, plain: bool) -> None:
    compiled = watch_compiling()
    if plain:
        from slidewise.kernels.compiler import tiers

        del os.environ[tiers.VARIABLE]
        tiers.BUDGET = float("inf")
    answers = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for name, call in cases(np.random.default_rng(seed)):
            try:
                answers[name] = bits(call())
            except sw.SlidewiseError as error:
                answers[name] = (type(error).__name__, str(error))
    Path(file).write_bytes(pickle.dumps((answers, compiled)))


def watch_compiling() -> list[str]:
    """The names of functions that are compiled from now on."""
    from numba.core import event

    compiled: list[str] = []

    class Listener(event.Listener):  # type: ignore[misc,unused-ignore]
        def on_start(self, event: Any) -> None:
            compiled.append(event.data["dispatcher"].py_func.__qualname__)

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Listener())
    return compiled


def cases(rng: np.random.Generator) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Operators with a compiled form or an order, over series of each kind and windows of each kind; and a table."""
    times = np.cumsum(rng.integers(0, 4, ROWS))
    keys = rng.integers(0, 7, ROWS)
    for op in CATALOGUE:
        traits = op.traits
        if op.unset or not (traits.form or traits.order_statistic) or op.goes_by_time(max(1, len(op.inputs))):
            continue
        for kind, make in KINDS.items():
            if (traits.takes is Takes.BOOLS) is not (kind == "flags"):
                continue
            inputs = tuple(make(rng) for _ in op.inputs)
            series = inputs if len(inputs) > 1 else inputs[0]
            for window, options in {
                "a row": {"rows": 1},
                "rows": {"rows": 40},
                "all rows": {"rows": 2 * ROWS},
                "time": {"times": times, "last": 25},
                "time on both ends, three at least": {"times": times, "last": 9, "closed": "both", "at_least": 3},
                "a delay": {"times": times, "last": 9, "delay": 4},
                "a grain": {"times": times, "last": 20, "grain": 6},
            }.items():
                yield f"{op.name}, {kind}, {window}", lambda op=op, s=series, o=options: sw.rolling(s, op, **o)
        yield f"{op.name}, by key", lambda op=op, s=series: sw.rolling(s, op, rows=5, by=keys)
    table = pa.table(
        {"k": pa.array(keys).cast(pa.string()), "ts": pa.array(rng.permutation(times)), "x": KINDS["with nulls"](rng)}
    )
    for over in ({"over": 30}, {"rows": 6}, {"over": "all"}):
        columns = {name: getattr(sw, name)("x").over(over.get("over"), rows=over.get("rows")) for name in TABLE}
        definition = sw.Sliding(by="k", on="ts", n=sw.count().over(over.get("over"), rows=over.get("rows")), **columns)
        yield f"a table, {over}", lambda definition=definition: definition(table)


def some(rng: np.random.Generator, values: Any) -> Any:
    return np.where(rng.random(ROWS) < 0.03, rng.choice(STRANGE, ROWS), values)


KINDS: dict[str, Callable[[np.random.Generator], Any]] = {
    "decimals": lambda rng: rng.integers(-1_000, 1_000, ROWS) / 100,
    "normal": lambda rng: rng.normal(size=ROWS),
    "strange": lambda rng: some(rng, rng.normal(size=ROWS)),
    "both zeros": lambda rng: rng.choice([0.0, -0.0, 1.0], ROWS),
    "far off": lambda rng: 1e12 + rng.normal(size=ROWS),
    "few values": lambda rng: np.repeat(rng.choice([0.1, 0.7, -3.0], ROWS // 10), 10),
    "with nulls": lambda rng: pa.array(rng.normal(size=ROWS), mask=rng.random(ROWS) < 0.2),
    "integers": lambda rng: rng.integers(-9, 9, ROWS),
    "large integers": lambda rng: rng.integers(-(2**62), 2**62, ROWS),
    "flags": lambda rng: rng.random(ROWS) < 0.7,
}


def bits(answer: Any) -> Any:
    """An answer's type and bytes; every NaN is one."""
    if isinstance(answer, pa.Table):
        return {name: bits(answer[name]) for name in answer.column_names}
    if isinstance(answer, pa.ChunkedArray | pa.Array):
        return str(answer.type), [_value(x) for x in answer.to_pylist()]
    if np.ma.isMaskedArray(answer):
        return "masked", bits(answer.filled(0)), answer.mask.tobytes()
    if answer.dtype == object or answer.dtype.names:
        return str(answer.dtype), repr(answer.tolist())
    if answer.dtype.kind == "f":
        answer = np.where(np.isnan(answer), np.nan, answer)
    return str(answer.dtype), answer.tobytes()


def _value(x: Any) -> str:
    return x.hex() if isinstance(x, float) else repr(x)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), "plain" in sys.argv[3:])
