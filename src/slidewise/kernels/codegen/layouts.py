"""How a kernel's states and answers are stored: one array per field."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Layout:
    """The types of a state's fields and of an answer's; `scalar` and `single` mean a bare value instead of a tuple.

    `array` means that a state is an array of a fixed length, `optional` that `lower` may answer None.
    """

    fields: tuple[str, ...]
    outputs: tuple[str, ...]
    scalar: bool = False
    single: bool = True
    optional: bool = False
    array: bool = False


_FLOAT, _INT = "float64", "int64"


def builtin_layout(name: str, dtypes: tuple[str, ...]) -> Layout | None:
    """The layout of a built-in operator over inputs of these types, or None where it has no kernel.

    >>> builtin_layout("maxcount", ("float64",))
    Layout(fields=('float64', 'int64'), outputs=('int64',), scalar=False, single=True, optional=False, array=False)
    """
    x = dtypes[0] if dtypes else ""
    is_float = x == _FLOAT
    match name:
        case "max" | "min" | "first" | "last":
            return Layout((x,), (x,), scalar=True)
        case "bool_and" | "bool_or":
            return Layout(("bool",), ("bool",), scalar=True) if x == "bool" else None
        case "argmax" | "argmin":
            return Layout((dtypes[1], x), (x,))
        case "maxcount" | "mincount":
            return Layout((x, _INT), (_INT,))
        case "value_range":
            return Layout((x, x), (x,))
        case "relative_variation":
            return Layout((x, x), (_FLOAT,), optional=True)
        case "m4":
            return Layout((x,) * 4, (x,) * 4, single=False)
        case "sum":
            return Layout((_FLOAT,) * 2, (_FLOAT,)) if is_float else Layout((_INT,) * 2, (_INT,))
        case "mean" | "geomean" | "product":
            return Layout((_FLOAT, _FLOAT, _INT), (_FLOAT,))
        case "variance" | "stddev":
            return Layout((_INT, *(_FLOAT,) * 6), (_FLOAT,), optional=True)
        case "covariance" | "correlation":
            return Layout((_INT, *(_FLOAT,) * 14), (_FLOAT,), optional=True)
    return None
