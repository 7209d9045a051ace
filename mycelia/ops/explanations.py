"""What public functions say of arguments that they do not have or cannot use.

`explained` stands between a public name and its function; calls inside the package go to the function itself.
"""
from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from types import FunctionType, TracebackType
from typing import Any

from mycelia.ops.promotion import refuse
from mycelia.tensor.tensor import Tensor

SPELLINGS = {
    "lr": ("learning_rate",), "bias": ("has_bias",), "groups": ("group",), "betas": ("beta1", "beta2"),
    "padding_mode": ("pad_mode",), "in_features": ("in_channels",), "out_features": ("out_channels",),
    "num_embeddings": ("vocab_size",), "embedding_dim": ("embedding_size",),
    "normalized_axes": ("normalized_shape",), "num_channels": ("num_features",), "probability": ("p",),
    "return_mask": ("return_indices",), "wd": ("weight_decay",), "size_average": ("reduction",),
    "dim": ("axis", "axes", "dims"), "axis": ("dim", "axes", "dims"), "axes": ("axis", "dims"),
    "dims": ("axis", "axes"),
    "keepdim": ("keepdims", "keep_dims"), "keepdims": ("keepdim", "keep_dims"),
    "keep_dims": ("keepdims", "keepdim"), "input": ("x", "input_x", "logits", "tensors"),
    "x": ("input", "input_x"), "a": ("input", "x"), "self": ("input", "x"), "tensor": ("input", "x"),
    "other": ("y", "x2"), "y": ("other", "x2"), "b": ("other", "y"),
    "target": ("labels", "label"), "labels": ("target", "label"), "label": ("target", "labels"),
    "a_min": ("min",), "a_max": ("max",), "negative_slope": ("alpha",), "unbiased": ("ddof", "correction"),
    "training": ("train",), "tensors": ("input", "inputs", "x"), "repeats": ("multiples", "reps", "dims"),
}
"""Names that other frameworks have for arguments, and MindSpore's."""


def unknown_argument(name: str, known: Iterable[str], given: dict[str, Any]) -> str | None:
    """What to say of the first argument that is not among the known ones, with the name that it has there."""
    known = tuple(known)
    for argument, value in given.items():
        if argument in known:
            continue
        near = [spelt for spelt in SPELLINGS.get(argument, ()) if spelt in known and spelt not in given]
        near = near or difflib.get_close_matches(argument, known, 1)
        hint = f"; here it is called {' and '.join(near)}" if near else ""
        return (
            f"{name}: has no argument {argument!r}{hint}. Received: {argument}={value!r:.60}. It takes "
            f"{', '.join(known)}"
        )
    return None


def explained(name: str, function: Callable[..., Any], module: str) -> Callable[..., Any]:
    """A public name's function: errors of Python's own about its arguments become a TypeError that names one.

    Args:
        name: of the function, in its messages.
        function: what it calls.
        module: where it is public, by which it is pickled.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError) as error:
            told = _told(name, function, args, kwargs, error)
            if told is None:
                raise
        raise told

    call.__module__, call.__name__, call.__qualname__ = module, name, name
    return call


def explain_public(module: str, namespace: dict[str, Any], names: Iterable[str]) -> None:
    """Puts `explained` around a module's public functions."""
    for name in names:
        if isinstance(namespace.get(name), FunctionType):
            namespace[name] = explained(name, namespace[name], module)


def _told(
    name: str, function: Callable[..., Any], args: tuple, kwargs: dict[str, Any], error: Exception
) -> TypeError | None:
    """The error to raise instead, or None where it says enough, or is not about the arguments."""
    parameters = inspect.signature(function).parameters
    if isinstance(error, TypeError):
        if not kwargs or any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            return None
        message = unknown_argument(name, (key for key in parameters if key != "self"), kwargs)
        return None if message is None else TypeError(message)
    found = re.match(r"'(\w+)' object has no attribute", str(error))
    if found is None or not is_ours(error.__traceback__):
        return None
    kind = found[1]
    try:
        given = inspect.signature(function).bind(*args, **kwargs).arguments
    except TypeError:
        return None
    for what, value in given.items():
        if isinstance(value, Tensor):
            continue
        if type(value).__name__ == kind:
            text = str(parameters[what].annotation).startswith("str")
            return refuse(name, what, value, "a string" if text else "a Tensor")
        if isinstance(value, (list, tuple)) and any(type(item).__name__ == kind for item in value):
            return refuse(name, what, value, "Tensors")
    return None


def is_ours(trace: TracebackType | None) -> bool:
    """Whether the package raised an error, not the user's own code."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    module = str(trace.tb_frame.f_globals.get("__name__", ""))
    return module.partition(".")[0] == __name__.partition(".")[0]
