"""Each function of expressions beside Spark SQL's: the same arguments for both, and in words where they differ.

The table of the page docs/expressions.md is made of this: python tests/spark_functions.py
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

NAN, INF = float("nan"), float("inf")
LOW, HIGH = -(2**63), 2**63 - 1
NIGHT = datetime(2024, 3, 31, 0, 30, tzinfo=UTC)
NOON = datetime(2024, 3, 31, 12, 0, 0, 250_000, tzinfo=UTC)
OVERFLOW = "overflow"


@dataclass
class Compared:
    """A function: how it is written here and in Spark SQL with arguments {0}, {1}, ...; rows of them; and differences.

    `differ` has, for each difference in words, the rows of arguments that show it; in all other rows both answers are
    the same, types included.
    """

    function: str
    here: str
    spark: str
    same: list[tuple[Any, ...]]
    differ: dict[str, list[tuple[Any, ...]]] = field(default_factory=dict)

    def rows(self) -> list[tuple[Any, ...]]:
        return [*self.same, *(row for rows in self.differ.values() for row in rows)]


OVERFLOWS = "an overflow is an error; in Spark it wraps around"
IN_UTC = "in UTC; in Spark in the session's zone"
ARITHMETIC = (
    Compared(
        "+", "{0} + {1}", "{0} + {1}", [(1, 2), (1.5, 2), (None, 1), (INF, -INF), (NAN, 1.0)], {OVERFLOWS: [(HIGH, 1)]}
    ),
    Compared("-", "{0} - {1}", "{0} - {1}", [(1, 2), (0.5, 2), (1, None)], {OVERFLOWS: [(LOW, 1)]}),
    Compared(
        "- of times",
        "{0} - {1}",
        "timestampdiff(MICROSECOND, {1}, {0}) / 1e6D",
        [(NOON, NIGHT), (NIGHT, NOON), (NOON, None)],
    ),
    Compared("*", "{0} * {1}", "{0} * {1}", [(3, -4), (0.1, 3), (0.0, -1.0)], {OVERFLOWS: [(HIGH, 2)]}),
    Compared("/", "{0} / {1}", "{0} / {1}", [(1, 2), (1, 0), (0.0, 0.0), (1.5, INF), (7, -2.0), (None, 0)]),
    Compared(
        "//",
        "{0} // {1}",
        "{0} div {1}",
        [(7, 2), (7, 0), (-6, 2), (None, 2)],
        {
            "rounds towards minus infinity, also floats; Spark's `div` cuts off, and takes whole numbers only": [
                (-7, 2),
                (7, -2),
            ],
            OVERFLOWS: [(LOW, -1)],
        },
    ),
    Compared(
        "%",
        "{0} % {1}",
        "{0} % {1}",
        [(7, 3), (7, 0), (7.5, 2.0), (-6, 3)],
        {
            "has the sign of y, as in Python; in Spark that of x": [(-7, 3), (7, -3), (-7.5, 2.0)],
            "the rest of a finite x by an infinite y of the other sign is y": [(-1.0, INF)],
        },
    ),
    Compared("**", "{0} ** {1}", "power({0}, {1})", [(2, 10), (2.0, 0.5), (0.0, -1.0), (-8.0, 0.5), (NAN, 0.0)]),
    Compared("neg", "-{0}", "-{0}", [(5,), (-0.5,), (None,)], {OVERFLOWS: [(LOW,)]}),
    Compared("abs", "abs({0})", "abs({0})", [(-5,), (-0.5,), (-INF,)], {OVERFLOWS: [(LOW,)]}),
    Compared("sqrt", "sqrt({0})", "sqrt({0})", [(4,), (2.0,), (-1,), (INF,), (None,)]),
    Compared(
        "log",
        "log({0})",
        "ln({0})",
        [(1,), (10.0,), (INF,), (NAN,)],
        {"log(0) is -inf, and NaN of a negative number; both null in Spark": [(0,), (0.0,), (-1.5,)]},
    ),
    Compared(
        "exp",
        "exp({0})",
        "exp({0})",
        [(0,), (710.0,), (-INF,)],
        {"the last bit, which is that of the C library here and of Java's there": [(1.0,)]},
    ),
    Compared(
        "floor",
        "floor({0})",
        "floor({0})",
        [(7,), (None,)],
        {"a float stays a float; in Spark it becomes a bigint, NaN 0": [(1.5,), (-1.5,), (NAN,)]},
    ),
    Compared(
        "ceil",
        "ceil({0})",
        "ceil({0})",
        [(7,), (None,)],
        {
            "a float stays a float; in Spark it becomes a bigint, the greatest one if need be": [
                (1.5,),
                (-1.5,),
                (1e300,),
            ]
        },
    ),
    Compared(
        "round",
        "round({0}, {1})",
        "round({0}, {1})",
        [(2.5, 0), (-2.5, 0), (0.125, 2), (1.25, 1), (7, 2), (NAN, 2), (INF, 2), (2.675, 2)],
        {
            "scales the float as it is, 1.005 being less than it says: 1.0; Spark rounds its decimal digits: 1.01": [
                (1.005, 2)
            ],
            "keeps the sign of zero": [(-0.2, 0)],
        },
    ),
    Compared(
        "sign",
        "sign({0})",
        "sign({0})",
        [(2.5,), (-INF,), (NAN,), (0.0,)],
        {
            "a whole number stays whole; in Spark it becomes a double": [(-3,)],
            "sign(-0.0) is 0.0; in Spark -0.0": [(-0.0,)],
        },
    ),
)
COMPARISON = (
    Compared(
        "==",
        "{0} == {1}",
        "{0} = {1}",
        [
            (1, 1),
            (1, 1.5),
            (NAN, NAN),
            (0.0, -0.0),
            (None, 1),
            ("a", "A"),
            (True, False),
            (NIGHT, NOON),
            (2**53 + 1, 2.0**53),
        ],
    ),
    Compared("!=", "{0} != {1}", "{0} != {1}", [(1, 1), (NAN, NAN), (NAN, 1.0), (None, None)]),
    Compared(
        "<", "{0} < {1}", "{0} < {1}", [(1, 2), (1.0, NAN), (NAN, INF), ("Z", "a"), ("\uffff", "𝒳"), (NIGHT, NOON)]
    ),
    Compared("<=", "{0} <= {1}", "{0} <= {1}", [(2, 2), (NAN, NAN), ("b", "a")]),
    Compared(">", "{0} > {1}", "{0} > {1}", [(2, 1), (NAN, INF), (1.0, NAN), (None, 1)]),
    Compared(">=", "{0} >= {1}", "{0} >= {1}", [(2, 2), (NAN, NAN), (0.0, -0.0)]),
    Compared(
        "between",
        "{0} between {1} and {2}",
        "{0} BETWEEN {1} AND {2}",
        [(2, 1, 3), (4, None, 3), (2, None, 3), (NAN, 1.0, NAN)],
    ),
    Compared(
        "in",
        "{0} in ({1}, {2})",
        "{0} IN ({1}, {2})",
        [(1, 1, 2), (3, 1, 2), (None, 1, 2), (NAN, NAN, 1.0), (0.0, -0.0, 5.0), ("a", "b", "a")],
        {"each member is compared by itself; Spark makes floats of all if one is": [(2**53 + 1, 2**53, 0.5)]},
    ),
)
LOGIC = (
    Compared("and", "{0} and {1}", "{0} AND {1}", [(True, True), (None, False), (None, True), (True, False)]),
    Compared("or", "{0} or {1}", "{0} OR {1}", [(False, False), (None, True), (None, False)]),
    Compared("not", "not {0}", "NOT {0}", [(True,), (None,)]),
    Compared("is null", "{0} is null", "{0} IS NULL", [(None,), (NAN,), ("",)]),
    Compared(
        "coalesce", "coalesce({0}, {1})", "coalesce({0}, {1})", [(1, 2), (None, 2), (None, None), (1, 2.5), ("a", "b")]
    ),
    Compared(
        "case",
        "case when {0} then {1} else {2} end",
        "CASE WHEN {0} THEN {1} ELSE {2} END",
        [(True, 1, 2), (None, 1, 2), (False, "a", None), (True, 1, 2.5)],
    ),
)
CASTS = (
    Compared(
        "int",
        "int({0})",
        "CAST({0} AS BIGINT)",
        [(1.9,), (-1.9,), (True,), ("12",), (" -7 ",), ("abc",), ("1_0",), (str(HIGH + 1),), ("1e3",), ("",)],
        {
            "text with a point is null; Spark cuts it off": [("1.5",)],
            "NaN and infinities are null; in Spark 0 and the greatest numbers": [(NAN,), (INF,), (-INF,)],
            "a float beyond 64 bits is an error; in Spark the greatest number": [(9.3e18,)],
        },
    ),
    Compared(
        "float",
        "float({0})",
        "CAST({0} AS DOUBLE)",
        [(1,), (True,), ("1.5",), (" 1e3 ",), ("nan",), ("-inf",), ("Infinity",), ("abc",), ("1_0",), ("",)],
        {"'1d' and '1f' are null; Java's floats may end so": [("1d",), ("1f",)]},
    ),
    Compared(
        "text",
        "text({0})",
        "CAST({0} AS STRING)",
        [(1,), (1.5,), (True,), ("a",), (-0.0,)],
        {
            "floats as Python writes them, 1e+16, nan and inf; in Spark 1.0E16, NaN and Infinity": [
                (1e16,),
                (1e-5,),
                (NAN,),
                (INF,),
            ]
        },
    ),
)
TEXTS = (
    Compared("length", "length({0})", "char_length({0})", [("",), ("straße",), ("𝒳y",), (None,)]),
    Compared("lower", "lower({0})", "lower({0})", [("ÄB",), ("ΑΣ",), (None,), ("İ",)]),
    Compared("upper", "upper({0})", "upper({0})", [("äb",), ("straße",), ("ﬁ",)]),
    Compared(
        "contains", "contains({0}, {1})", "contains({0}, {1})", [("abc", "b"), ("abc", ""), ("a.c", "."), (None, "a")]
    ),
    Compared("starts_with", "starts_with({0}, {1})", "startswith({0}, {1})", [("abc", "ab"), ("abc", "b"), ("", "")]),
)
TIMES = (
    Compared("hour", "hour({0})", "hour({0})", [(None,)], {IN_UTC: [(NIGHT,), (NOON,)]}),
    Compared(
        "hour in a zone",
        "hour({0}, 'Europe/Berlin')",
        "hour(convert_timezone('Europe/Berlin', CAST({0} AS TIMESTAMP_NTZ)))",
        [(None,), (NIGHT,), (NOON,), (datetime(2024, 3, 31, 1, tzinfo=UTC),)],
    ),
    Compared(
        "weekday",
        "weekday({0})",
        "weekday({0})",
        [(date(2024, 3, 31),), (date(1970, 1, 1),), (NOON,)],
        {IN_UTC: [(NIGHT,)]},
    ),
    Compared("day", "day({0})", "day({0})", [(date(2024, 2, 29),), (NOON,)], {IN_UTC: [(NIGHT,)]}),
)
ALL = (*ARITHMETIC, *COMPARISON, *LOGIC, *CASTS, *TEXTS, *TIMES)


_SQL_TYPES = {
    int: "BIGINT",
    float: "DOUBLE",
    str: "STRING",
    bool: "BOOLEAN",
    datetime: "TIMESTAMP",
    date: "DATE",
}


def in_spark(compared: Compared, row: tuple[Any, ...]) -> str:
    """A function of a row's arguments as Spark SQL."""
    return compared.spark.format(*[_literal(compared, row, i) for i in range(len(row))])


