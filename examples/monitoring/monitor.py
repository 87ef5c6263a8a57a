"""One definition watches a machine twice: a job on Spark over its file, and live, line by line. Do both raise alarm?"""

import sys
import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import slidewise as sw
from slidewise.cli import main

FOLDER = Path(__file__).parent
JOB = tomllib.loads((FOLDER / "machine.toml").read_text())


def events(path: Path) -> Iterator[dict[str, Any]]:
    """The file's events, as a machine sends them: some lines are broken, and some come late."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                fields = line.decode().rstrip("\r\n").split("\t")
                if len(fields) in (56, 66):
                    at = datetime.fromisoformat(fields[0])
                    yield {"ts": at, "index": int(fields[1]), "mf03": int(fields[4])}
            except ValueError as error:
                print(f"a broken line: {error}", file=sys.stderr)


def watch(path: Path) -> list[int]:
    """The indexes of the events with an alert; says when an alarm begins and ends."""
    live = sw.Sliding.from_dict(JOB["definition"]).live(late="drop")
    alerts, alarmed = [], False
    for event in events(path):
        answer = live.push(event)
        if answer is None:  # it came after a newer one
            continue
        if answer["alert"]:
            alerts.append(event["index"])
        if bool(answer["alert"]) != alarmed:
            alarmed = not alarmed
            word = "begins to swing" if alarmed else "is calm again"
            print(f"{event['ts']:%H:%M:%S.%f} the signal {word}: {answer['swing']:.2%} around {answer['usual']:.0f}")
    print(f"live: {live.stats.answered} events, {live.stats.late} late, {len(alerts)} with an alert")
    return alerts


def both() -> bool:
    """Run the job, then watch live, and say whether both raise alarm at the same events."""
    if main(["run", str(FOLDER / "machine.toml"), "--overwrite"]):
        return False  # it has said why
    rows = pq.read_table((FOLDER / JOB["sink"]["path"] / "rows").resolve()).to_pylist()
    expected = [row["index"] for row in rows if row["alert"]]
    alerts = watch((FOLDER / JOB["source"]["path"]).resolve())
    same = "the same" if alerts == expected else "OTHERS"
    print(f"Spark: {len(rows)} events, {len(expected)} with an alert: {same}")
    return alerts == expected


if __name__ == "__main__":
    sys.exit(not both())
