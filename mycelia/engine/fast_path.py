"""The shortest way through eager mode: ``a + b`` on small dense float32 tensors without a line of Python.

`Tensor` is an ordinary class with ``__slots__``; CPython allocates it, tracks it and frees it. What is
native is one
builtin function for each operator, written as LLVM IR over the stable C API, which takes over
``Tensor.__add__`` and its
like. It handles the common case whole (same type, float32, dense, equal shapes, nothing traced) and hands
anything else to
the Python method that it replaced. So no deallocator and no type slot is ours, and the worst that a missing
fast path costs is time.

On a thread whose only interpreter is a gradient tape over the eager engine, an application is also recorded
on the tape, as a tuple
``(operator, x, y, result, tokens of the three, storage versions of x and y)``.
"""

from __future__ import annotations

import ctypes
import hashlib
import sys
from typing import Any

import numpy as np

from mycelia.codegen.target import Target
from mycelia.ir import dtypes
from mycelia.ir import operator as registry
from mycelia.kernels.api import Code
from mycelia.ops import dispatch
from mycelia.runtime.compile import compile_module
from mycelia.tensor.device import device
from mycelia.tensor.storage import Storage
from mycelia.tensor.tensor import Tensor

MAX_ELEMENTS = 1024  # beyond this a plan with its chunks is as fast

OPERATORS = {"Add": ("__add__", "fadd"), "Sub": ("__sub__", "fsub"), "Mul": ("__mul__", "fmul")}

