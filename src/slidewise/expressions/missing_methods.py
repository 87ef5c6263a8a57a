"""Methods that other libraries have for expressions, and what to write here instead."""

from __future__ import annotations

from slidewise.errors import ExpressionError, did_you_mean
from slidewise.expressions.expression import Expression
from slidewise.expressions.writing import as_python, shortened

_INSTEAD = {
    **dict.fromkeys(("fillna", "fill_null", "ifnull", "nvl"), "write sw.coalesce({of}, 0)"),
    **dict.fromkeys(("isna", "isnull", "isNull"), "write {of}.is_null()"),
    **dict.fromkeys(("notna", "notnull", "is_not_null", "isNotNull"), "write ~{of}.is_null()"),
    **dict.fromkeys(("isin", "isIn"), "write {of}.is_in([...])"),
    "astype": "write {of}.cast('float')",
    "alias": "its name is that of the argument: sw.Sliding(..., name=...)",
    "over": "a window belongs to an aggregate: write sw.max({of}).over(...)",
    "where": "a condition belongs to an aggregate: write sw.max({of}).where(...).over(...)",
    "otherwise": "write sw.when(condition).then({of}).otherwise(...)",
}
_METHODS = [name for name in dir(Expression) if name[0] != "_" and name not in ("is_aggregate", "key", "written")]


class MissingMethodError(ExpressionError, AttributeError):
    """An expression was asked for a method that it does not have."""


def missing_method(name: str, expression: Expression) -> MissingMethodError:
    """The error for a method that expressions do not have."""
    return MissingMethodError(f"an expression has no {name!r}: {_instead(name, shortened(as_python(expression), 60))}")


def _instead(name: str, of: str) -> str:
    import slidewise

    if name in _INSTEAD:
        return _INSTEAD[name].format(of=of)
    if name in slidewise.__all__ and name.islower():
        return f"an aggregate stands around it: write sw.{name}({of}).over(...)"
    return f"it has {', '.join(_METHODS)}{did_you_mean(name, _METHODS)}"
