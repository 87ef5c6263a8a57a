"""What a user's operator raises, as an error of Slidewise that names the aggregates at fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from slidewise.engine.window_spec import WindowSpec
from slidewise.errors import OperatorFailedError, SlidewiseError


def fail(spec: WindowSpec | None, error: BaseException, note: str) -> NoReturn:
    """Raise what a spec's operators raised: an error of Slidewise and an interrupt as they are, with a note."""
    names = "" if spec is None else ", ".join(repr(one.name) for one in spec.members)
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
def operators_of(spec: WindowSpec | None, note: str = "") -> Iterator[None]:
    """Whatever is raised inside is raised by operators of a spec; what is no error of Slidewise becomes one."""
    try:
        yield
    except Exception as error:
        if isinstance(error, SlidewiseError) and not note:
            raise
        fail(spec, error, note)