# Words of the state block that the native functions read. Offsets are those of CPython's slots in the
# objects.
STATE = (
    "tensor_type",
    "float32",
    "none",
    "cpu",
    "storage_type",
    "zero",
    "depth",
    "tape_thread",
    "tape_records",
    "next_token",
    "t_storage",
    "t_offset",
    "t_strides",
    "t_shape",
    "t_dtype",
    "t_token",
    "t_view",
    "s_device",
    "s_address",
    "s_nbytes",
    "s_owner",
    "s_version",
    "s_home",
    *(f"{kind}_{name}" for name in OPERATORS for kind in ("op", "slow")),
    *(f"bin{i}" for i in range(MAX_ELEMENTS * 4 // 64 + 1)),
)
_AT = {name: 8 * i for i, name in enumerate(STATE)}

_PRELUDE = """
declare ptr @PyLong_AsVoidPtr(ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare ptr @PyLong_FromLongLong(i64)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare ptr @PyType_GenericAlloc(ptr, i64)
declare i64 @PyTuple_Size(ptr)
declare ptr @PyTuple_GetItem(ptr, i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare i32 @PyList_SetSlice(ptr, i64, i64, ptr)
declare i32 @PyList_Append(ptr, ptr)
declare ptr @PyThreadState_Get()
declare ptr @PyObject_CallFunctionObjArgs(ptr, ...)
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)

define internal ptr @word(ptr %state, i64 %offset) alwaysinline {
  %at = getelementptr i8, ptr %state, i64 %offset
  %value = load ptr, ptr %at
  ret ptr %value
}

; The object in a slot of another, whose offset is a word of the state.
define internal ptr @slot(ptr %state, ptr %object, i64 %which) alwaysinline {
  %at = getelementptr i8, ptr %state, i64 %which
  %offset = load i64, ptr %at
  %place = getelementptr i8, ptr %object, i64 %offset
  %value = load ptr, ptr %place
  ret ptr %value
}

; Fills an empty slot with a reference of its own.
define internal void @fill(ptr %state, ptr %object, i64 %which, ptr %value) alwaysinline {
  %at = getelementptr i8, ptr %state, i64 %which
  %offset = load i64, ptr %at
  %place = getelementptr i8, ptr %object, i64 %offset
  store ptr %value, ptr %place
  call void @Py_IncRef(ptr %value)
  ret void
}

; A tensor's token, given now if it has none. Borrowed; null when memory is out.
define internal ptr @token(ptr %state, ptr %tensor) {
entry:
  %known = call ptr @slot(ptr %state, ptr %tensor, i64 {t_token})
  %none = call ptr @word(ptr %state, i64 {none})
  %missing = icmp eq ptr %known, %none
  br i1 %missing, label %make, label %done
make:
  %count.at = getelementptr i8, ptr %state, i64 {next_token}
  %count = load i64, ptr %count.at
  %following = sub i64 %count, 1
  store i64 %following, ptr %count.at
  %fresh = call ptr @PyLong_FromLongLong(i64 %count)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %done, label %keep
keep:
  %which.at = getelementptr i8, ptr %state, i64 {t_token}
  %which = load i64, ptr %which.at
  %place = getelementptr i8, ptr %tensor, i64 %which
  store ptr %fresh, ptr %place
  call void @Py_DecRef(ptr %none)
  br label %done
done:
  %result = phi ptr [ %known, %entry ], [ null, %make ], [ %fresh, %keep ]
  ret ptr %result
}

; Whether an object is a plain dense float32 tensor on the CPU.
define internal i1 @is_plain(ptr %state, ptr %object) {
entry:
  %type.at = getelementptr i8, ptr %object, i64 8
  %type = load ptr, ptr %type.at
  %tensor = call ptr @word(ptr %state, i64 {tensor_type})
  %is.tensor = icmp eq ptr %type, %tensor
  br i1 %is.tensor, label %look, label %no
look:
  %dtype = call ptr @slot(ptr %state, ptr %object, i64 {t_dtype})
  %float = call ptr @word(ptr %state, i64 {float32})
  %is.float = icmp eq ptr %dtype, %float
  %view = call ptr @slot(ptr %state, ptr %object, i64 {t_view})
  %none = call ptr @word(ptr %state, i64 {none})
  %is.root = icmp eq ptr %view, %none
  %offset = call ptr @slot(ptr %state, ptr %object, i64 {t_offset})
  %zero = call ptr @word(ptr %state, i64 {zero})
  %is.start = icmp eq ptr %offset, %zero
  %both = and i1 %is.float, %is.root
  %all = and i1 %both, %is.start
  br i1 %all, label %place, label %no
place:
  %storage = call ptr @slot(ptr %state, ptr %object, i64 {t_storage})
  %has = icmp ne ptr %storage, null
  br i1 %has, label %where, label %no
where:
  %storage.type.at = getelementptr i8, ptr %storage, i64 8
  %storage.type = load ptr, ptr %storage.type.at
  %expected = call ptr @word(ptr %state, i64 {storage_type})
  %is.storage = icmp eq ptr %storage.type, %expected
  br i1 %is.storage, label %on, label %no
on:
  %device = call ptr @slot(ptr %state, ptr %storage, i64 {s_device})
  %cpu = call ptr @word(ptr %state, i64 {cpu})
  %is.cpu = icmp eq ptr %device, %cpu
  ret i1 %is.cpu
no:
  ret i1 false
}

; Number of elements of a shape, or -1 beyond the limit.
define internal i64 @elements(ptr %shape) {
entry:
  %rank = call i64 @PyTuple_Size(ptr %shape)
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %more ]
  %n = phi i64 [ 1, %entry ], [ %product, %more ]
  %end = icmp sge i64 %i, %rank
  br i1 %end, label %done, label %take
take:
  %item = call ptr @PyTuple_GetItem(ptr %shape, i64 %i)
  %extent = call i64 @PyLong_AsLongLong(ptr %item)
  %product = mul i64 %n, %extent
  %i.next = add i64 %i, 1
  %bad.extent = icmp ugt i64 %extent, {limit}
  %bad.product = icmp ugt i64 %product, {limit}
  %bad = or i1 %bad.extent, %bad.product
  br i1 %bad, label %too.many, label %more
more:
  br label %loop
done:
  ret i64 %n
too.many:
  call void @PyErr_Clear()
  ret i64 -1
}

; A fresh dense tensor with x's shape; null (without an error) when the device has no free block at hand.
define internal ptr @fresh(ptr %state, ptr %x, i64 %nbytes) {
entry:
  %padded = add i64 %nbytes, 63
  %class = lshr i64 %padded, 6
  %class.offset = shl i64 %class, 3
  %bin.offset = add i64 %class.offset, {bin0}
  %bin = call ptr @word(ptr %state, i64 %bin.offset)
  %free = call i64 @PyList_Size(ptr %bin)
  %empty = icmp slt i64 %free, 1
  br i1 %empty, label %fail, label %pop
pop:
  %storage.type = call ptr @word(ptr %state, i64 {storage_type})
  %storage = call ptr @PyType_GenericAlloc(ptr %storage.type, i64 0)
  %no.storage = icmp eq ptr %storage, null
  br i1 %no.storage, label %clear, label %tensor
tensor:
  %tensor.type = call ptr @word(ptr %state, i64 {tensor_type})
  %y = call ptr @PyType_GenericAlloc(ptr %tensor.type, i64 0)
  %no.tensor = icmp eq ptr %y, null
  %size = call ptr @PyLong_FromLongLong(i64 %nbytes)
  %last = sub i64 %free, 1
  %address = call ptr @PyList_GetItem(ptr %bin, i64 %last)
  call void @Py_IncRef(ptr %address)
  %popped = call i32 @PyList_SetSlice(ptr %bin, i64 %last, i64 %free, ptr null)
  %cpu = call ptr @word(ptr %state, i64 {cpu})
  %none = call ptr @word(ptr %state, i64 {none})
  %zero = call ptr @word(ptr %state, i64 {zero})
  call void @fill(ptr %state, ptr %storage, i64 {s_device}, ptr %cpu)
  call void @fill(ptr %state, ptr %storage, i64 {s_address}, ptr %address)
  call void @fill(ptr %state, ptr %storage, i64 {s_nbytes}, ptr %size)
  call void @fill(ptr %state, ptr %storage, i64 {s_owner}, ptr %none)
  call void @fill(ptr %state, ptr %storage, i64 {s_version}, ptr %zero)
  call void @fill(ptr %state, ptr %storage, i64 {s_home}, ptr %bin)
  call void @Py_DecRef(ptr %address)
  call void @Py_DecRef(ptr %size)
  br i1 %no.tensor, label %give.back, label %describe
describe:
  %shape = call ptr @slot(ptr %state, ptr %x, i64 {t_shape})
  %strides = call ptr @slot(ptr %state, ptr %x, i64 {t_strides})
  %dtype = call ptr @word(ptr %state, i64 {float32})
  call void @fill(ptr %state, ptr %y, i64 {t_storage}, ptr %storage)
  call void @fill(ptr %state, ptr %y, i64 {t_offset}, ptr %zero)
  call void @fill(ptr %state, ptr %y, i64 {t_strides}, ptr %strides)
  call void @fill(ptr %state, ptr %y, i64 {t_shape}, ptr %shape)
  call void @fill(ptr %state, ptr %y, i64 {t_dtype}, ptr %dtype)
  call void @fill(ptr %state, ptr %y, i64 {t_token}, ptr %none)
  call void @fill(ptr %state, ptr %y, i64 {t_view}, ptr %none)
  call void @Py_DecRef(ptr %storage)
  ret ptr %y
give.back:
  call void @Py_DecRef(ptr %storage)
  br label %clear
clear:
  call void @PyErr_Clear()
  br label %fail
fail:
  ret ptr null
}

define internal ptr @elements_of(ptr %state, ptr %tensor) {
  %storage = call ptr @slot(ptr %state, ptr %tensor, i64 {t_storage})
  %address = call ptr @slot(ptr %state, ptr %storage, i64 {s_address})
  %p = call ptr @PyLong_AsVoidPtr(ptr %address)
  ret ptr %p
}

define internal void @put(ptr %tuple, i64 %i, ptr %item) alwaysinline {
  call void @Py_IncRef(ptr %item)
  %r = call i32 @PyTuple_SetItem(ptr %tuple, i64 %i, ptr %item)
  ret void
}

; Appends the record of an application to the tape; 0 when memory is out.
define internal i1 @record(ptr %state, ptr %op, ptr %x, ptr %y, ptr %z) {
entry:
  %tx = call ptr @token(ptr %state, ptr %x)
  %ty = call ptr @token(ptr %state, ptr %y)
  %tz = call ptr @token(ptr %state, ptr %z)
  %x.bad = icmp eq ptr %tx, null
  %y.bad = icmp eq ptr %ty, null
  %z.bad = icmp eq ptr %tz, null
  %xy.bad = or i1 %x.bad, %y.bad
  %bad = or i1 %xy.bad, %z.bad
  br i1 %bad, label %fail, label %build
build:
  %tuple = call ptr @PyTuple_New(i64 9)
  %no.tuple = icmp eq ptr %tuple, null
  br i1 %no.tuple, label %fail, label %enter
enter:
  %sx = call ptr @slot(ptr %state, ptr %x, i64 {t_storage})
  %sy = call ptr @slot(ptr %state, ptr %y, i64 {t_storage})
  %vx = call ptr @slot(ptr %state, ptr %sx, i64 {s_version})
  %vy = call ptr @slot(ptr %state, ptr %sy, i64 {s_version})
  call void @put(ptr %tuple, i64 0, ptr %op)
  call void @put(ptr %tuple, i64 1, ptr %x)
  call void @put(ptr %tuple, i64 2, ptr %y)
  call void @put(ptr %tuple, i64 3, ptr %z)
  call void @put(ptr %tuple, i64 4, ptr %tx)
  call void @put(ptr %tuple, i64 5, ptr %ty)
  call void @put(ptr %tuple, i64 6, ptr %tz)
  call void @put(ptr %tuple, i64 7, ptr %vx)
  call void @put(ptr %tuple, i64 8, ptr %vy)
  %records = call ptr @word(ptr %state, i64 {tape_records})
  %r = call i32 @PyList_Append(ptr %records, ptr %tuple)
  call void @Py_DecRef(ptr %tuple)
  %ok = icmp eq i32 %r, 0
  ret i1 %ok
fail:
  ret i1 false
}
"""

_OPERATOR = """
define ptr @{NAME}(ptr %self, ptr %args, i64 %count) {{
entry:
  %state = call ptr @PyLong_AsVoidPtr(ptr %self)
  %two = icmp eq i64 %count, 2
  br i1 %two, label %operands, label %wrong
wrong:
  %none = call ptr @word(ptr %state, i64 {none})
  %slow.any = call ptr @word(ptr %state, i64 {slow})
  %raised = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %slow.any, ptr null)
  ret ptr %raised
operands:
  %x = load ptr, ptr %args
  %y.at = getelementptr ptr, ptr %args, i64 1
  %y = load ptr, ptr %y.at
  %depth.at = getelementptr i8, ptr %state, i64 {depth}
  %depth = load i64, ptr %depth.at
  %x.plain = call i1 @is_plain(ptr %state, ptr %x)
  %y.plain = call i1 @is_plain(ptr %state, ptr %y)
  %plain = and i1 %x.plain, %y.plain
  %quick = icmp ule i64 %depth, 1
  %may = and i1 %plain, %quick
  br i1 %may, label %mode, label %slow
mode:
  %eager = icmp eq i64 %depth, 0
  br i1 %eager, label %shapes, label %tape
tape:
  %mine = call ptr @PyThreadState_Get()
  %owner = call ptr @word(ptr %state, i64 {tape_thread})
  %here = icmp eq ptr %mine, %owner
  br i1 %here, label %shapes, label %slow
shapes:
  %sx = call ptr @slot(ptr %state, ptr %x, i64 {t_shape})
  %sy = call ptr @slot(ptr %state, ptr %y, i64 {t_shape})
  %same.object = icmp eq ptr %sx, %sy
  br i1 %same.object, label %count.them, label %compare
compare:
  %equal = call i32 @PyObject_RichCompareBool(ptr %sx, ptr %sy, i32 2)
  %is.equal = icmp eq i32 %equal, 1
  br i1 %is.equal, label %count.them, label %differ
differ:
  call void @PyErr_Clear()
  br label %slow
count.them:
  %n = call i64 @elements(ptr %sx)
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %make, label %slow
make:
  %nbytes = shl i64 %n, 2
  %z = call ptr @fresh(ptr %state, ptr %x, i64 %nbytes)
  %made = icmp ne ptr %z, null
  br i1 %made, label %compute, label %slow
compute:
  %px = call ptr @elements_of(ptr %state, ptr %x)
  %py = call ptr @elements_of(ptr %state, ptr %y)
  %pz = call ptr @elements_of(ptr %state, ptr %z)
  %whole = and i64 %n, -8
  %any = icmp sgt i64 %whole, 0
  br i1 %any, label %vectors, label %rest
vectors:
  %i = phi i64 [ 0, %compute ], [ %i.next, %vectors ]
  %ax = getelementptr float, ptr %px, i64 %i
  %ay = getelementptr float, ptr %py, i64 %i
  %az = getelementptr float, ptr %pz, i64 %i
  %vx = load <8 x float>, ptr %ax, align 4
  %vy = load <8 x float>, ptr %ay, align 4
  %vz = {INSTRUCTION} <8 x float> %vx, %vy
  store <8 x float> %vz, ptr %az, align 4
  %i.next = add i64 %i, 8
  %again = icmp slt i64 %i.next, %whole
  br i1 %again, label %vectors, label %rest
rest:
  %left = icmp slt i64 %whole, %n
  br i1 %left, label %scalars, label %noted
scalars:
  %j = phi i64 [ %whole, %rest ], [ %j.next, %scalars ]
  %bx = getelementptr float, ptr %px, i64 %j
  %by = getelementptr float, ptr %py, i64 %j
  %bz = getelementptr float, ptr %pz, i64 %j
  %fx = load float, ptr %bx
  %fy = load float, ptr %by
  %fz = {INSTRUCTION} float %fx, %fy
  store float %fz, ptr %bz
  %j.next = add i64 %j, 1
  %more = icmp slt i64 %j.next, %n
  br i1 %more, label %scalars, label %noted
noted:
  br i1 %eager, label %done, label %note
note:
  %op = call ptr @word(ptr %state, i64 {op})
  %recorded = call i1 @record(ptr %state, ptr %op, ptr %x, ptr %y, ptr %z)
  br i1 %recorded, label %done, label %unwind
unwind:
  call void @Py_DecRef(ptr %z)
  ret ptr null
done:
  ret ptr %z
slow:
  %method = call ptr @word(ptr %state, i64 {slow})
  %result = call ptr (ptr, ...) @PyObject_CallFunctionObjArgs(ptr %method, ptr %x, ptr %y, ptr null)
  ret ptr %result
}}
"""


def text() -> str:
    """The native functions of all operators as one module."""
    prelude = _PRELUDE
    for name, offset in _AT.items():
        prelude = prelude.replace("{" + name + "}", str(offset))
    prelude = prelude.replace("{limit}", str(MAX_ELEMENTS))
    return prelude + "".join(
        _OPERATOR.format(
            NAME=name,
            INSTRUCTION=instruction,
            op=_AT[f"op_{name}"],
            slow=_AT[f"slow_{name}"],
            **{key: _AT[key] for key in ("none", "depth", "tape_thread", "t_shape")},
        )
        for name, (_, instruction) in OPERATORS.items()
    )


def code() -> Code:
    return Code("Add", f"eager fast path {hashlib.blake2b(text().encode(), digest_size=8).hexdigest()}", text)


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


class FastPath:
    """The state block, and what keeps it true."""

    def __init__(self) -> None:
        self.state = np.zeros(len(STATE), np.int64)
        self.kept: list[Any] = []  # everything that the state block points to

    def install(self) -> None:
        """Puts the native functions in the place of the Python methods, which become their slow path."""
        cpu = device("CPU")
        self._fill("tensor_type", Tensor)
        self._fill("storage_type", Storage)
        self._fill("float32", dtypes.float32)
        self._fill("none", None)
        self._fill("zero", 0)
        self._fill("cpu", cpu)
        self._set("next_token", -1)
        for name, offset in _slot_offsets(Tensor).items():
            if "t" + name in STATE:
                self._set("t" + name, offset)
        for name, offset in _slot_offsets(Storage).items():
            self._set("s_" + name.lstrip("_"), offset)
        for i in range(MAX_ELEMENTS * 4 // 64 + 1):
            self._fill(f"bin{i}", cpu.bins[i])
        symbols = compile_module(code(), Target.host())
        for name, (method, _) in OPERATORS.items():
            slow = getattr(Tensor, method)
            self._fill(f"op_{name}", registry.get(name))
            self._fill(f"slow_{name}", slow)
            setattr(Tensor, method, self._method(method, symbols[name]))
        dispatch.set_depth_listener(self._depth_changed)

    def _set(self, name: str, value: int) -> None:
        self.state[STATE.index(name)] = value

    def _fill(self, name: str, thing: Any) -> None:
        self.kept.append(thing)
        self._set(name, id(thing))

    def _method(self, name: str, address: int) -> Any:
        definition = _MethodDef(name.encode(), address, 0x80, b"Element by element, as the operator.")
        self.kept.append(definition)
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        function = make(ctypes.addressof(definition), self.state.ctypes.data, None)
        bind = ctypes.pythonapi.PyInstanceMethod_New
        bind.restype, bind.argtypes = ctypes.py_object, (ctypes.py_object,)
        return bind(function)

    def _depth_changed(self, depth: int, tape: Any) -> None:
        """Keeps the count of interpreters on all threads' stacks, and the tape that native code may write
        to."""
        state = self.state
        state[_DEPTH] = depth
        if tape is not None:
            state[_TAPE_THREAD] = _thread_state()
            state[_TAPE_RECORDS] = id(tape.records)
        else:
            state[_TAPE_THREAD] = 0


_DEPTH, _TAPE_THREAD, _TAPE_RECORDS = (STATE.index(name) for name in ("depth", "tape_thread", "tape_records"))


def _thread_state() -> int:
    get = ctypes.pythonapi.PyThreadState_Get
    get.restype = ctypes.c_void_p
    return get()


def _slot_offsets(cls: type) -> dict[str, int]:
    """Where CPython keeps the slots of a class's objects, found by looking for marks in an object's
    memory."""
    names = [name for name in cls.__slots__ if not name.startswith("__")]
    marked = object.__new__(cls)
    marks = {name: [name] for name in names}
    for name, mark in marks.items():
        setattr(marked, name, mark)
    words = (ctypes.c_void_p * (cls.__basicsize__ // 8)).from_address(id(marked))
    found = {word: 8 * i for i, word in enumerate(words)}
    return {name: found[id(mark)] for name, mark in marks.items()}


FAST_PATH: FastPath | None = None


def install() -> None:
    """Switches the fast path on; does nothing on an interpreter without a GIL, where the Python methods stay.

    Raises:
        RuntimeError: LLVM does not accept the text.
    """
    global FAST_PATH
    if FAST_PATH is None and (not hasattr(sys, "_is_gil_enabled") or sys._is_gil_enabled()):
        FAST_PATH = FastPath()
        FAST_PATH.install()
