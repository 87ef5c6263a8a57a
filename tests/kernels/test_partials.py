"""Windows over partials: the answers of windows over the rows that the partials hold, whatever the cuts."""

from __future__ import annotations

import random
from functools import reduce
from typing import Any

import numpy as np
import pytest
from kernels.test_running import peak_share, two_answers

import slidewise as sw
from slidewise.errors import OperatorFailedError
from slidewise.kernels.passes.partials import Partials, partials
from slidewise.operators.values.equality import same

COMPILED = [  # one for each shape of state and answer
    *(sw.first, sw.sum, sw.variance, sw.argmax, sw.m4, sw.correlation, sw.relative_variation),
    *(peak_share, two_answers),
]
OBJECTS = [sw.collect, sw.count, sw.count_distinct, sw.hyperloglog(p=4), sw.quantile(0.5, approximate=0.01)]
joined = sw.operator(name="joined", identity="", lift=lambda x: f"{x};", combine=lambda a, b: a + b)


def cuts(choose: random.Random, m: int, runs: int) -> Any:
    """Offsets of so many runs, some of them empty."""
    return np.array([0, *sorted(choose.randint(0, m) for _ in range(runs - 1)), m])


def answers_of(found: Any) -> list[Any]:
    rows = list(zip(*(field.tolist() for field in found.fields), strict=True))
    valid = [True] * len(rows) if found.valid is None else found.valid.tolist()
    return [(row if len(row) > 1 else row[0]) if ok else None for row, ok in zip(rows, valid, strict=True)]


def directly(op: sw.Operator, rows: list[Any], valid: Any, start: int, end: int, least: int) -> Any:
    states = [op.lift(*rows[i]) for i in range(start, end) if valid is None or valid[i]]
    if len(states) < least or not (states or op.builtin):
        return None
    answer = op.lower(reduce(op.combine, states) if states else op.identity)
    return tuple(answer) if op.name == "m4" and answer is not None else answer


@pytest.mark.filterwarnings("ignore:operator 'joined' cannot be compiled")
@pytest.mark.parametrize(
    ("op", "kind"),
    [*((op, "float64") for op in [*COMPILED, *OBJECTS, joined]), *((op, "int64") for op in (sw.sum, sw.m4))],
    ids=lambda value: getattr(value, "name", value),
)
def test_windows_over_partials_are_windows_over_their_rows(op: sw.Operator, kind: str) -> None:
    choose = random.Random(3)
    least = 0 if op.name in ("count", "hyperloglog", "collect") else 1
    for nulls in (False, True):
        m = 60
        values = [0.5, -1.25, 3.0, -0.0, 7.0] if kind == "float64" else [5, -2, 0, 3, 2**53 + 1]
        inputs = [np.array([choose.choice(values) for _ in range(m)], kind) for _ in range(int(op.arity()[0]) or 1)]
        rows = list(zip(*(x.tolist() for x in inputs), strict=True))
        valid = np.array([choose.random() < 0.6 for _ in range(m)]) if nulls else None
        offsets = cuts(choose, m, 25)
        folded = partials(op, inputs, valid, offsets)
        again = partials(op, inputs, valid).folded(offsets)
        ends = np.sort(np.array([choose.randint(0, 25) for _ in range(40)]))
        starts = np.maximum.accumulate(np.maximum(0, ends - [choose.choice([0, 1, 4, 9]) for _ in range(40)]))
        right = [directly(op, rows, valid, offsets[s], offsets[e], least) for s, e in zip(starts, ends, strict=True)]
        for one in (folded, again, folded.taken(slice(0, 10)).joined(again.taken(slice(10, None)))):
            assert same(answers_of(one.windows(starts, ends, least)), right)
        stored = folded.as_objects()
        back = Partials.of_objects(op, stored.fields[0].tolist(), stored.counts, folded.dtypes)
        assert back.dtypes == folded.dtypes
        assert same(answers_of(back.windows(starts, ends, least)), right)
        assert same(answers_of(stored.windows(starts, ends, least)), right)


def test_partials_of_partials_are_partials_of_their_rows() -> None:
    x = np.arange(100, dtype=np.float64)
    fine = partials(sw.first, [x], x % 3 > 0, np.arange(0, 101, 5))
    coarse = fine.folded(np.arange(0, 21, 4))
    assert coarse.fields[0].tolist() == [1.0, 20.0, 40.0, 61.0, 80.0]
    assert coarse.counts.tolist() == [13, 13, 14, 13, 13]


def test_too_few_rows_give_no_answer() -> None:
    found = partials(sw.mean, [np.array([1.0, 2.0, 4.0])], np.array([True, False, True]))
    answers = found.windows(np.array([0, 0, 0, 1]), np.array([1, 2, 3, 3]), least=2)
    assert answers_of(answers) == [None, None, 2.5, None]


def test_what_an_operator_raises_is_said_in_its_name() -> None:
    picky = sw.operator(name="picky", identity=1.0, lift=lambda x: 1.0 // x, combine=lambda a, b: a // b)
    with pytest.raises(OperatorFailedError, match="picky"):
        partials(picky, [np.array([1.0, 0.0])], None)
