"""The sentence that explains a failed job, out of what Spark says."""

from __future__ import annotations

import pytest

from slidewise.errors import InputError
from slidewise.spark.failures import reason

TRACEBACK = """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "/a/worker.py", line 18, in task
    raise {kind}("x")
{kind}: {said}
"""
JAVA = """An error occurred while calling o217.load.
: org.apache.spark.ClassNotFoundException: [DATA_SOURCE_NOT_FOUND] Failed to find the data source: x. SQLSTATE: 42K02
\tat org.apache.spark.sql.errors.QueryExecutionErrors$.dataSourceNotFoundError(QueryExecutionErrors.scala:770)
\tat org.apache.spark.sql.execution.datasources.DataSource$.lookupDataSource(DataSource.scala:726)
Caused by: java.lang.ClassNotFoundException: x.DefaultSource
\t... 46 more
"""


class Py4JJavaError(Exception):
    __module__ = "py4j.protocol"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InputError("column 'tz' not found"), "column 'tz' not found"),
        (Exception(TRACEBACK.format(kind="ValueError", said="no such day")), "ValueError: no such day"),
        (Exception(TRACEBACK.format(kind="slidewise.errors.InputError", said="a null")), "a null"),
        (
            Exception(TRACEBACK.format(kind="a.b.OddError", said="two\n  lines: ValueError: x")),
            "OddError: two\n  lines: ValueError: x",
        ),
        (
            Exception(
                "Job aborted: "
                + TRACEBACK.format(kind="KeyError", said="'first'")
                + "\n" * 2
                + "During handling of the above exception, another exception occurred:\n\n"
                + TRACEBACK.format(kind="slidewise.errors.InputError", said="second")
                + "\n\tat org.apache.spark.Something(Some.scala:1)\n\tat java.lang.Thread.run(Thread.java:840)\n"
            ),
            "second",
        ),
        (
            Exception(
                "[PYTHON_EXCEPTION] thrown: " + TRACEBACK.format(kind="ValueError", said="bad") + " SQLSTATE: 38000"
            ),
            "ValueError: bad",
        ),
        (Exception("[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03"), "Path does not exist: file:/x."),
        (
            Exception(
                "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `nope`. SQLSTATE: 42703; line 1;\n'Project\n+- Range"
            ),
            "A column `nope`.",
        ),
        (Py4JJavaError(JAVA), "Failed to find the data source: x."),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_reasons(error: Exception, said: str) -> None:
    assert reason(error) == said
