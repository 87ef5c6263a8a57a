"""An operator is WHAT is computed: a monoid, with `lift` before it and `lower` after it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from slidewise.errors import SlidewiseError
from slidewise.expressions.expression import Expression
from slidewise.operators.aggregate import Aggregate, argument_of
from slidewise.operators.answer_types import declared_type
from slidewise.operators.layout import Layout
from slidewise.operators.traits import PLAIN, Traits
from slidewise.operators.types import Answer, Combine, Encoded, State, Value

if TYPE_CHECKING:
    import pyarrow as pa


def _itself(x: Value) -> Value:
    return x


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Operator:
    """A monoid (`identity`, `combine`) with `lift` and `lower`, and what it claims about itself.

    What it computes
        `lift(x, ...)` turns a row's arguments into a state, `combine(a, b)` joins the state of older rows with
        that of newer ones, `lower(state)` makes the answer, and `identity` is the state of no rows at all.
    What it claims, and `check_laws` verifies
        `commutative`: combine(a, b) equals combine(b, a).
        `selective`: combine(a, b) is a or b.
        `inverse(total, oldest)`: exactly takes the oldest state off the front, so that
        inverse(combine(a, b), a) equals b; where that is exact for some states only, `invertible_if(state)`
        says for which.
    What it says of itself
        `inputs` (names of lift's arguments; `x?` may be left out, `x...` is one or more), `output`, `state` and
        `error` are words for people. `parameters` are the values it was made with, `make` makes it with others.
        `unset` is how to make it, where one parameter has no default that anybody would mean.
    How its state is stored
        `encode` and `decode` turn a state into plain values (numbers, bools, text, bytes, None and tuples of
        them) and back; without them the state must be plain already. `version` goes up when the state changes.
        `is_state` says whether a value that was stored can be a state, where that is known.
    What its answers are
        `answers` is their Arrow type, where it is declared; otherwise the rows tell.
    What lanes ask of it
        `traits`: which inputs it takes, of which type its answers are, how its states lie, which passes serve it.

    >>> import slidewise as sw
    >>> sw.mean.name, sw.mean.inputs, sw.mean.commutative
    ('mean', ('x',), True)
    >>> sw.mean.lower(sw.mean.combine(sw.mean.lift(3), sw.mean.lift(4)))
    3.5
    """

    name: str
    identity: State
    lift: Callable[..., State] = _itself
    combine: Combine
    lower: Callable[[State], Answer] = _itself
    inverse: Combine | None = None
    invertible_if: Callable[[State], bool] | None = None
    commutative: bool = False
    selective: bool = False
    inputs: tuple[str, ...] = ("x",)
    output: str = "any"
    state: str = "any"
    error: str = "exact"
    encode: Callable[[State], Encoded] | None = None
    decode: Callable[[Encoded], State] | None = None
    version: int = 1
    is_state: Callable[[Any], bool] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    make: Callable[..., Operator] | None = None
    builtin: bool = False
    unset: str = ""
    answers: pa.DataType | None = None
    traits: Traits = PLAIN

    def lift_row(self, *arguments: Value) -> State:
        """The state of one row: the identity where any argument is None, since nulls are skipped.

        Args:
            *arguments: A value for each of the operator's inputs.

        Returns:
            A state.

        Raises:
            SlidewiseError: Too few or too many values.

        >>> import slidewise as sw
        >>> sw.count.lift_row("a"), sw.count.lift_row(None)
        (1, 0)
        """
        fewest, most = self.arity()
        if not max(fewest, 1) <= len(arguments) <= max(most, 1):
            raise SlidewiseError(
                f"{self.name} takes the columns ({', '.join(self.inputs)}), but got {len(arguments)} values: "
                f"{_call(arguments, {})}"
            )
        for argument in arguments:
            if argument is None:
                return self.identity
        return self.lift(*arguments)

    def per(self, *, top: int | None = None, rest: str | int = "other") -> Operator:
        """The operator that gives a map by category, its last argument; for `sw.rolling` and SWAGs.

        Args:
            top: How many categories have an entry of their own.
            rest: The name of the entry of all others.

        Returns:
            An operator of one input more.

        >>> import numpy as np, slidewise as sw
        >>> sw.rolling((np.array([3, 4, 5]), np.array(["b", "a", "b"])), sw.sum.per(), rows=2).tolist()
        [{'b': 3}, {'a': 4, 'b': 3}, {'a': 4, 'b': 5}]
        """
        from slidewise.operators.per_category import per_category

        return per_category(self, top, rest)

    def over(self, *_: object, **__: object) -> NoReturn:
        """Refused: a window is for columns, `sw.max("temp").over("10 minutes")`."""
        columns = ", ".join(map(repr, self.inputs))
        raise SlidewiseError(f"{self.name} has no column yet; name it before the window: {self!r}({columns}).over(...)")

    def __call__(self, *columns: str | Expression | Value, **parameters: Value) -> Any:
        """Bind columns, `sw.max("temp")`, or expressions of them, or set parameters, `sw.hyperloglog(p=12)`.

        Args:
            *columns: Names of columns, or expressions.
            **parameters: The operator's parameters.

        Returns:
            An aggregate, or with parameters an operator.

        Raises:
            SlidewiseError: Columns or parameters that it does not take.

        >>> import slidewise as sw
        >>> sw.max("temp").over("10 minutes")
        sw.max('temp').over('10 minutes')
        >>> sw.hyperloglog(p=14)("user")
        sw.hyperloglog(p=14)('user')
        """
        named = all(isinstance(column, str | Expression) for column in columns)
        if parameters or not named:
            if self.make is None:
                if not named:
                    raise SlidewiseError(
                        f"{self.name} takes names of columns, such as sw.{self.name}('temp'), not {columns!r}; "
                        "for values use sw.rolling or a SWAG"
                    )
                raise SlidewiseError(
                    f"{self.name} has no parameters, but got {', '.join(parameters)}{_whose(parameters)}"
                )
            signature = inspect.signature(self.make)
            try:
                signature.bind(*columns, **parameters)
            except TypeError as error:
                raise SlidewiseError(
                    f"{self.name} is made with ({', '.join(self.parameters or signature.parameters)}) first and "
                    f"bound to columns after, as in {self!r}('user'), but got {_call(columns, parameters)}: {error}"
                ) from None
            return self.make(*columns, **parameters)
        if self.unset:
            raise SlidewiseError(f"{self.name} has to be made first; write {self.unset}")
        fewest, most = self.named()
        if not columns and fewest and self.make is not None:
            raise SlidewiseError(
                f"{self.name}() has neither parameters nor columns; write sw.{self.name} for its defaults, {self!r} to "
                f"set them, or sw.{self.name}('user') to bind a column"
            )
        if not fewest <= len(columns) <= most:
            raise SlidewiseError(
                f"{self.name} takes the columns ({', '.join(self.columns_named())}), but got "
                f"{len(columns)}: ({', '.join(map(str, columns))})"
            )
        return Aggregate(self, tuple([argument_of(column, self.name) for column in columns]))

    def arity(self) -> tuple[int, float]:
        """The fewest and the most columns that `lift` takes.

        Returns:
            Two numbers, the second infinite where any number will do.

        >>> import slidewise as sw
        >>> sw.max.arity(), sw.count.arity(), sw.argmax.arity()
        ((1, 1), (0, 1), (2, 2))
        """
        on_time = self.traits.on_time
        if on_time is not None and len(self.inputs) >= on_time.lifted[0]:  # and it does not take states in their place
            return on_time.lifted
        fewest = sum(not name.endswith("?") for name in self.inputs)
        return fewest, float("inf") if any(name.endswith("...") for name in self.inputs) else len(self.inputs)

    def named(self) -> tuple[int, float]:
        """The fewest and the most columns that users name: `lift` may take the row's time behind them."""
        return self.arity() if self.traits.on_time is None else self.traits.on_time.named

    def goes_by_time(self, columns: int) -> bool:
        """Whether the operator takes the row's time behind so many columns."""
        return self.traits.on_time is not None and columns < self.traits.on_time.lifted[0]

    def columns_named(self) -> tuple[str, ...]:
        """The inputs that users name."""
        on_time = self.traits.on_time
        return self.inputs if on_time is None else self.inputs[: on_time.named[1]]

    def layout(self, dtypes: tuple[str, ...]) -> Layout | None:
        """How states lie in the compiled form over inputs of these types; None where there is no such form.

        >>> import slidewise as sw
        >>> sw.maxcount.layout(("float64",)).fields
        ('float64', 'int64')
        """
        return None if self.traits.layout is None else self.traits.layout(dtypes)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Operator):
            return NotImplemented
        if self.written_inner is not None or other.written_inner is not None:
            return self.traits.per == other.traits.per
        return self.builtin and other.builtin and self._key() == other._key()

    def __hash__(self) -> int:
        if self.written_inner is not None:
            return hash(self.traits.per)
        return hash(self._key()) if self.builtin else object.__hash__(self)

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        """A built-in operator is copied and pickled by its name; a user's own by its functions."""
        if self.written_inner is not None:
            return _per, tuple(self.traits.per or ())[:3]
        return (_named, self._key()) if self.builtin else object.__reduce_ex__(self, protocol)

    def __repr__(self) -> str:
        if self.written_inner is not None:
            return f"{self.written_inner!r}.per({self.per_options()})"
        if not self.builtin:
            return f"sw.operator(name={self.name!r})"
        return f"sw.{self.name}{_call((), self.parameters)}" if self.parameters else f"sw.{self.name}"

    @property
    def written_inner(self) -> Operator | None:
        """The operator that this one gives per category, where it has no name of its own."""
        per = self.traits.per
        return None if per is None or per.named else per.inner

    def per_options(self) -> str:
        """How many categories have an entry, and the name of the rest, as `per` takes them."""
        per = self.traits.per
        if per is None or per.top is None:
            return ""
        return f"top={per.top}" + ("" if per.rest == "other" else f", rest={per.rest!r}")

    def _key(self) -> tuple[Any, ...]:
        return self.name, tuple(sorted(self.parameters.items()))


