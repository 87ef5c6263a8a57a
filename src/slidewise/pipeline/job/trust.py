"""Permissions of a job file: data in, data out. What runs code must be allowed on the command line.

A job file may come from anybody. So its operators are imported only with `--allow-imports`, and settings that could
make Spark load or start a program, or hand the job to another machine, are taken from `--conf` and `--master` only.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from slidewise.definition_files import own_paths, resolved_arguments
from slidewise.errors import SlidewiseError
from slidewise.import_paths import OperatorPath, check_import, is_allowed, modules_of, operator_at
from slidewise.pipeline.job.toml_document import Keys, TomlDocument
from slidewise.sliding import Sliding

# A number, a switch, a size or a duration names no program; of other settings these take text.
_PLAIN = re.compile(
    r"(true|false|-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?\s*(ms|us|s|m|min|h|d|b|k|kb|mb|g|gb|t|tb)?)\Z", re.IGNORECASE
)
_TEXTS = (
    "spark.app.name",
    "spark.scheduler.mode",
    "spark.sql.ansi.enabled",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.parquet.compression.codec",
    "spark.sql.parquet.outputTimestampType",
    "spark.sql.session.timeZone",
    "spark.sql.sources.partitionOverwriteMode",
    "spark.sql.timestampType",
)
_PROGRAMS = re.compile(
    r"python(\.|$)|jars|files|archives|packages|class|java|script|plugin|listener|env\b|extension|submit|command|library"
    r"|host|address|connect",
    re.IGNORECASE,
)
_LOADED = re.compile(r"jaas|class(es|name)?$|\.providers?$|\.command$", re.IGNORECASE)
_MASTER = re.compile(r"(local(\[[0-9*, ]+\])?|yarn)\Z")


def check_settings(document: TomlDocument, master: str | None, conf: Mapping[str, str]) -> None:
    """Refuse a master or a setting of the file's that only the command line may give."""
    if master is not None and not _MASTER.match(master):
        document.fail(
            ("spark", "master"),
            f"a job file names 'local[...]' or 'yarn' as 'master', not {master!r}: another machine would get to run "
            f"code in this process. If you trust it, leave the line out and give --master {master}",
        )
    for name, value in conf.items():
        if name not in _TEXTS and (_PROGRAMS.search(name.removeprefix("spark.")) or not _PLAIN.match(value)):
            document.fail(
                ("spark", "conf", name),
                f"{name!r} = {value!r} could make Spark load or start a program, so a job file cannot set it; if you "
                f"trust it, leave the line out and give --conf {name}={value}",
            )


def check_options(document: TomlDocument, keys: Keys, flag: str) -> None:
    """Refuse an option of a source or a sink by which a driver, such as Kafka's, would load a class."""
    for name in document.table(keys):
        if _LOADED.search(name):
            document.fail(
                (*keys, name),
                f"{name!r} makes a driver load classes that it names, so a job file cannot set it; if you trust it, "
                f"leave the line out and give {flag} {name}=...",
            )


def listed_modules(document: TomlDocument) -> tuple[str, ...] | None:
    """The modules that `[operators]` lists, which narrows what the job may import; None where it lists none."""
    document.table(("operators",), ("modules",))
    modules = document.value(("operators", "modules"), list, "a list of names of modules", None)
    if modules is None:
        return None
    try:
        names = modules_of(modules)
    except SlidewiseError:
        document.fail(("operators", "modules"), f"'modules' is a list of names of modules, not {modules!r}")
    return names if isinstance(names, tuple) else ()


def resolve(document: TomlDocument, definition: Sliding, folder: Path, imports: bool) -> Sliding:
    """The definition with the user's own operators in the places of their stand-ins.

    Their modules are those of this process, or are imported where that is allowed: from Python's path, and behind it
    from the job's folder. All are checked before the first is imported.
    """
    paths = own_paths(definition.columns)
    listed = listed_modules(document)
    for name, path in paths:
        if listed is not None and not is_allowed(path.module, listed):
            names = ", ".join(map(repr, listed)) or "none"
            _refuse(document, name, f"'{path}' is in the module {path.module!r}, and [operators] lists {names}; add it")
        try:
            check_import(path, imports, _remedy(path, folder))
        except SlidewiseError as error:
            _refuse(document, name, str(error))
    if not paths:
        return definition
    with _on_path(folder):
        for name, path in paths:
            try:
                operator_at(path, imports)
            except SlidewiseError as error:
                _refuse(document, name, str(error))
        _pickle_by_value(folder)
    try:
        return Sliding(**resolved_arguments(document.table(("definition",)), lambda path: operator_at(path, imports)))
    except SlidewiseError as error:
        at = [name for name, _ in paths if repr(name) in str(error)]
        document.fail(("definition", *(("columns", at[0]) if at else ())), str(error))


def _refuse(document: TomlDocument, name: str, message: str) -> Any:
    document.fail(("definition", "columns", name, "operator"), message)


def _remedy(path: OperatorPath, folder: Path) -> str:
    top = path.module.partition(".")[0]
    near = [path for path in (folder / f"{top}.py", folder / top / "__init__.py") if path.exists()]
    where = f"which is {near[0]}" if near else "which is not in the job's folder"
    return f"If you trust it ({where}), run the job with --allow-imports, or read_job(..., imports=True)"


@contextmanager
def _on_path(folder: Path) -> Iterator[None]:
    """The job's folder at the end of Python's path, where it hides no installed module."""
    path = str(folder.resolve())
    sys.path.append(path)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        with suppress(ValueError):
            sys.path.remove(path)


def _pickle_by_value(folder: Path) -> None:
    """Pickle functions of the job's folder by value, for the folder is not on the path of Spark's workers."""
    try:
        from pyspark import cloudpickle
    except ImportError:  # said where Spark is started
        return
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str) and Path(file).resolve().is_relative_to(folder.resolve()):
            cloudpickle.register_pickle_by_value(module)
