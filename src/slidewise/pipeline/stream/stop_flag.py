"""The flag by which a signal asks a run to end."""

from __future__ import annotations


class StopFlag:
    """Whether a run is to end. A signal's handler may set it: unlike `threading.Event` it takes no lock, which the
    thread that the signal interrupts might hold."""

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """Ask the run to end."""
        self._is_set = True

    def is_set(self) -> bool:
        """Whether the run was asked to end."""
        return self._is_set
