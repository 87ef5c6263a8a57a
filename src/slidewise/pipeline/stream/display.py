"""A running stream in the terminal: a table that is kept up to date, and plain lines where there is no terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic, time
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table

from slidewise.pipeline.stream.numbers import StreamNumbers

LINE_SECONDS = 10.0  # between two plain lines, at least
_BLOCKS = "▁▂▃▄▅▆▇█"


class StreamDisplay:
    """Shows the numbers of a stream while it runs; `update` may be called as often as one likes."""

    def __init__(self, console: Console, clock: Callable[[], float] = monotonic) -> None:
        self.console = console
        self._clock = clock
        self._live = Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        self._line: float | None = None  # when the last plain line was written
        self._batches = 0
        self.note = ""

    def __enter__(self) -> StreamDisplay:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, numbers: StreamNumbers) -> None:
        """Show the numbers; as a plain line only if there is something new, and the last line is some seconds old."""
        if self._live is not None:
            self._live.update(table_of(numbers, time(), self.note))
            return
        now = self._clock()
        due = self._line is None or now - self._line >= LINE_SECONDS
        if due and numbers.batches > self._batches:
            self._line, self._batches = now, numbers.batches
            self.console.print(line_of(numbers, time()), soft_wrap=True, markup=False, highlight=False)

    def say(self, note: str) -> None:
        """Show a sentence: below the table, or as a line."""
        self.note = note
        if self._live is None:
            self.console.print(note, soft_wrap=True, markup=False, highlight=False)


def table_of(numbers: StreamNumbers, now: float, note: str = "") -> Table:
    """The numbers as a table of three columns: what, how many, and how fast or how far."""
    rate_in, rate_out = numbers.rates()
    table = Table.grid(padding=(0, 3))
    table.add_column()
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    table.add_row("rows in", f"{numbers.rows_in:,}", f"{rate_in:,.0f} rows/s")
    table.add_row("rows out", f"{numbers.rows_out:,}", f"{rate_out:,.0f} rows/s")
    table.add_row("late", f"{numbers.late:,}", f"and {numbers.ahead:,} ahead" if numbers.ahead else "")
    rejected = sum(numbers.rejected.values())
    table.add_row("rejected", f"{rejected:,}", ", ".join(f"{why} {n:,}" for why, n in numbers.rejected.items()))
    table.add_row("watermark", *watermark_words(numbers, now))
    table.add_row("state", bytes_words(numbers.state_bytes), "")
    shown = [batch.seconds for batch in numbers.recent]
    name = "-" if numbers.batch is None else str(numbers.batch)
    table.add_row(f"batch {name}", f"{numbers.batch_seconds:.1f} s", sparkline(shown))
    if note:
        table.add_row(note)
    return table


def line_of(numbers: StreamNumbers, now: float) -> str:
    """The numbers as one line."""
    rate_in, rate_out = numbers.rates()
    behind = " ".join(watermark_words(numbers, now)).removeprefix("- ")
    return (
        f"batch {numbers.batch}: in {numbers.rows_in:,} ({rate_in:,.0f}/s), out {numbers.rows_out:,} "
        f"({rate_out:,.0f}/s), late {numbers.lost:,}, rejected {sum(numbers.rejected.values()):,}, "
        f"watermark {behind}, state {bytes_words(numbers.state_bytes)}, batch time {numbers.batch_seconds:.1f} s"
    )


def watermark_words(numbers: StreamNumbers, now: float) -> tuple[str, str]:
    """How far the watermark lies behind the clock, and what that number is."""
    lag = numbers.lag(now)
    return ("-", "none yet") if lag is None else (duration_words(lag), "behind the clock")


def duration_words(seconds: float) -> str:
    """Seconds in the largest unit of which there are two.

    >>> duration_words(7.25), duration_words(600), duration_words(9_000), duration_words(864_000), duration_words(-5)
    ('7.2 s', '10 min', '2.5 h', '10.0 days', '-5.0 s')
    """
    if abs(seconds) < 120:
        return f"{seconds:.1f} s"
    if abs(seconds) < 7_200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h" if abs(seconds) < 172_800 else f"{seconds / 86_400:,.1f} days"


def bytes_words(count: int) -> str:
    """Bytes in a unit that keeps the number short.

    >>> bytes_words(512), bytes_words(30_456), bytes_words(2_137_584), bytes_words(7 * 10**12)
    ('512 B', '30.5 kB', '2.1 MB', '7.0 TB')
    """
    if count < 1_000:
        return f"{count} B"
    size = float(count)
    for unit in ("kB", "MB", "GB"):
        size /= 1_000
        if size < 1_000:
            return f"{size:.1f} {unit}"
    return f"{size / 1_000:,.1f} TB"


def sparkline(values: Sequence[float]) -> str:
    """Values as a row of blocks, the highest of which is full.

    >>> sparkline([0, 1, 2, 4, 8]), sparkline([]), sparkline([0, 0])
    ('▁▂▃▅█', '', '▁▁')
    """
    top = max(values, default=0.0) or 1.0
    return "".join(_BLOCKS[min(int(value / top * (len(_BLOCKS) - 1) + 0.5), len(_BLOCKS) - 1)] for value in values)
