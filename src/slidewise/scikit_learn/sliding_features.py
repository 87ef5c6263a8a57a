"""`SlidingFeatures`: a definition as a transformer of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from slidewise.arrays import Array
from slidewise.columns.frames import frame_of
from slidewise.columns.table_kinds import Table, as_table
from slidewise.errors import SlidewiseError
from slidewise.sliding import Sliding

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import validate_data
except ImportError as error:
    raise ImportError(
        "SlidingFeatures is a transformer of scikit-learn, version 1.6 or newer, which cannot be imported here "
        f"({error}); install it: pip install 'slidewise[sklearn]'"
    ) from error

if TYPE_CHECKING:
    import pyarrow as pa


class SlidingFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A definition as a transformer of scikit-learn: its columns for each row, in the rows' order.

    Nothing is learnt from data: `fit` notes and checks the columns, and the windows of `transform` see the rows of that
    call only, so give it the rows before, too, or compute features by `definition.as_of` beforehand. The definition's
    columns are named in tables of pandas, polars and pyarrow; columns of an array are `x0`, `x1` and so on.

    Args:
        definition: What to compute, with an answer for each row, so without `every=`.

    >>> import pandas as pd, slidewise as sw
    >>> features = sw.SlidingFeatures(sw.Sliding(by="card", on="ts", spent=sw.sum("amount").over(10)))
    >>> features.set_output(transform="pandas").fit_transform(
    ...     pd.DataFrame({"card": [7, 8, 7], "ts": [0, 4, 6], "amount": [20.0, 90.0, 35.0]})
    ... )
       spent
    0   20.0
    1   90.0
    2   55.0
    """

    def __init__(self, definition: Sliding) -> None:
        self.definition = definition

    def fit(self, X: Table | Array, y: object = None) -> SlidingFeatures:
        """Note the names and the number of columns, and check that the definition's are among them.

        Args:
            X: A table of pandas, polars or pyarrow, or an array of two dimensions.
            y: Not used; pipelines hand it on.

        Returns:
            This transformer.

        Raises:
            SlidewiseError: The definition answers on a beat, or needs a column that is not there.
        """
        table = self._table(X, reset=True)
        if not isinstance(self.definition, Sliding):
            raise SlidewiseError(f"definition= is an sw.Sliding, not {self.definition!r}")
        if self.definition.every is not None:
            raise SlidewiseError(
                "SlidingFeatures gives a row of features for each row, and a definition with every= answers on a beat; "
                "leave every= out"
            )
        self.definition(_needed(self.definition, table, rows=0))
        return self

    def transform(self, X: Table | Array) -> Array:
        """The definition's columns for each row: floats, with NaN for null, or objects where some are no numbers.

        Args:
            X: A table or array with the columns that `fit` saw.

        Returns:
            An array of a column per aggregate, or the container that `set_output` asks for.

        Raises:
            SlidewiseError: As the definition itself over such a table.
        """
        table = self._table(X, reset=not hasattr(self, "n_features_in_"))
        answers = frame_of(self.definition(_needed(self.definition, table))).to_arrow()
        return _as_array(answers.select(list(self.definition.columns)))

    def get_feature_names_out(self, input_features: object = None) -> Array:
        """The names of the definition's columns.

        Args:
            input_features: Not used; pipelines hand it on.

        Returns:
            An array of text.
        """
        return np.array(list(self.definition.columns), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _table(self, X: Table | Array, reset: bool) -> Table:
        if hasattr(X, "__arrow_c_stream__"):
            table = as_table(X)
            validate_data(self, table, reset=reset, skip_check_array=True)
            return table
        import pyarrow as pa

        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=False)
        numbers = array.dtype != object
        return pa.table({f"x{i}": column if numbers else list(column) for i, column in enumerate(array.T)})


def _needed(definition: Sliding, table: Table, rows: int | None = None) -> Table:
    """The columns that the definition reads; all where one is not there, since the error names them."""
    frame = frame_of(table)
    names = list(definition.needs)
    if not set(names) <= set(frame.names):
        names = list(frame.names)
    kept = table.select(names) if hasattr(table, "select") else table[names]
    return kept if rows is None else kept[:rows]


def _as_array(answers: pa.Table) -> Array:
    import pyarrow as pa

    kinds = pa.types
    if all(kinds.is_boolean(t) or kinds.is_integer(t) or kinds.is_floating(t) for t in answers.schema.types):
        columns = [column.cast(pa.float64(), safe=False).to_numpy() for column in answers.columns]
        return np.column_stack(columns).astype(np.float64)
    objects = np.empty((answers.num_rows, answers.num_columns), dtype=object)
    for i, column in enumerate(answers.columns):
        objects[:, i] = column.to_pylist()
    return objects
