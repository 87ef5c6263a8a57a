"""Windows of several lengths over the same columns, whose operators share one structure: which they are, by plan."""

from __future__ import annotations

from typing import NamedTuple

from slidewise.engine.window_spec import WindowSpec
from slidewise.operators.operator import Operator


class Ask(NamedTuple):
    """One answer: for the window `window`, as its member `member`; `least` rows are needed."""

    window: int
    member: int
    least: int


class Sharing:
    """Specs that see the same columns and differ in how far back they look; what each operator answers for them."""

    def __init__(self, specs: list[WindowSpec]) -> None:
        self.specs = sorted(specs, key=lambda spec: (spec.width, spec.edge))  # the shortest window first
        self.operators = _operators(self.specs)
        self.asks = [
            [
                Ask(window, member, one.least)
                for window, spec in enumerate(self.specs)
                for member, one in enumerate(spec.members)
                if one.operator == operator
            ]
            for operator in self.operators
        ]


def share(specs: list[WindowSpec], groups: list[list[str]]) -> None:
    """Let the specs of these groups of aggregates share; each that does knows its `sharing` from then on."""
    for names in groups:
        members = [spec for spec in specs if spec.members[0].name in names]
        sharing = Sharing(members)
        for spec in members:
            spec.sharing = sharing


def _operators(specs: list[WindowSpec]) -> list[Operator]:
    found: list[Operator] = []
    for spec in specs:
        found += [one.operator for one in spec.members if one.operator not in found]
    return found
