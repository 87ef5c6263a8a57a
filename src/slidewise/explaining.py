"""Explanations of definitions: for each column what runs, why, what it costs, and where a grain would cost less."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from slidewise.choosing import Choice, choose, shared_windows
from slidewise.definition import Definition
from slidewise.expressions.expression import Expression, RowColumn, leaves_of
from slidewise.html_pages import notebook_line, notebook_part, notebook_table
from slidewise.operators.aggregate import Aggregate
from slidewise.operators.operator import Operator
from slidewise.operators.traits import Quantile, Takes
from slidewise.stages import Answer
from slidewise.windows import Beats, Duration, Length, Months
from slidewise.windows.grain import most_cells
from slidewise.windows.kind import Keeps


@dataclass(frozen=True, slots=True)
class Explained:
    """One column of an explanation. `together` are the columns whose windows share one structure with `spikes=True`.

    `suggestion` is what to think about where a window would hold very many rows, or None. `feeds` are the expressions
    that are computed from it; with `hidden`, it is computed for these only, and is no column itself.
    """

    name: str
    aggregate: Aggregate
    choice: Choice
    kernel: str
    bytes_per_state: int | None
    together: tuple[str, ...] = ()
    suggestion: str | None = None
    feeds: tuple[str, ...] = ()
    hidden: bool = False

    @property
    def head(self) -> str:
        """The line above what is said of it."""
        feeds = f"   feeds {_listed(self.feeds)}" if self.feeds else ""
        return f"{self.aggregate!r}{feeds}" if self.hidden else f"{self.name} = {self.aggregate!r}{feeds}"

    @property
    def partials(self) -> int | None:
        """The most partials that a window with a grain holds; None without a grain."""
        window = self.aggregate.window
        if window is None or window.keeps is not Keeps.CELLS:
            return None
        extent = window.extent()
        return most_cells(extent.width or 0, extent.grain or 1) + extent.open_right

    @property
    def calls(self) -> str:
        """The bound on calls of the operator for one event."""
        if self.partials is None:
            return self.choice.calls
        return _OF_CELLS.get(self.choice.name, self.choice.calls)

    @property
    def state(self) -> str:
        """The size of a key's state."""
        if self.partials is not None:
            most = f"at most {self.partials:,} partials at any rate of events"
            if self.bytes_per_state is None:
                return f"{most}, whose size is the operator's own ({self.aggregate.operator.state})"
            stored, live = [self.partials * (n * self.bytes_per_state + 16) for n in (1, 2)]  # live, a SWAG has its own
            return f"{most}: {_bytes(stored)} stored, {_bytes(live)} live"
        if self.bytes_per_state is None:
            return f"{self.choice.states} states, whose size is the operator's own ({self.aggregate.operator.state})"
        window = self.aggregate.window
        assert window is not None
        if self.choice.algorithm is None:
            return _bytes(self.bytes_per_state)
        rows = window.most_rows
        if rows is not None:
            return f"at most {_bytes((rows + 2) * self.bytes_per_state + 8 * rows)}"
        return f"{self.bytes_per_state + 8} bytes for each row in the window"

    @property
    def on_a_stream(self) -> str:
        """The cost of a micro-batch for a window that does not fit into one page, where that is worth a word."""
        op = self.aggregate.operator
        if self.choice.algorithm is None:
            return ""
        if op.traits.order_statistic is not None:
            return "a batch reads its keys' whole windows, since ranks need every value"
        if op.traits.grows:
            return "a batch reads its keys' whole windows, since a state is as large as its rows"
        if self.aggregate.window is not None and self.aggregate.window.kind.looks_ahead:
            return "refused, since rows of the window come after the answer is due"
        whole = "" if self.aggregate.window is None else self.aggregate.window.kind.whole
        if whole:
            return f"a batch reads its keys' whole windows, since {whole}"
        if op.traits.spanning is not None:
            return "what a batch reads and writes does not grow with the window, since states have a bounded size"
        return ""


