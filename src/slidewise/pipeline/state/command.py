"""`slidewise state CHECKPOINT`: what a stream's checkpoint holds, one key's windows, and whether all of it is sound."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from slidewise.definition_files import to_dict
from slidewise.errors import SlidewiseError, did_you_mean
from slidewise.pipeline.commands import RunSettings, session_of
from slidewise.pipeline.job.job import read_job
from slidewise.pipeline.job.toml_document import TomlDocument
from slidewise.pipeline.progress import TerminalStages
from slidewise.pipeline.run import READ, timed
from slidewise.pipeline.state.text import show
from slidewise.sliding import Sliding
from slidewise.spark.inspect.checkpoint_state import CheckpointState, check_folder
from slidewise.spark.inspect.summary import total
from slidewise.stream_state import windows_of_key
from slidewise.windows import Duration

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAMAGED = 1  # the exit status where something is wrong in the state
_CHECK, _KEY = "check every page", "look for the key"
_ROCKSDB = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
_PICTURES = (".png", ".svg")


@dataclass(frozen=True)
class StateSettings:
    """The options of the command line for a look inside a checkpoint."""

    checkpoint: str
    definition: str | None = None
    operator: int | None = None
    key: tuple[str, ...] = ()
    check: bool = False
    as_json: bool = False
    largest: int = 10
    plot: str | None = None

    @classmethod
    def of(cls, options: argparse.Namespace) -> StateSettings:
        return cls(
            options.checkpoint,
            options.definition,
            options.operator,
            tuple(options.key),
            options.check,
            options.json,
            options.largest,
            options.plot,
        )


def state_command(wanted: StateSettings, settings: RunSettings, console: Console | None = None) -> int:
    """Look inside a checkpoint and print what was asked for; the exit status."""
    if wanted.plot is not None and Path(wanted.plot).suffix.lower() not in _PICTURES:
        raise SlidewiseError(f"--plot writes a picture whose name ends with .png or .svg, not {wanted.plot}")
    check_folder(wanted.checkpoint)
    definition = None if wanted.definition is None else read_definition(wanted.definition, settings.imports)
    console = console or Console(highlight=False)
    stages = TerminalStages(Console(stderr=True) if wanted.as_json else console)
    settings = replace(settings, conf={**_ROCKSDB, **settings.conf}, overwrite=False, replay=False)
    with session_of(None, settings, stages, {}) as spark:
        found = look(spark, wanted, definition, settings.imports, stages)
    if wanted.plot is not None:
        from slidewise.pipeline.state.picture import write_picture

        write_picture(found, Path(wanted.plot))
    if wanted.as_json:
        sys.stdout.write(json.dumps(found, indent=2, default=str) + "\n")
    else:
        show(console, found, wanted.plot)
    damaged = found.get("problems") or any("error" in shard for shard in found.get("shards", ()))
    return DAMAGED if damaged else 0


def read_definition(path: str, imports: bool) -> Sliding:
    """The definition in a file: a job's, or one as `to_toml` writes it."""
    document = TomlDocument.of_file(Path(path))
    if "definition" in document.table(()):
        return read_job(path, imports=imports).definition
    return Sliding.from_toml(Path(path).read_text(encoding="utf-8"), imports=imports)


def look(
    spark: SparkSession,
    wanted: StateSettings,
    definition: Sliding | None = None,
    imports: bool = False,
    stages: TerminalStages | None = None,
) -> dict[str, Any]:
    """What was asked for of a checkpoint, as plain data."""
    stages = stages or TerminalStages(Console(quiet=True))
    seconds: dict[str, float] = {}
    with timed(stages, READ, seconds):
        state = CheckpointState(spark, wanted.checkpoint, definition, wanted.operator, imports)
        found = _head(state)
        if not wanted.key and not wanted.check:
            found |= _contents(state, wanted.largest)
    if wanted.key:
        with timed(stages, _KEY, seconds):
            found["keys"] = _key(state, wanted.key)
    if wanted.check:
        with timed(stages, _CHECK, seconds):
            pages, problems = state.check()
            found |= {"pages": pages, "problems": [problem._asdict() for problem in problems]}
    return found


