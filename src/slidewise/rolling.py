"""`rolling`: an operator over sliding windows of one series, or of several that go together."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from slidewise.errors import InputError, SlidewiseError, WindowError
from slidewise.operators.aggregate import check_partials
from slidewise.operators.operator import Operator
from slidewise.windows import Duration, Window

if TYPE_CHECKING:
    from slidewise.columns.series import Series


def rolling(
    values: Series | tuple[Series, ...],
    op: Operator,
    *,
    rows: int | None = None,
    times: Series | None = None,
    last: Duration | timedelta | str | int | float | None = None,
    closed: str = "right",
    by: Series | None = None,
    at_least: int | None = None,
    grain: Duration | timedelta | str | int | float | None = None,
    delay: Duration | timedelta | str | int | float | None = None,
    zone: str | None = None,
    next: Duration | timedelta | str | int | float | None = None,
    gap: Duration | timedelta | str | int | float | None = None,
    since: Series | None = None,
) -> Series:
    """The operator over the last `rows` rows, or over the `last` stretch of `times`, or both at most, at every row.

    `values` is a NumPy array, an Arrow array or chunked array, or a pandas or polars Series, or a tuple of them where
    the operator takes several columns; the same kind comes back. `by` is a series of keys: each key has windows of its
    own, and answers stand in the input's order. Where fewer than `at_least` rows (default 1) are not null there is no
    answer: null, NaN in NumPy's floats, masked in its other types. `grain` rounds the old edge of a window of time down
    to a multiple of it; with a `delay` the window ends so long before the row. A `last`
    of "1 month" or "2 years" goes back on the calendar, of a `zone` such as "Europe/Berlin". `next`
    instead of `last` is the stretch of time behind the row.

    Some windows begin anew at a row: at one that comes more than a `gap` after the one before it, where the flag in
    `since` is true, or with the calendar's unit where `last` is "this day" (hour, week, month, quarter, year, iso
    year), in a `zone` such as "Europe/Berlin".

    Args:
        values: The series, or a tuple of series.
        op: A built-in operator, or one of your own.
        rows: How many rows a window holds.
        times: A time for each row, in order within each key.
        last: The length of a stretch of time; or "all", a length on the calendar, or "this day".
        closed: Which ends belong to the window: "right", "both", "left" or "neither".
        by: A key for each row.
        at_least: How many rows an answer needs.
        grain: To what the old edge is rounded.
        delay: How long before the row the window ends.
        zone: The calendar's time zone.
        next: The length of a stretch behind the row.
        gap: After how long without rows a window begins anew.
        since: A flag for each row, where a window begins anew.

    Returns:
        A series of the same kind and length.

    Raises:
        WindowError: A window that makes no sense.
        SlidewiseError: Series that do not fit, or something that is no operator.

    >>> import numpy as np, slidewise as sw
    >>> sw.rolling(np.array([4, 5, 3, 4, 0, 4, 4]), sw.max, rows=3)
    array([4, 5, 5, 5, 4, 4, 4])
    >>> sw.rolling(np.array([1.0, 2.0, 3.0]), sw.sum, times=np.array([0, 1, 10]), last=5)
    array([1., 3., 3.])
    >>> sw.rolling(np.array([1, 2, 3, 4]), sw.sum, since=np.array([False, False, True, False]))
    array([1, 3, 3, 7])
    """
    if not isinstance(op, Operator):
        raise SlidewiseError(f"rolling takes an operator, such as sw.max, not {op!r}")
    if op.unset:
        raise SlidewiseError(f"{op.name} has to be made first; write {op.unset.partition(')(')[0]})")
    anew = gap is not None or since is not None
    length = next if last is None else last
    series = values if isinstance(values, tuple) else (values,)
    on_time = op.goes_by_time(len(series)) and rows is not None  # then the times are the operator's alone
    without_length = anew or on_time or (isinstance(last, str) and last == "all")
    if (times is None) != (length is None) and not without_length:
        raise WindowError("a time window needs both times= and last=, such as last='10 minutes'")
    mark = None if since is None else "since"
    options = {"closed": closed, "at_least": at_least, "grain": grain, "delay": delay, "gap": gap, "zone": zone}
    window = Window.of(last, rows=rows, since=mark, next=next, **options)  # type: ignore[arg-type]
    if times is None and window.kind.clocked:
        raise WindowError(f"{window.words} goes by the times of rows; give times=")
    check_partials(op, window)
    from slidewise.columns.answer_series import series_like
    from slidewise.columns.operator_types import check_types, readied, restored
    from slidewise.columns.series import check_lengths, read

    fewest, most = op.named()
    if not max(fewest, 1) <= len(series) <= max(most, 1):
        raise SlidewiseError(
            f"{op.name} takes the columns ({', '.join(op.columns_named())}), but got {len(series)} series"
        )
    names = [f"input {i + 1}" if len(series) > 1 else "the input" for i in range(len(series))]
    columns = [read(values, name) for values, name in zip(series, names, strict=True)]
    when = None if times is None else read(times, "times")
    keys = None if by is None else read(by, "by")
    flags = None if since is None else read(since, "since")
    check_lengths(columns, {"times": when, "by": keys, "since": flags})
    check_types(op, columns, names)

    if op.goes_by_time(len(series)):
        if when is None:
            raise SlidewiseError(f"{op.name} goes by the rows' times; give them as times=, beside last= or rows=")
        if flags is not None:
            raise SlidewiseError(f"{op.name} goes by the rows' times; over since= it is for definitions, sw.Sliding")
        from slidewise.engine.computed.over_series import rolling_on_time

        return rolling_on_time(op, series, columns, times, when, keys, window)

    columns = readied(op, columns)

    from slidewise.engine.column_checks import true_rows
    from slidewise.engine.evaluate import answer

    marks = None if flags is None else true_rows(flags, "since=", "since")
    fields, valid = answer(op, columns, window, when, keys, marks)
    if op.traits.per is not None:
        from slidewise.engine.answers import maps_like

        return maps_like(series[0], op, columns, fields, valid)
    fields = restored(op, columns, fields)
    try:
        return series_like(series[0], fields, valid)
    except InputError as error:
        raise InputError(f"{op.name}: {error}") from error
