"""Labels of shards, under which Spark spreads them evenly over a stream's tasks.

Spark puts a group into the partition that Murmur3 of its key says, modulo the number of partitions. Of sixteen numbers
in a row, four would go to one of eight partitions and none to another. So a shard has the label whose hash is the
shard's number: shard 19 of any stream goes to partition 19, modulo how many there are.
"""

from __future__ import annotations

_ALL = 2**32 - 1
_SEED = 42  # of Spark
_BYTES = 8  # of a long
_FIRST, _SECOND = 0xCC9E2D51, 0x1B873593
_FACTOR, _ADDED = 5, 0xE6546B64
_THIRD, _FOURTH = 0x85EBCA6B, 0xC2B2AE35


def shard_label(shard: int) -> int:
    """The long whose hash is this number; all of its bits above the 32nd are 0."""
    h = (shard ^ shard >> 16) * pow(_FOURTH, -1, 2**32) & _ALL
    h = (h ^ h >> 13 ^ h >> 26) * pow(_THIRD, -1, 2**32) & _ALL
    h ^= h >> 16 ^ _BYTES
    for word in (0, _SEED):  # the upper half, and what comes before the lower one
        h = _rotate_left((h - _ADDED) * pow(_FACTOR, -1, 2**32) & _ALL, 19) ^ word
    h = _rotate_left(h * pow(_SECOND, -1, 2**32) & _ALL, 17)
    return h * pow(_FIRST, -1, 2**32) & _ALL


def labelled_shard(label: int) -> int:
    """The shard with this label: Spark's hash of it, as a number of 32 bits."""
    h = _rotate_left(label * _FIRST & _ALL, 15) * _SECOND & _ALL
    for word in (_SEED, 0):
        h = (_rotate_left(h ^ word, 13) * _FACTOR + _ADDED) & _ALL
    h ^= _BYTES
    h = (h ^ h >> 16) * _THIRD & _ALL
    h = (h ^ h >> 13) * _FOURTH & _ALL
    return h ^ h >> 16


def _rotate_left(word: int, bits: int) -> int:
    """A word of 32 bits rotated to the left."""
    return (word << bits | word >> 32 - bits) & _ALL
