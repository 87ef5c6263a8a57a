"""Functions of expressions against Spark SQL's: they differ exactly where the table says so, and the page has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession
from spark_functions import ALL, OVERFLOW, PAGE, Compared, in_spark, with_table

from slidewise.expressions.expression import call
from slidewise.expressions.functions.catalogue import BY_NAME
from slidewise.expressions.functions.function import ValueOverflow
from slidewise.expressions.functions.row_times import NAMES as TIME_COLUMNS
from slidewise.expressions.over_rows import row_function

HOW = "run: python tests/spark_functions.py"


def name_of(compared: Compared) -> str:
    """The function's name in the catalogue."""
    return compared.function if compared.function in BY_NAME else compared.function.split()[0]


def here(compared: Compared, row: tuple[Any, ...]) -> Any:
    """Our answer."""
    zone = ("Europe/Berlin",) if compared.function == "hour in a zone" else ()
    of = row_function(call(name_of(compared), *row, *zone), lambda _leaf: lambda _row, _answers: None)
    try:
        return of({}, ())
    except ValueOverflow:
        return OVERFLOW


def shown(value: Any) -> tuple[str, str]:
    return type(value).__name__, repr(value)


def test_differences_are_those_that_are_told(spark: SparkSession, conf: Callable[[dict[str, str]], None]) -> None:
    conf({"spark.sql.ansi.enabled": "false", "spark.sql.session.timeZone": "America/New_York"})
    cells = [(compared, row, i < len(compared.same)) for compared in ALL for i, row in enumerate(compared.rows())]
    columns = [f"{in_spark(compared, row)} AS c{i}" for i, (compared, row, _) in enumerate(cells)]
    (answers,) = spark.sql(f"SELECT {', '.join(columns)}").collect()
    wrong = []
    for (compared, row, same), there in zip(cells, answers, strict=True):
        ours = here(compared, row)
        if (shown(ours) == shown(there)) != same:
            wrong.append(f"{compared.function} of {row}: {ours!r} here, {there!r} in Spark")
    assert not wrong, "\n".join(wrong)


def test_every_function_is_compared() -> None:
    assert {name_of(compared) for compared in ALL} == BY_NAME.keys() - TIME_COLUMNS  # which no text of a user's names


def test_the_page_has_the_table() -> None:
    page = PAGE.read_text()
    assert page == with_table(page), HOW
