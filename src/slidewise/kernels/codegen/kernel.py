"""A kernel: an operator compiled into passes over whole arrays."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from slidewise.arrays import Array, Maps, Ragged
from slidewise.errors import OperatorFailedError, SumOverflowError, users_stack_level
from slidewise.kernels.bounds.rows_and_times import longest
from slidewise.kernels.codegen.compiled_operator import CompiledOperator, compiled_by_user, compiled_form
from slidewise.kernels.codegen.source import TEXT_OF, pass_source
from slidewise.kernels.compiler.fingerprints import Fingerprint, fingerprint
from slidewise.kernels.compiler.user_functions import LruCache
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator

_NUMBERS = ("int64", "float64", "bool")
_KERNELS: LruCache[Kernel | None] = LruCache()


@dataclass(frozen=True, slots=True)
class Answers:
    """One array per field of the answer, and which rows have one; None means all.

    `struct` means that the answer is a tuple, which one field does not tell. Where fields have names, they are in
    `names`; `present` tells of each field that may be None, by its number, in which rows it is not.
    """

    fields: list[Any]  # arrays, or one Ragged or Maps
    valid: npt.NDArray[np.bool_] | None
    struct: bool = False
    names: tuple[str, ...] = ()
    present: dict[int, npt.NDArray[np.bool_]] = field(default_factory=dict)

    def moved(self, order: Callable[[Array], Array]) -> Answers:
        """The answers in another order: each array as `order` gives it."""
        fields = [field.moved(order) if isinstance(field, Ragged | Maps) else order(field) for field in self.fields]
        present = {number: order(rows) for number, rows in self.present.items()}
        return replace(self, fields=fields, valid=None if self.valid is None else order(self.valid), present=present)

    def limited(self, enough: Array) -> Answers:
        """The answers of those rows only that are valid and have enough to go by."""
        return replace(self, valid=enough if self.valid is None else self.valid & enough)


class AnswerRoom:
    """Room for the answers of so many rows, which count as there at first."""

    def __init__(self, layout: Layout, m: int) -> None:
        self._layout = layout
        self._outputs = field_arrays(m, layout.outputs)
        self._present = {c: np.ones(m, np.bool_) for c in layout.nullable}
        self._valid = np.ones(m, np.bool_) if layout.optional else None

    @property
    def arrays(self) -> list[Array]:
        """What a pass takes: the fields, and what marks which of them are there, and which answers."""
        return [*self._outputs, *self._present.values(), *([] if self._valid is None else [self._valid])]

    def answers(self) -> Answers:
        """What a pass has put there."""
        return Answers(self._outputs, self._valid, not self._layout.single, self._layout.names, self._present)


@dataclass(frozen=True, slots=True)
class Kernel:
    """The passes of one operator over inputs of certain types, each loaded when it is first run."""

    operator: CompiledOperator
    _loaded: dict[str, dict[str, Any]] = field(default_factory=dict, repr=False)

    @property
    def layout(self) -> Layout:
        """How states and answers lie in arrays."""
        return self.operator.layout

    def compiled_pass(self, name: str, partials: bool = False) -> Callable[..., None]:
        """A pass by its name, over rows, or over partials instead."""
        text = TEXT_OF[name]
        key = f"{text}_of_partials" if partials else text
        if key not in self._loaded:
            source = pass_source(text, self.layout, len(self.operator.dtypes), partials)
            self._loaded[key] = self.operator.load(key, source, later=True)
        compiled: Callable[..., None] = self._loaded[key][name]
        return compiled

    def run(self, name: str, *arguments: Any, partials: bool = False) -> None:
        """Run a pass; an error that an operator raises names it."""
        compiled = self.compiled_pass(name, partials)
        with self._naming_errors():
            compiled(*arguments)

    @contextmanager
    def _naming_errors(self) -> Iterator[None]:
        operator = self.operator
        try:
            yield
        except OverflowError as error:
            if operator.form is None:
                raise OperatorFailedError(f"operator {operator.name!r} raised {error!r} on these rows") from error
            raise SumOverflowError(f"{operator.name}: {error}; use floats or larger units instead") from None
        except Exception as error:
            raise OperatorFailedError(f"operator {operator.name!r} raised {error!r} on these rows") from error

    def rows(self, inputs: Sequence[Array], n: int) -> Answers:
        """The answer for the last n rows at every row; the first rows have fewer."""
        m = len(inputs[0])
        return self._answers("rows_pass", inputs, (max(1, min(n, m)),), m, min(n, m))

    def rows_by_key(self, inputs: Sequence[Array], offsets: Array, n: int) -> Answers:
        """The same for many keys: key k has the rows from offsets[k] up to offsets[k + 1]."""
        m = len(inputs[0])
        return self._answers("keys_pass", inputs, (offsets, n), m, min(n, m))

    def bounds(self, inputs: Sequence[Array], starts: Array, ends: Array) -> Answers:
        """The answer for the rows [starts[i], ends[i]), for every i; neither may ever fall. No rows, no answer."""
        return self._answers("bounds_pass", inputs, (starts, ends), len(starts), int(longest(starts, ends)))

    def _answers(
        self, name: str, inputs: Sequence[Array], bounds: tuple[Array | int, ...], m: int, states: int
    ) -> Answers:
        room = AnswerRoom(self.layout, m)
        if states > 0 and len(inputs[0]):
            with self._naming_errors():
                stored = self._storage(states, inputs)
            self.run(name, *inputs, *bounds, *stored, *room.arrays)
        return room.answers()

    def _storage(self, states: int, inputs: Sequence[Array]) -> list[Array]:
        """Room for so many states: one array per field, or one row per state where states are arrays."""
        if self.layout.array:
            width = len(self.operator.lift(*(x[0] for x in inputs)))
            return [np.empty((states, width), self.layout.fields[0])]
        return [np.empty(states, dtype) for dtype in self.layout.fields]


def field_arrays(m: int, dtypes: Sequence[str]) -> list[Array]:
    """Room for so many answers: several fields that fill whole words lie in one struct, as NumPy's users get them."""
    if len(dtypes) == 1 or "bool" in dtypes:
        return [np.zeros(m, dtype) for dtype in dtypes]
    struct = np.zeros(m, [(str(i), dtype) for i, dtype in enumerate(dtypes)])
    return [struct[name] for name in struct.dtype.names or ()]


