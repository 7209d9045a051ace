"""`GradOperation`: MindSpore's older form of `grad`, configured first and given the function later."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mycelia.autodiff.tape import zeros_like
from mycelia.engine.grad import grad, name_of, parameters_of
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class GradOperation:
    """Makes gradient functions.

    Args:
        get_all: gradients of all tensor arguments, in a tuple, rather than of the first.
        get_by_list: gradients of the parameters that are given with the function.
        sens_param: the last argument of the gradient function is the cotangent of the result.

    Example:
        >>> ops.GradOperation(get_all=True)(lambda x, y: x * y)(Tensor([2.0]), Tensor([3.0]))
    """

    def __init__(self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False) -> None:
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            if not isinstance(value, bool):
                raise TypeError(
                    f"GradOperation: {name} must be a bool. Received: {name}={value!r} (of type "
                    f"{type(value).__name__})"
                )
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param
        self._made: dict[Any, tuple[Any, Callable[..., Any]]] = {}

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        """The gradient function of ``fn``; the same one for the same function and parameters.

        Raises:
            TypeError: ``fn`` cannot be called, or ``weights`` are not Parameters.
        """
        if not callable(fn):
            raise TypeError(
                f"GradOperation: fn must be callable. Received: {fn!r} (of type {type(fn).__name__})"
            )
        parameters = self._parameters(fn, weights) if self.get_by_list else None
        key = (id(fn), None if parameters is None else tuple(map(id, parameters)))
        known = self._made.get(key)
        if known is not None:
            return known[1]

        @functools.wraps(fn if hasattr(fn, "__name__") else type(fn))
        def gradient(*args: Any, **kwargs: Any) -> Any:
            given = args[:-1] if self.sens_param else args
            floats = [i for i, x in enumerate(given) if _is_float(x)]
            if self.get_all:
                position: Any = tuple(floats)
            else:
                position = None if self.get_by_list else 0
            if position == () and not parameters:
                return ()
            of_function = by_position(position)
            result = of_function(*args, **kwargs)
            if not self.get_all:
                return result
            by_argument, by_weight = result if parameters is not None else (result, None)
            found = dict(zip(floats, by_argument))
            tensors = [(i, x) for i, x in enumerate(given) if isinstance(x, Tensor)]
            by_argument = tuple([found[i] if i in found else zeros_like(x) for i, x in tensors])
            return by_argument if parameters is None else (by_argument, by_weight)

        @functools.cache
        def by_position(position: Any) -> Callable[..., Any]:
            return grad(fn, position, parameters, sens_param=self.sens_param)

        self._made[key] = ((fn, parameters), gradient)
        return gradient

    def _parameters(self, fn: Any, weights: Any) -> tuple[Parameter, ...]:
        if weights is not None:
            return parameters_of(weights)
        trainable = getattr(fn, "trainable_params", None)
        if trainable is None:
            raise TypeError(
                f"GradOperation: with get_by_list, give the parameters too: grad_op({name_of(fn)}, "
                "parameters)"
            )
        return tuple(trainable())


def _is_float(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype.is_float
