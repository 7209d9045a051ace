"""Parameter: a tensor with a name that a network owns and an optimizer updates."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.tensor.storage import Storage
from mycelia.tensor.tensor import Tensor, dense_strides


class Parameter(Tensor):
    """A tensor that belongs to a Cell.

    Args:
        default_input: initial data (Tensor, NumPy array, number); copied, so that no two parameters share
            memory.
        name: name in checkpoints; a Cell fills in its own attribute name when None.
        requires_grad: whether optimizers and `value_and_grad` over weights see it.

    Example:
        >>> Parameter(Tensor([1.0, 2.0]), name="weight").name
        'weight'
    """

    __slots__ = ("name", "requires_grad", "layerwise_parallel", "parallel_optimizer", "__dict__")

    def __init__(
        self,
        default_input: Any,
        name: str | None = None,
        requires_grad: bool = True,
        layerwise_parallel: bool = False,
        parallel_optimizer: bool = True,
        storage_format: str = "",
        device: str | None = None,
    ) -> None:
        if isinstance(default_input, Parameter) and name is None:
            name = default_input.name
        if name is not None and not isinstance(name, str):
            raise TypeError(
                f"Parameter: name must be a string. Received: name={name!r} (of type {type(name).__name__})"
            )
        if not isinstance(requires_grad, bool):
            raise TypeError(
                f"Parameter: requires_grad must be a bool. Received: requires_grad={requires_grad!r} (of "
                f"type {type(requires_grad).__name__})"
            )
        super().__init__(
            np.array(default_input.asnumpy()) if isinstance(default_input, Tensor) else default_input
        )
        self.name = name or "Parameter"
        self.requires_grad = requires_grad
        self.layerwise_parallel = layerwise_parallel
        self.parallel_optimizer = parallel_optimizer

    @property
    def data(self) -> Parameter:
        return self

    @property
    def has_init(self) -> bool:
        return False

    def init_data(self, *_: Any, **__: Any) -> Parameter:
        return self

    @property
    def trainable(self) -> bool:
        return self.requires_grad

    def value(self) -> Tensor:
        """The current value as a plain tensor that shares the parameter's memory."""
        return Tensor.wrap(self._storage, self._shape, self._dtype, self._strides, self._offset)

    def set_data(self, data: Any, slice_shape: bool = False) -> Parameter:
        """Takes over the data's elements; the memory, and so every view, stays the parameter's own.

        Raises:
            ValueError: another shape, unless ``slice_shape``.
            TypeError: another element type of another kind.
        """
        tensor = data if isinstance(data, Tensor) else Tensor(data)
        if tensor.shape != self._shape and not slice_shape:
            raise ValueError(
                f"Parameter.set_data: {self.name!r} has shape {self._shape}. Received: data of shape "
                f"{tensor.shape}"
            )
        if tensor.dtype is not self._dtype and tensor.dtype.kind != self._dtype.kind:
            raise TypeError(
                f"Parameter.set_data: {self.name!r} has dtype {self._dtype.name}. Received: data of dtype "
                f"{tensor.dtype.name}; convert it first with astype"
            )
        array = np.array(tensor.asnumpy(), dtype=self._dtype.numpy, order="C")
        if tensor.shape != self._shape:
            self._adopt(Storage.from_host(array), 0, dense_strides(array.shape), array.shape, self._dtype)
        else:
            self._storage.write_host(array, self._offset * self._dtype.itemsize)
        return self

    def clone(self, init: str = "same") -> Parameter:
        """A parameter of its own with the same name and flags; ``init``: ``"same"``, ``"zeros"`` or
        ``"ones"``."""
        array = self.asnumpy()
        if init == "zeros":
            array = np.zeros_like(array)
        elif init == "ones":
            array = np.ones_like(array)
        elif init != "same":
            raise ValueError(
                f"Parameter.clone: init must be 'same', 'zeros' or 'ones'. Received: init={init!r}"
            )
        return Parameter(np.array(array), name=self.name, requires_grad=self.requires_grad)

    def __repr__(self) -> str:
        return (
            f"Parameter (name={self.name}, shape={self._shape}, dtype={self._dtype}, "
            f"requires_grad={self.requires_grad})"
        )

    def __reduce__(self) -> tuple:
        flags = (self.requires_grad, self.layerwise_parallel, self.parallel_optimizer)
        return _rebuild_parameter, (self.asnumpy().copy(), self.name, flags, dict(self.__dict__))


def _rebuild_parameter(array: np.ndarray, name: str, flags: tuple, attributes: dict[str, Any]) -> Parameter:
    parameter = Parameter(array, name, *flags)
    parameter.__dict__.update(attributes)
    return parameter


class ParameterTuple(tuple):
    """An immutable sequence of parameters.

    Raises:
        TypeError: an item is not a Parameter.
    """

    def __new__(cls, parameters: Any) -> ParameterTuple:
        items = tuple(parameters)
        for item in items:
            if not isinstance(item, Parameter):
                raise TypeError(f"ParameterTuple: items must be Parameter. Received: {type(item).__name__}")
        return super().__new__(cls, items)

    def clone(self, prefix: str, init: str = "same") -> ParameterTuple:
        """Copies whose names start with ``prefix + "."``, as optimizers make their moments."""
        copies = []
        for parameter in self:
            copy = parameter.clone(init)
            copy.name = f"{prefix}.{parameter.name}"
            copies.append(copy)
        return ParameterTuple(copies)
