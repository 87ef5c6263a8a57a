"""A Bloom filter of 4,096 bits as one value of compiled code: a vector of 64 words.

`sw.compiled` keeps states of a few numbers, one array per field; 64 fields would lie in 64 places of memory. Here a
state is 512 bytes in a row, and `combine` is some instructions over vector registers, as in C++.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model
from numba.np.arrayobj import make_array

from slidewise.kernels.compiler.jit import jit
from slidewise.kernels.passes.sketches import _mix as mix
from slidewise.operators.values.hashing import NUMBER, key

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.datamodel import DataModelManager
    from numba.core.typing import Context as TypingContext
    from numba.core.typing import Signature

Filter: TypeAlias = Any  # a value of the type Bits, in compiled code only
Intrinsic: TypeAlias = tuple["Signature", Callable[..., ir.Value]]  # what Numba takes: a signature and its code

BITS, HASHES = 4096, 4
WORDS = BITS // 64
_WORD = ir.IntType(64)
_VECTOR = ir.VectorType(_WORD, WORDS)


class Bits(types.Type):  # type: ignore[misc,unused-ignore]
    """The type of a filter."""

    def __init__(self) -> None:
        super().__init__(name="Bits4096")


bits = Bits()


@register_model(Bits)  # type: ignore[untyped-decorator,unused-ignore]
class BitsModel(models.PrimitiveModel):  # type: ignore[misc,unused-ignore]
    def __init__(self, manager: DataModelManager, kind: types.Type) -> None:
        super().__init__(manager, kind, _VECTOR)


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def as_filters(_typing: TypingContext, array: types.Array) -> Intrinsic:
    """An array of words, whose last dimension is a filter's, as an array of filters with one dimension less."""
    filters = types.Array(bits, array.ndim - 1, "C", aligned=False)

    def code(
        context: BaseContext, builder: ir.IRBuilder, _signature: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        words = make_array(array)(context, builder, arguments[0])
        view = make_array(filters)(context, builder)
        view.data = builder.bitcast(words.data, view.data.type)
        fewer = filters.ndim
        shape = [builder.extract_value(words.shape, at) for at in range(fewer)]
        view.shape = cgutils.pack_array(builder, shape)
        view.strides = cgutils.pack_array(builder, [builder.extract_value(words.strides, at) for at in range(fewer)])
        count = shape[0]
        for more in shape[1:]:
            count = builder.mul(count, more)
        view.nitems = count
        view.itemsize = ir.Constant(view.itemsize.type, WORDS * 8)
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return filters(array), code


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def _either(_typing: TypingContext, a: Bits, b: Bits) -> Intrinsic:
    def code(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        return builder.or_(*arguments)

    return bits(bits, bits), code


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def _with_bits(_typing: TypingContext, at: types.Integer, step: types.Integer) -> Intrinsic:
    """The filter of one value, from its two hashes."""

    def code(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        place = cgutils.alloca_once(builder, ir.ArrayType(_WORD, WORDS))
        cgutils.memset(builder, place, ir.Constant(_WORD, WORDS * 8), 0)
        at, step = arguments
        for _ in range(HASHES):
            bit = builder.and_(at, ir.Constant(_WORD, BITS - 1))
            spot = builder.gep(place, [ir.Constant(_WORD, 0), builder.lshr(bit, ir.Constant(_WORD, 6))])
            mark = builder.shl(ir.Constant(_WORD, 1), builder.and_(bit, ir.Constant(_WORD, 63)))
            builder.store(builder.or_(builder.load(spot), mark), spot)
            at = builder.add(at, step)
        return builder.load(builder.bitcast(place, _VECTOR.as_pointer()), align=8)

    return bits(types.uint64, types.uint64), code


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def _folded(_typing: TypingContext, a: Bits) -> Intrinsic:
    """The exclusive or of all words: every bit of the filter has to be there for it."""

    def code(
        _context: BaseContext, builder: ir.IRBuilder, _signature: Signature, arguments: Sequence[ir.Value]
    ) -> ir.Value:
        signature = ir.FunctionType(_WORD, [_VECTOR])
        fold = cgutils.get_or_insert_function(builder.module, signature, f"llvm.vector.reduce.xor.v{WORDS}i64")
        return builder.call(fold, arguments)

    return types.int64(bits), code


_FIRST, _STEP = np.uint64(key(0, NUMBER)), np.uint64(key(1, NUMBER))


@jit
def lift(x: int) -> Filter:
    """The bits that `sw.bloom` sets for an integer."""
    word = np.uint64(x)
    return _with_bits(mix(word ^ _FIRST), mix(word ^ _STEP) | np.uint64(1))


@jit
def combine(a: Filter, b: Filter) -> Filter:
    return _either(a, b)


@jit
def lower(a: Filter) -> int:
    word: int = _folded(a)
    return word


def folded(state: int) -> int:
    """What `lower` gives for a filter of `sw.bloom`, for tests."""
    words = np.frombuffer(state.to_bytes(BITS // 8, "little"), np.int64)
    return int(np.bitwise_xor.reduce(words))
