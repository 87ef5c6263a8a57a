"""Python objects in compiled code: their addresses, and the functions of Python's C interface that it calls.

Numba's own way to hand an object over is to turn it into numbers first, one by one. A function that is given the object
itself and asks Python for what it needs does so in a tenth of the time. Such a function runs with the GIL, and is
called by its `entry`: Numba's dispatcher knows nothing of the type.

Exact types are told by the pointer to them, which every object begins with; a build of Python where it lies elsewhere
has a larger header, and is known by that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numba.core import types
from numba.core.datamodel import models
from numba.core.dispatcher import Dispatcher
from numba.extending import NativeValue, box, intrinsic, register_model, unbox

from slidewise.kernels.compiler.jit import jit
from slidewise.kernels.keyed.memory import load_int64

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.typing import Context

HEADER = object.__basicsize__
_TYPE = HEADER - 8  # where an object's type lies


class PythonObject(types.Opaque):  # type: ignore[misc]
    """The type of an object that is passed on as it is."""


OBJECT = PythonObject("slidewise_object")
register_model(PythonObject)(models.OpaqueModel)


@unbox(PythonObject)  # type: ignore[untyped-decorator,unused-ignore]
def _unbox(_kind: Any, value: Any, _context: Any) -> NativeValue:
    return NativeValue(value)


@box(PythonObject)  # type: ignore[untyped-decorator,unused-ignore]
def _box(_kind: Any, value: Any, _context: Any) -> Any:
    return value


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def address_of(_typing: Context, _value: Any) -> Any:
    """The address of an object, whose owner is the caller."""

    def generate(context: BaseContext, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(arguments[0], context.get_value_type(types.int64))

    return types.int64(OBJECT), generate


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def object_at(_typing: Context, _address: Any) -> Any:
    """The object at an address, with the reference that is returned with it."""

    def generate(context: BaseContext, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(OBJECT))

    return OBJECT(types.int64), generate


RAISED = -(2**63)


@intrinsic  # type: ignore[untyped-decorator,unused-ignore]
def call_pass(_typing: Context, _function: Any, _block: Any, _m: Any) -> Any:
    """Call the compiled function at an address with two whole numbers; RAISED where it raises."""
    kinds = (types.int64, types.int64)

    def generate(context: BaseContext, builder: Any, _signature: Any, arguments: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(types.int64, kinds)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        status, result = convention.call_function(builder, function, types.int64, kinds, arguments[1:])
        return builder.select(status.is_ok, result, context.get_constant(types.int64, RAISED))

    return types.int64(types.int64, types.int64, types.int64), generate


def _python(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    function: Callable[..., Any] = types.ExternalFunction(name, result(*arguments))
    return function


_A, _I, _F = types.int64, types.int64, types.float64
dict_get = _python("PyDict_GetItemWithError", _A, _A, _A)  # a borrowed reference; 0 where there is none
dict_new = _python("PyDict_New", _A)
dict_set = _python("PyDict_SetItem", types.intc, _A, _A, _A)
tuple_new = _python("PyTuple_New", _A, _I)
tuple_set = _python("PyTuple_SetItem", types.intc, _A, _I, _A)  # takes the reference
as_float = _python("PyFloat_AsDouble", _F, _A)
as_int = _python("PyLong_AsLongLongAndOverflow", _I, _A, _A)  # writes an int that is not 0 where it does not fit
new_float = _python("PyFloat_FromDouble", _A, _F)
new_int = _python("PyLong_FromLongLong", _A, _I)
new_bool = _python("PyBool_FromLong", _A, _I)
increase = _python("Py_IncRef", types.void, _A)
decrease = _python("Py_DecRef", types.void, _A)
clear_error = _python("PyErr_Clear", types.void)


@jit
def type_of(value: int) -> int:
    """The address of an object's type."""
    return load_int64(value + _TYPE, 0)


def entry_of(function: Any, *kinds: Any) -> Callable[..., Any] | None:
    """The function that Python calls without a dispatcher; None where nothing is compiled (`NUMBA_DISABLE_JIT`)."""
    if not isinstance(function, Dispatcher):
        return None
    function.compile(kinds)
    entry: Callable[..., Any] = function.overloads[kinds].entry_point
    return entry


def address_of_function(function: Any) -> int:
    """The address of what a function of two whole numbers is compiled to, for `call_pass`."""
    kinds = (types.int64, types.int64)
    if kinds not in function.overloads:
        function.compile(kinds)
    compiled = function.overloads[kinds]
    if compiled.signature.return_type != types.int64:
        raise TypeError(f"{function} gives {compiled.signature.return_type}")
    address: int = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
    return address
