"""`make check` without Spark: a few cases in every lane, against the semantics. The other tests run them all."""

from __future__ import annotations

from pathlib import Path

import pytest
from check.few_cases import BEATS, ROWS
from lanes import LANES, Case, assert_same, direct, run

pytestmark = pytest.mark.filterwarnings("ignore:operator 'words' cannot be compiled")


@pytest.mark.parametrize("case", [ROWS, BEATS], ids=lambda case: case.name)
@pytest.mark.parametrize("lane", LANES)
def test_a_few_cases_in_every_lane(lane: str, case: Case) -> None:
    if case is BEATS and lane in ("compiled", "revised"):
        pytest.skip("sw.rolling and late='revise' have no beats")
    assert_same(case, run(lane, [case])[case.name], direct(case.definition, case.table))


def test_make_check_runs_what_covers_every_lane() -> None:
    """This file takes the lanes from `LANES`; those of Spark, and a job file, have tests that the Makefile names."""
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    selected = makefile.partition("CHECK := ")[2].partition("\n\n")[0].replace("\\\n", "").split()
    assert "tests/check" in selected
    spark = (Path(__file__).parent / "test_spark.py").read_text()
    for lane in ("on_batch", "on_a_stream", "in_a_job_file"):
        assert f"def test_a_few_cases_{lane}(" in spark
    for name in selected:
        assert (Path(__file__).parents[2] / name).exists(), name
