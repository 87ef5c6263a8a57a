"""The page docs/architecture.md is true: rooms, arrows, words and the walks of a row; and importing stays light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import slidewise

PACKAGE = Path(slidewise.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
DOTTED = re.compile(r"slidewise(?:\.[a-z_0-9]+)+")


@cache
def modules() -> dict[str, Path]:
    """Every module by its full name; a package is the file that makes it one."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def imports_of(path: Path) -> set[str]:
    """The modules that a file imports, those that it names in strings for Spark's workers included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.update(name for name in DOTTED.findall(node.value) if name in modules())
    return {name for name in names if name.split(".")[0] == "slidewise" and "." in name}


def room_of(name: str) -> str:
    return name.split(".")[1]


def arrows() -> dict[str, set[str]]:
    """Which rooms each room imports, as the code has it; `errors` and `arrays`, which all may import, left out."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, path in modules().items():
        if name not in ("slidewise", "slidewise.__main__"):
            found[room_of(name)] |= {room_of(other) for other in imports_of(path)} - {room_of(name), "errors", "arrays"}
    return {room: others for room, others in found.items() if room not in ("errors", "arrays")}


def section(title: str) -> str:
    """A chapter of the page."""
    return PAGE.read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]


def rows_of(title: str) -> list[list[str]]:
    """The rows of a chapter's table, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_arrows_are_those_of_the_page() -> None:
    """Both ways: no import that the page does not show, and no arrow on the page that no import needs."""
    shown = {
        room: set(re.findall(r"`(\w+)`", others))
        for rooms, others in rows_of("The arrows")
        for room in re.findall(r"`(\w+)`", rooms)
    }
    actual = arrows()
    assert shown.keys() == actual.keys()
    for room, others in sorted(actual.items()):
        assert others <= shown[room], f"{room} imports {others - shown[room]}, which docs/architecture.md does not show"
        assert others >= shown[room], f"{room} imports none of {shown[room] - others}, which docs/architecture.md shows"


def test_arrows_point_one_way() -> None:
    graph = arrows()
    while graph:
        free = [room for room, others in graph.items() if not others & graph.keys()]
        assert free, f"these rooms import one another: {sorted(graph)}"
        graph = {room: others for room, others in graph.items() if room not in free}


def test_lanes_do_not_import_one_another() -> None:
    lanes = {"spark", "live", "tables", "rolling"}
    for lane in lanes:
        assert not arrows()[lane] & lanes - {lane}, lane
    assert not arrows()["engine"] & {*lanes, "sliding", "pipeline"}


def test_state_of_a_shard_does_not_know_the_query() -> None:
    queries = tuple(f"slidewise.spark.{room}" for room in ("stream", "batch", "worker"))
    for name, path in modules().items():
        if name.startswith(("slidewise.spark.state.", "slidewise.spark.sort.")):
            wrong = [other for other in imports_of(path) if other.startswith(queries)]
            assert not wrong, f"{name} imports {wrong}"


def test_the_tree_is_that_of_the_page() -> None:
    """Every room and every module at the top stands in the page's tree, and nothing that is not there."""
    lines = re.findall(r"^ {2,}([\w/]+(?:\.py)?)(?:  |$)", section("The tree"), re.MULTILINE)
    shown = {line.strip("/").removesuffix(".py").split("/")[-1] for line in lines}
    tops = {room_of(name) for name in modules() if name != "slidewise"} - {"__main__"} | {"__init__"}
    inner = {path.parent.name for path in modules().values()} - {"slidewise"}
    assert shown == tops | inner


def test_rooms_can_be_seen_at_a_glance() -> None:
    sizes = Counter(path.parent for path in PACKAGE.rglob("*.py") if path.name not in ("__init__.py", "__main__.py"))
    for folder, size in sizes.items():
        assert size <= 16, f"{folder} has {size} modules: divide it into rooms"


def test_no_two_classes_have_one_name() -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for name, path in modules().items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(name)
    assert not {name: places for name, places in found.items() if len(places) > 1}


def test_words_of_the_glossary_are_in_the_code() -> None:
    """Each word of the glossary names where it lives, and lives there."""
    for word, _, place in rows_of("Words"):
        for path in re.findall(r"`([\w/]+(?:\.py)?)`", place):
            assert (PACKAGE / path).exists(), f"{word}: there is no {path}"


def test_few_parameters_are_any() -> None:
    """A type that says nothing is the exception: fewer than 15 of 100 parameters, names that stand for Any included."""
    trees = [ast.parse(path.read_text()) for path in modules().values()]
    anything = {"Any"}
    for node in (node for tree in trees for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)):
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Name) and node.value.id == "Any":
            anything.add(target.id)
    types: list[ast.expr | None] = []
    for node in (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        given += filter(None, (node.args.vararg, node.args.kwarg))
        types += [parameter.annotation for parameter in given if parameter.arg not in ("self", "cls")]
    untold = sum(isinstance(kind, ast.Name) and kind.id in anything for kind in types)
    assert untold < 0.15 * len(types), f"{untold} of {len(types)} parameters are Any"


def test_importing_slidewise_imports_no_heavy_package() -> None:
    heavy = ["numba", "pyspark", "pandas", "polars", "matplotlib", "pyarrow", "numpy", "rich"]
    code = f"import sys, slidewise; print([name for name in {heavy!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# What the reference lists of a public function: left out where the length of a module is counted.
LISTED = re.compile(
    r"^ *(?:Args|Returns|Raises):\n(?:(?: {4,}.*)?\n)*?(?= *(?:>>>|\"\"\"|Args:|Returns:|Raises:))", re.MULTILINE
)


def test_modules_can_be_read_in_one_sitting() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert len(LISTED.sub("", path.read_text()).splitlines()) < 450, path


def test_the_library_does_not_print() -> None:
    for path in PACKAGE.rglob("*.py"):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        assert not any(isinstance(call, ast.Name) and call.id == "print" for call in calls), path
