"""Where compiled kernels of the built-in operators are kept from one process to the next.

A kernel's source is written to a file, and Numba keeps its machine code beside it. The folder's name carries a digest
of this whole package, so what an older or changed Slidewise compiled is never used.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

_PACKAGE = Path(__file__).parents[1]


@cache
def cache_folder() -> Path | None:
    """A folder of this user's that can be written, or None: then kernels are compiled anew in each process."""
    chosen = os.environ.get("SLIDEWISE_CACHE_DIR")
    places = [Path(chosen)] if chosen else [_user_cache(), Path(tempfile.gettempdir()) / f"slidewise-{_user()}"]
    for place in places:
        folder = place / _digest()
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_uid != os.getuid() if hasattr(os, "getuid") else False:
                continue
            with tempfile.TemporaryFile(dir=folder):
                return folder
    return None


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "slidewise"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slidewise"


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


@cache
def _digest() -> str:
    import numba

    total = hashlib.sha256(f"{sys.version_info[:2]} {numba.__version__}".encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        total.update(path.relative_to(_PACKAGE).as_posix().encode())
        total.update(path.read_bytes())
    return total.hexdigest()[:20]


def load_source(name: str, text: str) -> ModuleType:
    """Run a kernel's source as a module: from a file in the cache where there is one, so that Numba keeps its code."""
    folder = cache_folder()
    if folder is None:
        module = ModuleType(name)
        text = text.replace("cache=True, ", "")
        exec(compile(text, f"<slidewise kernel {name}>", "exec"), module.__dict__)
        return module
    path = folder / f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:12]}.py"
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".tmp", delete=False, encoding="utf-8") as file:
            file.write(text)
        os.replace(file.name, path)
    spec = importlib.util.spec_from_file_location(f"_slidewise_kernel_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