def _head(state: CheckpointState) -> dict[str, Any]:
    """Which query wrote a checkpoint, and where it stands."""
    query = state.query
    try:
        written: dict[str, Any] | None = to_dict(query.definition)
    except SlidewiseError:
        written = None
    lifetime = query.forget_after
    return {
        "checkpoint": state.checkpoint,
        "definition": written,
        "definition_text": f"sw.Sliding({repr(query.definition).partition('(')[2]}",
        "fingerprint": query.fingerprint,
        "forget_after": None if lifetime is None else str(Duration(lifetime * 1_000)),
        "shards_in_all": None if query.description is None else query.description.shards,
        "watermark": moment(state.released),
    }


def _contents(state: CheckpointState, largest: int) -> dict[str, Any]:
    """The numbers of each shard, and of all together."""
    shards = state.summaries(largest)
    sound = [shard for shard in shards if "error" not in shard]
    scale = state.scale
    stretches = [] if scale is None else [scale.start(i) for i in range(scale.stretches + 1)]
    return {
        "total": _dated(total(sound, largest)),
        "waiting_from": [moment(time) for time in stretches],
        "shards": [_dated(shard) for shard in shards],
    }


def _dated(numbers: dict[str, Any]) -> dict[str, Any]:
    """Numbers with moments as text in the places of microseconds."""
    dated = {**numbers}
    for name in ("watermark", "history_until"):
        if name in dated:
            dated[name] = moment(dated[name])
    if "waiting" in dated:
        dated["waiting"] = {
            **dated["waiting"],
            "first": moment(dated["waiting"]["first"]),
            "last": moment(dated["waiting"]["last"]),
        }
    if "warming" in dated:
        dated["warming"] = {name: moment(time) for name, time in dated["warming"].items()}
    return dated


def moment(time: int | None) -> str | None:
    """A time in microseconds as text, in UTC.

    >>> moment(1_709_251_200_250_000), moment(None)
    ('2024-03-01 00:00:00.250000+00:00', None)
    """
    if time is None:
        return None
    try:
        return str(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time))
    except OverflowError:
        return f"{time} us after 1970"


def _key(state: CheckpointState, given: Sequence[str]) -> list[dict[str, Any]]:
    """The windows of a key, and their answers."""
    definition = state.query.definition
    key = key_of(definition.by, given)
    if state.released is None:
        raise SlidewiseError("nothing was released yet, so no key has state: all rows still wait for the watermark")
    shards = state.shards_of_key(key)
    found = windows_of_key(definition, shards, state.released, key)
    if not found:
        shown = ", ".join(f"{name}={text}" for name, text in key.items())
        raise SlidewiseError(
            f"the state has no key {shown}: it has had no row that was released, or its windows have run empty"
        )
    return found


def key_of(by: Sequence[str], given: Sequence[str]) -> dict[str, str]:
    """A key's columns as text: `COLUMN=VALUE` for each, or the value alone where there is one.

    >>> key_of(["machine"], ["7"]), key_of(["machine", "site"], ["site=a", "machine=7"])
    ({'machine': '7'}, {'machine': '7', 'site': 'a'})
    """
    if not by:
        if list(given) != [""]:
            raise SlidewiseError("the definition has no key columns; write --key '' for the only key")
        return {}
    key: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or (name not in by and len(by) == 1):
            if len(by) > 1:
                raise SlidewiseError(
                    f"--key {text}: the key has the columns {', '.join(by)}; write --key {by[0]}=... for each"
                )
            name, value = by[0], text
        if name not in by:
            raise SlidewiseError(
                f"--key {text}: the key has no {name!r}; it has {', '.join(by)}{did_you_mean(name, by)}"
            )
        if name in key:
            raise SlidewiseError(f"--key gives {name!r} twice")
        key[name] = value
    missing = [name for name in by if name not in key]
    if missing:
        raise SlidewiseError(f"--key gives no {missing[0]!r}; write --key {missing[0]}=... too")
    return {name: key[name] for name in by}
