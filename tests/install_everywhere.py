"""Build the wheel and the source distribution, check them, and use the wheel in fresh environments.

python tests/install_everywhere.py [--pythons PATH ...] [--extras NAME ...]

For each Python 3.11, 3.12 and 3.13 that is found, the wheel is installed without an extra and with each extra, `pip
check` runs, and then what tests/installed.py has for the extra: the README's lines, on Spark, too. It downloads some
hundreds of megabytes and takes many minutes; `make test-package` runs it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "package"
EXTRAS = list(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
NAMES = ("python3.11", "python3.12", "python3.13")


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command; where it fails, end with what it said."""
    cache = {"SLIDEWISE_CACHE_DIR": str(ROOT / "build" / "kernels")}
    left_out = ("PYTHONPATH", "PYSPARK_PYTHON", "VIRTUAL_ENV")
    environment = {name: value for name, value in os.environ.items() if name not in left_out} | cache
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")


def built() -> Path:
    """The wheel, built and checked beside its source distribution."""
    shutil.rmtree(OUT, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", OUT)
    run(sys.executable, "-m", "twine", "check", "--strict", *OUT.iterdir())
    [wheel] = OUT.glob("*.whl")
    print(f"{wheel.name}: built from the source distribution; twine check --strict: clean", flush=True)
    return wheel


def found() -> list[str]:
    """Pythons that are there and run."""
    paths = [path for name in NAMES if (path := shutil.which(name))]
    return [path for path in paths if not subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode]


def used(wheel: Path, python: str, extra: str) -> None:
    """Install the wheel with an extra into a new environment, and use it there."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run(python, "-m", "venv", home / "venv")
        inner = home / "venv" / "bin" / "python"
        wanted = f"{wheel}[{extra}]" if extra else str(wheel)
        run(inner, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-c", ROOT / "constraints.txt", wanted)
        run(inner, "-m", "pip", "check")
        run(inner, ROOT / "tests" / "installed.py", *([extra] if extra else []), cwd=home)
        version = subprocess.check_output([inner, "--version"], text=True).strip()
    print(f"{version}, {f'[{extra}]' if extra else 'no extra'}: works, {time.monotonic() - began:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pythons", nargs="*", default=found(), help="Pythons to install into; default: those found")
    parser.add_argument("--extras", nargs="*", default=["", *EXTRAS], help="extras; default: none, and each by itself")
    chosen = parser.parse_args()
    wheel = built()
    for python in chosen.pythons:
        for extra in chosen.extras:
            used(wheel, python, extra)


if __name__ == "__main__":
    main()
