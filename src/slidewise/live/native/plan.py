"""Which live definitions keep their windows in arrays, and from when on.

All aggregates must be over the last rows, the last stretch of time or everything so far, closed on the right, by
built-in operators that compile and whose states and answers are a few numbers. Machine code takes a second to compile
where none is on disk, so a definition begins with panes, and goes over to arrays when it has had `FROM_EVENTS` events.
From then on a key's windows go over with its next event: no event pays for all keys.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from slidewise.engine.event_values import plain_value
from slidewise.engine.window_spec import WindowSpec
from slidewise.live.compiling_thread import CompilingThread
from slidewise.operators.traits import Takes
from slidewise.swag import DabaLite

if TYPE_CHECKING:
    from slidewise.kernels.codegen.kernel import Kernel
    from slidewise.live.batch.filtering import FilteredBatch
    from slidewise.live.live import Live
    from slidewise.live.native.push import NativeWindows
    from slidewise.live.native.store import NativeStore
    from slidewise.live.types import EventRow

FROM_EVENTS = 2_000
MOST_MISFITS = 16  # events or batches that arrays do not hold, after which they are given up, unless these are rare
RARE = 64  # events for each of them
IN_BACKGROUND = True  # whether single events go on in panes while a thread compiles; batches wait for it
_PLAIN_KINDS = ("rows", "time", "running")
EXACT = 2**53  # whole numbers up to this one are floats without loss
_NUMBERS = {float: "float64", int: "int64"}
_LOOKED_AT = 64  # keys whose newest row tells whether a column has had floats


class Misfit(Exception):
    """Something that arrays do not hold: the panes take it in, or say what is wrong with it."""


def may_be_native(live: Live) -> bool:
    """Whether a live definition's windows are of the kinds that arrays hold, whatever its columns' types."""
    from slidewise.live.live import Live as PlainLive

    if type(live) is not PlainLive or live.spikes or live.definition.every is not None or live.generations:
        return False
    return bool(live.specs) and all(spec_fits(spec) for spec in live.specs)


def spec_fits(spec: WindowSpec) -> bool:
    """Whether a spec's window and operators are of the kinds that arrays hold."""
    plain = spec.kind.name in _PLAIN_KINDS
    special = spec.own or spec.declared or spec.is_open or spec.limit is not None or spec.delay is not None
    special |= spec.months is not None or spec.reset is not None or spec.mark is not None or spec.sharing is not None
    if not plain or special or spec.ahead:
        return False
    return all(_member_fits(member.operator, member.algorithm) for member in spec.members)


def _member_fits(operator: Any, algorithm: Any) -> bool:
    traits = operator.traits
    if traits.counts_rows:
        return True
    return (
        operator.builtin
        and traits.compiled
        and traits.form is not None
        and traits.layout is not None
        and traits.per is None
        and traits.takes is not Takes.BOOLS
        and not traits.fields
        and operator.answers is None
        and algorithm in (DabaLite, None)
    )


class Opening:
    """What leads a live definition from panes to arrays: it looks at events until there have been enough of them.

    `floats` are columns that are known to have floats.
    """

    def __init__(self, live: Live, floats: frozenset[str] = frozenset()) -> None:
        self._live = live
        self._names = {name for spec in live.specs for name in spec.columns}
        self._types = dict.fromkeys(floats, "float64")  # of columns, as far as events have shown them
        self._compiling: CompilingThread[NativeStore] | None = None
        self._attempts = 0

    def tries(self) -> bool:
        """Whether another event, or batch, is looked at; after some that do not fit none is."""
        live = self._live
        self._attempts += 1
        if self._attempts > MOST_MISFITS or live.aside.released is not None:
            live.opening = None
        return live.opening is not None

    def consider(self, row: EventRow) -> None:
        """Let windows lie in arrays once their passes are compiled, if events have numbers in all columns."""
        live = self._live
        if self._compiling is not None:
            if self._compiling.is_done():
                self._begin(self._compiling.result)
            return
        fits = self._learn(row)
        if live.events < FROM_EVENTS or (not fits and not self.tries()) or live.kinds.unknown:
            return
        if self._names <= self._types.keys() and live.aside.released is None:
            types = {name: self._types[name] for name in self._names}
            types |= dict.fromkeys(_columns_with_floats(live, types), "float64")
            floats = live.time_reader.fractions
            if IN_BACKGROUND and not was_opened(live, types, floats):
                self._compiling = CompilingThread(lambda: warm_store_of(live, types, floats))
            else:
                self._begin(store_of(live, types, floats))

    def _learn(self, row: EventRow) -> bool:
        """Note the types of the columns in an event; whether it has a number, or nothing, in each. A column that has
        had a float is one of floats."""
        try:
            values = self._live.computed.extended(row)
        except Exception:  # which the panes refuse, in their words
            return False
        fits = True
        for name in self._names:
            value = plain_value(values.get(name))
            dtype = _NUMBERS.get(type(value))
            if dtype is None:
                fits = fits and value is None
            elif dtype == "float64" or name not in self._types:
                self._types[name] = dtype
        return fits

    def _begin(self, store: NativeStore | None) -> None:
        """Go over to arrays, unless operators do not compile."""
        self._live.opening = None
        if store is not None:
            from slidewise.live.native.push import open_windows

            open_windows(self._live, store)


