"""`compiled`: the paper's algorithms in compiled form, for operators whose state is a few numbers."""

from __future__ import annotations

from slidewise.compiled.fiba import CompiledFiba
from slidewise.compiled.fiba_source import fiba_source
from slidewise.compiled.inputs import TypeNames, read_dtype
from slidewise.compiled.order_statistics import CompiledOrder
from slidewise.compiled.source import STEPS, Steps, compiled_source
from slidewise.compiled.window import WINDOWS, Compiled, Program
from slidewise.errors import InputError, SlidewiseError, UnsuitableOperatorError
from slidewise.kernels.codegen.compiled_operator import CompiledOperator, compiled_by_user, compiled_form
from slidewise.kernels.codegen.kernel import reason
from slidewise.kernels.compiler.fingerprints import Fingerprint, fingerprint
from slidewise.kernels.compiler.user_functions import LruCache
from slidewise.operators.layout import Layout
from slidewise.operators.operator import Operator
from slidewise.swag import Fiba, OrderStatistics, Swag


def compiled(
    algorithm: type[Swag], operator: Operator, dtype: TypeNames, min_arity: int | None = None
) -> Compiled | CompiledOrder:
    """An algorithm of the paper compiled for one operator and type: an empty window with native loops.

    The algorithm is `TwoStacks`, `TwoStacksLite`, `Daba`, `DabaLite`, `FlatFit`, `Fiba`, which has a `min_arity`, or
    `OrderStatistics` for a quantile.
    The type is float64, int64 or bool, and a tuple of these for an operator of several inputs. A function is compiled
    at its first call in a process, in about half a second, those of Fiba in some seconds; those of built-in operators
    are kept on disk.

    >>> import slidewise as sw
    >>> w = compiled(sw.DabaLite, sw.max, "int64")
    >>> for e in [4, 5, 3]:
    ...     w.insert(e)
    >>> w.evict(); w.evict()
    >>> w.query()
    3
    >>> w.rounds([7, 2]).tolist()
    [7, 2]
    """
    if not isinstance(operator, Operator):
        raise SlidewiseError(f"compiled takes an operator, such as sw.max, not {operator!r}")
    if not isinstance(algorithm, type) or not issubclass(algorithm, Swag) or algorithm.__name__ not in _FORMS:
        name = getattr(algorithm, "__name__", repr(algorithm))
        raise UnsuitableOperatorError(f"{name} has no compiled form; compile one of {', '.join(_FORMS)}")
    if algorithm is not Fiba and min_arity is not None:
        raise SlidewiseError(f"{algorithm.__name__} has no min_arity; Fiba has")
    dtypes = tuple(map(read_dtype, dtype if isinstance(dtype, (tuple, list)) else (dtype,)))
    fewest, most = operator.arity()
    if not max(fewest, 1) <= len(dtypes) <= most:
        raise InputError(f"{operator.name} takes ({', '.join(operator.inputs)}), but got {len(dtypes)} type(s)")
    if algorithm is OrderStatistics:
        return CompiledOrder(operator, dtypes[0])
    if algorithm is Fiba:
        arity = Fiba(operator, 4 if min_arity is None else min_arity).min_arity
        return CompiledFiba(operator, dtypes, _program(f"Fiba{arity}", operator, dtypes), arity)
    return WINDOWS[algorithm.__name__](operator, dtypes, _program(algorithm.__name__, operator, dtypes))


_FORMS = (*STEPS, "Fiba", "OrderStatistics")
_PROGRAMS: LruCache[Program] = LruCache()


def _source(algorithm: str, layout: Layout, inputs: int) -> tuple[Steps, str]:
    """An algorithm's steps, and the text of its functions."""
    if algorithm.startswith("Fiba"):
        return Steps((), (), (), (), ""), fiba_source(layout, inputs, int(algorithm.removeprefix("Fiba")))
    return STEPS[algorithm], compiled_source(STEPS[algorithm], layout, inputs)


def _program(algorithm: str, operator: Operator, dtypes: tuple[str, ...]) -> Program:
    form = compiled_form(operator, dtypes)
    if form is not None:
        return _PROGRAMS.get_or_make((algorithm, operator.name, dtypes), lambda: _loaded(algorithm, form))
    functions = tuple(fingerprint(function) for function in (operator.lift, operator.combine, operator.lower))
    return _PROGRAMS.get_or_make((algorithm, functions, dtypes), lambda: _users(algorithm, operator, functions, dtypes))


def _loaded(algorithm: str, operator: CompiledOperator) -> Program:
    steps, text = _source(algorithm, operator.layout, len(operator.dtypes))
    return Program(steps, operator.layout, operator.load(algorithm, text))


def _users(algorithm: str, operator: Operator, functions: tuple[Fingerprint, ...], dtypes: tuple[str, ...]) -> Program:
    try:
        inferred = compiled_by_user(operator, functions, dtypes)
        if inferred.layout.array:
            raise TypeError("its state is an array")
    except Exception as error:
        raise UnsuitableOperatorError(
            f"operator {operator.name!r} cannot be compiled for {', '.join(dtypes)}: {reason(error)}; what can be is "
            f"an operator of one's own whose state is a number, a bool or a tuple of these, and {_built_in(dtypes)}"
        ) from error
    return _loaded(algorithm, inferred)


def _built_in(dtypes: tuple[str, ...]) -> str:
    """The built-in operators that have a compiled form for these types."""
    from slidewise.operators import CATALOGUE

    fitting = {op.name for op in CATALOGUE if op.arity()[0] == len(dtypes) and op.layout(dtypes) is not None}
    return ", ".join(sorted(fitting)) or "no built-in one"
