"""The window specs of a definition as a shard stores them, in microseconds.

After an upgrade some aggregates of a spec may begin with other rows than the rest, since an aggregate that is new finds
less than one that was there. What has a state instead of rows counts its rows, so such aggregates are kept apart: those
of one generation share a spec.
"""

from __future__ import annotations

from collections.abc import Mapping

from slidewise.definition import Definition
from slidewise.engine.window_spec import WindowSpec, split_by_generation, window_specs_of

_MICROSECOND = 1_000  # in nanoseconds, as windows count


def stored_specs(definition: Definition, generations: Mapping[str, int]) -> list[WindowSpec]:
    """The specs, each split by the generations of its aggregates; those that are not named are of generation 0."""
    specs = [spec.scaled(_MICROSECOND) for spec in window_specs_of(definition, spikes=False)]
    return split_by_generation(specs, generations)
