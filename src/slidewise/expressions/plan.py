"""The plan of some expressions over columns: steps in an order in which they can be computed, equal parts once.

A plan is made once and runs over any number of rows, block by block; it holds no state of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slidewise.errors import InputError
from slidewise.expressions.expression import Call, Constant, Expression
from slidewise.expressions.functions.catalogue import BY_NAME
from slidewise.expressions.functions.function import Function, promoted
from slidewise.expressions.functions.vectors import Into, array_of, values_of
from slidewise.expressions.kinds import FLOAT, INT, NULL, TEXT, TIME, ValueKind
from slidewise.expressions.type_inference import (
    arrow_types,
    common_type,
    kind_of,
    kind_of_type,
    time_constant,
)

if TYPE_CHECKING:
    import pyarrow as pa

Values = Any  # an array of a block's rows, or a scalar
Compute = Callable[..., Values]
_DAY = 86_400_000  # milliseconds


@dataclass(frozen=True, slots=True)
class Step:
    """A function of what earlier steps gave, at their places."""

    compute: Compute
    arguments: tuple[int, ...]
    into: bool = False  # whether the function takes a vector that its values are put into

    def run(self, values: Sequence[Values], into: Into = None) -> Values:
        """What the step gives, of the values so far."""
        arguments = [values[place] for place in self.arguments]
        return self.compute(*arguments, into=into) if self.into else self.compute(*arguments)


@dataclass(slots=True)
class ArrayPlan:
    """Columns and constants at the first places, and the steps that fill the others."""

    leaves: dict[Hashable, int] = field(default_factory=dict)
    constants: dict[int, Values] = field(default_factory=dict)
    steps: dict[int, Step] = field(default_factory=dict)
    types: list[pa.DataType] = field(default_factory=list)
    results: list[int] = field(default_factory=list)

    def run(self, arrays: Mapping[Hashable, pa.Array], into: Sequence[Into] = ()) -> list[Values]:
        """The values of the expressions over these rows, which some functions put `into` vectors right away.

        What NumPy would warn of is NaN, infinite or null.
        """
        import numpy as np

        values: list[Values] = [None] * len(self.types)
        for key, place in self.leaves.items():
            values[place] = arrays[key]
        for place, constant in self.constants.items():
            values[place] = constant
        vectors = dict(zip(self.results, into, strict=False))
        with np.errstate(all="ignore"):
            for place, step in self.steps.items():
                values[place] = step.run(values, vectors.get(place))
        return [values[place] for place in self.results]


def plan_of(expressions: Iterable[Expression], types: Mapping[Hashable, pa.DataType]) -> ArrayPlan:
    """The plan of expressions over columns and aggregates of these types."""
    planner = _Planner(types)
    planner.plan.results = [
        planner.place(expression) if isinstance(expression, Call | Constant) else planner.leaf(expression)
        for expression in expressions
    ]
    return planner.plan


class _Planner:
    """Puts parts of expressions at places of a plan, equal ones at one."""

    def __init__(self, types: Mapping[Hashable, pa.DataType]) -> None:
        self.plan = ArrayPlan()
        self._leaf_types = types
        self._places: dict[Hashable, int] = {}
        self._kinds: dict[int, ValueKind] = {}

    def leaf(self, leaf: Expression) -> int:
        """The place of a column or an aggregate as it is."""
        key = leaf.key()
        if key not in self.plan.leaves:
            self.plan.leaves[key] = self._new(self._leaf_types[key])
        return self.plan.leaves[key]

    def place(self, expression: Expression) -> int:
        """The place of an expression, in the type in which its kind is computed."""
        key = expression.key()
        if key not in self._places:
            kind = kind_of(expression, lambda leaf: kind_of_type(self._leaf_types[leaf.key()]))
            self._places[key] = self._put(expression, kind)
            self._kinds[self._places[key]] = kind
        return self._places[key]

    def _new(self, kind: pa.DataType) -> int:
        self.plan.types.append(kind)
        return len(self.plan.types) - 1

    def _step(self, compute: Compute, arguments: Sequence[int], kind: pa.DataType, into: bool = False) -> int:
        place = self._new(kind)
        self.plan.steps[place] = Step(compute, tuple(arguments), into)
        return place

    def _constant(self, scalar: pa.Scalar) -> int:
        place = self._new(scalar.type)
        self.plan.constants[place] = scalar
        return place

    def _put(self, expression: Expression, kind: ValueKind) -> int:
        import pyarrow as pa

        if isinstance(expression, Constant):
            if kind is TIME:
                return self._constant(time_constant(expression))
            return self._constant(pa.scalar(expression.value, arrow_types().get(kind, pa.null())))
        if isinstance(expression, Call):
            return self._call(expression, kind)
        place = self.leaf(expression)
        stored = self.plan.types[place]
        computed = arrow_types().get(kind, stored)
        if stored == computed and not pa.types.is_date64(stored):
            return place
        return self._step(lambda array: normalised(array, kind, expression), [place], computed)

    def _call(self, call: Call, kind: ValueKind) -> int:
        import pyarrow as pa

        function = BY_NAME[call.function]
        places = [self.place(argument) for argument in call.arguments]
        kinds = [self._kinds[place] for place in places]
        if function.strict and NULL in kinds:
            return self._constant(pa.scalar(None, arrow_types().get(kind, pa.null())))
        if promoted(kinds, function):
            places = [
                self._typed(place, pa.float64()) if of is INT else place
                for place, of in zip(places, kinds, strict=True)
            ]
        if not function.strict:
            places = self._in_one_type(call, places)
        result = self._chosen_type(call, places) if kind is TIME else arrow_types().get(kind, pa.null())
        fixed = [function.is_constant(i) for i in range(len(places))]
        return self._step(_guarded(function, fixed, result), places, result, function.into)

    def _in_one_type(self, call: Call, places: list[int]) -> list[int]:
        """Arguments among which a value is chosen, in one type, and conditions as such."""
        import pyarrow as pa

        if call.function in ("is null", "between"):
            return places
        chosen = self._chosen(call, places)
        types = [self.plan.types[place] for place in chosen if self.plan.types[place] != pa.null()]
        common = common_type(types) if types else pa.null()
        if call.function in ("and", "or"):
            common = pa.bool_()
        if call.function != "case":
            return [self._typed(place, common) for place in places]
        last = len(places) - 1
        return [self._typed(place, common if i % 2 or i == last else pa.bool_()) for i, place in enumerate(places)]

    def _chosen(self, call: Call, places: list[int]) -> list[int]:
        return [*places[1:-1:2], places[-1]] if call.function == "case" else places

    def _chosen_type(self, call: Call, places: list[int]) -> pa.DataType:
        return self.plan.types[self._chosen(call, places)[0]]

    def _typed(self, place: int, kind: pa.DataType) -> int:
        """The place of the same values in this type."""
        if self.plan.types[place] == kind:
            return place
        key = "typed", place, kind
        if key not in self._places and place in self.plan.constants:
            self._places[key] = self._constant(_typed(self.plan.constants[place], kind))
        if key not in self._places:
            self._places[key] = self._step(lambda values: _typed(values, kind), [place], kind)
        return self._places[key]


def _guarded(function: Function, fixed: list[bool], kind: pa.DataType) -> Compute:
    """A function's `over_arrays` that may be called with scalars alone, and with null ones if it is strict."""
    compute = function.over_arrays

    def guarded(*values: Values, **into: Into) -> Values:
        import pyarrow as pa

        scalars = [isinstance(value, pa.Scalar) for value in values]
        if function.strict and any(scalar and not values[i].is_valid for i, scalar in enumerate(scalars)):
            return pa.scalar(None, kind)
        if not all(scalars):
            return compute(*values, **into)
        sides = [value if fixed[i] else pa.repeat(value, 1) for i, value in enumerate(values)]
        result = compute(*sides)
        return result[0] if isinstance(result, pa.Array) else result

    return guarded


def _typed(values: Values, kind: pa.DataType) -> Values:
    """Values in this type; a null becomes one of it, and a time without a zone one of UTC."""
    import pyarrow as pa

    if pa.types.is_null(values.type):
        return pa.scalar(None, kind) if isinstance(values, pa.Scalar) else pa.nulls(len(values), kind)
    if pa.types.is_float64(kind) and isinstance(values, pa.Array):
        return array_of(values_of(values).astype("float64"), kind, values)
    return values.cast(kind, safe=not pa.types.is_floating(kind))


def normalised(array: pa.Array, kind: ValueKind, leaf: Expression) -> pa.Array:
    """A column in the type in which its kind is computed: int64, float64, string, or a time as it is."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_date64(array.type):
        return array_of(values_of(array) // _DAY * _DAY, array.type, array)
    target = {INT: pa.int64(), FLOAT: pa.float64(), TEXT: pa.string()}.get(kind)
    if target is None or array.type == target:
        return array
    try:
        return array.cast(target)
    except pa.ArrowInvalid as error:
        raise InputError(
            f"`{leaf}` holds values that {target} cannot hold: {error}; cast the column to float64 first"
        ) from error
