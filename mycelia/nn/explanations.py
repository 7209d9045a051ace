"""What a layer says of inputs that its operators refuse: its own name and place in the network, what it was
given, and the cure."""

from __future__ import annotations

import inspect
from typing import Any

from mycelia.ops.explanations import is_ours, unknown_argument
from mycelia.tensor.tensor import Tensor


def explain(cell: Any, args: tuple, error: Exception) -> None:
    """Rewrites the message of an error that leaves a cell's call; only the innermost cell's words count.

    A layer with a `refusal` for these inputs speaks for itself. Any other cell is named after the message,
    with its inputs, since the same line of a program often stands for many of them.
    """
    if type(error) not in (TypeError, ValueError, IndexError) or hasattr(error, "_explained"):
        return
    error._explained = True  # type: ignore[attr-defined]
    if not is_ours(error.__traceback__) or len(error.args) != 1 or not isinstance(error.args[0], str):
        return
    if error.args[0].startswith(f"{type(cell).__name__}.construct() "):
        error.args = (f"{error.args[0]}. It is construct{inspect.signature(cell.construct)}",)
        return
    known = all(isinstance(d, int) for x in args if isinstance(x, Tensor) for d in x.shape)
    told = cell.refusal(*args) if known else None
    if told is None:
        if not any(isinstance(x, Tensor) for x in args):
            return
        received = ", ".join(str(x.type) for x in args if isinstance(x, Tensor))
        message = error.args[0].rstrip(".")
        error.args = (f"{message}. This happened in {described(cell)}, called with ({received})",)
    else:
        error.args = (told,)


def described(cell: Any) -> str:
    """The class of a cell, and where it is in its network as far as its parameters' names tell."""
    path = cell.param_prefix
    return f"{type(cell).__name__} {path!r}" if path else type(cell).__name__


def refused(cell: Any, expected: str, received: str, cure: str) -> str:
    """The text of a refusal."""
    return f"{described(cell)}: {expected}. Received: {received}. {cure}"


def refusal_of_images(cell: Any, x: Any, channels: int, axes: int) -> str | None:
    """Of a convolution over ``[n, channels, ...]``: bytes, channels last, no batch axis, another dtype or
    number of channels."""
    if not isinstance(x, Tensor):
        return None
    places = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}[axes]
    dtype = cell.weight.dtype
    expected = f"the input must be {dtype.name}[n, {channels}, {', '.join(places)}]"
    cures = []
    rank = axes + 2
    last = x.ndim >= axes + 1 and x.shape[-1] == channels != x.shape[-1 - axes]
    if x.dtype.name == "uint8" and axes == 2:
        cures.append("vision.Rescale(1/255, 0)")
    if last and axes == 2:
        cures.append("vision.HWC2CHW()")
    if cures:
        what = " with their channels last" if last else ""
        what = ("bytes" if x.dtype.name == "uint8" else "images") + what
        text = (
            f"These are {what}, as image files hold them: map {' and '.join(cures)} over the data set's "
            f"images before batch, as in dataset.map([{', '.join(cures)}], \"image\")"
        )
        if x.ndim != rank:
            text += ". The batch axis is missing too: use batch, or ops.expand_dims(x, 0) for a single image"
        return refused(cell, expected, str(x.type), text)
    if x.ndim == rank - 1:
        cure = "The batch axis is missing: ops.expand_dims(x, 0) makes a batch of one"
    elif x.ndim != rank:
        cure = f"Reshape it to {rank} axes"
    elif x.dtype is not dtype:
        cure = f"Convert it with astype(mindspore.{dtype.name})"
        if x.dtype.name == "float64":
            cure += "; NumPy makes float64 unless told otherwise"
    elif x.shape[1] != channels:
        cure = (
            f"Axis 1 has {x.shape[1]} channels where in_channels={channels}: make the layer "
            f"{type(cell).__name__}({x.shape[1]}, ...), or transpose an input whose channels are on another "
            "axis"
        )
    else:
        return None
    return refused(cell, expected, str(x.type), cure)


def refusal_of_rows(cell: Any, x: Any, features: int, setting: str) -> str | None:
    """Of a product with a weight over the last axis: another extent or dtype."""
    if not isinstance(x, Tensor):
        return None
    dtype = cell.weight.dtype
    if x.ndim and x.shape[-1] == features and x.dtype is dtype:
        return None
    expected = f"the input must be {dtype.name}[..., {features}], as {setting}={features} says"
    received = f"{x.type}, against the weight {cell.weight.name!r} of {cell.weight.type}"
    if not x.ndim:
        cure = "A scalar has no last axis: reshape it"
    elif x.shape[-1] != features:
        flat = 1
        for d in x.shape[1:]:
            flat *= int(d)
        if x.ndim > 2 and flat == features:
            cure = "Flatten it first: nn.Flatten(), or x.view(x.shape[0], -1)"
        else:
            cure = f"Make the layer {type(cell).__name__}({x.shape[-1]}, ...), or reshape its input"
            if x.ndim > 2:
                cure += f"; flattened by nn.Flatten() it would have {flat} features"
    else:
        cure = f"Convert it with astype(mindspore.{dtype.name})"
        if x.dtype.name == "float64":
            cure += "; NumPy makes float64 unless told otherwise"
    return refused(cell, expected, received, cure)


def refusal_of_windows(cell: Any, x: Any, axes: int, kernel: tuple[int, ...], pads: Any) -> str | None:
    """Of a pooling: no image, or one that the window does not fit into."""
    if not isinstance(x, Tensor) or x.ndim not in (axes + 1, axes + 2):
        return None
    sides = (pads,) * axes if isinstance(pads, int) else tuple(pads)
    extents = x.shape[-axes:]
    if len(sides) != axes or all(d + 2 * p >= k for d, p, k in zip(extents, sides, kernel)):
        return None
    size = "x".join(map(str, extents))
    kind = "Avg" if "Avg" in type(cell).__name__ else "Max"
    others = f"nn.Adaptive{kind}Pool{axes}d(1)"
    if kind == "Avg":
        over = tuple(range(2, 2 + axes))
        others += f" or ops.mean(x, {over if axes > 1 else over[0]})"
    return refused(
        cell,
        f"the window kernel_size={kernel} must fit into the image",
        f"{x.type}, images of {size}",
        f"What pools the whole image whatever its size is {others}; else use a smaller kernel_size, or fewer "
        "strides before",
    )


def refusal_of_channels(cell: Any, x: Any, features: int) -> str | None:
    """Of a norm over channels: another number of them on axis 1."""
    if not isinstance(x, Tensor) or x.ndim < 2 or x.shape[1] == features:
        return None
    cure = f"Make the layer {type(cell).__name__}({x.shape[1]})"
    if x.shape[-1] == features:
        cure += ", or bring the channels, which are on the last axis, to axis 1 with transpose"
    return refused(cell, f"the input must have num_features={features} channels on axis 1", str(x.type), cure)


def require_known(cls: type, given: dict[str, Any]) -> None:
    """Raises TypeError for arguments that a class's ``__init__`` does not have, with the name that it has for
    them."""
    code = getattr(cls.__init__, "__code__", None)
    if code is None or code.co_flags & (inspect.CO_VARKEYWORDS | inspect.CO_VARARGS):
        return
    known = code.co_varnames[1:code.co_argcount + code.co_kwonlyargcount]
    message = unknown_argument(cls.__name__, known, given)
    if message is not None:
        raise TypeError(message)