def kernel_for(operator: Operator, dtypes: tuple[str, ...]) -> Kernel | None:
    """The operator's kernel for inputs of these types, or None where it cannot be compiled; then said once, and why."""
    if not operator.traits.compiled:
        return None
    return kernel_of(operator, functions_of(operator), dtypes)


def kernel_of(operator: Operator, functions: tuple[Fingerprint, ...], dtypes: tuple[str, ...]) -> Kernel | None:
    """The same for functions whose fingerprints have been taken."""
    return _KERNELS.get_or_make(
        (operator.name, functions, dtypes),
        lambda: _users(operator, functions, dtypes) if operator.traits.form is None else _builtin(operator, dtypes),
    )


def functions_of(operator: Operator) -> tuple[Fingerprint, ...]:
    """The fingerprints of lift, combine and lower as they are now; an operator with a form goes by its name."""
    if operator.traits.form is not None:
        return ()
    return tuple(fingerprint(function) for function in (operator.lift, operator.combine, operator.lower))


def number_kernel(operator: Operator, dtypes: tuple[str, ...]) -> Kernel | None:
    """The kernel where inputs are numbers or bools, and states a few numbers; None otherwise."""
    if any(dtype not in _NUMBERS for dtype in dtypes):
        return None
    kernel = kernel_for(operator, dtypes)
    return None if kernel is None or kernel.layout.array else kernel


def _builtin(operator: Operator, dtypes: tuple[str, ...]) -> Kernel | None:
    form = compiled_form(operator, dtypes)
    return None if form is None else Kernel(form)


def _users(operator: Operator, functions: tuple[Fingerprint, ...], dtypes: tuple[str, ...]) -> Kernel | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Kernel(compiled_by_user(operator, functions, dtypes))
    except Exception as error:
        warnings.warn(
            f"operator {operator.name!r} cannot be compiled and runs interpreted, which is slower: {reason(error)}",
            stacklevel=users_stack_level(),
        )
        return None


def reason(error: Exception) -> str:
    """The telling lines of Numba's long message: what failed, and in which line of the user's source."""
    lines = [
        re.sub(r"^(.*?) Raised from (.*) \((\d+)\)$", r"\1; File \2, line \3", s.strip())
        for s in str(error).splitlines()
    ]
    telling = [line for line in lines if line and not line.startswith(("Failed in", "- ", "During", "^", "<source"))]
    where = [line for line in lines if line.startswith("File ")]
    return "; ".join(dict.fromkeys([*telling[:1], *where[:1]])) or type(error).__name__
