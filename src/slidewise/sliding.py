"""`Sliding`: a definition, and all the ways to run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from slidewise.definition import Definition
from slidewise.definition_files import arguments_of, from_toml_text, to_dict, to_toml
from slidewise.errors import SlidewiseError, did_you_mean
from slidewise.explaining import Explanation, explain
from slidewise.import_paths import Imports
from slidewise.windows import Length

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from slidewise.audit.audit import Audit
    from slidewise.columns.table_kinds import Table
    from slidewise.live.live import Live
    from slidewise.live.set_aside import SetAside


class Sliding(Definition):
    """A definition of sliding windows that runs: keys, a time column, and named aggregates, answered at every event.

    Run it: `definition(table)` on pyarrow, pandas and polars tables, `definition.live()` one event at a time,
    `definition.as_of(labels, events)` at other times than the events' own, `definition.audit(served, events)` against
    what was served.
    Look at it: `explain()`, `repr`, `==`, `hash`, `fingerprint()`.
    Keep it: `to_dict` and `from_dict`, `to_toml` and `from_toml`; `restore` brings back a live one's snapshot, and
    `live_from` goes on from a stream's state.

    Args:
        by: Names of the key columns; windows of different keys know nothing of one another.
        on: Name of the time column; None for windows of rows in the input's order.
        ties: Columns that order rows of equal time.
        columns: Aggregates and expressions by name, where a name is one of these arguments or no identifier.
        every: Answer on a beat, such as "1 minute", instead of at every row.
        offset: By how much beats are moved.
        **more: Aggregates and expressions by name.

    Raises:
        SlidewiseError: A part that makes no sense; the message says which, and what to write instead.

    >>> import pyarrow as pa, slidewise as sw
    >>> health = sw.Sliding(by="machine", on="ts", peak=sw.max("temp").over(10))
    >>> health
    sw.Sliding(
        by='machine',
        on='ts',
        peak=sw.max('temp').over(10),
    )
    >>> table = pa.table({"machine": [7, 7, 8, 7], "ts": [0, 5, 6, 12], "temp": [71.0, 70.0, 90.0, 69.0]})
    >>> health(table)["peak"].to_pylist()
    [71.0, 71.0, 90.0, 70.0]
    """

    __slots__ = ()

    def __call__(self, table: Table | DataFrame, **options: Any) -> Any:
        """The table with a column per aggregate behind its own; its rows stay in their order.

        A Spark DataFrame comes back lazily and in no order; `parallel=` and `presorted=` are options for it, and
        `shards=`, `forget_after=`, `metrics=`, `watermark=`, `ahead=`, `late_to=`, `history=`, `history_until=`,
        `upgrade_from=` and `warm=` for a stream.

        Args:
            table: A table of pandas, polars or Arrow, or a Spark DataFrame.
            **options: Options for Spark DataFrames, such as `parallel=`, and for streams, such as `shards=`;
                docs/spark.md has them.

        Returns:
            A table of the same kind.

        Raises:
            SlidewiseError: A column that is missing or of a type that does not fit, a null time, an option that is not
                known.
        """
        if _is_spark(table):
            from slidewise.spark.transform import transform_on_spark

            return transform_on_spark(self, table, **options)
        if options:
            raise _unwanted(options)
        if self.every is not None:
            from slidewise.tables.beats import beats_of_table

            return beats_of_table(self, table)
        from slidewise.tables.evaluate import over_table

        return over_table(self, table)

    def as_of(
        self,
        labels: Table | DataFrame,
        events: Table | DataFrame,
        *,
        on: str | None = None,
        by: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Any:
        """The labels with a column per aggregate: its answer over the events of the label's key up to the label's time.

        The answer is that of a row of this key at this time which itself does not count, so events after a label never
        count, and labels never see one another. `on` is the labels' time column, and `by` says which of their columns
        are the keys, `{"card": "card_id"}`, where they have other names than in the events. Labels keep their columns,
        their rows and, in a table, their order.

        Spark DataFrames come back lazily and in no order, with `parallel=` as for a call. Two streams, each with its
        watermark, give the labels once both watermarks have passed them; options are `shards=`, `forget_after=`,
        `metrics=` and `late_to=`.

        Args:
            labels: Rows with keys and a time.
            events: The rows that windows hold.
            on: The labels' time column, where it is not the definition's.
            by: The labels' names of keys, where they differ.
            **options: Options for Spark DataFrames, such as `parallel=`, and for streams, such as `shards=`;
                docs/spark.md has them.

        Returns:
            The labels' kind of table.

        Raises:
            SlidewiseError: A column that is missing or of a type that does not fit, or a definition on a beat.

        >>> import pyarrow as pa, slidewise as sw
        >>> card = sw.Sliding(by="card", on="ts", spent=sw.sum("amount").over(10))
        >>> events = pa.table({"card": [7, 7, 8], "ts": [1, 5, 6], "amount": [20, 30, 90]})
        >>> labels = pa.table({"card_id": [7, 7, 9], "ts": [5, 11, 5], "fraud": [False, True, False]})
        >>> card.as_of(labels, events, by={"card": "card_id"})["spent"].to_pylist()
        [50, 30, None]
        """
        if _is_spark(labels) or _is_spark(events):
            from slidewise.spark.transform import as_of_on_spark

            return as_of_on_spark(self, labels, events, on, by, **options)
        if options:
            raise _unwanted(options, ("on", "by"))
        from slidewise.columns.table_kinds import as_table
        from slidewise.tables.as_of import as_of_tables

        if labels is events:  # which may be a stream of rows, to be read once
            labels = events = as_table(events)
        return as_of_tables(self, labels, events, on, by)

    def audit(
        self,
        served: Table | DataFrame,
        events: Table | DataFrame,
        at: str | None = None,
        *,
        by: Mapping[str, str] | None = None,
        columns: Mapping[str, str] | None = None,
        tolerance: float = 0.0,
        limit: int = 10_000,
        **options: Any,
    ) -> Audit:
        """Recompute what was served, by `as_of` over the events, and compare: the audit is true where all is equal.

        `served` is a log: the keys, the time of the request in the column `at`, and the answers that were given, in
        columns named like the aggregates. `by` says which columns are the keys, as for `as_of`, and `columns` which
        hold the answers, `{"spent": "feature_spent"}`, where they have other names. Aggregates that the log does not
        have are not compared, and the audit names them.

        Answers are equal exactly, floats to the last bit; with a `tolerance`, such as `1e-9`, floats may differ by that
        share of the greater one. NaN equals NaN, and an integer a float of the same value. All differences are counted,
        and of each column the earliest `limit` are listed. Spark DataFrames are compared where they are, and take the
        options of `as_of`.

        Args:
            served: The log of what was served.
            events: The rows to recompute it from.
            at: The log's time column.
            by: The log's names of keys, where they differ.
            columns: The log's names of answers, where they differ.
            tolerance: The share by which floats may differ.
            limit: How many differences of each column are listed.
            **options: Options for Spark DataFrames, such as `parallel=`, and for streams, such as `shards=`;
                docs/spark.md has them.

        Returns:
            An audit, to be printed or asked.

        Raises:
            SlidewiseError: A column that is missing, a stream, or an option that is not known.

        >>> import pyarrow as pa, slidewise as sw
        >>> card = sw.Sliding(by="card", on="ts", spent=sw.sum("amount").over(10))
        >>> events = pa.table({"card": [7, 7, 8], "ts": [1, 5, 6], "amount": [20, 30, 90]})
        >>> served = pa.table({"card": [7, 7, 8], "served_at": [5, 11, 9], "spent": [50, 30, 91]})
        >>> print(card.audit(served, events, at="served_at"))
        1 of 3 answers differ (66.66 % are equal): 3 served rows, 1 column
        ...
        """
        from slidewise.audit.audit import check_settings
        from slidewise.audit.served_log import ServedLog

        check_settings(tolerance, limit)
        if "on" in options:
            raise SlidewiseError(f"the log's time column is at={options['on']!r}, not on=")
        for name in options:
            if name not in OPTIONS:
                known = ("at", "by", "columns", "tolerance", "limit")
                raise SlidewiseError(f"{name}= is not known; audit takes {_listed(known)}{did_you_mean(name, known)}")
        if any(getattr(side, "isStreaming", False) for side in (served, events)):
            raise SlidewiseError("an audit is of what was served up to now; give it the stream's tables, not a stream")

        def recompute(asked: Table | DataFrame) -> Any:
            return self.as_of(asked, events, on=at, by=by, **options)

        if _is_spark(served):
            from slidewise.audit.spark_audit import audit_dataframe

            log = ServedLog.of(self, served.columns, (), at, by, columns)
            return audit_dataframe(self, log, served, recompute, tolerance, limit)
        from slidewise.audit.table_audit import audit_table
        from slidewise.columns.frames import frame_of
        from slidewise.columns.table_kinds import as_table

        served = as_table(served)
        frame = frame_of(served)
        log = ServedLog.of(self, frame.names, frame.index, at, by, columns)
        return audit_table(self, log, served, recompute, tolerance, limit)

    def live(
        self,
        *,
        late: str = "error",
        answered: Callable[[dict[str, Any]], Any] | None = None,
        spikes: bool = False,
        retain: Length | timedelta | str | None = None,
        ahead: Length | timedelta | str | None = None,
        ahead_of: str | None = None,
        late_to: Callable[[dict[str, Any], str], Any] | None = None,
    ) -> Live:
        """The definition at work on live events, with state of its own.

        `late` says what becomes of an event whose time lies before that of another one. `"error"` raises and `"drop"`
        drops and counts it, both judged within its key. `"wait:10s"` lets events wait until the newest time of all keys
        is more than 10 s past theirs, then answers them in order, from the list that `push` gives or by calling
        `answered`; what comes later than that is dropped and counted. `"revise"` answers each event at once, and with
        a late one gives again the answers that it changes; `retain`, such as `"1 day"`, is how late it may be, by
        default as late as the longest window is long. `spikes` lets in algorithms that are faster on average and slow
        at times.

        `ahead`, such as `"1 day"`, puts events aside whose times lie further past a reference than that: they are not
        taken in, not believed, and counted. `ahead_of` is the reference: `"clock"`, the machine's, where times are
        moments, or `"stream"`, the newest time so far, where they are numbers. `late_to(row, reason)` gets each event
        that is not taken in, with the reason `"late"` or `"ahead"`.

        Args:
            late: What becomes of late events: "error", "drop", "wait:10s" or "revise".
            answered: Called with each answer, for `late="wait:..."`.
            spikes: Let in algorithms that are slow at times.
            retain: How late an event may be, for `late="revise"`.
            ahead: How far ahead of the reference an event may be.
            ahead_of: "clock" or "stream".
            late_to: Called with each event that is not taken in, and the reason.

        Returns:
            A live definition: `push`, `push_many`, `get`, `get_many`, `snapshot`.

        Raises:
            SlidewiseError: Arguments that do not go together.

        >>> import slidewise as sw
        >>> live = sw.Sliding(by="machine", on="ts", peak=sw.max("temp").over(10)).live()
        >>> live.push({"machine": 7, "ts": 0, "temp": 71.0}), live.push({"machine": 7, "ts": 12, "temp": 70.0})
        ({'peak': 71.0}, {'peak': 70.0})
        """
        from slidewise.live.set_aside import set_aside_of

        aside = set_aside_of(late, self.on is not None, ahead, ahead_of, late_to)
        if self.every is not None:
            return self._live_on_beat(late, answered, aside, spikes, retain)
        if late == "revise":
            from slidewise.live.revising import Revising

            if answered is not None:
                raise SlidewiseError("answered= is for late='wait:...'; otherwise push itself returns the answers")
            return Revising(self, retain=retain, aside=aside)
        if retain is not None:
            raise SlidewiseError(f"retain= is for late='revise', and late is {late!r}")
        from slidewise.live.live import Live

        return Live(self, late=late, answered=answered, spikes=spikes, aside=aside)

    def _live_on_beat(
        self, late: str, answered: Callable[[dict[str, Any]], Any] | None, aside: SetAside, *others: object
    ) -> Live:
        from slidewise.live.beats.beat_live import BeatLive

        if late == "revise":
            raise SlidewiseError(
                f"late='revise' is not for every={str(self.every)!r}: a beat is given once, when it is complete; let "
                "late events wait with late='wait:10s', say"
            )
        for name, option in zip(("spikes", "retain"), others, strict=True):
            if option:
                raise SlidewiseError(
                    f"{name}= is not for every=: windows over slices are short, and beats are not revised"
                )
        return BeatLive(self, late=late, answered=answered, aside=aside)

    def flush(self, stream: DataFrame, checkpoint: str, *, operator: int | None = None, **options: Any) -> DataFrame:
        """A batch DataFrame of the answers to the rows that a stopped query over a stream still has waiting.

        `stream` and the options are those of the call that made the query, and `checkpoint` is its checkpoint, which
        stays as it is: the answers are those of the end of the stream, and a query that is started again from there
        gives these rows' answers once more, with the rows that came since. `operator` is the number of the query's
        operator with state, where there are several.

        Args:
            stream: The streaming DataFrame that the query was made of.
            checkpoint: The query's checkpoint.
            operator: The number of the operator with state, where there are several.
            **options: The options of the call that made the query.

        Returns:
            A batch DataFrame.

        Raises:
            SlidewiseError: A checkpoint that is not of this definition, or cannot be read.

        >>> answers = card.flush(stream, 'checkpoints/card')  # doctest: +SKIP
        >>> answers.write.mode('append').parquet('answers')  # doctest: +SKIP
        """
        from slidewise.spark.transform import flush_on_spark

        return flush_on_spark(self, stream, checkpoint, operator, options)

    def live_from(
        self,
        spark: SparkSession,
        checkpoint: str,
        *,
        operator: int | None = None,
        waiting: bool = False,
        **options: Any,
    ) -> Live:
        """The definition at work on live events, going on from the state in the checkpoint of a stream that runs it.

        It is equal to one that has seen the rows which the stream has released: those up to its watermark. Events up to
        there are late, as they are in the stream, and are not counted twice. Rows that still wait in the stream are not
        in; with `waiting=True` and `late="wait:..."` they wait here. The options are those of `live`, except
        `late="revise"`. `operator` is the number of the query's operator with state, where there are several.

        The whole state comes into memory. Windows that an upgrade of the stream left incomplete are so here. The stream
        goes on without this, and the checkpoint stays as it is.

        Args:
            spark: The session that reads the checkpoint.
            checkpoint: The stream's checkpoint.
            operator: The number of the operator with state, where there are several.
            waiting: Take in rows that wait in the stream.
            **options: The options of `live`.

        Returns:
            A live definition.

        Raises:
            SlidewiseError: A checkpoint that is not of this definition, or options that do not fit.

        >>> live = card.live_from(spark, 'checkpoints/card', late='drop')  # doctest: +SKIP
        >>> live.get({'card': 7}, at=now)  # doctest: +SKIP
        {'spent': 55.0}
        """
        from slidewise.stream_state import live_from_checkpoint

        late = options.get("late", "error")
        if late == "revise":
            raise SlidewiseError(
                "late='revise' answers events anew, for which it needs them whole, and a stream's state has only the "
                "columns that aggregates read; use late='wait:10s', 'drop' or 'error'"
            )
        if waiting and not str(late).startswith("wait"):
            raise SlidewiseError(
                f"waiting=True lets the stream's waiting rows wait here, and late={late!r} lets none wait; add "
                "late='wait:10s', say"
            )

        def make(generations: dict[str, int]) -> Live:
            live = self.live(**options)
            if not generations or self.every is not None:
                return live
            from slidewise.live.live import Live

            return Live(
                self,
                late=live.late,
                answered=live.callback,
                spikes=live.spikes,
                aside=live.aside,
                generations=generations,
            )

        return live_from_checkpoint(self, make, spark, checkpoint, operator, waiting)

    def restore(
        self,
        blob: bytes,
        *,
        answered: Callable[[dict[str, Any]], Any] | None = None,
        late_to: Callable[[dict[str, Any], str], Any] | None = None,
        key: bytes | None = None,
    ) -> Live:
        """The live definition whose `snapshot` these bytes are; `key` is the one that it was made with, if any.

        A SnapshotError says what does not fit. Without a key, bytes that somebody forged are read safely, and may
        still hold other states than yours.

        Args:
            blob: What `snapshot` gave.
            answered: As for `live`.
            late_to: As for `live`.
            key: The key that it was signed with.

        Returns:
            A live definition.

        Raises:
            SnapshotError: Bytes that are damaged, of another definition, of a newer version, or signed otherwise.

        >>> import slidewise as sw
        >>> health = sw.Sliding(on="ts", peak=sw.max("temp").over(10))
        >>> live = health.live()
        >>> live.push({"ts": 0, "temp": 71.0})
        {'peak': 71.0}
        >>> health.restore(live.snapshot()).push({"ts": 5, "temp": 70.0})
        {'peak': 71.0}
        """
        from slidewise.live.snapshot.snapshot import restore

        return restore(self, blob, answered, key, late_to)

    def explain(
        self, table: Table | DataFrame | None = None, *, rate: float | None = None, **options: Any
    ) -> Explanation:
        """For each column: what runs and why, the bound on calls per event, and the state per key.

        With a Spark DataFrame, and the options of a call, also how it will run there; nothing runs. Of an upgrade it
        says what becomes of each column, and with the stopped query's `checkpoint=` also when. A grain is suggested
        where a window holds more than a million rows of a key: in a `table` in memory, whose windows are counted, or at
        a `rate`, which is how many events a key has in a second, or in one unit where times are numbers.

        Args:
            table: What it would run on, which need not be run.
            rate: Events of a key in a second.
            **options: Those of the call that is to be explained.

        Returns:
            An explanation, to be printed; notebooks show it as a table.

        Raises:
            SlidewiseError: A rate that is no number, or an option that is not known.

        >>> import slidewise as sw
        >>> print(sw.Sliding(by="card", on="ts", n=sw.count().over("1 hour")).explain())
        n = sw.count().over('1 hour')
            on tables: ...
        """
        if rate is not None and not (isinstance(rate, int | float) and not isinstance(rate, bool) and rate > 0):
            raise SlidewiseError(f"rate= is how many events a key has in a second, such as 10_000, not {rate!r}")
        if _is_spark(table):
            from slidewise.spark.transform import plan_on_spark

            explanation = explain(self, rate=rate)
            explanation.spark = plan_on_spark(self, table, **options)
            return explanation
        if options:
            raise _unwanted(options, ("rate",))
        if table is None:
            return explain(self, rate=rate)
        from slidewise.tables.evaluate import longest_windows

        return explain(self, longest_windows(self, table), rate)

    def to_dict(self) -> dict[str, Any]:
        """The definition as plain dicts, lists, text and numbers.

        Returns:
            What `from_dict` takes, and JSON holds.

        >>> import slidewise as sw
        >>> sw.Sliding(on="ts", peak=sw.max("temp").over(10)).to_dict()
        {'on': 'ts', 'columns': {'peak': {'operator': 'max', 'of': ['temp'], 'over': 10}}}
        """
        return to_dict(self)

    @classmethod
    def from_dict(cls, written: Mapping[str, Any], *, imports: Imports = False) -> Sliding:
        """The definition that `to_dict` wrote.

        An operator of a user's own, `"package.module:name"`, is taken from a module that is imported already. Others
        are imported only where `imports` allows it, for that runs their code: a list of names of modules, or True for
        all that the definition names. Everything else is checked before.

        Args:
            written: What `to_dict` gave.
            imports: What may be imported for users' operators: names of modules, True for all that is named, False for
                none.

        Returns:
            The definition.

        Raises:
            SlidewiseError: A dict that is no definition; the message names the place.

        >>> import slidewise as sw
        >>> sw.Sliding.from_dict({"on": "ts", "columns": {"n": {"operator": "count", "over": 10}}})
        sw.Sliding(
            on='ts',
            n=sw.count().over(10),
        )
        """
        return cls(**arguments_of(written, imports))

    def to_toml(self) -> str:
        """The definition as text in TOML.

        Returns:
            Text that `from_toml` takes.

        >>> import slidewise as sw
        >>> print(sw.Sliding(on="ts", peak=sw.max("temp").over("10 minutes")).to_toml())
        on = "ts"
        <BLANKLINE>
        [columns."peak"]
        operator = "max"
        of = ["temp"]
        over = "10 minutes"
        <BLANKLINE>
        """
        return to_toml(self)

    @classmethod
    def from_toml(cls, text: str, *, imports: Imports = False) -> Sliding:
        """The definition that `to_toml` wrote, or that somebody wrote by hand; `imports` as for `from_dict`.

        Args:
            text: A definition in TOML.
            imports: What may be imported for users' operators: names of modules, True for all that is named, False for
                none.

        Returns:
            The definition.

        Raises:
            SlidewiseError: Text that is no TOML, or no definition.

        >>> import slidewise as sw
        >>> definition = sw.Sliding(on="ts", n=sw.count().over("1 hour"))
        >>> sw.Sliding.from_toml(definition.to_toml()) == definition
        True
        """
        return cls.from_dict(from_toml_text(text), imports=imports)

    def _repr_html_(self) -> str:
        """What a notebook shows: keys, time and columns as tables."""
        from slidewise.html_pages import definition_in_notebook

        return definition_in_notebook(self)


# Options of calls on Spark, batch or streaming; `spark.transform` says which are for what.
OPTIONS = ("parallel", "presorted", "shards", "forget_after", "metrics", "watermark", "ahead", "ahead_of", "late_to")


def _unwanted(options: Mapping[str, Any], taken: tuple[str, ...] = ()) -> SlidewiseError:
    """The error for options of a call over a table, which takes those that are named here."""
    unknown = [name for name in options if name not in OPTIONS]
    if not unknown:
        return SlidewiseError(f"{', '.join(options)}: options are for Spark DataFrames only")
    takes = f"; a table takes {_listed(taken)}" if taken else "; a table takes no options"
    return SlidewiseError(f"{unknown[0]}= is not known{takes}{did_you_mean(unknown[0], (*taken, *OPTIONS))}")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"{name}=" for name in names)


def _is_spark(table: object) -> bool:
    return type(table).__module__.startswith("pyspark.")
