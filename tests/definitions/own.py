"""A user's module with an operator of its own, for definitions that name it by its import path."""

import slidewise as sw

spread = sw.operator(
    name="spread",
    identity=None,
    lift=lambda x: (x, x),
    combine=lambda a, b: (min(a[0], b[0]), max(a[1], b[1])),
    lower=lambda s: s[1] - s[0],
)
NOT_AN_OPERATOR = 7
