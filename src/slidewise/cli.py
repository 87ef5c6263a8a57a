"""The command line: `operators`, `cache`, `warm`, `run`, `audit`, `state`, `demo`, `tour`, `trace`, `bench`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import slidewise
from slidewise.errors import SlidewiseError
from slidewise.trace.command import add_arguments as add_trace_arguments

DIFFERS, FAILED = 1, 2  # an audit's exit status where answers differ, and where there is none; a state's likewise
ROWS_LOST = 3  # a job's exit status where it is done, and more rows are lost for their times than it accepts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit code."""
    parser = argparse.ArgumentParser(prog="slidewise", description=slidewise.__doc__)
    parser.add_argument("--version", action="version", version=f"slidewise {slidewise.__version__}")
    commands = parser.add_subparsers(title="commands", metavar="command", required=True, parser_class=_Parser)

    operators = commands.add_parser("operators", help="list the operators and what they claim")
    operators.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    operators.add_argument(
        "--plot", metavar="NAME", help="draw what an operator gives over the last rows of a small series; all: each one"
    )
    operators.add_argument("--out", metavar="FILE", help="with --plot: the picture, as .svg or .png (NAME.svg)")
    operators.set_defaults(run=_operators)

    cache = commands.add_parser("cache", help="print the folder in which compiled code is kept")
    cache.set_defaults(run=_cache)

    warm = commands.add_parser("warm", help="compile what a definition needs into the cache, ahead of the first answer")
    warm.add_argument("file", nargs="?", metavar="FILE", help="a definition or a job, as TOML (all built-in operators)")
    warm.add_argument(
        "--type",
        action="append",
        default=[],
        type=_setting,
        metavar="COLUMN=TYPE",
        help="a column's type, as Spark or Arrow calls it: amount=double",
    )
    warm.add_argument("--rows", metavar="ROWS", help="the columns' types are those of this file: Parquet, CSV ...")
    warm.add_argument("--processes", type=_limit, metavar="N", help="how many compile at once (one for each core)")
    warm.set_defaults(run=_warm)

    tour = commands.add_parser("tour", help="watch a window slide, step by step")
    tour.add_argument("--seconds-per-step", type=_seconds, default=0.0, metavar="S", help="pause after each step")
    tour.set_defaults(run=_tour)

    trace = commands.add_parser("trace", help="see an algorithm work, in the terminal, a figure or a page")
    add_trace_arguments(trace)
    trace.set_defaults(run=_trace)

    run = commands.add_parser("run", help="run a job on Spark from a file")
    run.add_argument("job", metavar="job.toml", help="the job: source, cleaning, definition, sink")
    run.add_argument("--stream", action="store_true", help="run it over a stream, as its [stream] says, until SIGTERM")
    run.add_argument(
        "--metrics",
        type=_port,
        metavar="PORT",
        help="with --stream: serve its numbers for Prometheus on this port of 127.0.0.1 (0: any free one)",
    )
    for end in ("source", "sink"):
        run.add_argument(
            f"--{end}-option",
            action="append",
            default=[],
            type=_setting,
            metavar="KEY=VALUE",
            help=f"with --stream: an option of the {end}, also one that a job file cannot set",
        )
    run.set_defaults(run=_run)

    audit = commands.add_parser("audit", help="compare what was served with what a job's source gives, with a report")
    audit.add_argument("job", metavar="job.toml", help="the job: source, cleaning, definition")
    audit.add_argument("--served", required=True, metavar="FILE", help="the log: keys, times of requests, and answers")
    audit.add_argument("--at", metavar="COLUMN", help="the log's time (the labels', or the definition's own)")
    audit.add_argument(
        "--key", action="append", default=[], type=_setting, metavar="KEY=COLUMN", help="a key's name in the log"
    )
    audit.add_argument(
        "--column", action="append", default=[], type=_setting, metavar="NAME=COLUMN", help="an aggregate's name there"
    )
    audit.add_argument(
        "--tolerance", type=_share, default=0.0, metavar="X", help="by which share floats may differ (0)"
    )
    audit.add_argument("--limit", type=_limit, default=1_000, metavar="N", help="differences kept of a column (1000)")
    audit.add_argument("--report", metavar="FILE", help="the page that is written (audit.html in the job's sink)")
    audit.set_defaults(run=_audit, failed=FAILED)

    state = commands.add_parser("state", help="look inside a stream's checkpoint: keys, bytes, waiting rows, damage")
    state.add_argument("checkpoint", metavar="CHECKPOINT", help="the checkpointLocation of a streaming query")
    state.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="VALUE",
        help="show a key's windows and their answers; COLUMN=VALUE for each where a key has several columns",
    )
    state.add_argument(
        "--check", action="store_true", help="verify every page and every structure; status 1 if damaged"
    )
    state.add_argument("--json", action="store_true", help="print it all as JSON")
    state.add_argument("--largest", type=_limit, default=10, metavar="N", help="how many of the largest keys (10)")
    state.add_argument("--plot", metavar="FILE", help="draw bytes by key and waiting rows, as .png or .svg")
    state.add_argument("--definition", metavar="FILE", help="the definition, or a job, as TOML (the checkpoint's own)")
    state.add_argument("--operator", type=int, metavar="N", help="which operator with state, where there are several")
    state.set_defaults(run=_state, failed=FAILED)

    demo = commands.add_parser("demo", help="a million events of manufacturing equipment on Spark, with a report")
    demo.add_argument("file", nargs="?", help="a file of the DEBS 2012 challenge, instead of made events")
    demo.add_argument("--out", default="slidewise-demo", metavar="FOLDER", help="where all goes (slidewise-demo)")
    demo.add_argument("--events", type=_count, default=1_000_000, metavar="N", help="how many to make (1000000)")
    demo.set_defaults(run=_demo)

    bench = commands.add_parser("bench", help="run the paper's experiments again, with a report")
    bench.add_argument("what", choices=["paper"], help="which experiments")
    bench.add_argument("--quick", action="store_true", help="smaller sizes: about five minutes on two cores")
    bench.add_argument("--out", default="slidewise-paper", metavar="FOLDER", help="where all goes (slidewise-paper)")
    bench.add_argument("--resume", action="store_true", help="go on with a run that was stopped")
    bench.add_argument("--data", metavar="FILE", help="events: a file of the DEBS 2012 challenge, or Parquet")
    bench.add_argument("--floats", action="store_true", help="sums of floats, too")
    bench.add_argument("--others", action="store_true", help="algorithms that the paper did not run, too")
    bench.set_defaults(run=_bench)

    for command in (run, audit, state):
        whose = "definition's" if command is state else "job's"
        command.add_argument(
            "--allow-imports",
            action="store_true",
            help=f"import the modules that the {whose} own operators are in, also from its folder; this runs their "
            "code",
        )
    for command in (run, audit, demo):
        command.add_argument("--overwrite", action="store_true", help="replace results that are there")
    for command in (run, audit, state, demo):
        command.add_argument("--master", metavar="URL", help="Spark's master (the job's own, or local[*])")
        command.add_argument(
            "--conf", action="append", default=[], type=_setting, metavar="KEY=VALUE", help="a setting of Spark's"
        )
        command.add_argument("--verbose", action="store_true", help="show Spark's log, and errors in full")
    for command in (run, audit, state):
        command.add_argument(
            "--ship", action="store_true", help="send Slidewise to Spark's executors, and check what they have"
        )
    for command in (run, demo):
        command.add_argument(
            "--replay",
            action=argparse.BooleanOptionalAction,
            default=command is demo,
            help="stream the rows through the definition too, and compare",
        )

    options = parser.parse_args(arguments)
    try:
        return options.run(options) or 0
    except SlidewiseError as error:
        sys.stderr.write(f"slidewise: {error}\n")
        return int(getattr(options, "failed", 1))
    except BrokenPipeError:
        sys.stderr.close()
    except KeyboardInterrupt:
        return 130
    return 0