# With a grain: calls for an event that comes and is answered, and what is added where cells close and leave.
_OF_CELLS = {
    "DabaLite": "1 for the row that comes, 2 for the answer; 3 at most where a cell closes, 2 for each that leaves",
    "SubtractOnEvict": "1 for the row that comes, 1 for the answer; 1 where a cell closes, 1 for each that leaves",
}


class Explanation(tuple[Explained, ...]):
    """The explanation of a definition, by column: what runs, why, its worst cost, and a key's state. Prints as text.

    Columns that have the same lines are grouped, and the lines printed once. `spark` is how it runs on the DataFrame
    that was asked about, or None; `beats` are those of the definition, or None. `results` are the columns that are
    expressions over aggregates, and computed after them.
    """

    spark: Any = None
    beats: BeatCost | None = None
    results: Mapping[str, Expression] = MappingProxyType({})

    def __repr__(self) -> str:
        blocks = self._blocks()
        return "\n".join(line for heads, lines in blocks for line in (*heads, *(f"    {text}" for text in lines)))

    def _repr_html_(self) -> str:
        """The same in a notebook."""
        pieces = []
        for heads, lines in self._blocks():
            rows = [text.partition(": ") for text in lines]
            pieces += [*map(notebook_line, heads)]
            pieces.append(notebook_table([], [(name, text) if sign else ("", name) for name, sign, text in rows]))
        return notebook_part(*pieces)

    def _blocks(self) -> list[tuple[list[str], list[str]]]:
        """What is said, as headings and the lines below them."""
        blocks: list[tuple[list[str], list[str]]] = []
        if self.beats is not None:
            head, *more = str(self.beats).splitlines()
            blocks.append(([head], [line.strip() for line in more]))
        if self.spark is not None:
            blocks.append(([f"on Spark: {self.spark}"], []))
        lines = _lines if self.beats is None else self.beats.lines
        groups: dict[tuple[str, ...], list[Explained]] = {}
        for column in self:
            groups.setdefault(tuple(lines(column)), []).append(column)
        common = [line for line in next(iter(groups), ()) if len(groups) > 1 and all(line in group for group in groups)]
        notes: dict[Note, list[str]] = {}
        for column in self if self.beats is None else ():
            for note in _notes(column):
                notes.setdefault(note, []).append(column.name)
        for its_lines, members in groups.items():
            own = [note for note, of in notes.items() if of == [column.name for column in members]]
            below = [line for line in its_lines if line not in common]
            below += [f"{note.what}: {note.text}" for note in own]
            blocks.append(([column.head for column in members], below))
            notes = {note: of for note, of in notes.items() if note not in own}
        if common:
            blocks.append((["all of them"], common))
        for note, of in sorted(notes.items(), key=lambda pair: pair[0].what):
            blocks.append(([f"{note.what} for {_listed(of)}"], [note.text]))
        for name, result in self.results.items():
            blocks.append(([f"{name} = {result}"], [f"computed from: {_sources(result, self)}"]))
        return blocks

    __str__ = __repr__


def _sources(result: Expression, columns: Iterable[Explained]) -> str:
    """What an expression over aggregates is computed from, each once; aggregates that are columns by their names."""
    named = {column.aggregate.key(): column.name for column in columns if not column.hidden}
    leaves = {leaf.key(): leaf for leaf in leaves_of(result)}
    sources = [
        f"{leaf} of the row" if isinstance(leaf, RowColumn) else named.get(key, str(leaf))
        for key, leaf in leaves.items()
    ]
    return ", ".join(sources)


def _lines(column: Explained) -> list[str]:
    """The lines about a column."""
    lines = [
        f"on tables: {column.kernel}",
        f"live: {column.choice.name}, for {column.choice.why}",
        f"calls per event: {column.calls}",
        f"a key's state: {column.state}",
    ]
    window = column.aggregate.window
    note = None if window is None else window.kind.note(window)
    if note is not None:
        lines.append(note)
    return [*lines, f"on a stream: {column.on_a_stream}"] if column.on_a_stream else lines


class Note(NamedTuple):
    """A note on some columns: those that share a structure, or those of one suggestion."""

    what: str
    text: str
    together: tuple[str, ...] = ()


