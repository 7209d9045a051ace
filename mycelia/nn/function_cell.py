"""Cells made from functions: ``nn.Softmin(axis=0)`` holds the settings of ``ops.softmin``.

A function's parameters before its first setting are the tensors that the cell is called with; ``training`` is
the cell's own mode. So a layer without parameters of its own is one row of a table.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from mycelia.nn.cell import Cell


def cell(
    name: str,
    function: Callable[..., Any],
    inputs: int = 1,
    only: str | None = None,
    module: str = "mycelia.nn",
    base: type[Cell] = Cell,
    **defaults: Any,
) -> type[Cell]:
    """The class of a function.

    Args:
        name: the class's name.
        function: its first ``inputs`` parameters are tensors.
        inputs: see there.
        only: which of the other parameters the class takes, in this order; all of them unless given.
        module: where the class is found.
        base: what it derives from.
        defaults: values for parameters that the class does not take, or other defaults for those it takes.
    """
    parameters = list(inspect.signature(function).parameters.values())
    settings = {p.name: p.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for p in parameters[inputs:]}
    by_mode = settings.pop("training", None) is not None
    taken = list(settings) if only is None else only.split()
    fixed = {key: value for key, value in defaults.items() if key not in taken}
    signature = inspect.Signature(
        [settings[key].replace(default=defaults.get(key, settings[key].default)) for key in taken]
    )

    def __init__(self: Cell, *args: Any, **kwargs: Any) -> None:
        Cell.__init__(self)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"{name}: must be constructed with {signature}. Received: {args} {kwargs or ''} ({error})"
            ) from None
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            setattr(self, key, value)
        check = getattr(self, "check_settings", None)
        if check is not None:
            check()

    def construct(self: Cell, *tensors: Any) -> Any:
        chosen = {key: getattr(self, key) for key in taken}
        if by_mode:
            chosen["training"] = self.training
        return function(*tensors, **chosen, **fixed)

    def extend_repr(self: Cell) -> str:
        return ", ".join(f"{key}={getattr(self, key)}" for key in taken)

    made = type(
        name,
        (base,),
        {
            "__init__": __init__,
            "construct": construct,
            "extend_repr": extend_repr,
            "__doc__": f"`{function.__name__}` as a cell.\n\n    {function.__doc__ or ''}",
            "__module__": module,
        },
    )
    made.__signature__ = signature  # type: ignore[attr-defined]
    return made
