"""`sw.ship`: this package sent to Spark's executors, and a check that they have all else that it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from slidewise.errors import SlidewiseError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from slidewise.spark.ship.executors import ExecutorPython


class Shipped(NamedTuple):
    """What `ship` sent, and the executors that it found."""

    archive: str
    size: int
    executors: tuple[ExecutorPython, ...]

    def __str__(self) -> str:
        hosts = sorted({executor.host for executor in self.executors})
        number = f"{len(self.executors)} executor{'' if len(self.executors) == 1 else 's'}"
        return f"{self.archive} ({self.size:,} bytes) is on {number}: {', '.join(hosts)}"


def ship(spark: SparkSession, *, streams: bool = True) -> Shipped:
    """Send this package to the executors of a session, and check that their Python has what it needs.

    That is numba, numpy and pyarrow, and for streams pandas and protobuf, in versions that fit. Executors that start
    later are sent the package, too; call it before `transform`. Over Spark Connect it serves batches: streams there
    need an installation.

    Args:
        spark: The session.
        streams: Whether to ask for what only streams need, too.

    Returns:
        What was sent, and the executors with their hosts, Pythons and versions; as text, a sentence.

    Raises:
        SlidewiseError: An executor lacks packages; it says which, on which hosts, and nothing has been sent. Or one
            has imported another Slidewise before, or runs no Python that PySpark takes.

    >>> print(sw.ship(spark))  # doctest: +SKIP
    slidewise-0.1.0-ffa60c265f347057.zip (1,038,888 bytes) is on 2 executors: node1, node2
    """
    from slidewise.spark.ship.archive import package_archive
    from slidewise.spark.ship.executors import GUIDE, ask_executors

    found = ask_executors(spark)
    lacking = [(executor, missing) for executor in found if (missing := executor.missing(streams))]
    if lacking:
        by_batch = any(executor.missing(streams=False) for executor in found)
        raise SlidewiseError(
            f"the Python of Spark's executors lacks packages that Slidewise needs:\n{_lines(lacking)}\nInstall them "
            "there (pip install 'slidewise[worker]' brings all of them), or send an environment that has them: "
            f"{GUIDE}{'' if by_batch else '; for batches only, streams=False does not ask for these'}"
        )
    archive = package_archive()
    digest = archive.stem.rpartition("-")[2]
    context = getattr(spark, "sparkContext", None)
    if context is None:
        spark.addArtifacts(str(archive), pyfile=True)
    else:
        context.addPyFile(str(archive))
    executors = ask_executors(spark, digest)
    problems = [(executor, problem) for executor in executors if (problem := _problem(executor, digest))]
    if problems:
        raise SlidewiseError(f"{archive.name} was sent, and Spark's executors do not import it:\n{_lines(problems)}")
    return Shipped(archive.name, archive.stat().st_size, tuple(executors))


def _problem(executor: ExecutorPython, digest: str) -> str:
    """Why an executor does not run the Slidewise that was sent; nothing where it does."""
    if executor.digest == digest and not executor.error:
        return ""
    if executor.slidewise and executor.digest != digest:
        return (
            f"it has imported another Slidewise, {executor.slidewise}, and goes on with it; start a new session, and "
            "ship before anything else runs there"
        )
    return executor.error or "it has no Slidewise"


def _lines(problems: Iterable[tuple[ExecutorPython, str]]) -> str:
    """A line for each host, Python and problem."""
    lines = [f"  {executor.host}, {executor.python} ({executor.version}): {text}" for executor, text in problems]
    return "\n".join(dict.fromkeys(lines))
