"""Sketches of Apache DataSketches over sliding windows: their hash over arrays, registers and least hashes that move.

The answers are those of the operators' own states. A window that holds what the one before it held has the same bytes
object: a sketch is written where it changes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from slidewise.arrays import Array
from slidewise.errors import InputError
from slidewise.kernels.compiler.jit import cached_jit, jit
from slidewise.kernels.order.bit_sets import trailing_zeros
from slidewise.kernels.passes.sketches import enter, leave
from slidewise.operators.families.data_sketches import (
    HLL_HEAD,
    MOST_RANK,
    THETA_SHIFT,
    empty_hll,
    hll_head,
    theta_bytes,
)
from slidewise.operators.values.hashing import NAN_WORD
from slidewise.operators.values.murmur import C1, C2, SEED, canonical

_C1, _C2 = np.uint64(C1), np.uint64(C2)
_BLOCK_BYTES = 1 << 24  # of sketches that are written before they become objects
_MOST_BYTES = 2**31 - 1  # that an Arrow column of bytes holds


@jit
def _rotated(word: np.uint64, bits: int) -> np.uint64:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))


@jit
def _final(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    word = (word ^ (word >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return word ^ (word >> np.uint64(33))


@cached_jit
def _murmur(words: Array, firsts: Array, lengths: Array, low: Array, high: Array) -> None:
    """The hashes of texts of so many bytes, each in words from its first one on, padded with zeros to pairs."""
    for i in range(len(firsts)):
        h1 = np.uint64(SEED)
        h2 = np.uint64(SEED)
        at = firsts[i]
        for _ in range(lengths[i] // 16):
            h1 ^= _rotated(words[at] * _C1, 31) * _C2
            h1 = (_rotated(h1, 27) + h2) * np.uint64(5) + np.uint64(0x52DCE729)
            h2 ^= _rotated(words[at + 1] * _C2, 33) * _C1
            h2 = (_rotated(h2, 31) + h1) * np.uint64(5) + np.uint64(0x38495AB5)
            at += 2
        if lengths[i] % 16:
            h1 ^= _rotated(words[at] * _C1, 31) * _C2
            h2 ^= _rotated(words[at + 1] * _C2, 33) * _C1
        h1 ^= np.uint64(lengths[i])
        h2 ^= np.uint64(lengths[i])
        h1 += h2
        h2 += h1
        h1 = _final(h1)
        h2 = _final(h2)
        h1 += h2
        low[i] = h1
        high[i] = h2 + h1


def hashes(x: Array, operator: str) -> tuple[Array, Array, Array]:
    """Both halves of each value's hash, equal to `murmur` of its bytes; and which values have bytes at all."""
    m = len(x)
    if x.dtype == object:
        texts = [canonical(value, operator) for value in x.tolist()]
        lengths = np.array([len(text) for text in texts], np.int64)
        pairs = (lengths + 15) // 16
        words = np.frombuffer(b"".join(text.ljust(-len(text) // 16 * -16, b"\0") for text in texts), "<u8")
        firsts = 2 * (np.cumsum(pairs) - pairs)
    else:
        words = np.zeros(2 * m, np.uint64)
        if x.dtype == np.float64:
            words[::2] = np.where(np.isnan(x), np.uint64(NAN_WORD), (x + 0.0).view(np.uint64))
        else:
            words[::2] = x.astype(np.int64).view(np.uint64)
        lengths, firsts = np.full(m, 8, np.int64), 2 * np.arange(m)
    low, high = np.empty(m, np.uint64), np.empty(m, np.uint64)
    _murmur(words, firsts, lengths, low, high)
    return low, high, lengths > 0


@cached_jit
def _ranks(high: Array, has_bytes: Array, rank: Array) -> None:
    for i in range(len(high)):
        zeros = 0
        word = high[i]
        while zeros < MOST_RANK - 1 and word >> np.uint64(63) == 0:
            word = word << np.uint64(1)
            zeros += 1
        rank[i] = zeros + 1 if has_bytes[i] else 0


@cached_jit
def _registers(
    register: Array,
    rank: Array,
    chains: Array,
    counts: Array,
    place: Array,
    starts: Array,
    ends: Array,
    which: Array,
    images: Array,
    image_counts: Array,
) -> int:
    """The registers of windows until there is no more room for them; returns at which window that is.

    `place` is the first row that has not left, the first that has not come, and whether a register has changed since
    the newest image; `which` gets the number of each window's image, -1 where it is the one before, -2 of no value.
    """
    size = len(counts) - MOST_RANK - 1
    current = counts[:size]
    of_rank = counts[size:]
    start = place[0]
    end = place[1]
    changed = place[2]
    used = 0
    i = 0
    while i < len(starts) and used < len(images):
        if starts[i] >= ends[i]:  # wherever it lies
            which[i] = -2
            changed |= 1
            i += 1
            continue
        while end < ends[i]:
            j = register[end]
            enter(end, j, rank, chains)
            changed |= current[j] != rank[chains[0, j]]
            of_rank[current[j]] -= 1
            current[j] = rank[chains[0, j]]
            of_rank[current[j]] += 1
            end += 1
        while start < starts[i]:
            j = register[start]
            if leave(start, j, chains):
                best = rank[chains[0, j]] if chains[0, j] >= 0 else 0
                changed |= current[j] != best
                of_rank[current[j]] -= 1
                current[j] = best
                of_rank[best] += 1
            start += 1
        if of_rank[0] == size:
            which[i] = -2
            changed |= 1
        elif changed:
            images[used, :] = current
            image_counts[used, :] = of_rank
            which[i] = used
            used += 1
            changed = 0
        else:
            which[i] = -1
        i += 1
    place[0] = start
    place[1] = end
    place[2] = changed
    return i


def hll_sketches(x: Array, p: int, starts: Array, ends: Array) -> Array:
    """The sketch of every window, as bytes."""
    size = 1 << p
    low, high, has_bytes = hashes(x, "hyperloglog")
    register = (low & np.uint64(size - 1)).astype(np.int64)
    rank = np.empty(len(x), np.int64)
    _ranks(high, has_bytes, rank)
    chains = np.full((4, max(size, len(x))), -1, np.int64)
    counts = np.zeros(size + MOST_RANK + 1, np.int64)
    counts[size] = size
    place = np.zeros(3, np.int64)
    rows = max(1, min(len(starts), _BLOCK_BYTES // (8 * size)))
    images = np.empty((rows, size), np.uint8)
    image_counts = np.empty((rows, MOST_RANK + 1), np.int64)

    def run(at: int, which: Array) -> tuple[int, Callable[[int], bytes]]:
        done = _registers(register, rank, chains, counts, place, starts[at:], ends[at:], which, images, image_counts)
        return done, lambda i: hll_head(p, image_counts[i].tolist()) + images[i].tobytes()

    return _objects(run, len(starts), HLL_HEAD + size, empty_hll(p), "hyperloglog")


def _objects(
    run: Callable[[int, Array], tuple[int, Callable[[int], bytes]]], windows: int, size: int, empty: bytes, name: str
) -> Array:
    """The sketches of so many windows, from blocks of them: a number tells each window's, -1 the one before it."""
    out = np.empty(windows, object)
    written, sketch, at = 0, empty, 0
    while at < windows:
        which = np.empty(windows - at, np.int64)
        done, image = run(at, which)
        for i, number in enumerate(which[:done].tolist(), at):
            if number != -1:
                sketch = empty if number == -2 else image(number)
            out[i] = sketch
            written += len(sketch)
        if written > _MOST_BYTES:
            raise InputError(
                f"{name}: the sketches of {windows:,} windows, of up to {size:,} bytes each, are more than 2 GB, which "
                "one column cannot hold; ask for fewer of them, on a beat with every=, or make them smaller"
            )
        at += done
    return out


class _Distinct:
    """The distinct hashes of some rows in order, and each row's number among them, -1 where it has none."""

    def __init__(self, x: Array) -> None:
        low, _, has_bytes = hashes(x, "theta")
        self.sorted, codes = np.unique(low >> np.uint64(THETA_SHIFT), return_inverse=True)
        self.codes = np.where(has_bytes & (self.sorted[codes] > 0), codes, -1) if len(x) else codes


@cached_jit
def _theta_moves(
    codes: Array, counts: Array, tree: Array, bits: Array, place: Array, start_to: int, end_to: int
) -> bool:
    """Let the window move: how often each hash is there, a Fenwick tree of which are, and the same as bits."""
    changed = False
    for i in range(place[1], end_to):
        c = codes[i]
        if c >= 0:
            counts[c] += 1
            if counts[c] == 1:
                changed = True
                bits[c >> 6] |= np.uint64(1) << np.uint64(c & 63)
                place[2] += 1
                at = c + 1
                while at < len(tree):
                    tree[at] += 1
                    at += at & -at
    for i in range(place[0], start_to):
        c = codes[i]
        if c >= 0:
            counts[c] -= 1
            if counts[c] == 0:
                changed = True
                bits[c >> 6] &= ~(np.uint64(1) << np.uint64(c & 63))
                place[2] -= 1
                at = c + 1
                while at < len(tree):
                    tree[at] -= 1
                    at += at & -at
    place[0] = max(place[0], start_to)
    place[1] = max(place[1], end_to)
    return changed


@jit
def _select(tree: Array, number: int) -> int:
    """The hash of this number among those that are there, from 0 on."""
    at = 0
    step = 1
    while 2 * step < len(tree):
        step *= 2
    rest = number
    while step:
        if at + step < len(tree) and tree[at + step] <= rest:
            at += step
            rest -= tree[at]
        step //= 2
    return at


@cached_jit
def _theta_estimates(
    codes: Array, hashes: Array, k: int, counts: Array, tree: Array, bits: Array, starts: Array, ends: Array, out: Array
) -> None:
    place = np.zeros(3, np.int64)
    for i in range(len(starts)):
        if starts[i] >= ends[i]:
            continue
        _theta_moves(codes, counts, tree, bits, place, starts[i], ends[i])
        out[i] = place[2]
        if place[2] > k:
            out[i] = round(k * 2.0**63 / np.float64(hashes[_select(tree, k)]))


@cached_jit
def _theta_least(
    codes: Array,
    hashes: Array,
    counts: Array,
    tree: Array,
    bits: Array,
    place: Array,
    starts: Array,
    ends: Array,
    which: Array,
    least: Array,
    sizes: Array,
) -> int:
    """The least hashes of windows until there is no more room for them; as `_registers` does it."""
    used = 0
    i = 0
    while i < len(starts) and used < len(least):
        if starts[i] >= ends[i]:  # wherever it lies
            which[i] = -2
            place[3] = 1
            i += 1
            continue
        changed = _theta_moves(codes, counts, tree, bits, place, starts[i], ends[i])
        place[3] |= changed
        if place[2] == 0:
            which[i] = -2
            place[3] = 1
        elif place[3]:
            size = min(place[2], least.shape[1])
            taken = 0
            w = 0
            while taken < size:
                word = bits[w]
                while word != 0 and taken < size:
                    least[used, taken] = hashes[64 * w + trailing_zeros(word)]
                    word &= word - np.uint64(1)
                    taken += 1
                w += 1
            sizes[used] = size
            which[i] = used
            used += 1
            place[3] = 0
        else:
            which[i] = -1
        i += 1
    return i


def theta_estimates(x: Array, k: int, starts: Array, ends: Array) -> Array:
    """How many distinct values each window has, by its k + 1 least hashes; 0 for an empty one."""
    of = _Distinct(x)
    out = np.zeros(len(starts), np.int64)
    _theta_estimates(of.codes, of.sorted, k, *_window_of(of), starts, ends, out)
    return out


def _window_of(of: _Distinct) -> tuple[Array, Array, Array]:
    """An empty window: counts, tree and bits."""
    n = len(of.sorted)
    return np.zeros(n, np.int64), np.zeros(n + 1, np.int64), np.zeros(n // 64 + 1, np.uint64)


def theta_sketches(x: Array, k: int, starts: Array, ends: Array) -> Array:
    """The compact theta sketch of every window, as bytes."""
    of = _Distinct(x)
    window, place = _window_of(of), np.zeros(4, np.int64)
    width = min(k + 1, max(1, len(of.sorted)))
    least = np.empty((max(1, min(len(starts), _BLOCK_BYTES // (8 * width))), width), np.uint64)
    sizes = np.empty(len(least), np.int64)

    def run(at: int, which: Array) -> tuple[int, Callable[[int], bytes]]:
        done = _theta_least(of.codes, of.sorted, *window, place, starts[at:], ends[at:], which, least, sizes)
        return done, lambda i: theta_bytes(k, least[i, : sizes[i]].astype("<u8").tobytes())

    return _objects(run, len(starts), 24 + 8 * width, theta_bytes(k, b""), "theta")
