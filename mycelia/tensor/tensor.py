"""Tensor: (storage, offset, strides, shape, dtype). The data model only; arithmetic is attached by
`mycelia.ops`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import DType
from mycelia.ir.types import TensorType
from mycelia.tensor.storage import Storage

_tokens = itertools.count(1)


def new_token() -> int:
    """An identity for the current value of a tensor: a write gives the tensor a new one (see
    `mycelia.autodiff`)."""
    return next(_tokens)


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


class View:
    """How a view came from its root: the tensor that owns the elements, and the operators applied to it in
    turn."""

    __slots__ = ("root", "chain", "seen")

    def __init__(self, root: Tensor, chain: tuple[tuple[Any, dict[str, Any]], ...], seen: int | None) -> None:
        self.root, self.chain, self.seen = root, chain, seen


class Tensor:
    """An array of one element type on a device.

    Args:
        input_data: a number, nested lists, NumPy array or Tensor; copied.
        dtype: element type; default: the data's own (Python floats become float32, ints int64).
        shape, init: instead of data, a shape and an initializer to fill it from.
        device: where to put it, e.g. ``"CPU"``; default: the context's ``device_target``.

    Raises:
        TypeError: data that cannot be an array of numbers.

    Example:
        >>> Tensor([[1.0, 2.0]]).shape
        (1, 2)
    """

    __slots__ = (
        "_storage",
        "_offset",
        "_strides",
        "_shape",
        "_dtype",
        "_token",
        "_view",
        "_gradient",
        "__weakref__",
    )

    _storage: Any  # a Storage; None while the tensor is traced
    _shape: tuple[Any, ...]
    _strides: tuple[int, ...]
    _offset: int
    _dtype: DType
    _token: int | None
    _view: View | None
    _gradient: Any  # not set until `mycelia.autodiff.state` has something to keep about the tensor

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if kwargs and cls is Tensor and "shape" in kwargs:
            from mycelia.tensor.placeholder import Placeholder, is_open

            if is_open(kwargs["shape"]):
                return object.__new__(Placeholder)
        return object.__new__(cls)

    def __init__(
        self,
        input_data: Any = None,
        dtype: DType | None = None,
        shape: Sequence[int] | int | None = None,
        init: Any = None,
        internal: bool = False,
        const_arg: bool = False,
        device: str | None = None,
    ) -> None:
        if dtype is not None and not isinstance(dtype, DType):
            dtype = dtypes.from_numpy_dtype(dtype)
        if input_data is None:
            array = _initialised(shape, dtype, init)
        elif isinstance(input_data, Tensor):
            array = input_data.asnumpy()
        else:
            array = _array_from(input_data, dtype)
        if dtype is not None:
            array = array.astype(dtype.numpy, copy=False)
        self._adopt(
            Storage.copy_of(array, device),
            0,
            dense_strides(array.shape),
            array.shape,
            dtypes.from_numpy_dtype(array.dtype),
        )

    # -- construction inside the house ---------------------------------------------------------------------
    def _adopt(
        self, storage: Storage, offset: int, strides: tuple[int, ...], shape: tuple[int, ...], dtype: DType
    ) -> None:
        self._storage, self._offset, self._strides = storage, offset, strides
        self._shape, self._dtype, self._token, self._view = shape, dtype, None, None

    @staticmethod
    def wrap(
        storage: Storage,
        shape: tuple[int, ...],
        dtype: DType,
        strides: tuple[int, ...] | None = None,
        offset: int = 0,
    ) -> Tensor:
        """A tensor over existing storage; strides and offset count elements."""
        self = object.__new__(Tensor)
        self._storage, self._offset, self._dtype, self._shape = storage, offset, dtype, shape
        self._strides = dense_strides(shape) if strides is None else strides
        self._token = self._view = None
        return self

    @staticmethod
    def from_numpy(array: np.ndarray) -> Tensor:
        """Shares the array's memory where the device's memory is addressable by the host, else copies."""
        if not isinstance(array, np.ndarray):
            raise TypeError(
                f"from_numpy: must be a numpy.ndarray. Received: {array!r} (of type {type(array).__name__})"
            )
        dense = np.ascontiguousarray(array).reshape(array.shape)
        return Tensor.wrap(Storage.from_host(dense), dense.shape, dtypes.from_numpy_dtype(dense.dtype))

    # -- description ---------------------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def size(self) -> Any:
        return (
            int(np.prod(self._shape, dtype=np.int64))
            if all(type(d) is int for d in self._shape)
            else self.type.size
        )

    @property
    def itemsize(self) -> int:
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self._dtype.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """In bytes, as in NumPy."""
        return tuple(s * self._dtype.itemsize for s in self._strides)

    @property
    def type(self) -> TensorType:
        return TensorType(self._dtype, self._shape)

    @property
    def device(self) -> str:
        return self._storage.device.name

    @property
    def address(self) -> int:
        """Device address of element 0."""
        return self._storage.address + self._offset * self._dtype.itemsize

    def is_contiguous(self) -> bool:
        step = 1
        for extent, stride in zip(reversed(self._shape), reversed(self._strides)):
            if extent == 0:
                return True
            if extent != 1:
                if stride != step:
                    return False
                step *= extent
        return True

    # -- to the host ---------------------------------------------------------------------------------------
    def asnumpy(self) -> np.ndarray:
        """The elements as a NumPy array, sharing memory where the device's memory is addressable by the
        host."""
        item = self._dtype.itemsize
        return self._storage.as_numpy(
            self._dtype.numpy, self._shape, tuple(s * item for s in self._strides), self._offset * item
        )

    numpy = asnumpy

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.asnumpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_function__(self, function: Any, _: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        try:  # most of NumPy's functions call the method of their name
            return function._implementation(*args, **kwargs)
        except TypeError as error:
            if not any(words in str(error) for words in ("unexpected keyword argument", "has no argument")):
                raise
            name = function.__name__
            raise TypeError(
                f"numpy.{name}: takes arrays. Received: a Tensor, {self.dtype.name}{list(self.shape)}. Use "
                f"ops.{name}(x) or x.{name}(), or outside of compiled functions numpy.{name}(x.asnumpy())"
            ) from None

    def __buffer__(self, flags: int) -> memoryview:  # looked at from Python 3.12 on
        return memoryview(self.asnumpy())  # type: ignore[arg-type]

    def __dlpack__(self, **arguments: Any) -> Any:
        """A DLPack capsule over the tensor's memory, or a copy of it where it is not the host's."""
        from mycelia.tensor.dlpack import capsule

        return capsule(self, **arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def tolist(self) -> Any:
        return self.asnumpy().tolist()

    def __hash__(self) -> int:
        return id(self)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("len() of a 0-d tensor")
        return self._shape[0]

    def __repr__(self) -> str:
        value = np.array2string(self.asnumpy(), separator=", ", threshold=100)
        gap = "\n" if self._shape else " "
        return f"Tensor(shape={list(self._shape)}, dtype={self._dtype}, value={gap}{value})"

    def __str__(self) -> str:
        return str(self.asnumpy())

    def __reduce__(self) -> tuple:
        return _rebuild, (type(self), self.asnumpy().copy(), dict(getattr(self, "__dict__", ())))

    def __deepcopy__(self, memo: dict) -> Tensor:
        function, arguments = self.__reduce__()
        memo[id(self)] = copy = function(*arguments)
        return copy


def _rebuild(cls: type, array: np.ndarray, state: dict) -> Tensor:
    tensor = object.__new__(cls)
    tensor._adopt(
        Storage.from_host(array),
        0,
        dense_strides(array.shape),
        array.shape,
        dtypes.from_numpy_dtype(array.dtype),
    )
    for key, value in state.items():
        setattr(tensor, key, value)
    return tensor


def _array_from(data: Any, dtype: DType | None) -> np.ndarray:
    if isinstance(data, np.ndarray):
        return data
    try:
        array = np.asarray(data) if dtype is None else np.asarray(data, dtype.numpy)
    except (ValueError, TypeError) as error:
        cure = str(error)
        if "inhomogeneous" in cure:
            cure = "its rows differ in length or depth; pad them to one length first"
        raise TypeError(
            f"Tensor: input_data must be a number, nested lists of numbers, a NumPy array or a Tensor. "
            f"Received: {data!r:.80} (of type {type(data).__name__}): {cure}"
        ) from None
    if array.dtype.kind in "USOV" and (dtype is None or array.dtype != dtype.numpy):  # bfloat16 is a V
        raise TypeError(
            f"Tensor: input_data must hold numbers. Received: {data!r} (of type {type(data).__name__})"
        )
    if array.dtype == np.float64 and not isinstance(data, np.generic) and dtype is None:
        return array.astype(np.float32)  # Python floats, as in MindSpore
    return array


def _initialised(shape: Sequence[int] | int | None, dtype: DType | None, init: Any) -> np.ndarray:
    if shape is None or dtype is None:
        raise ValueError(
            "Tensor: give input_data, or shape and dtype with init. Received: "
            f"shape={shape!r}, dtype={dtype!r}, init={init!r}"
        )
    extents = (shape,) if isinstance(shape, int) else tuple(shape)
    array = np.zeros(extents, dtype.numpy)
    if init is not None:
        init(array)
    return array


def tensor(
    input_data: Any = None, dtype: DType | None = None, shape: Any = None, init: Any = None,
    const_arg: bool = False, device: str | None = None,
) -> Tensor:
    """A new Tensor: the function that MindSpore offers beside the class.

    Args:
        input_data, dtype, shape, init, const_arg, device: as of `Tensor`.

    Example:
        >>> ms.tensor([1.0, 2.0]).dtype
        mindspore.float32
    """
    return Tensor(input_data, dtype, shape, init, const_arg=const_arg, device=device)
