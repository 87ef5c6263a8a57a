"""The outside of a snapshot: header, payload and checksum. The layout, numbers little-endian:

    8 bytes    "SLIDEWIS"
    2          the format's version; its highest bit is set where there is a key
    16         the definition's fingerprint
    8          the payload's length
    ...        the payload
    16         BLAKE2b of everything before, keyed where there is a key

Without a key the checksum finds accidents, such as a copy that broke off. Whoever can write a snapshot can make its
checksum anew; a key, which they do not have, is what they cannot.
"""

from __future__ import annotations

import struct
from hashlib import blake2b
from hmac import compare_digest

from slidewise.definition import Definition
from slidewise.errors import SnapshotError

MAGIC = b"SLIDEWIS"
KEYED = 0x8000  # of the version
SHORTEST, LONGEST = 16, 64  # bytes of a key
_HEADER = struct.Struct("<8sH16sQ")
_DIGEST = 16


def sealed(definition: Definition, version: int, payload: bytes, key: bytes | None) -> bytes:
    """The payload between its header and its checksum."""
    key = check_key(key)
    flag = 0 if key is None else KEYED
    head = _HEADER.pack(MAGIC, version | flag, bytes.fromhex(definition.fingerprint()), len(payload))
    return head + payload + _checksum(head + payload, key)


def opened(definition: Definition, newest: int, blob: bytes, key: bytes | None) -> tuple[int, bytes]:
    """The version, up to the newest that is known, and the payload, both checked."""
    key = check_key(key)
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise SnapshotError(f"a snapshot is bytes, not {type(blob).__name__}")
    blob = bytes(blob)
    if blob[: len(MAGIC)] != MAGIC[: len(blob)] or len(blob) < len(MAGIC):
        raise SnapshotError("these bytes are no snapshot of Slidewise: they do not begin with SLIDEWIS")
    if len(blob) < _HEADER.size + _DIGEST:
        raise SnapshotError(f"the snapshot is truncated: it has {len(blob)} bytes, less than a header")
    _, version, fingerprint, length = _HEADER.unpack_from(blob)
    keyed, version = bool(version & KEYED), version & ~KEYED
    if version > newest:
        raise SnapshotError(
            f"the snapshot has format version {version}, and this Slidewise reads up to {newest}; upgrade Slidewise"
        )
    if len(blob) < _HEADER.size + length + _DIGEST:
        raise SnapshotError(
            f"the snapshot is truncated: it has {len(blob)} of {_HEADER.size + length + _DIGEST} bytes; copy it again"
        )
    if len(blob) > _HEADER.size + length + _DIGEST:
        raise SnapshotError(f"{len(blob) - _HEADER.size - length - _DIGEST} bytes follow the snapshot; copy it again")
    if keyed and key is None:
        raise SnapshotError("the snapshot was made with a key; give it: restore(blob, key=...)")
    if key is not None and not keyed:
        raise SnapshotError(
            "the snapshot was made without a key, so the key cannot vouch for it; restore it without key= where you "
            "trust it, and make the next one with snapshot(key=...)"
        )
    if not compare_digest(blob[-_DIGEST:], _checksum(blob[:-_DIGEST], key)):
        if keyed:
            raise SnapshotError("the snapshot was made with another key, or was changed since; it is not restored")
        raise SnapshotError("the snapshot is damaged: its checksum does not match; use an older one")
    if fingerprint.hex() != definition.fingerprint():
        raise SnapshotError(
            f"the snapshot was made by another definition: its fingerprint is {fingerprint.hex()}, and this one's "
            f"{definition.fingerprint()}; restore it with the definition that made it, or start anew"
        )
    return version, blob[_HEADER.size : -_DIGEST]


def check_key(key: bytes | None) -> bytes | None:
    """A key as BLAKE2b takes it, and not so short that it can be guessed."""
    if key is None:
        return None
    if not isinstance(key, bytes | bytearray | memoryview):
        raise SnapshotError(f"key= is bytes, such as secrets.token_bytes(32), not {type(key).__name__}")
    key = bytes(key)
    if not SHORTEST <= len(key) <= LONGEST:
        raise SnapshotError(
            f"key= has from {SHORTEST} to {LONGEST} bytes, such as secrets.token_bytes(32), not {len(key)}"
        )
    return key


def _checksum(data: bytes, key: bytes | None) -> bytes:
    return blake2b(data, digest_size=_DIGEST, key=key or b"").digest()
