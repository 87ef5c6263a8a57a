"""Queries on a busy machine: one for which Python comes too late is started again, no other is."""

from __future__ import annotations

import pytest

from slidewise.pipeline.spark_session import ATTEMPTS, run_stream

LATE = "[STREAM_FAILED] Query terminated with exception: Python worker failed to connect back. SQLSTATE: XXKST"


class Query:
    """A query that ends with each of these errors in turn, and then well."""

    def __init__(self, *errors: str) -> None:
        self.errors = list(errors)
        self.started = 0

    def start(self) -> Query:
        self.started += 1
        return self

    def awaitTermination(self) -> None:
        if self.errors:
            raise RuntimeError(self.errors.pop(0))


def test_a_query_for_which_python_came_too_late_starts_again() -> None:
    query = Query(LATE, LATE)
    assert run_stream(query.start) is query
    assert query.started == 3


@pytest.mark.parametrize(("errors", "started"), [([LATE] * 9, ATTEMPTS), (["division by zero"], 1)])
def test_a_query_that_fails_each_time_or_otherwise_says_so(errors: list[str], started: int) -> None:
    query = Query(*errors)
    with pytest.raises(RuntimeError, match=errors[0][:10].replace("[", r"\[")):
        run_stream(query.start)
    assert query.started == started
