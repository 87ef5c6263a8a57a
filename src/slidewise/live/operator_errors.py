"""Errors that operators raise, as errors of Slidewise that name the aggregates at fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from slidewise.engine.window_spec import WindowSpec, arguments_in
from slidewise.errors import OperatorFailedError, SlidewiseError


def raise_operator_error(spec: WindowSpec | None, error: BaseException, note: str) -> NoReturn:
    """Raise what a spec's operators raised as an `OperatorFailedError`; Slidewise's errors and interrupts as they are.

    The note is added to it, behind the names of the aggregates.
    """
    names = "" if spec is None else ", ".join(repr(member.name) for member in spec.members)
    if names:
        note = f"in {names}; {note}" if note else f"in {names}"
    if isinstance(error, Exception) and not isinstance(error, SlidewiseError):
        failed = OperatorFailedError(f"an operator{f' of {names}' if names else ''} raised {error!r}")
        if note:
            failed.add_note(note)
        raise failed from error
    if note:
        error.add_note(note)
    raise error


@contextmanager
def operator_errors(spec: WindowSpec | None, note: str = "") -> Iterator[None]:
    """Raise what operators of a spec raise inside as errors of Slidewise."""
    try:
        yield
    except Exception as error:
        if isinstance(error, SlidewiseError) and not note:
            raise
        raise_operator_error(spec, error, note)


def checked_arguments(spec: WindowSpec, row: Any) -> Any:
    """What a spec reads of an event: what its operators refuse of it is refused now."""
    read = spec.arguments(row)
    values = arguments_in(read)
    if values is not None:
        try:
            for member in spec.members:
                member.operator.lift(*values)
        except BaseException as error:
            raise_operator_error(spec, error, "the event was not taken in")
    return read