class _Parser(argparse.ArgumentParser):
    """A parser that finds a trace's operations behind its options too; argparse finds no optional argument there."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        options, rest = super().parse_known_args(args, namespace)
        if rest and not rest[0].startswith("-") and getattr(options, "operations", "") is None:
            options.operations = rest.pop(0)
        return options, rest


def _cache(options: argparse.Namespace) -> None:
    from slidewise.kernels.compiler.cache import cache_folder

    folder = cache_folder()
    sys.stdout.write(f"{folder.path if folder else 'none: code is compiled anew in each process'}\n")


def _warm(options: argparse.Namespace) -> int:
    from slidewise.pipeline.warming.command import WarmSettings, warm_command

    return warm_command(WarmSettings(options.file, dict(options.type), options.rows, options.processes))


def _operators(options: argparse.Namespace) -> None:
    from slidewise.operators.table import OperatorRow, markdown_table, operators_table

    if options.out is not None and options.plot is None:
        raise SlidewiseError("--out is where --plot draws; give --plot NAME too")
    if options.plot is not None:
        from pathlib import Path

        from slidewise.trace.operator_plots import draw_operators

        path = Path(options.out or f"{options.plot}.svg")
        names = draw_operators(options.plot, path)
        sys.stdout.write(f"{path}: {', '.join(names)}\n")
        return
    if options.markdown:
        sys.stdout.write(markdown_table())
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console.width = 280
    columns = OperatorRow._fields if console.width >= 160 else OperatorRow._fields[:3]
    table = Table(*columns, box=SIMPLE_HEAD)
    for row in operators_table():
        table.add_row(*row[: len(columns)])
    console.print(table)
    if len(columns) < len(OperatorRow._fields):
        console.print("A wider terminal shows also " + ", ".join(OperatorRow._fields[3:]) + "; so does --markdown.")


def _tour(options: argparse.Namespace) -> None:
    from slidewise.tour import tour

    tour(pause=options.seconds_per_step)


def _trace(options: argparse.Namespace) -> None:
    from slidewise.trace.command import run

    run(options)


def _run(options: argparse.Namespace) -> int:
    from slidewise.pipeline.commands import RunSettings, run_file

    if options.stream:
        from slidewise.pipeline.stream.command import StreamSettings, stream_file

        wanted = StreamSettings(options.metrics, dict(options.source_option), dict(options.sink_option))
        return ROWS_LOST if stream_file(options.job, RunSettings.of(options), wanted) else 0
    for name in ("metrics", "source_option", "sink_option"):
        if getattr(options, name) not in (None, []):
            raise SlidewiseError(f"--{name.replace('_', '-')} is for streams; give --stream too")
    return ROWS_LOST if run_file(options.job, RunSettings.of(options)).warning else 0


def _audit(options: argparse.Namespace) -> int:
    from slidewise.pipeline.audit_command import AuditSettings, audit_file
    from slidewise.pipeline.commands import RunSettings

    return 0 if audit_file(options.job, RunSettings.of(options), AuditSettings.of(options)) else DIFFERS


def _state(options: argparse.Namespace) -> int:
    from slidewise.pipeline.commands import RunSettings
    from slidewise.pipeline.state.command import StateSettings, state_command

    allowed, sent = options.allow_imports, options.ship
    settings = RunSettings(options.master, dict(options.conf), verbose=options.verbose, imports=allowed, ship=sent)
    return state_command(StateSettings.of(options), settings)


def _demo(options: argparse.Namespace) -> int:
    from slidewise.pipeline.commands import RunSettings, demo

    return ROWS_LOST if demo(options.out, options.file, options.events, RunSettings.of(options)).warning else 0


def _bench(options: argparse.Namespace) -> None:
    from pathlib import Path

    from slidewise.evaluation.commands import BenchOptions, bench_paper

    bench_paper(
        BenchOptions(Path(options.out), options.quick, options.resume, options.data, options.floats, options.others)
    )


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"a setting is written key=value, not {text!r}")
    return name, value


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 50_000_000:
        raise argparse.ArgumentTypeError(f"from 1 to 50000000 events can be made, not {text!r}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"a port is a number from 0 to 65535, not {text!r}")
    return int(text)


def _limit(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a limit is a number of rows, from 1 on, not {text!r}")
    return int(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise argparse.ArgumentTypeError(f"a tolerance is a share, from 0 to less than 1, not {text!r}")
    return share


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
