"""Decayed means of everything up to each row, from times and values in one pass: no columns of half-lives and weights.

Each tile of rows gets its weights, in units of its first row's power of two, then running sums with what is rounded off
them, then its answers. A tile is eight runs of rows, which lie beside one another as lanes: eight running sums are one
step. The sums are off by less than 2^-70 of the sum of |x| * weight over a million rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numba import int64
from numba import uintp as u
from numba.extending import intrinsic

from slidewise.arrays import Array
from slidewise.kernels.compiler.jit import jit, tiered_jit
from slidewise.kernels.compiler.plain import plain_form
from slidewise.kernels.sums.fma import fma

if TYPE_CHECKING:
    from llvmlite.ir import IRBuilder, Value
    from numba.core import types
    from numba.core.base import BaseContext
    from numba.core.typing import Context, Signature

_LANES = 8
_TILE = 64 * _LANES
_SPAN = 400  # half-lives in a tile, at most
_SMALLEST, _LARGEST = 2.0**-700, 2.0**900  # sizes of values that are normal numbers all the way
_FARTHEST = 2**62  # ticks, so that differences fit into 64 bits
_BIAS, _MANTISSA = 1023, 52  # of the bits of a power of two


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def _add_lanes(
    _typing: Context, terms: types.Array, rests: types.Array, sums: types.Array, lows: types.Array, i: types.Type
) -> tuple[Signature, Callable[..., Value]]:
    """Write the sums of each lane at place i + 8, and what is rounded off them: of those at place i, and the terms."""
    from llvmlite import ir
    from numba.core import types

    def generate(context: BaseContext, builder: IRBuilder, _signature: Signature, arguments: list[Value]) -> Value:
        from numba.np.arrayobj import make_array

        place = arguments[4]
        behind = builder.add(place, ir.Constant(place.type, _LANES))
        lanes = ir.VectorType(ir.DoubleType(), _LANES).as_pointer()

        def at(k: int, where: Value) -> Value:
            data = make_array(terms)(context, builder, arguments[k]).data
            return builder.bitcast(builder.gep(data, [where]), lanes)

        term, rest, total, low = (builder.load(at(k, place), align=8) for k in range(4))
        above = builder.fadd(total, term)
        moved = builder.fsub(above, total)
        off = builder.fadd(builder.fsub(total, builder.fsub(above, moved)), builder.fsub(term, moved))
        builder.store(above, at(2, behind), align=8)
        builder.store(builder.fadd(low, builder.fadd(off, rest)), at(3, behind), align=8)
        return context.get_dummy_value()

    return types.void(terms, rests, sums, lows, i), generate


@plain_form(_add_lanes)
def _add_lanes_of_arrays(terms: Array, rests: Array, sums: Array, lows: Array, i: int) -> None:
    here, behind = slice(i, i + _LANES), slice(i + _LANES, i + 2 * _LANES)
    total, term = sums[here], terms[here]
    above = total + term
    moved = above - total
    off = (total - (above - moved)) + (term - moved)
    sums[behind] = above
    lows[behind] = lows[here] + (off + rests[here])


@jit
def _weigh(rests: Array, length: float, highs: Array, lows: Array, steps: Array, weights: Array) -> None:
    """The weights of rows so many ticks into their half-lives, by the steps of `weight_of_share`."""
    for k in range(len(rests)):
        share = rests[u(k)] / length
        i = np.int32(share * 128.0 + 0.5)
        z = (share - i * 0.0078125) * 0.6931471805599453
        q = z * (1.0 + z * (0.5 + z * (0.16666666666666666 + z * (0.041666666666666664 + z * 0.008333333333333333))))
        weights[u(k)] = q
        steps[u(k)] = i
    for k in range(len(rests)):
        high = highs[u(steps[u(k)])]
        weights[u(k)] = high + (lows[u(steps[u(k)])] + high * weights[u(k)])


@jit
def _power(halvings: int) -> float:
    factor = 1.0
    while halvings > 62 and factor != 0.0:
        factor, halvings = factor * 2.0**-62, halvings - 62
    return factor / float(1 << halvings) if factor != 0.0 else 0.0


@jit
def _add(s: float, c: float, p: float, low: float) -> tuple[float, float]:
    e = s + p
    t = e - s
    return e, c + (((s - (e - t)) + (p - t)) + low)


@jit
def _sum_up_lanes(terms: Array, rests: Array, sums: Array, lows: Array, s: float, c: float) -> tuple[float, float]:
    """Running sums of a whole tile after s + c, and the last of them."""
    sums[:_LANES] = 0.0
    lows[:_LANES] = 0.0
    for i in range(0, _TILE, _LANES):
        _add_lanes(terms, rests, sums, lows, u(i))
    for k in range(_LANES):  # where each lane begins
        sums[u(k)], lows[u(k)] = s, c
        s, c = _add(s, c, sums[u(_TILE + k)], lows[u(_TILE + k)])
    for i in range(0, _TILE, _LANES):
        _add_lanes(terms, rests, sums, lows, u(i))
    return s, c


@jit
def _sum_up(terms: Array, rests: Array, m: int, sums: Array, lows: Array, s: float, c: float) -> tuple[float, float]:
    """The same of a tile of m rows, one after the other."""
    for i in range(m):
        s, c = _add(s, c, terms[u(i)], rests[u(i)])
        sums[u(i + _LANES)], lows[u(i + _LANES)] = s, c
    return s, c


@tiered_jit
def _decayed_rows(x: Array, times: Array, unit: int, length: int, highs: Array, lows: Array, out: Array) -> bool:
    clock, since, weights, values = np.empty(_TILE, np.int64), np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    steps, exponents = np.empty(_TILE, np.int32), np.empty(_TILE, np.int64)
    scales = exponents.view(np.float64)
    products, rests, nothing = np.empty(_TILE), np.empty(_TILE), np.zeros(_TILE)
    sums, sums_lows = np.empty(_TILE + _LANES), np.empty(_TILE + _LANES)
    of_weights, weights_lows = np.empty(_TILE + _LANES), np.empty(_TILE + _LANES)
    answers = np.empty(_TILE)
    half_life = times[0] * unit // length
    newest = half_life
    wide = float(length)
    s, c, w, d = 0.0, 0.0, 0.0, 0.0
    backwards, peers, odd = 0, 0, 0
    a = 0
    while a < len(x):
        half_life += (times[a] * unit - half_life * length) // length
        if half_life != newest:
            factor = _power(max(half_life - newest, 0))
            s, c, w, d = s * factor, c * factor, w * factor, d * factor
            newest = half_life
        origin = half_life * length
        m = min(_TILE, len(x) - a)
        if float(times[a + m - 1] * unit - origin) >= _SPAN * wide:
            m = 1
            while float(times[u(a + m)] * unit - origin) < _SPAN * wide:
                m += 1
        for i in range(max(a, 1), a + m):
            backwards += times[u(i)] < times[u(i - 1)]
            peers += times[u(i)] == times[u(i - 1)]
        lanes = _LANES if m == _TILE else 1
        run = m // lanes
        for lane in range(lanes):
            first = a + lane * run
            for j in range(run):
                at = u(j * lanes + lane)
                clock[at], values[at] = times[u(first + j)], x[u(first + j)]
        for i in range(m):
            rest = clock[u(i)] * unit - origin
            halvings = int64(float(rest) / wide)
            rest -= halvings * length
            more = int64(rest >= length) - int64(rest < 0)
            rest -= more * length
            backwards += (rest < 0) | (rest >= length)  # of times so far off that 64 bits do not hold them
            exponents[u(i)] = (halvings + more + _BIAS) << _MANTISSA
            since[u(i)] = float(rest)
        if backwards:
            return False
        half_life = newest + (exponents[u(m - 1)] >> _MANTISSA) - _BIAS
        _weigh(since[:m], wide, highs, lows, steps, weights)
        for i in range(m):
            weight = weights[u(i)] * scales[u(i)]
            p = values[u(i)] * weight
            weights[u(i)] = weight
            products[u(i)] = p
            rests[u(i)] = fma(values[u(i)], weight, -p)
            odd += not ((abs(p) < _LARGEST) & ((abs(p) > _SMALLEST) | (values[u(i)] == 0.0)))
        if lanes == 1:
            s, c = _sum_up(products, rests, m, sums, sums_lows, s, c)
            w, d = _sum_up(weights, nothing, m, of_weights, weights_lows, w, d)
        else:
            s, c = _sum_up_lanes(products, rests, sums, sums_lows, s, c)
            w, d = _sum_up_lanes(weights, nothing, of_weights, weights_lows, w, d)
        into = answers if lanes > 1 else out[a : a + m]
        for i in range(m):
            at = u(i + _LANES)
            high = sums[at] + sums_lows[at]
            t = high - sums[at]
            low = (sums[at] - (high - t)) + (sums_lows[at] - t)
            by = of_weights[at] + weights_lows[at]
            by_low = (of_weights[at] - by) + weights_lows[at]
            inverse = 1.0 / by
            q = high * inverse
            r = (fma(-q, by, high) + (low - q * by_low)) * inverse
            into[u(i)] = (q + r) + 0.0
        if lanes > 1:
            for lane in range(lanes):
                for j in range(run):
                    out[u(a + lane * run + j)] = answers[u(j * lanes + lane)]
        e = s + c
        t = e - s
        s, c = e, (s - (e - t)) + (c - t)
        e = w + d
        w, d = e, (w - e) + d
        a += m
    if peers:
        for i in range(len(x) - 2, -1, -1):  # peers have the answer of the last of them
            if times[u(i)] == times[u(i + 1)]:
                out[u(i)] = out[u(i + 1)]
    return odd == 0


def decayed_rows(x: Array, times: Array, unit: int, length: int, highs: Array, lows: Array) -> Array | None:
    """The means over rows in the order of time, whose ticks are so many units and the half-life so long in these.

    None where they cannot be had this way: times run backwards or lie far off, values are no numbers, or so large or
    small that floats around them are few.
    """
    if not len(x) or length >= _FARTHEST or max(-int(times[0]), int(times[-1])) * unit >= _FARTHEST:
        return None
    if int(times[0]) > int(times[-1]) or -int(times[0]) * unit + length >= _FARTHEST:
        return None
    out = np.empty(len(x))
    return out if _decayed_rows(x, times, unit, length, highs, lows, out) else None
