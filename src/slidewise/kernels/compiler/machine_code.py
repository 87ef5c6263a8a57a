"""The disk cache of machine code: one file for each signature, written atomically, and compiled anew where damaged.

Numba can cache code by itself, but beside the source, under the time and size of that one file, and it fails where a
file is damaged. Here a file's name is a digest of all that its code depends on, and it begins with its checksum. Code
is Python's pickle of Numba's own result, and so is read from a private folder only.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from numba.core import config
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target
from numba.core.serialize import dumps

from slidewise.folders import PrivateFolder
from slidewise.kernels.compiler.cache import SUFFIX, cache_folder, unchanged
from slidewise.kernels.compiler.turns import turns_in

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.codegen import Codegen
    from numba.core.types import Type

    Types = tuple[Type, ...]

_HEAD = b"slidewise kernel 1\n"
_CHECKSUM = 32
# Settings of Numba's that change the code.
_SETTINGS = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "ENABLE_AVX")


def keep_machine_code(dispatcher: object) -> None:
    """Cache what a function of this package is compiled into from one process to the next."""
    if isinstance(dispatcher, Dispatcher):  # and not where NUMBA_DISABLE_JIT is set
        machine_code = MachineCode(dispatcher.py_func)
        dispatcher._cache = machine_code
        compile_signature = dispatcher.compile

        def compile_in_turn(sig: Any) -> Any:
            """Compile, or load; a turn ends also where a function cannot be compiled."""
            turns = machine_code.turns_held()
            try:
                return compile_signature(sig)
            finally:
                machine_code.end_turns(turns)

        dispatcher.compile = compile_in_turn


class MachineCode(_Cache):  # type: ignore[misc]
    """The cache that Numba asks before it compiles a function, and that it gives the result."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._enabled = True
        self._turns: list[str] = []  # the kernels that this process compiles, while others wait

    @property
    def cache_path(self) -> str | None:
        folder = cache_folder()
        return None if folder is None else str(folder.path)

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        """Nothing is held back."""

    def load_overload(self, sig: Types, target_context: BaseContext) -> CompileResult | None:
        """The compiled function for a signature, or None where it must be compiled, by this process then."""
        folder = cache_folder()
        if folder is None or not self._enabled:
            return None
        target_context.refresh()
        key, name = self._key(sig, target_context.codegen())
        loaded = self._load(folder, key, name, target_context)
        if loaded is None:
            self._turns.append(name)
            if turns_in(folder).take(name):
                loaded = self._load(folder, key, name, target_context)
                if loaded is None:  # nobody could store it, so that others would wait for nothing
                    self.end_turns(len(self._turns) - 1)
        return loaded

    def has(self, sig: Types) -> bool:
        """Whether the machine code for a signature is kept, as far as a look at the folder tells."""
        folder = cache_folder()
        if folder is None or not self._enabled:
            return False
        try:
            names = os.listdir(folder.path)
        except OSError:
            return False
        begins = _file_name(self._function, "")
        if not any(name.startswith(begins) for name in names):
            return False
        context = cpu_target.target_context
        context.refresh()
        return self._key(sig, context.codegen())[1] in names

    def turns_held(self) -> int:
        """How many of this function's kernels other processes wait for."""
        return len(self._turns)

    def end_turns(self, held: int) -> None:
        """Let other processes have what this one compiled, or compile it where it could not, but for this many."""
        folder = cache_folder()
        while len(self._turns) > held:
            name = self._turns.pop()
            if folder is not None:
                turns_in(folder).give(name)

    def _load(self, folder: PrivateFolder, key: str, name: str, target_context: BaseContext) -> CompileResult | None:
        """The function that a file of the cache holds, or None where there is none that is whole."""
        try:
            data = folder.read(name)
        except OSError:
            return None
        try:
            return CompileResult._rebuild(target_context, *_deserialise(data, key))
        except Exception:  # a crash or a full disk left it so
            with suppress(OSError):
                folder.remove(name)
            return None

    def save_overload(self, sig: Types, data: CompileResult) -> None:
        """Store a compiled function, if it can be stored and the disk takes it."""
        folder = cache_folder()
        if folder is None or not self._enabled or not _is_portable(data):
            return
        if not unchanged():  # files of this package have changed since this process began
            return
        key, name = self._key(sig, data.codegen)
        with suppress(OSError):
            folder.write(name, _serialise(key, data._reduce()))

    def _key(self, sig: Types, codegen: Codegen) -> tuple[str, str]:
        """A digest of all that the code depends on within one version of this package, and a file's name for it."""
        function = self._function
        code = function.__code__
        cells = tuple(cell.cell_contents for cell in function.__closure__ or ())
        parts = (
            (function.__module__, function.__qualname__, code.co_firstlineno, code.co_code),
            dumps(cells) if cells else b"",
            repr(sig),
            codegen.magic_tuple(),  # the processor and its features
            [str(getattr(config, name, None)) for name in _SETTINGS],
        )
        key = hashlib.blake2b(repr(parts).encode(), digest_size=20).hexdigest()
        return key, f"{_file_name(function, key)}{SUFFIX}"


def _file_name(function: Callable[..., Any], key: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_]+', '_', function.__qualname__)[-40:]}-{key}"


def _is_portable(result: CompileResult) -> bool:
    """Whether a compiled function holds no address of this process."""
    return not any(not loop.can_cache for loop in result.lifted) and not result.library.has_dynamic_globals


def _serialise(key: str, reduced: tuple[Any, ...]) -> bytes:
    body = dumps((key, reduced))
    return b"".join([_HEAD, hashlib.blake2b(body, digest_size=_CHECKSUM).digest(), body])


def _deserialise(data: bytes, key: str) -> Any:
    start = len(_HEAD) + _CHECKSUM
    body = data[start:]
    if data[:start] != _HEAD + hashlib.blake2b(body, digest_size=_CHECKSUM).digest():
        raise ValueError("damaged")
    stored, reduced = pickle.loads(body)
    if stored != key:
        raise ValueError("another function's")
    return reduced
