"""Declared inputs: what ``Cell.set_inputs`` and jit's ``input_signature`` say about a function's tensors.

The open dimensions that they name are symbols from the first call on, so that no second size needs another
graph. What a call brings is held against them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from mycelia.ir.types import Sym, TensorType
from mycelia.tensor.placeholder import Placeholder, Symbol
from mycelia.tensor.tensor import Tensor
from mycelia.trace.nesting import flatten


class Signature:
    """The declared inputs of one function.

    Args:
        owner: whom error messages name.
        inputs: one for each positional argument: a Tensor, nested Tensors, or any value (not looked at).

    Raises:
        TypeError: no tuple, list or Tensor.
    """

    def __init__(self, owner: str, inputs: Any) -> None:
        if isinstance(inputs, Tensor):
            inputs = (inputs,)
        if not isinstance(inputs, (tuple, list)):
            raise TypeError(
                f"{owner}: the declared inputs must be a Tensor, or a tuple or list of them. Received: "
                f"{inputs!r} (of type {type(inputs).__name__})"
            )
        self.owner, self.inputs = owner, tuple(inputs)
        self.leaves: list[Any] = []
        flatten(self.inputs, self.leaves)

    def types(self, leaves: Sequence[Any]) -> list[TensorType]:
        """The types of a call's tensors, with symbols where the declaration leaves the extent open.

        Raises:
            ValueError: another number of arguments, another rank or extent.
            TypeError: another dtype.
        """
        if len(leaves) != len(self.leaves):
            raise ValueError(
                f"{self.owner}: {len(self.leaves)} inputs are declared. Received: {len(leaves)} arguments"
            )
        symbols: dict[int, Sym] = {}
        extents: dict[int, int] = {}
        result = []
        for index, (declared, given) in enumerate(zip(self.leaves, leaves)):
            if not isinstance(given, Tensor):
                continue
            if isinstance(declared, Tensor):
                self._check(index, declared, given, extents)
                shape = tuple([_dimension(d, n, symbols) for d, n in zip(_dims(declared), given.shape)])
            else:
                shape = given.shape
            result.append(TensorType(given.dtype, shape))
        return result

    def _check(self, index: int, declared: Tensor, given: Tensor, extents: dict[int, int]) -> None:
        if declared.dtype is not given.dtype:
            raise self._refusal(TypeError, index, declared, given)
        dims = _dims(declared)
        fits = len(dims) == given.ndim and all(_admits(d, n, extents) for d, n in zip(dims, given.shape))
        if not fits:
            raise self._refusal(ValueError, index, declared, given)

    def _refusal(self, kind: type[Exception], index: int, declared: Tensor, given: Tensor) -> Exception:
        error = kind(f"{self.owner}: input {index} is declared as {_shown(declared)}. Received: {given.type}")
        error._explained = True  # type: ignore[attr-defined]  # a layer has nothing to add
        return error


def bound_inputs(function: Callable[..., Any], inputs: tuple, named: dict[str, Any]) -> tuple:
    """Declared inputs in the order of the function's parameters.

    Raises:
        ValueError: both forms at once, or a name that is no parameter.
    """
    if not named:
        return inputs
    if inputs:
        raise ValueError("set_inputs: give the inputs by position or by name, not both")
    names = [n for n in inspect.signature(function).parameters]
    unknown = [n for n in named if n not in names]
    if unknown:
        raise ValueError(f"set_inputs: construct has the parameters {', '.join(names)}. Received: {unknown}")
    return tuple([named.get(n) for n in names[: 1 + max(names.index(n) for n in named)]])


def _dims(declared: Tensor) -> tuple:
    return declared.dims if isinstance(declared, Placeholder) else declared.shape


def _admits(declared: Any, extent: int, extents: dict[int, int]) -> bool:
    if declared is None:
        return True
    if isinstance(declared, Symbol):
        same = declared.unique or extents.setdefault(id(declared), extent) == extent
        return same and declared.admits(extent)
    return declared in (-1, extent)


def _dimension(declared: Any, extent: int, symbols: dict[int, Sym]) -> Any:
    """Extents 0 and 1 broadcast otherwise than others do, and keep graphs of their own."""
    if extent < 2 or isinstance(declared, int) and declared >= 0:
        return extent
    if isinstance(declared, Symbol) and not declared.unique:
        return symbols.setdefault(id(declared), Sym(lo=2))
    return Sym(lo=2)


def _shown(declared: Tensor) -> str:
    return f"{declared.dtype.name}[{', '.join('?' if d is None else str(d) for d in _dims(declared))}]"
