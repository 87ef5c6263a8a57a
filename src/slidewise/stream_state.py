"""A stream's state outside of the stream: its keys as a DataFrame, and a live definition that goes on from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from slidewise.definition import Definition
from slidewise.errors import SlidewiseError
from slidewise.import_paths import Imports
from slidewise.operators.values.equality import same

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from slidewise.arrays import Array
    from slidewise.live.live import Live
    from slidewise.spark.inspect.opened_shard import OpenedShard


def read_state(
    spark: SparkSession,
    checkpoint: str,
    definition: Definition | None = None,
    operator: int | None = None,
    imports: Imports = False,
) -> DataFrame:
    """A DataFrame of the keys in a stream's checkpoint, one row for each, as of its last finished micro-batch.

    Columns: those of the key, then `shard`, `newest` (the time of its newest row; null on a beat), `rows` and `cells`
    (how many are stored; slices, on a beat), `bytes`, and `large` (whether it has pages of its own). Where a key is
    called like one of these, that one is called `state_...`.

    The checkpoint says which definition wrote it, unless an operator of it is in no module; then give the `definition`.
    An operator that is named by an import path is imported only where `imports` allows it, as for `Sliding.from_dict`.
    `operator` is the number of the query's operator with state, where there are several. Nothing is written to the
    checkpoint.

    Args:
        spark: The session that reads.
        checkpoint: The stream's checkpoint.
        definition: The definition that wrote it, where the checkpoint cannot say.
        operator: The number of the operator with state, where there are several.
        imports: What may be imported for users' operators: names of modules, True for all that is named, False for
            none.

    Returns:
        A batch DataFrame.

    Raises:
        SlidewiseError: A checkpoint that cannot be read, or has none of our state.

    >>> sw.read_state(spark, 'checkpoints/card').orderBy('bytes', ascending=False).show(3)  # doctest: +SKIP
    """
    from slidewise.spark.inspect.checkpoint_state import CheckpointState

    return CheckpointState(spark, checkpoint, definition, operator, imports).keys()


MakeLive = Callable[[dict[str, int]], "Live"]


def live_from_checkpoint(
    definition: Definition, make: MakeLive, spark: SparkSession, checkpoint: str, operator: int | None, waiting: bool
) -> Live:
    """A live definition, made by `make`, that goes on from a checkpoint."""
    from slidewise.spark.inspect.checkpoint_state import CheckpointState

    state = CheckpointState(spark, checkpoint, definition, operator)
    if state.damaged:
        raise SlidewiseError(f"a shard of {checkpoint} is damaged; slidewise state {checkpoint} --check says more")
    return live_of_shards(definition, make, state.shards(), state.released, waiting)


def live_of_shards(
    definition: Definition,
    make: MakeLive,
    shards: Iterable[OpenedShard],
    released: int | None,
    waiting: bool = False,
    chosen: Callable[[pa.Table], Array] | None = None,
) -> Live:
    """A live definition that goes on from shards, whose stream has released rows up to a time in microseconds.

    With `waiting`, it lets the rows that wait in them wait. `chosen` says which keys are wanted, if not all.
    """
    from slidewise.live.continued import StreamEnd, continue_live
    from slidewise.spark.inspect.stored_windows import stored_keys

    live: Live | None = None
    rows: list[pa.Table] = []
    end = None if released is None else released * 1_000
    for opened in shards:
        generations = opened.directory.generations
        live = live or make(generations)
        apart = definition.every is None and generations != live.generations
        if opened.definition is not definition or apart:
            raise SlidewiseError(
                f"shard {opened.shard} has not been upgraded yet, while others have: run the stream until each shard "
                "has had rows, and then start from it"
            )
        continue_live(live, StreamEnd(opened.schema, end), stored_keys(opened, released, chosen))
        if waiting:
            rows += _waiting_rows(opened)
    if live is None:
        return make({})
    if rows:
        _let_wait(live, rows)
    return live


def _waiting_rows(opened: OpenedShard) -> list[pa.Table]:
    """The events that wait in a shard, as they came."""
    from slidewise.spark.column_names import QUERY
    from slidewise.spark.state.buckets import HASH

    tables = []
    for page in opened.directory.waiting:
        table = opened.waiting_rows(page).drop_columns([HASH])
        if QUERY in table.column_names:  # labels wait beside events
            table = table.filter(~table.column(QUERY).to_numpy()).drop_columns([QUERY])
        tables.append(table)
    return tables


def _let_wait(live: Live, tables: list[pa.Table]) -> None:
    """Let rows wait in the buffer; what is due at once comes out of the next push."""
    import pyarrow as pa

    rows = pa.concat_tables(tables)
    due = live.push_many(rows.sort_by(str(live.definition.on)))
    live.ready[:0] = due.to_pylist(maps_as_pydicts="strict")


def windows_of_key(
    definition: Definition, shards: Iterable[OpenedShard], released: int, key: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The windows of a key, given as text, and their answers, as of the first moment after what was released.

    No row to come can be earlier, and all that were released are in. On a beat they are those of the key's next beat.
    Empty where there is no such key.
    """
    from slidewise.spark.inspect.shard_tasks import has_key

    def make(generations: dict[str, int]) -> Live:
        from slidewise.live.beats.beat_live import BeatLive
        from slidewise.live.live import Live

        return Live(definition, generations=generations) if definition.every is None else BeatLive(definition)

    live = live_of_shards(definition, make, shards, released, chosen=lambda keys: has_key(keys, key))
    return [_windows(definition, live, each, released) for each in list(live.key_states)]


def _windows(definition: Definition, live: Live, key: Any, released: int) -> dict[str, Any]:
    from slidewise.live.beats.beat_live import BeatLive
    from slidewise.live.keys import key_parts
    from slidewise.live.reads.get import answers_as_of
    from slidewise.live.reads.window_rows import window_rows

    columns = dict(zip(definition.by, key_parts(key, definition.by), strict=True))
    if isinstance(live, BeatLive):
        assert live.beats is not None
        moment = live.beats.time(live.last_beat + 1)
        beats = live.advance(live.time_reader.moment(moment))
        mine = [beat for beat in beats if all(same(beat[name], value) for name, value in columns.items())]
        answers = {name: mine[0][name] for name in definition.columns} if mine else None
        return {"key": columns, "newest": None, "as_of": live.moment(moment), "windows": [], "answers": answers}
    key_state, moment = live.key_states[key], (released + 1) * 1_000
    values = answers_as_of(live, key, moment)
    windows = []
    at = 0
    for i, spec in enumerate(live.specs):
        rows = window_rows(live, key_state, i, moment)
        for member in spec.members:
            aggregate = definition.aggregates[member.name]
            windows.append({"name": member.name, "aggregate": repr(aggregate), "rows": rows, "answer": values[at]})
            at += 1
    as_of = live.time_reader.moment(moment)
    assert key_state.now is not None
    return {
        "key": columns,
        "newest": live.time_reader.moment(key_state.now),
        "as_of": as_of,
        "windows": windows,
        "answers": None if definition.own else live.get(columns, at=as_of),
    }
