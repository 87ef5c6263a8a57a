"""The packages that the Python of Spark's executors needs beside Slidewise, and in which versions."""

from __future__ import annotations

import re
from typing import NamedTuple


class WorkerPackage(NamedTuple):
    """A package by the name that pip knows, its module, and the versions that fit, as pyproject.toml has them."""

    name: str
    module: str
    versions: str
    streams_only: bool = False

    def problem(self, version: str) -> str:
        """What is wrong with a version; nothing where it fits."""
        number = _number(version)
        for bound in self.versions.split(","):
            limit = _number(bound.lstrip("<>="))
            if not (number >= limit if bound.startswith(">=") else number < limit):
                return f"{self.name} is {version}, and {self.versions} is needed"
        return ""


# The extra `worker` in pyproject.toml, with the dependencies that all have.
PACKAGES = (
    WorkerPackage("numba", "numba", ">=0.61,<1"),
    WorkerPackage("numpy", "numpy", ">=2.0,<3"),
    WorkerPackage("pyarrow", "pyarrow", ">=18"),
    WorkerPackage("pandas", "pandas", ">=2.2,<4", streams_only=True),
    WorkerPackage("protobuf", "google.protobuf", ">=6.33.5,<8", streams_only=True),
)


def _number(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with, without zeros at the end.

    >>> _number("2.0"), _number("0.61.2rc1"), _number("7.36.2.post1") > _number("6.33.5")
    ((2,), (0, 61, 2), True)
    """
    numbers = [int(number) for number in re.findall(r"\d+", (re.match(r"[\d.]*", version) or [""])[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