def _notes(column: Explained) -> list[Note]:
    notes = [] if column.suggestion is None else [Note("suggestion", column.suggestion)]
    if column.together:
        text = f"one FlatFit for these {len(column.together)} columns"
        notes.append(Note("with live(spikes=True)", text, column.together))
    return notes


def _listed(names: Sequence[str]) -> str:
    """Names, the first six of them.

    >>> _listed("abcdefgh")
    'a, b, c, d, e, f, ...'
    """
    return ", ".join([*names[:6], *(["..."] if len(names) > 6 else [])])


@dataclass(frozen=True, slots=True)
class BeatCost:
    """The cost of answers on a beat: how often, and into how many slices a key's windows are cut at most."""

    every: Length
    offset: Length | None
    slices: int

    def __str__(self) -> str:
        after = "" if self.offset is None else f", {self.offset} after the epoch"
        return (
            f"every {self.every}{after}: a row for each key and beat at which a window holds a row\n"
            f"    rows are folded into slices, at most {self.slices:,} for each key, which all windows and beats share"
        )

    def lines(self, column: Explained) -> list[str]:
        """The lines about a column."""
        op, size = column.aggregate.operator, column.bytes_per_state
        content, state = "a partial", f"at most {_bytes(self.slices * ((size or 0) + 8))}"
        calls = "2 of the operator, and at most 6 more for each beat, whatever the window"
        if size is None:
            state = f"at most {self.slices:,} states, whose size is the operator's own ({op.state})"
        if op.traits.order_statistic is not None:
            content, state = "their rows, since ranks need every value", "16 bytes for each row in the window"
            calls = "none; O(log n) steps for each event, by OrderStatistics"
        return [f"slices keep: {content}", f"calls per event: {calls}", f"a key's state: {state}"]


def explain(definition: Definition, rows: Mapping[str, int] | None = None, rate: float | None = None) -> Explanation:
    """Explain what runs for each column of a definition, and why.

    `rows` is how many rows the longest window of each column holds, where that is known, and `rate` how many events a
    key has in a second, or in one unit where times are numbers.
    """
    together = {name: tuple(names) for names in shared_windows(definition) for name in names}
    written, feeds = _written_aggregates(definition)
    explanation = Explanation(
        Explained(
            name,
            written[name],
            choose(aggregate.operator, aggregate.window),
            _kernel(aggregate),
            state_bytes(aggregate.operator),
            together.get(name, ()),
            suggestion(aggregate, (rows or {}).get(name), rate),
            tuple(feeds.get(name, ())),
            name not in definition.columns,
        )
        for name, aggregate in definition.aggregates.items()
    )
    explanation.results = {name: definition.stages.columns[name] for name in definition.stages.results}
    if definition.every is not None:
        windows = [aggregate.window for aggregate in definition.aggregates.values() if aggregate.window is not None]
        timed = isinstance(definition.every, Duration)
        beats = Beats(definition.every, definition.offset, windows, 1 if timed else None, floats=not timed)
        explanation.beats = BeatCost(definition.every, definition.offset, beats.high - min(beats.lows) + beats.per)
    return explanation


def _written_aggregates(definition: Definition) -> tuple[dict[str, Aggregate], dict[str, list[str]]]:
    """The aggregates that are computed as the user wrote them, by name, and the expressions that each of them feeds."""
    written = {name: column for name, column in definition.columns.items() if isinstance(column, Aggregate)}
    feeds: dict[str, list[str]] = {}
    for name, result in definition.stages.results.items():
        for answer in {leaf.key(): leaf for leaf in leaves_of(result)}.values():
            if isinstance(answer, Answer):
                written.setdefault(answer.name, answer.aggregate)
                feeds.setdefault(answer.name, []).append(name)
    return written, feeds


