"""Operators as things users make, bind, compare and read about."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import slidewise as sw
from slidewise.kernels.passes.spanning import spanning
from slidewise.operators import CATALOGUE
from slidewise.operators.examples import example
from slidewise.operators.table import markdown_table
from slidewise.operators.traits import Takes
from slidewise.windows import Duration, Window


def test_an_operator_of_ones_own_from_four_plain_functions() -> None:
    maxcount = sw.operator(
        name="maxcount",
        identity=(-math.inf, 0),
        lift=lambda x: (x, 1),
        combine=lambda a, b: a if a[0] > b[0] else b if a[0] < b[0] else (a[0], a[1] + b[1]),
        lower=lambda s: s[1],
    )
    sw.check_laws(maxcount, samples=[3, 1, 3])
    window = sw.DabaLite(maxcount)
    for x in (4, 5, 5, 1):
        window.insert(x)
    assert window.query() == 2
    assert sw.DabaLite(maxcount).query() == 0


def test_inputs_are_read_off_lift() -> None:
    def lift(price: float, amount: float, discount: float = 0.0) -> float:
        return price * amount - discount

    sales = sw.operator(name="sales", identity=0.0, lift=lift, combine=lambda a, b: a + b)
    assert sales.inputs == ("price", "amount", "discount?")
    assert sales.arity() == (2, 3)
    assert sw.operator(name="f", identity=0.0, lift=float, combine=max).arity()[1] == 1
    assert sw.operator(name="all", identity=0, lift=lambda *xs: len(xs), combine=max).inputs == ("xs...",)
    window = sw.DabaLite(sales)
    window.insert(2.0, 3.0)
    window.insert(1.0, None)
    assert window.query() == 6.0


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": ""}, "name is text"),
        ({"combine": 3}, "combine must be a function, not 3"),
        ({"inverse": 3}, "inverse must be a function"),
        ({"encode": tuple}, "encode and decode go together"),
        ({"commutative": "no"}, "commutative is True or False"),
        ({"combine": lambda a: a}, "combine takes two states"),
    ],
)
def test_what_is_no_operator(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        sw.operator(**{"name": "x", "identity": 0, "combine": max, **wrong})


def test_binding_columns_makes_plain_data() -> None:
    aggregate = sw.max("temp").over("10 minutes")
    assert aggregate == sw.max("temp").over("600s")
    assert hash(aggregate) == hash(sw.max("temp").over("600s"))
    assert aggregate != sw.max("temp").over("10 minutes", closed="both")
    assert (aggregate.operator, aggregate.columns) == (sw.max, ("temp",))
    assert aggregate.window == Window(last=Duration.of("10 minutes"))
    assert sw.count().columns == ()
    assert sw.hyperloglog(p=12)("user") == sw.hyperloglog("user")
    assert sw.hyperloglog(p=13)("user") != sw.hyperloglog("user")
    assert sw.max("temp") != aggregate
    assert aggregate != sw.max("temp")
    assert len({sw.max("temp"), sw.max("temp"), aggregate}) == 2


@pytest.mark.parametrize(
    "text",
    [
        "sw.max('temp').over('10 minutes')",
        "sw.argmax('name', 'temp').over(rows=5, closed='left')",
        "sw.mean('x').where('ok').over('7 days', closed='both', at_least=3)",
        "sw.sum('x').over('all')",
        "sw.count().over(2.5)",
        "sw.bloom(bits=64, hashes=2)('user').over('90 seconds')",
    ],
)
def test_repr_reads_like_what_was_written(text: str) -> None:
    aggregate = eval(text, {"sw": sw})
    assert repr(aggregate) == text
    assert eval(repr(aggregate), {"sw": sw}) == aggregate


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (sw.max, r"takes the columns \(x\), but got 0"),
        (lambda: sw.argmax("x"), r"takes the columns \(x, y\), but got 1"),
        (lambda: sw.max(3), "takes names of columns"),
        (lambda: sw.quantile(0.9).over("1h"), r"no column yet; .*: sw.quantile\(q=0.9, .*\)\('x'\).over\(...\)$"),
        (lambda: sw.max([1, 2, 3]), r"sw\.rolling or a SWAG"),
        (lambda: sw.max("x", size=3), "has no parameters, but got size$"),
        (lambda: sw.median(approximate=0.01), r"has no parameters, but got approximate; sw\.quantile takes that"),
        (
            lambda: sw.quantile(0.99, "ms"),
            r"'ms'; a column is named in a second call: sw\.quantile\(0\.99\)\('ms'\)",
        ),
        (lambda: sw.quantile("ms", 0.99), r"not 'ms'; a column is named in a second call"),
        (lambda: sw.quantile(1.5), r"such as 0\.99, not 1\.5$"),
        (sw.bloom, r"write sw.bloom for its defaults, sw.bloom\(bits=4096, hashes=4\)"),
        (lambda: sw.hyperloglog(q=3), r"is made with \(p\) first"),
        (lambda: sw.hyperloglog("user", p=3), "made with"),
        (lambda: sw.max("x").over("1h").over("2h"), "has a window already"),
        (lambda: sw.max("x").over("1h").where("ok"), "where stands before over"),
        (lambda: sw.max("x").where("ok").where("fine"), "has a condition already"),
        (lambda: sw.max("x").where(True), "name of a boolean column"),
        (lambda: sw.max("x").over(), "either a length"),
    ],
)
def test_mistakes_in_an_aggregate(write: Any, message: str) -> None:
    with pytest.raises(sw.SlidewiseError, match=message):
        write()


def test_operators_are_equal_by_name_and_parameters_where_built_in() -> None:
    assert sw.bloom(bits=64, hashes=2) == sw.bloom(hashes=2, bits=64)
    assert len({sw.bloom(bits=64, hashes=2), sw.bloom(hashes=2, bits=64)}) == 1
    assert sw.bloom(bits=64, hashes=2) != sw.bloom
    own = {"name": "max", "identity": None, "combine": max}
    assert sw.operator(**own) != sw.operator(**own)
    assert sw.operator(**own) != sw.max


def test_the_table_has_a_row_for_every_operator() -> None:
    rows = {row.operator.partition("(")[0]: row for row in sw.operators_table()}
    assert list(rows) == [operator.name for operator in CATALOGUE]
    assert (rows["max"].selective, rows["max"].invertible) == ("yes", "no")
    assert rows["argmax"].inputs == "x, y"
    assert rows["countmin"].invertible == "yes"
    assert rows["hyperloglog"].error.startswith("standard error")
    for row in rows.values():
        assert all(row), row
        assert "any" not in (row.output, row.state), f"{row.operator} does not say what it gives or keeps"
    assert len(markdown_table().splitlines()) == len(CATALOGUE) + 2


def test_aggregates_are_immutable() -> None:
    with pytest.raises(AttributeError):
        sw.max.name = "min"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        sw.max("x").columns = ("y",)


def test_no_state_is_ever_pickled() -> None:
    """Machine code alone is: it is code whatever its format, and lies in a folder that is verified to be the user's."""
    pickles = {path.name for path in Path(sw.__file__).parent.rglob("*.py") if "import pickle" in path.read_text()}
    assert pickles == {"machine_code.py"}


