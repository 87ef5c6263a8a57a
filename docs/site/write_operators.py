"""Write docs/api/operators.md: each built-in operator with what it does, takes and gives, and an example that was run.

python docs/site/write_operators.py
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import slidewise as sw
from slidewise.operators import CATALOGUE

PAGE = Path(__file__).parents[1] / "api" / "operators.md"

# What each operator computes over the rows of its window, and how an example writes it.
ABOUT = {
    "sum": ("The sum.", 'sw.sum("x")'),
    "count": ("How many rows there are, or with a column how many of its values are not null.", "sw.count()"),
    "mean": ("The arithmetic mean.", 'sw.mean("x")'),
    "weighted_mean": ("The mean of `x`, each value weighted with `w`.", 'sw.weighted_mean("x", "w")'),
    "ewm_mean": (
        "The mean in which a row's weight halves with each half-life that it is older.",
        'sw.ewm_mean(halflife="1 minute")("x")',
    ),
    "ewm_sum": (
        "The sum in which a row's weight halves with each half-life that it is older.",
        'sw.ewm_sum(halflife="1 minute")("x")',
    ),
    "geomean": ("The geometric mean.", 'sw.geomean("x")'),
    "variance": ("The sample variance, by n - 1.", 'sw.variance("x")'),
    "stddev": ("The sample standard deviation, by n - 1.", 'sw.stddev("x")'),
    "skew": ("The sample skewness, without bias.", 'sw.skew("x")'),
    "kurtosis": ("The sample excess kurtosis, without bias.", 'sw.kurtosis("x")'),
    "product": ("The product.", 'sw.product("x")'),
    "max": ("The greatest value; NaN is the greatest.", 'sw.max("x")'),
    "min": ("The least value.", 'sw.min("x")'),
    "argmax": ("The `x` of the row with the greatest `y`, the first such row.", 'sw.argmax("x", "y")'),
    "argmin": ("The `x` of the row with the least `y`, the first such row.", 'sw.argmin("x", "y")'),
    "maxcount": ("How often the greatest value occurs.", 'sw.maxcount("x")'),
    "mincount": ("How often the least value occurs.", 'sw.mincount("x")'),
    "first": ("The oldest value.", 'sw.first("x")'),
    "last": ("The newest value.", 'sw.last("x")'),
    "lag": ("The value `k` rows before the newest one.", 'sw.lag(2)("x")'),
    "first_k": ("The oldest `k` values.", 'sw.first_k(2)("x")'),
    "last_k": ("The newest `k` values.", 'sw.last_k(2)("x")'),
    "value_range": ("The greatest value less the least.", 'sw.value_range("x")'),
    "delta": ("The last value less the first.", 'sw.delta("x")'),
    "increase": ("By how much a counter went up, where a fall is a restart at 0.", 'sw.increase("x")'),
    "rate": ("By how much a counter went up per second.", 'sw.rate("x")'),
    "age": ("How long before the answer's time the window's oldest row was.", "sw.age()"),
    "time_since_last": ("How long before the answer's time the window's newest row was.", 'sw.time_since_last("x")'),
    "m4": ("First, least, greatest and last value, which draw a line chart without loss.", 'sw.m4("x")'),
    "relative_variation": ("(max - min) / max.", 'sw.relative_variation("x")'),
    "bool_and": ("Whether all are true.", 'sw.bool_and("ok")'),
    "bool_or": ("Whether any is true.", 'sw.bool_or("ok")'),
    "longest_run": ("The most rows in a row whose flag is true.", 'sw.longest_run("ok")'),
    "current_run": ("How many of the newest rows in a row have a true flag.", 'sw.current_run("ok")'),
    "covariance": ("The sample covariance, by n - 1.", 'sw.covariance("x", "y")'),
    "correlation": ("Pearson's correlation.", 'sw.correlation("x", "y")'),
    "slope": ("The slope of the least-squares line of `y` on `x`, or on time in seconds.", 'sw.slope("y", "x")'),
    "intercept": ("Where the least-squares line of `y` on `x` is at x = 0.", 'sw.intercept("y", "x")'),
    "r2": ("The share of the variance of `y` that the line explains.", 'sw.r2("y", "x")'),
    "residual": ("The newest `y` less what the line gives for its `x`.", 'sw.residual("y", "x")'),
    "count_distinct": ("How many different values there are, exactly.", 'sw.count_distinct("x")'),
    "mode": ("The most frequent value.", 'sw.mode("x")'),
    "top_k": ("The `k` most frequent values with their counts.", 'sw.top_k(1)("x")'),
    "count_by": ("How often each value occurs.", 'sw.count_by("kind")'),
    "histogram": (
        "How many values lie in each bin between the edges, and beyond them.",
        'sw.histogram(edges=[3, 6])("x")',
    ),
    "entropy": ("Shannon's entropy of the values' frequencies.", 'sw.entropy("x")'),
    "bloom": ("A Bloom filter, or with `probe=` whether that value may be in the window.", 'sw.bloom(probe=5)("x")'),
    "countmin": ("A count-min sketch, which is asked for a value's `frequency`.", 'sw.countmin("x")'),
    "hyperloglog": ("About how many different values there are, in constant space.", 'sw.hyperloglog("x")'),
    "theta": ("How many different values there are, by a theta sketch.", 'sw.theta("x")'),
    "naive_bayes": ("A classifier of the window's rows, which is asked to `predict`.", 'sw.naive_bayes("kind", "ok")'),
    "median": ("The exact median.", 'sw.median("x")'),
    "quantile": ("The exact quantile of a share `q`.", 'sw.quantile(0.9)("x")'),
    "iqr": ("The interquartile range.", 'sw.iqr("x")'),
    "mad": ("The median of the distances from the median.", 'sw.mad("x")'),
    "rank": ("The row's own rank among the window's values, from 1 on.", 'sw.rank("x")'),
    "percent_rank": ("The row's own rank as a share from 0 to 1.", 'sw.percent_rank("x")'),
    "collect": ("The values themselves, oldest first.", 'sw.collect("x")'),
}

PRELUDE = '''\
import slidewise as sw
from datetime import datetime, timedelta
noon = datetime(2026, 3, 1, 12)
columns = {
    "ts": [noon + timedelta(minutes=minute) for minute in range(4)],
    "x": [4, 5, 3, 5],
    "y": [1.0, 2.0, 4.0, 3.0],
    "w": [1, 1, 2, 4],
    "ok": [True, True, False, True],
    "kind": ["food", "fuel", "food", "toys"],
}
rows = [dict(zip(columns, row)) for row in zip(*columns.values())]
def answers(aggregate):
    """The aggregate over the last three rows, at each row."""
    live = sw.Sliding(on="ts", answer=aggregate.over(rows=3)).live()
    return [live.push(row)["answer"] for row in rows]
'''

HEAD = """\
# Operators, one by one

