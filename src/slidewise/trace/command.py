"""`slidewise trace`: the arguments of the command line, what they record, and where it is shown."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from slidewise.errors import UnsuitableOperatorError
from slidewise.trace.operations import PAPER, Operation, TraceError, parse, random_operations, scheduled_operations
from slidewise.trace.record import Trace, from_json, operator_of, record, to_json
from slidewise.trace.views.catalogue import VIEWS, view_of
from slidewise.trace.views.view import AlgorithmView

EXAMPLE = "slidewise trace daba-lite --operator maxcount 'insert 4 5 3; evict 2; insert 6'"


def add_arguments(parser: ArgumentParser) -> None:
    """The arguments of `slidewise trace`."""
    parser.add_argument("algorithm", nargs="?", help="daba-lite and the like; several with commas between; or all")
    parser.add_argument("operations", nargs="?", help="'insert 4 5 3; evict 2; insert 6' (the paper's example)")
    parser.add_argument("--operator", metavar="NAME", help="maxcount, concat, ...; several with commas between")
    parser.add_argument("--file", metavar="FILE", help="read the operations from a file; - is standard input")
    parser.add_argument("--random", type=_steps, metavar="N", help="N random steps instead")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which random steps (1)")
    parser.add_argument("--every-case", action="store_true", help="a short trace that visits every case")
    parser.add_argument("--recorded", metavar="FILE", help="show a trace that was recorded with --json")
    parser.add_argument("--json", metavar="FILE", help="write the recorded trace")
    parser.add_argument("--svg", metavar="FILE", help="draw a figure like the paper's, one row for each step")
    parser.add_argument("--png", metavar="FILE", help="the same as PNG (needs the extra 'plots')")
    parser.add_argument("--html", metavar="FILE", help="write a page to step through")


def run(options: Namespace) -> None:
    """Record, then write the files that were asked for; without any, print into the terminal."""
    trace = _trace(options)
    written: list[str] = []
    if options.json:
        written.append(_write(options.json, to_json(trace) + "\n"))
    if options.svg:
        from slidewise.trace.drawing.svg import to_svg

        written.append(_write(options.svg, to_svg(trace)))
    if options.png:
        from slidewise.trace.drawing.png import to_png

        written.append(_write(options.png, to_png(trace)))
    if options.html:
        from slidewise.trace.drawing.page import to_html

        written.append(_write(options.html, to_html(trace)))
    if not written:
        from slidewise.trace.drawing.terminal import show

        show(trace)
    for path in written:
        sys.stdout.write(f"wrote {path}\n")


def _trace(options: Namespace) -> Trace:
    sources = {
        "the operations": options.operations is not None,
        "--file": options.file is not None,
        "--random": options.random is not None,
        "--every-case": options.every_case,
        "--recorded": options.recorded is not None,
    }
    named = [name for name, is_given in sources.items() if is_given]
    if len(named) > 1:
        raise TraceError(f"{' and '.join(named)} both say what to trace; give one of them, as in {EXAMPLE}")
    if options.recorded is not None:
        if options.algorithm is not None or options.operator is not None:
            raise TraceError("--recorded has its algorithms and operators in the file; leave them out, or record anew")
        return from_json(_read(options.recorded))
    views = _views(options.algorithm)
    operators = _operators(options.operator, views)
    columns = max(max(int(operator_of(name).arity()[0]), 1) for name in operators)
    return record([view.name for view in views], _operations(options, views, columns), operators)


def _operations(options: Namespace, views: list[AlgorithmView], columns: int) -> list[Operation]:
    if options.random is not None:
        return random_operations(options.random, options.seed, columns)
    if options.every_case:
        return scheduled_operations(_join([view.schedule for view in views]), columns)
    if options.operations is not None:
        return parse(options.operations)
    if options.file is not None:
        return parse(_read(options.file))
    piped = "" if sys.stdin is None or sys.stdin.isatty() else sys.stdin.read()
    return parse(piped if piped.strip() else PAPER)


def _views(names: str | None) -> list[AlgorithmView]:
    if names is None:
        return [VIEWS["daba-lite"]]
    if names == "all":
        return list(VIEWS.values())
    if " " in names.strip():
        raise TraceError(f"the algorithm comes first, and {names!r} is none; write it as in {EXAMPLE}")
    return list({view.name: view for view in map(view_of, names.split(","))}.values())


def _operators(names: str | None, views: list[AlgorithmView]) -> list[str]:
    """The operators' names; without any, the first one that all algorithms serve."""
    if names is not None:
        return list(dict.fromkeys(names.split(",")))
    for name in ("maxcount", "max", "sum"):
        if all(_serves(view, name) for view in views):
            return [name]
    return ["maxcount", "max", "sum"]


def _serves(view: AlgorithmView, name: str) -> bool:
    try:
        view.make(operator_of(name))
    except UnsuitableOperatorError:
        return False
    return True


def _join(schedules: list[str]) -> str:
    """Schedules one behind the other, each of them from an empty window on."""
    words: list[str] = []
    for schedule in dict.fromkeys(schedules):
        words += schedule.split()
        left = sum(map(int, schedule.split()))
        if left:
            words.append(f"-{left}")
    if len(set(schedules)) == 1:
        return schedules[0]
    return " ".join(words)


def _read(path: str) -> str:
    if path == "-":
        return sys.stdin.read()
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise TraceError(f"{path} cannot be read: {reason}; name a text file, or - for standard input") from None


def _write(path: str, content: str | bytes) -> str:
    try:
        Path(path).write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise TraceError(f"{path} cannot be written: {error.strerror}; name a file in a folder that exists") from None
    return path


def _steps(text: str) -> int:
    from argparse import ArgumentTypeError

    if not text.isdecimal() or not 1 <= int(text) <= 1_000:
        raise ArgumentTypeError(f"from 1 to 1000 steps can be traced, not {text!r}")
    return int(text)