def _kernel(aggregate: Aggregate) -> str:
    op, window = aggregate.operator, aggregate.window
    assert window is not None
    traits, words = op.traits, op.traits.words
    if traits.compiled and traits.form is None:
        return (
            "compiled by Numba into a Two-Stacks pass, about 3 calls per row; if it cannot be, DabaLite and a warning"
        )
    if not traits.compiled and traits.window_pass is None:
        return "DabaLite, interpreted: its states are Python objects"
    special = (words.rows if window.kind.numbered else "") or words.tables
    text = f"; over text, {words.text}" if words.text else ""
    return f"kernel: {special or 'a compiled Two-Stacks pass, about 3 calls per row'}{text}"


def state_bytes(op: Operator) -> int | None:
    """The bytes of one partial aggregate over 64-bit numbers; None where it grows, or only its functions know."""
    if op.traits.state_bytes is not None:
        return op.traits.state_bytes
    kind = "bool" if op.traits.takes is Takes.BOOLS else "float64"
    layout = op.layout((kind,) * int(op.arity()[0] or 1))
    return None if layout is None else sum(1 if field == "bool" else 8 for field in layout.fields)


def _bytes(count: int) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1_000:
            return f"{count:.3g} {unit}"
        count = count / 1_000  # type: ignore[assignment]
    return f"{count:.3g} GB"


MANY = 1_000_000
# Where nothing is known about the rows, windows are spoken of that hold so many at this rate, in events per second.
FAST = 1_000.0
_SECOND = 1_000_000_000
# Grains that people can read, in nanoseconds.
_GRAINS = [
    *(10**power for power in range(10)),
    *(step * _SECOND for step in (10, 60, 600, 3_600, 6 * 3_600, 86_400)),
]


def suggestion(aggregate: Aggregate, rows: int | None = None, rate: float | None = None) -> str | None:
    """The advice for a window of rows that are always too few, and for one of time that holds, or may hold, more than a
    million rows of a key; None for others.

    `rows` is how many the longest one holds; else it is told from the `rate`. Where neither is known, windows are
    spoken of that hold a million rows at 1,000 events per second, and from which rate on they do.
    """
    window, op = aggregate.window, aggregate.operator
    most = None if window is None else window.most_rows
    if most is not None and most < op.traits.fewest:
        return f"{op!r} has no answer below {op.traits.fewest} rows, and the window never holds as many: all are null"
    if window is None or not window.kind.timed or not window.kind.shared:
        return None  # rows do not leave together, or may not
    last = window.last
    if aggregate.operator.traits.own_value is not None:  # which no partial is about
        return None
    assert not isinstance(last, Months | None)
    length = last.ns / _SECOND if isinstance(last, Duration) else float(last)
    unit = "per second" if isinstance(last, Duration) else "in one unit of time"
    if rows is not None:
        if rows <= MANY:
            return None
        reason = f"a window holds up to {rows:,} rows of a key"
    elif rate is not None:
        if rate * length <= MANY:
            return None
        reason = f"{math.ceil(rate * length):,} rows of a key at {rate:,g} events {unit}"
    else:
        if not isinstance(last, Duration) or FAST * length <= MANY:
            return None
        reason = f"more than a million rows of a key from {MANY / length:,.3g} events {unit} on"
    grain = grain_for(last)
    size = last.ns if isinstance(last, Duration) else last
    step = grain.ns if isinstance(grain, Duration) else grain
    shown = repr(str(grain)) if isinstance(grain, Duration) else repr(grain)
    statistic = aggregate.operator.traits.order_statistic
    share = repr(statistic.q) if isinstance(statistic, Quantile) else "0.75"
    instead = "" if statistic is None else f"sw.quantile({share}, approximate=0.01) and "
    return f"{reason}; with {instead}grain={shown} at most {most_cells(size, step):,} partials"


def grain_for(last: Duration | int | float) -> Duration | int | float:
    """A grain for a window: the longest plain one that is not above a thousandth of it.

    >>> grain_for(Duration.of("1 hour")), grain_for(Duration.of("7d")), grain_for(20_000)
    (Duration('1 second'), Duration('10 minutes'), 10)
    """
    if isinstance(last, Duration):
        return Duration(max((grain for grain in _GRAINS if grain * 1_000 <= last.ns), default=1))
    power = math.floor(math.log10(last / 1_000))
    return int(10**power) if power >= 0 else float(10.0**power)