def _columns_with_floats(live: Live, types: dict[str, str]) -> set[str]:
    """The columns of whole numbers in this event that have a float in the newest row of one of the first keys."""
    found = set()
    for key_state in islice(live.key_states.values(), _LOOKED_AT):
        for spec, pane in zip(live.specs, key_state.panes, strict=True):
            if not spec.running and types.keys() & set(spec.columns) and pane.held():
                row = pane.newest_row()[1:]
                found |= {name for name, value in zip(spec.columns, row, strict=False) if type(value) is float}
    return {name for name in found if types.get(name) == "int64"}


def native_windows(live: Live, filtered: FilteredBatch) -> NativeWindows | None:
    """The windows in arrays, if there are any, or may be from this batch on."""
    frame = filtered.frame
    if live.opening is not None and len(frame) and live.events + len(frame) >= FROM_EVENTS:
        from slidewise.live.native.push_many import open_for

        open_for(live, frame)
    return live.native


_OPENED: set[tuple[str, tuple[tuple[str, str], ...], bool]] = set()  # what this process has compiled


def was_opened(live: Live, types: dict[str, str], floats: bool) -> bool:
    """Whether this process has had a store for a definition and columns like these, so that all is compiled."""
    return _kind_of_store(live, types, floats) in _OPENED


def _kind_of_store(live: Live, types: dict[str, str], floats: bool) -> tuple[str, tuple[tuple[str, str], ...], bool]:
    return repr(live.definition), tuple(sorted(types.items())), floats


def store_of(live: Live, types: dict[str, str], floats: bool) -> NativeStore | None:
    """An empty store for columns of these types, and times that are floats or not; None where an operator does not
    compile for them."""
    from slidewise.kernels.keyed import rows as passes
    from slidewise.live.native.store import NativeStore

    kernels = [_kernels(spec, types) for spec in live.specs]
    if any(of_spec is None for of_spec in kernels):
        return None
    store = NativeStore(live.reads, len(live.readers), types)
    kind = passes.NO_TIME if live.definition.on is None else passes.WHOLE
    if kind == passes.WHOLE and floats:
        kind = passes.FLOATS
    store.fill(live.specs, [of_spec for of_spec in kernels if of_spec is not None], kind, live.late == "drop")
    return store


def warm_store_of(live: Live, types: dict[str, str], floats: bool) -> NativeStore | None:
    """The same with all passes compiled, also the one over single events, and all modules imported."""
    import slidewise.live.native.push  # noqa: F401
    from slidewise.live.native.event_pass import compile_entry

    store = store_of(live, types, floats)
    if store is not None:
        store.warm()
        compile_entry()
        _OPENED.add(_kind_of_store(live, types, floats))
    return store


def _kernels(spec: WindowSpec, types: dict[str, str]) -> list[Kernel | None] | None:
    """The kernel of each member, None for counts; None where one is missing."""
    from slidewise.kernels.codegen.kernel import number_kernel
    from slidewise.kernels.keyed.source import can_be_stored

    kernels: list[Kernel | None] = []
    for member in spec.members:
        if member.operator.traits.counts_rows:
            kernels.append(None)
            continue
        kernel = number_kernel(member.operator, tuple(types[name] for name in spec.columns))
        if kernel is None or not can_be_stored(kernel.layout) or not kernel.layout.single:
            return None
        kernels.append(kernel)
    return kernels


def types_in_event(live: Live, row: Any) -> dict[str, str] | None:
    """The types of the columns that aggregates read, of an event that has a number in each; else None."""
    types = {}
    for spec in live.specs:
        for name in spec.columns:
            dtype = _NUMBERS.get(type(row.get(name)))
            if dtype is None:
                return None
            types[name] = dtype
    return types
