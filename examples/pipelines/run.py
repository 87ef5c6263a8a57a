"""Run the pipeline over made-up payments, in build/examples/pipelines, and compare its tables with the definition's."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import slidewise as sw
from slidewise.spark.java import provide

FOLDER = Path(__file__).resolve().parent
BUILD = FOLDER.parents[1] / "build" / "examples" / "pipelines"
sys.path.insert(0, str(FOLDER.parent / "fraud"))
from payments import make  # noqa: E402

card = sw.Sliding.from_toml((FOLDER / "card.toml").read_text())


def prepare() -> None:
    """A project of its own, in an empty folder."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(FOLDER, BUILD, ignore=shutil.ignore_patterns("__pycache__"))
    spec = BUILD / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("@folder@", BUILD.as_uri()))
    (BUILD / "payments").mkdir()


def run_pipeline() -> None:
    """Run `spark-pipelines` on two cores of this machine; Hive's catalog knows the tables of the run before."""
    provide()  # Java
    metastore = f"jdbc:derby:;databaseName={BUILD}/metastore;create=true"
    settings = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": metastore,
        "spark.sql.warehouse.dir": f"{BUILD}/tables",
    }
    words = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    program = Path(sys.executable).with_name("spark-pipelines")
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    subprocess.run([program, "run", "--remote", "local[2]", *words], cwd=BUILD, env=environment, check=True)


def compare(payments: pa.Table) -> bool:
    """Whether the tables have the definition's answers; a stream's last minute waits for what may still come."""
    order = [("card", "ascending"), ("booked_at", "ascending")]
    expected, equal = card(payments).sort_by(order), True
    for name in ("features", "arriving_features"):
        found = pq.read_table(BUILD / "tables" / name)
        found = found.select(expected.column_names).cast(expected.schema).sort_by(order)
        known = {(row["card"], row["booked_at"]): row for row in expected.to_pylist()}
        equal &= all(known.get((row["card"], row["booked_at"])) == row for row in found.to_pylist())
        missing = expected.num_rows - found.num_rows
        equal &= missing == 0 if name == "features" else 0 <= missing < 100
        print(f"{name}: {found.num_rows:,} rows, {missing} more wait for their minute to end")
    print(f"alerts: {pq.read_table(BUILD / 'tables' / 'alerts').num_rows} rows")
    print("All rows are those of the table." if equal else "Some rows DIFFER from the table's.")
    return equal


def main(parts: int = 2) -> bool:
    """Run the pipeline once for each part of the payments, of which each is a new file."""
    prepare()
    payments, equal = make(days=4, cards=200).payments, True
    step = -(-len(payments) // parts)
    for part in range(parts):
        pq.write_table(payments.slice(part * step, step), BUILD / "payments" / f"{part}.parquet")
        run_pipeline()
        equal &= compare(payments.slice(0, (part + 1) * step))
    return equal


if __name__ == "__main__":
    sys.exit(not main())