def _literal(compared: Compared, row: tuple[Any, ...], place: int) -> str:
    """An argument as Spark SQL; a null has the type of the others, or of the argument in another row."""
    value = row[place]
    if value is None:
        beside = row[1:] if compared.function == "case" and place else (None,)
        others = [*(other[place] for other in compared.rows()), *beside, *row]
        return f"CAST(NULL AS {_SQL_TYPES[type(next(other for other in others if other is not None))]})"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, int):
        return str(value) if compared.function == "round" and place == 1 else f"({value}L)"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value:%Y-%m-%d %H:%M:%S.%f}Z'"
    return f"DATE '{value}'" if isinstance(value, date) else f"'{value}'"


PAGE = Path(__file__).parents[1] / "docs" / "expressions.md"
BEGIN, END = "<!-- functions -->", "<!-- /functions -->"


def markdown_table() -> str:
    """The table of functions for the page: how each is written, here and in Spark SQL, and where they differ."""
    lines = ["| function | here | Spark SQL | where they differ |", "| --- | --- | --- | --- |"]
    for compared in ALL:
        here, spark = (text.format("x", "y", "z") for text in (compared.here, compared.spark))
        lines.append(f"| {compared.function} | `{here}` | `{spark}` | {'; '.join(compared.differ)} |")
    return "\n".join(lines) + "\n"


def with_table(page: str) -> str:
    """A page with the table between its marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{markdown_table()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text()))
