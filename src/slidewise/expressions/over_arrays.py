"""Evaluation of expressions over whole columns: Arrow arrays in, an Arrow array out.

Rows are taken in blocks, so that what is computed on the way stays in the processor's caches, and equal parts of
expressions are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from slidewise.errors import ExpressionError, NumberOverflowError
from slidewise.expressions.assembling import Assembly
from slidewise.expressions.expression import Call, Constant, Expression, leaves_of
from slidewise.expressions.functions.function import ValueOverflow
from slidewise.expressions.plan import plan_of
from slidewise.expressions.type_inference import type_of
from slidewise.expressions.writing import as_text

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK = 524_288  # rows: with fewer, threads wait for one another, and with more, for memory

# The array of a column or an aggregate.
ArrayOfLeaf = Callable[[Expression], "pa.Array | pa.ChunkedArray"]
Columns = Mapping[Hashable, "pa.Array | pa.ChunkedArray"]
# Calls `work(a, b)` for parts of 0 to count, at most so many at once, in so many pieces.
ShareOut = Callable[[int, int, Callable[[int, int], object], int], object]


def in_turn(count: int, _most: int, work: Callable[[int, int], object], _pieces: int) -> None:
    """One part after the other, in this thread."""
    work(0, count)


class RowOverflowError(NumberOverflowError):
    """A whole number does not fit into 64 bits in this row."""

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


def evaluate_all(
    expressions: Mapping[str, Expression], of_leaf: ArrayOfLeaf, count: int, share_out: ShareOut = in_turn
) -> dict[str, pa.Array]:
    """The values of expressions over so many rows, by name; `share_out` may give blocks to several threads."""
    import pyarrow as pa

    leaves = {leaf.key(): leaf for expression in expressions.values() for leaf in leaves_of(expression)}
    arrays = {key: of_leaf(leaf) for key, leaf in leaves.items()}
    leaf_types = {key: array.type for key, array in arrays.items()}
    types = {name: type_of(expression, lambda leaf: leaf_types[leaf.key()]) for name, expression in expressions.items()}
    computed = {name: part for name, part in expressions.items() if isinstance(part, Call | Constant)}
    outputs = {name: Assembly(types[name], count, BLOCK) for name in computed}
    plan = plan_of(computed.values(), leaf_types)

    def work(first: int, end: int) -> None:
        for block in range(first, end):
            start = block * BLOCK
            length = min(BLOCK, count - start)
            into = [output.rows(start, length) for output in outputs.values()]
            values = plan.run(_rows(arrays, start, length), into)
            for output, result in zip(outputs.values(), values, strict=True):
                output.put(start, result, length)

    blocks = -(-count // BLOCK)
    try:
        share_out(blocks, blocks, work, blocks)
    except (pa.ArrowInvalid, ValueOverflow) as error:
        raise _first_overflow(computed.values(), arrays, count) from error
    return {
        name: outputs[name].array() if name in outputs else _combined(arrays[expression.key()])
        for name, expression in expressions.items()
    }


def _first_overflow(expressions: Iterable[Expression], arrays: Columns, count: int) -> RowOverflowError:
    """The error of the first row that an expression overflows in, with the part that does."""
    end = count
    located = None
    for expression in expressions:
        row = _first_failing(expression, arrays, end)
        if row is not None:
            located, end = expression, row
    assert located is not None, "an expression overflows over all rows, and over none of them"
    part = located
    while isinstance(part, Call):
        inner = next((argument for argument in part.arguments if _fails(argument, arrays, end, end + 1)), None)
        if inner is None:
            break
        part = inner
    values = {as_text(leaf): arrays[leaf.key()][end].as_py() for leaf in leaves_of(part)}
    return RowOverflowError(overflow_message(part, values), end)


def _first_failing(expression: Expression, arrays: Columns, count: int) -> int | None:
    """The first of so many rows that an expression overflows in."""
    for start in range(0, count, BLOCK):
        low, high = start, min(start + BLOCK, count)
        if not _fails(expression, arrays, low, high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            if _fails(expression, arrays, low, middle):
                high = middle
            else:
                low = middle
        return low
    return None


def _fails(expression: Expression, arrays: Columns, start: int, end: int) -> bool:
    """Whether an expression overflows in one of the rows from `start` to `end`."""
    import pyarrow as pa

    plan = plan_of([expression], {key: array.type for key, array in arrays.items()})
    try:
        plan.run(_rows(arrays, start, end - start))
    except (pa.ArrowInvalid, ValueOverflow):
        return True
    return False


def overflow_message(part: Expression, values: Mapping[str, Any]) -> str:
    """What is said of a part of an expression that overflows, with the values of its columns and aggregates."""
    shown = ", ".join(f"{name}={value!r}" for name, value in values.items())
    return (
        f"`{part}` does not fit into 64 bits{f' where {shown}' if shown else ''}; compute with floats, "
        "such as .cast('float'), or leave such rows out"
    )


def _rows(columns: Columns, start: int, length: int) -> dict[Hashable, pa.Array]:
    """So many rows of columns, from `start` on."""
    return {key: _combined(column.slice(start, length)) for key, column in columns.items()}


def _combined(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    import pyarrow as pa

    if not isinstance(array, pa.ChunkedArray):
        return array
    if array.num_chunks == 1:
        return array.chunk(0)
    combined = array.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        raise ExpressionError("a column of text is too large to be one array; give it as large_string")
    return combined
