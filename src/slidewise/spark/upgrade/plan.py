"""The plan of an upgrade: which definitions may have written the checkpoint, and what becomes of each column."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.spark.state.directory import Directory
from slidewise.spark.state.pages import DESCRIPTION, DIRECTORY, TRAIL, MemoryStore, Pages, page_fingerprint
from slidewise.spark.state.seven_bits import decode_text
from slidewise.spark.stream.checkpoint import read_pages
from slidewise.spark.stream.packing import SHARD
from slidewise.spark.stream.query_description import read_description, why_not_other_shards
from slidewise.spark.stream.shard_labels import labelled_shard
from slidewise.spark.upgrade.changes import Changes
from slidewise.spark.upgrade.outlook import ShardMoment, column_outlook
from slidewise.spark.upgrade.upgrade import written_by

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NEEDED = (DIRECTORY, TRAIL, TRAIL + 1, DESCRIPTION)  # pages


class UpgradePlan(NamedTuple):
    """The definitions one of which wrote the checkpoint, and for each of them what becomes of each column."""

    old: tuple[Definition, ...]
    outlooks: tuple[dict[str, str], ...]

    def __str__(self) -> str:
        parts = []
        for number, outlook in enumerate(self.outlooks, 1):
            which = "" if len(self.outlooks) == 1 else f" of a checkpoint by the definition {number} of upgrade_from="
            width = max(map(len, outlook))
            columns = [f"    {name:<{width}}  {words}" for name, words in outlook.items()]
            parts += [f"the upgrade{which} converts each shard's state at its first call:", *columns]
        return "\n".join(parts)


def plan_upgrade(definition: Definition, upgrade_from: object) -> UpgradePlan | None:
    """The plan of an upgrade from a definition, or from one of several; a change that cannot be made is an error."""
    if upgrade_from is None:
        return None
    old = tuple(upgrade_from) if isinstance(upgrade_from, list | tuple) else (upgrade_from,)
    if not old or not all(isinstance(each, Definition) for each in old):
        raise SlidewiseError(
            f"upgrade_from= is the definition that the checkpoint was written by, or a list of those that may have "
            f"written it, not {upgrade_from!r}"
        )
    return UpgradePlan(old, tuple(column_outlook(Changes(each, definition)) for each in old))


def plan_upgrade_of(
    session: SparkSession, definition: Definition, plan: UpgradePlan, shards: int, checkpoint: str
) -> UpgradePlan:
    """The same for a checkpoint of a stopped query, which is read: its writer and times are known."""
    from pyspark.sql import functions as F

    from slidewise.spark.inspect.checkpoint_state import check_folder

    check_folder(checkpoint)
    pages = read_pages(session, checkpoint).where(F.col("number").isin(*_NEEDED)).collect()
    stores: dict[int, MemoryStore] = {}
    for row in pages:
        stores.setdefault(labelled_shard(row[SHARD]), MemoryStore()).put(row["number"], decode_text(row["page"]))
    writers: list[Definition] = []
    moments: list[ShardMoment] = []
    changes: Changes | None = None
    for shard, store in stores.items():
        page = store.get(DIRECTORY)
        if page is None:
            continue
        fingerprint = page_fingerprint(page)
        stored = Pages(store, fingerprint, shard)
        text = stored.description()
        query = read_description(text) if text else None
        if query is None:
            raise SlidewiseError(
                f"the checkpoint {checkpoint} does not say by which query it was written, as those of older versions; "
                "leave out checkpoint= to have times relative to the upgrade"
            )
        if query.shards != shards:
            raise SlidewiseError(why_not_other_shards(query.shards, shards))
        directory = Directory(stored)
        writer = written_by((*plan.old, definition), query, fingerprint, text)
        if writer == definition or (writers and writer != writers[0]):
            continue  # of a shard that was upgraded already
        writers.append(writer)
        changes = changes or Changes(writer, definition, directory.generations)
        if directory.released is not None:
            moments.append(ShardMoment(directory.released, directory.warming))
    if changes is None:
        return plan
    return UpgradePlan((writers[0],), (column_outlook(changes, moments),))