What a window computes, one example each, over these rows; all answers are those of the last three rows.
[The table](../operators.md) has the properties of all of them, [pictures](../operators.md#pictures), and how
to make [one of your own](../operators.md#one-of-your-own).

```pycon
{prelude}

```

"""

TAIL = """\
## Of your own

::: slidewise.operator
    options:
      heading_level: 3

::: slidewise.check_laws
    options:
      heading_level: 3

::: slidewise.Operator
    options:
      heading_level: 3
      members: [__call__, per, lift_row, arity]
      filters: []

::: slidewise.operators_table
    options:
      heading_level: 3
"""


def page() -> str:
    """The whole page."""
    names: dict[str, Any] = {}
    exec(PRELUDE, names)
    text = HEAD.format(prelude=_prompts(PRELUDE))
    for operator in CATALOGUE:
        about, written = ABOUT[operator.name]
        inputs = ", ".join(name for name in operator.inputs if name != "time")
        given = operator.parameters.items()
        parameters = ", ".join(name if operator.unset else f"{name}={value!r}" for name, value in given)
        made = f"({parameters})" if parameters else ""
        text += f"## `{operator.name}` {{ #{operator.name} }}\n\n`sw.{operator.name}{made}({inputs})`. {about}\n\n"
        text += f"Gives {operator.output}. Error: {operator.error}. State: {operator.state}.\n\n"
        shown = f"answers({written})"
        if operator.name == "countmin":
            shown = f"[sketch.frequency(5) for sketch in {shown}]"
        elif operator.name == "naive_bayes":
            shown = f"[classifier.predict(True) for classifier in {shown}]"
        text += f"```pycon\n>>> {shown}\n{eval(shown, names)!r}\n\n```\n\n"
    return text + TAIL


def _prompts(code: str) -> str:
    """Code with the prompts of an interactive session."""
    lines = code.splitlines()
    first = {node.lineno for node in ast.parse(code).body}
    return "\n".join((">>> " if i in first else "... ") + line for i, line in enumerate(lines, 1)).replace("... \n", "")


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"{PAGE}: {len(CATALOGUE)} operators, slidewise {sw.__version__}")
