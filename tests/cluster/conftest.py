"""One cluster for all its tests, whose workers' Python has no Slidewise, and sessions on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.standalone import ABSENT, NAMED, Cluster, environment_of, imports, standalone, thin_python

from slidewise.errors import SlidewiseError
from slidewise.spark.java import provide


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.cluster)


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of the workers: it cannot import Slidewise, and has what Slidewise needs."""
    found = thin_python(tmp_path_factory.mktemp("python"), ABSENT)
    assert not imports(found, "slidewise")
    assert imports(found, "numba, numpy, pyarrow, pandas, google.protobuf")
    return found


@pytest.fixture(scope="session")
def cluster(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of one core; the first knows another Python under one name than the second does."""
    try:
        provide()
    except SlidewiseError as none:
        pytest.skip(str(none))
    folder = tmp_path_factory.mktemp("cluster")
    lacking = thin_python(tmp_path_factory.mktemp("lacking"), (*ABSENT, "numba", "pandas"))
    environment = environment_of(folder, SLIDEWISE_CACHE_DIR=os.environ["SLIDEWISE_CACHE_DIR"])
    with standalone(folder, environment, workers=0) as found:
        for number, named in enumerate((python, lacking)):
            programs = folder / f"bin{number}"
            programs.mkdir()
            (programs / NAMED).write_text(f'#!/bin/sh\nexec {named} "$@"\n')
            (programs / NAMED).chmod(0o755)
            found.add_worker(number, {"PATH": f"{programs}{os.pathsep}{environment['PATH']}"})
        yield found
