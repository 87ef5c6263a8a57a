"""NamedTuples that meet in compiled code: of one class, with fields of two types, such as None on one way and a number
on the other. Numba unifies plain tuples field by field, and this does the same for named ones of the same class."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numba.core import cgutils, types
from numba.extending import lower_cast

if TYPE_CHECKING:
    from llvmlite.ir import IRBuilder, Value
    from numba.core.base import BaseContext
    from numba.core.typing import Context


def _unified(named: types.BaseNamedTuple, context: Context, other: types.Type) -> types.Type | None:
    """The type that holds both, or None where there is none: Numba asks each of two types that meet."""
    if not isinstance(other, types.BaseNamedTuple) or named.instance_class is not other.instance_class:
        return None
    parts = [context.unify_pairs(a, b) for a, b in zip(named, other, strict=True)]
    return None if None in parts else types.BaseTuple.from_types(parts, named.instance_class)


types.BaseNamedTuple.unify = _unified


@lower_cast(types.BaseNamedTuple, types.BaseNamedTuple)  # type: ignore[untyped-decorator,unused-ignore]
def _cast(context: BaseContext, builder: IRBuilder, source: types.Type, target: types.Type, value: Value) -> Value:
    parts = cgutils.unpack_tuple(builder, value, len(source))
    items = [context.cast(builder, part, a, b) for part, a, b in zip(parts, source, target, strict=True)]
    return context.make_tuple(builder, target, items)
