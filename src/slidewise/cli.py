"""The command line: `slidewise operators`, `slidewise demo`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import slidewise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit code."""
    parser = argparse.ArgumentParser(prog="slidewise", description=slidewise.__doc__)
    parser.add_argument("--version", action="version", version=f"slidewise {slidewise.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="command", required=True)

    operators = commands.add_parser("operators", help="list the operators and what they claim")
    operators.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    operators.set_defaults(run=_operators)

    demo = commands.add_parser("demo", help="watch a window slide, step by step")
    demo.add_argument("--seconds-per-step", type=_seconds, default=0.0, metavar="S", help="pause after each step")
    demo.set_defaults(run=_demo)

    options = parser.parse_args(arguments)
    try:
        options.run(options)
    except BrokenPipeError:
        sys.stderr.close()
    except KeyboardInterrupt:
        return 130
    return 0


def _operators(options: argparse.Namespace) -> None:
    from slidewise.operators.table import OperatorRow, markdown_table, operators_table

    if options.markdown:
        sys.stdout.write(markdown_table())
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console.width = 240
    columns = OperatorRow._fields if console.width >= 160 else OperatorRow._fields[:3]
    table = Table(*columns, box=SIMPLE_HEAD)
    for row in operators_table():
        table.add_row(*row[: len(columns)])
    console.print(table)
    if len(columns) < len(OperatorRow._fields):
        console.print("A wider terminal shows also " + ", ".join(OperatorRow._fields[3:]) + "; so does --markdown.")


def _demo(options: argparse.Namespace) -> None:
    from slidewise.tour import tour

    tour(pause=options.seconds_per_step)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 60:
        raise argparse.ArgumentTypeError(f"a pause takes from 0 to 60 seconds, not {text!r}")
    return seconds


if __name__ == "__main__":
    raise SystemExit(main())
