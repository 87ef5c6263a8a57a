"""Arrays whose references Numba need not count."""

from __future__ import annotations

from typing import Any

from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def borrowed(_typing: Any, array: Any) -> Any:
    """The same array without an owner: calls that pass it on count no references, which takes longer than small steps.

    Whoever calls compiled code holds the array itself, so it lives as long as the call.
    """

    def code(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        view = make_array(array)(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return view._getvalue()

    return array(array), code