def _named(name: str, parameters: tuple[tuple[str, Any], ...]) -> Operator:
    from slidewise.operators import BY_NAME

    op = BY_NAME[name]
    return op.make(**dict(parameters)) if op.make is not None else op


def _per(inner: Operator, top: int | None, rest: str | int) -> Operator:
    return inner.per(top=top, rest=rest)


def _whose(parameters: Mapping[str, Any]) -> str:
    """Which operators take these parameters, to say behind an error."""
    from slidewise.operators import CATALOGUE

    makers = {op.name: inspect.signature(op.make).parameters for op in CATALOGUE if op.make is not None}
    names = [f"sw.{name}" for name, known in makers.items() if parameters.keys() <= known.keys()]
    return f"; {' and '.join(names)} {'takes' if len(names) == 1 else 'take'} that" if names else ""


def _call(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> str:
    return f"({', '.join([*map(repr, arguments), *(f'{name}={value!r}' for name, value in named.items())])})"


def operator(
    *,
    name: str,
    identity: State,
    combine: Combine,
    lift: Callable[..., State] = _itself,
    lower: Callable[[State], Answer] = _itself,
    inverse: Combine | None = None,
    commutative: bool = False,
    selective: bool = False,
    encode: Callable[[State], Encoded] | None = None,
    decode: Callable[[Encoded], State] | None = None,
    version: int = 1,
    answers: str | pa.DataType | None = None,
) -> Operator:
    """Make an operator of your own from plain functions; several columns are several arguments of `lift`.

    Claim a property only where it holds, and let `check_laws` verify it: properties are never guessed.

    `answers` declares the type of what `lower` gives: a type of Arrow's or its name, such as `"int64"` or
    `pa.struct([("word", pa.string()), ("n", pa.int64())])` for a tuple of two. Columns of answers then have that type
    in tables, live and on Spark, and an answer that does not fit is an error. Without it rows decide, which Spark,
    where types must be known before any row is read, cannot always wait for.

    Args:
        name: Its name.
        identity: The state of no rows.
        combine: Joins the state of older rows with that of newer ones.
        lift: The state of a row's values.
        lower: The answer of a state.
        inverse: Takes the oldest state off the front, exactly.
        commutative: Whether the order of states does not matter.
        selective: Whether `combine` gives one of its arguments.
        encode: A state as plain values, to be stored.
        decode: Plain values as a state.
        version: Goes up when the state changes.
        answers: The answers' type.

    Returns:
        An operator, to be called with names of columns.

    Raises:
        SlidewiseError: A function or a flag that is none.

    >>> import slidewise as sw
    >>> longest = sw.operator(name="longest", identity="", combine=lambda a, b: a if len(a) >= len(b) else b)
    >>> w = sw.DabaLite(longest)
    >>> for word in ["to", "be", "or", "not"]:
    ...     w.insert(word)
    >>> w.query()
    'not'
    """
    if not isinstance(name, str) or not name:
        raise SlidewiseError(f"an operator's name is text, such as 'maxcount', not {name!r}")
    roles = {"lift": lift, "combine": combine, "lower": lower, "inverse": inverse, "encode": encode, "decode": decode}
    for role, function in roles.items():
        if not (callable(function) or (function is None and role in ("inverse", "encode", "decode"))):
            raise SlidewiseError(f"operator {name!r}: {role} must be a function, not {function!r}")
    for role, flag in (("commutative", commutative), ("selective", selective)):
        if not isinstance(flag, bool):
            raise SlidewiseError(f"operator {name!r}: {role} is True or False, not {flag!r}")
    for role, function in (("combine", combine), ("inverse", inverse)):
        if function is not None and not _takes_two(function):
            raise SlidewiseError(f"operator {name!r}: {role} takes two states, the older and the newer")
    if (encode is None) != (decode is None):
        raise SlidewiseError(f"operator {name!r}: encode and decode go together; give both or neither")
    return Operator(
        name=name,
        identity=identity,
        lift=lift,
        combine=combine,
        lower=lower,
        inverse=inverse,
        commutative=commutative,
        selective=selective,
        inputs=_inputs_of(lift),
        error="as defined",
        encode=encode,
        decode=decode,
        version=version,
        answers=None if answers is None else declared_type(answers, name),
    )


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    except ValueError:
        pass
    return True


def _inputs_of(lift: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(lift).parameters.values()
    except (TypeError, ValueError):
        return ("x",)
    names = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            names.append(f"{parameter.name}...")
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name if parameter.default is parameter.empty else f"{parameter.name}?")
    return tuple(names)
