"""Runs kernels by hand: lowers a node, compiles and links each code once, and calls its chunks in a loop."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.codegen.target import Target
from mycelia.ir.dtypes import from_numpy_dtype
from mycelia.ir.graph import Graph
from mycelia.ir.types import TensorType
from mycelia.kernels import api
from mycelia.runtime.link import compile_object, load_object

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64)
_linked: dict[str, Any] = {}


def function(code: api.Code) -> Any:
    """The callable of a code, compiled on first use."""
    if code.key not in _linked:
        image = compile_object(code.text(), Target.host())
        _linked[code.key] = _FUNCTION(load_object(image, [code.symbol])[code.symbol])
    return _linked[code.key]


def aligned(shape: Sequence[int], dtype: Any, fill: Any = None) -> np.ndarray:
    """An array on a 64-byte boundary, as buffers of plans are."""
    dtype = np.dtype(dtype)
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    array = raw[start : start + nbytes].view(dtype).reshape(shape)
    if fill is not None:
        array[...] = fill
    return array


class Bound:
    """Calls with their buffers in place; ``run()`` executes them (and may be timed)."""

    def __init__(
        self,
        calls: Sequence[api.Call | api.HostCall],
        inputs: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
    ) -> None:
        self.inputs, self.outputs = [np.ascontiguousarray(x) for x in inputs], list(outputs)
        self.works: dict[str, np.ndarray] = {}
        for call in calls:
            for arg in getattr(call, "args", ()):
                if isinstance(arg, api.Work) and (
                    arg.key not in self.works or self.works[arg.key].nbytes < arg.nbytes
                ):
                    self.works[arg.key] = aligned((arg.nbytes,), np.uint8, 0xAB)
        self.steps = []
        for call in calls:
            if isinstance(call, api.HostCall):
                self.steps.append((call.function, None, 0))
                continue
            words = np.array([self._word(a) for a in call.args], np.int64)
            self.steps.append((function(call.code), words, call.chunks))
        self.calls = calls

    def _word(self, arg: api.Arg) -> int:
        if isinstance(arg, api.In):
            return self.inputs[arg.index].ctypes.data + arg.offset
        if isinstance(arg, api.Out):
            return self.outputs[arg.index].ctypes.data + arg.offset
        if isinstance(arg, api.Work):
            return self.works[arg.key].ctypes.data + arg.offset
        if isinstance(arg, api.Table):
            return arg.array.ctypes.data
        return int(arg)

    def run(self, reverse: bool = False) -> None:
        for fn, words, chunks in self.steps:
            if words is None:
                fn(self.inputs, self.outputs)
                continue
            for chunk in reversed(range(chunks)) if reverse else range(chunks):
                status = fn(words.ctypes.data, chunk)
                assert status == 0, f"kernel gave status {status}"


def run(
    calls: Sequence[api.Call | api.HostCall],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    reverse: bool = False,
) -> None:
    """Executes calls over given arrays; ``reverse`` takes the chunks from the last to the first."""
    Bound(calls, inputs, outputs).run(reverse)


def node_of(op: str, inputs: Sequence[np.ndarray], **attrs: Any) -> Any:
    """A node of an operator over inputs of these arrays' types."""
    graph = Graph()
    values = [graph.input(TensorType(from_numpy_dtype(x.dtype), x.shape)) for x in inputs]
    return graph.add(op, *values, **attrs)


def bind(op: str, inputs: Sequence[np.ndarray], **attrs: Any) -> Bound:
    """Selects the CPU kernel of a node and binds its calls to fresh outputs (filled with garbage)."""
    node = node_of(op, inputs, **attrs)
    chosen = api.select(node, "CPU", Target.host())
    outputs = []
    for value in node.outputs:
        out = aligned(value.shape, value.dtype.numpy)
        out.reshape(-1).view(np.uint8)[:] = 0xCD
        outputs.append(out)
    return Bound(chosen.kernel.lower(node, Target.host()), inputs, outputs)


def apply(op: str, inputs: Sequence[np.ndarray], **attrs: Any) -> Any:
    """The outputs of an operator by its CPU kernel: one array, or a list."""
    bound = bind(op, inputs, **attrs)
    bound.run()
    return bound.outputs[0] if len(bound.outputs) == 1 else bound.outputs


def undefined_symbols(image: bytes) -> set[str]:
    """Names that an ELF object expects from elsewhere."""
    (sections,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, sections + i * size) for i in range(count)]
    names: set[str] = set()
    for header in headers:
        if header[1] != 2:  # a symbol table
            continue
        strings = headers[header[6]][4]
        for at in range(header[4], header[4] + header[5], 24):
            name, _info, _other, section = struct.unpack_from("<IBBH", image, at)
            if section == 0 and name:
                end = image.index(b"\0", strings + name)
                names.add(image[strings + name : end].decode())
    return names
