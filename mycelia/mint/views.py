"""Functions of `mycelia.ops` under PyTorch's names of parameters."""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from mycelia.ir.dtypes import DType
from mycelia.ops.promotion import cast

Function = Callable[..., Any]


def view(
    function: Function,
    name: str = "",
    indices: DType | None = None,
    defaults: dict[str, Any] | None = None,
    **names: str,
) -> Function:
    """The function under another name and with other names of parameters.

    Args:
        function: what is called.
        name: the view's name; the function's own unless given.
        indices: the dtype of the last result, where MindSpore's own differs from PyTorch's.
        defaults: other defaults, by the function's names of parameters.
        names: new name = the function's.

    Example:
        >>> mean = view(reducing.mean, input="x", dim="axis", keepdim="keep_dims")
    """
    old = {theirs: ours for ours, theirs in names.items()}
    more = defaults or {}
    parameters = list(inspect.signature(function).parameters.values())
    places = {
        p.name: math.inf if p.kind is inspect.Parameter.KEYWORD_ONLY else i for i, p in enumerate(parameters)
    }

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = {names.get(key, key): value for key, value in kwargs.items()}
        for key, value in more.items():
            if key not in kwargs and places[key] >= len(args):
                kwargs[key] = value
        found = function(*args, **kwargs)
        if indices is None:
            return found
        if isinstance(found, tuple):
            return (*found[:-1], cast(found[-1], indices))
        return cast(found, indices)

    call.__name__ = call.__qualname__ = name or function.__name__
    call.__doc__ = function.__doc__
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(name=old.get(p.name, p.name), default=more.get(p.name, p.default)) for p in parameters]
    )
    return call