def test_a_quantile_without_its_share_is_refused() -> None:
    with pytest.raises(sw.SlidewiseError, match=r"quantile has to be made first; write sw.quantile\(0.99\)\('x'\)"):
        sw.quantile("x")
    assert sw.quantile(0.5)("x").operator == sw.quantile(0.5)


@pytest.mark.parametrize(
    ("name", "hint"), [("std", "; did you mean 'stddev'?"), ("meen", "; did you mean 'mean'?"), ("z", "")]
)
def test_names_that_are_not_there(name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as error:
        getattr(sw, name)
    assert str(error.value) == f"module 'slidewise' has no attribute {name!r}{hint}"


def test_the_table_says_what_a_stream_reads_of_a_large_window() -> None:
    """A stream goes by one state for a window's middle where there are passes over such windows."""
    for row, operator in zip(sw.operators_table(), CATALOGUE, strict=True):
        aggregate = example(operator)
        if aggregate is None:  # its answers are objects; a stream has no column for them
            continue
        kind = "bool" if operator.traits.takes is Takes.BOOLS else "float64"
        timed = aggregate.operator.goes_by_time(len(aggregate.columns))  # then columns of the time are behind them
        columns = int(operator.arity()[1]) if timed else len(aggregate.columns)
        passes = spanning(aggregate.operator, (kind,) * columns)
        assert (row.stream == "constant") is (operator.traits.counts_rows or passes is not None), row.operator
