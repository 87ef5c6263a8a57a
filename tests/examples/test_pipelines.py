"""examples/pipelines: PySpark's own `spark-pipelines` runs a definition, in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark.pipelines", reason="this PySpark has no pipelines")
MODULES = {"grpcio": "grpc", "grpcio-status": "grpc_status", "zstandard": "zstandard", "pyyaml": "yaml"}
if missing := [package for package, module in MODULES.items() if importlib.util.find_spec(module) is None]:
    pytest.skip(f"spark-pipelines needs {', '.join(missing)}", allow_module_level=True)
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java, and there is none", allow_module_level=True)

FOLDER = Path(__file__).parents[2] / "examples" / "pipelines"


def test_its_tables_are_those_of_the_definition() -> None:
    """One run; the command makes two, of which the second takes up the first one's stream."""
    script = "import sys; sys.path.insert(0, sys.argv[1]); import run; sys.exit(not run.main(parts=1))"
    words = [sys.executable, "-c", script, str(FOLDER)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-5_000:]
    rows = dict(re.findall(r"^(\w+): ([\d,]+) rows", done.stdout, re.MULTILINE))
    assert {*rows} == {"features", "arriving_features", "alerts"}
    assert int(rows["alerts"].replace(",", "")) > 0
    assert "\npython examples/pipelines/run.py\n" in (FOLDER / "README.md").read_text()
