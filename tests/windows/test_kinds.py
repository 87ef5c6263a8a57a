"""Windows have a kind, which is asked for in a few named places: where a new kind has to say something of its own."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

import slidewise
from slidewise.engine import bounds, window_batch
from slidewise.live.batch import evaluate
from slidewise.live.panes import pane
from slidewise.windows import Keeps, Kind, Window
from slidewise.windows.ahead import AHEAD
from slidewise.windows.calendar import CALENDAR
from slidewise.windows.delayed import DELAYED
from slidewise.windows.grain import GRAIN
from slidewise.windows.limited import LIMITED
from slidewise.windows.months import MONTHS
from slidewise.windows.rows import ROWS
from slidewise.windows.running import RUNNING
from slidewise.windows.session import SESSION, SINCE
from slidewise.windows.time import TIME

PACKAGE = Path(slidewise.__file__).parent
KINDS = [ROWS, TIME, RUNNING, GRAIN, LIMITED, DELAYED, MONTHS, AHEAD, SESSION, SINCE, CALENDAR]

# Where modules tell kinds apart by what they keep of a key, and why.
DISPATCH = {
    "engine/window_batch.py": "a batch over rows, cells or states",
    "engine/window_spec.py": "a spec says whether rows ever leave",
    "live/batch/evaluate.py": "what panes hold before a batch",
    "live/panes/pane.py": "the pane of a window",
    "live/reads/get.py": "reads that need rows which have left, after a stream",
    "live/reads/get_many.py": "what many reads of a window go through",
    "live/reads/window_rows.py": "how many rows a window holds",
    "live/snapshot/snapshot.py": "the version that a snapshot needs",
    "spark/inspect/stored_windows.py": "a stream's state as that of live panes",
    "spark/state/shard_state.py": "the pages of a stream's state",
    "spark/state/warming.py": "when a window is complete after an upgrade",
    "spark/upgrade/changes.py": "what an aggregate begins with after an upgrade",
    "spark/upgrade/knowledge.py": "how far back rows are stored",
    "spark/upgrade/row_conversion.py": "rows, cells and states converted",
    "choosing.py": "the algorithm for a window",
    "definition.py": "no grain on a beat",
    "explaining.py": "the size of a state",
    "operators/aggregate.py": "no partial aggregate of an exact quantile",
}


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("windows/"):
            yield name, ast.parse(path.read_text())


def last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def asks_by_hand(node: ast.AST) -> bool:
    """Whether code compares the fields of a window, or of a spec, that tell its kind and its ends."""
    if not isinstance(node, ast.Compare):
        return False
    for side in (node.left, *node.comparators):
        if isinstance(side, ast.Attribute) and last_name(side.value) in ("window", "spec"):
            if side.attr == "closed":
                return True
            against_none = any(isinstance(other, ast.Constant) and other.value is None for other in node.comparators)
            if side.attr in ("rows", "last", "grain") and against_none:
                return True
    return False


def test_no_module_tells_kinds_apart_by_their_fields() -> None:
    asked = [f"{name}:{node.lineno}" for name, tree in modules() for node in ast.walk(tree) if asks_by_hand(node)]  # type: ignore[attr-defined]
    assert not asked, f"ask window.kind, or a property of Window, instead of its fields: {asked}"


def test_kinds_are_dispatched_in_named_places() -> None:
    told = {
        name
        for name, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Keeps"
    }
    assert told == set(DISPATCH), "say in this test, and in CONTRIBUTING, where kinds are told apart"


def test_every_kind_has_bounds_and_a_keeper() -> None:
    assert {kind.name for kind in KINDS} == set(bounds._PASSES)
    assert {subclass.name for subclass in Kind.__subclasses__()} == set(bounds._PASSES)
    for table in (window_batch._BATCHES, evaluate._STORED, pane._PANES):
        assert set(table) == set(Keeps)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("window", "kind", "words"),
    [
        (Window.of(rows=3), ROWS, "3 rows"),
        (Window.of("10 minutes"), TIME, "10 minutes"),
        (Window.of(2.5, closed="both"), TIME, "2.5"),
        (Window.of("all"), RUNNING, "everything so far"),
        (Window.of("1 hour", grain="1s"), GRAIN, "1 hour"),
        (Window.of("1 hour", rows=100), LIMITED, "1 hour, 100 rows at most"),
        (Window.of("1 quarter", zone="Europe/Berlin"), MONTHS, "3 months"),
        (Window.of(next="1 hour"), AHEAD, "the next 1 hour"),
        (Window.of("1 hour", delay="1s"), DELAYED, "1 hour, ending 1 second before the row"),
        (Window.of(gap="30 minutes"), SESSION, "the session so far, with gaps of 30 minutes at most"),
        (Window.of(since="login"), SINCE, "everything since the last row with login"),
        (Window.of("this day", zone="Europe/Berlin"), CALENDAR, "this day in Europe/Berlin"),
    ],
)
def test_a_window_knows_its_kind(window: Window, kind: Kind, words: str) -> None:
    assert window.kind is kind
    assert window.words == words
    assert pickle.loads(pickle.dumps(window)) == window
    assert pickle.loads(pickle.dumps(window)).kind is kind
