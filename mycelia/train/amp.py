"""Mixed precision of networks: levels O0 to O3, "auto", and lists of one's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mycelia.ir.dtypes import DType, bfloat16, float16, float32
from mycelia.ops.precision import Policy
from mycelia.trace.location import warn_user

LEVELS = ("O0", "O1", "O2", "O3", "auto")
_DTYPES = (float16, bfloat16)

# Classes by name: Cells that compute in half precision as a whole, and primitives.
_WHITE_CELLS = (
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "Conv1dTranspose",
    "Conv2dTranspose",
    "Conv3dTranspose",
    "Dense",
    "LSTMCell",
    "RNNCell",
    "GRUCell",
)
_WHITE_PRIMITIVES = (
    "Conv2D",
    "Conv3D",
    "Conv2DTranspose",
    "Conv3DTranspose",
    "Conv2DBackpropInput",
    "MatMul",
    "BatchMatMul",
    "PReLU",
    "ReLU",
    "Ger",
)
_BLACK_CELLS = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LayerNorm")

# Operators of the level "auto": products in half precision, what loses its range in it in float32, the rest
# in
# the widest dtype of its operands.
AMP_AUTO_WHITE_LIST = [
    "Conv2D",
    "Conv3D",
    "Conv2DInputGrad",
    "Conv3DInputGrad",
    "MatMul",
    "BatchMatMul",
    "PReLU",
]
AMP_AUTO_BLACK_LIST = [
    "Pow",
    "ACos",
    "Asin",
    "Cosh",
    "Erfinv",
    "Exp",
    "Exp2",
    "Expm1",
    "Log",
    "Log10",
    "Log1p",
    "Log2",
    "Reciprocal",
    "Rsqrt",
    "Sinh",
    "Tan",
    "LayerNorm",
    "BatchNormTrain",
    "ReduceProd",
    "ReduceSum",
    "Softmax",
    "LogSoftmax",
    "CumProd",
    "CumSum",
]
# MindSpore's name of a primitive -> operators that carry it out, where they differ.
_CARRIED_OUT_BY = {
    "Conv2DTranspose": ("Conv2DInputGrad",),
    "Conv3DTranspose": ("Conv3DInputGrad",),
    "Conv2DBackpropInput": ("Conv2DInputGrad",),
    "BatchNorm": ("BatchNormTrain",),
    "Ger": ("Mul",),
}


def __getattr__(name: str) -> Any:
    lists = {"AMP_WHITE_LIST": get_white_list, "AMP_BLACK_LIST": get_black_list}
    if name in lists:
        return lists[name]()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_white_list() -> list[type]:
    """The Cells and primitives that level O1 computes in half precision; a copy, to extend and give to
    `custom_mixed_precision`."""
    from mycelia import nn, ops

    cells = [getattr(nn, name, None) for name in _WHITE_CELLS]
    primitives = [getattr(ops, name, None) for name in _WHITE_PRIMITIVES]
    return [kind for kind in (*cells, *primitives) if isinstance(kind, type)]


def get_black_list() -> list[type]:
    """The Cells that level O2 keeps in float32; a copy."""
    from mycelia import nn

    return [getattr(nn, name) for name in _BLACK_CELLS]


def auto_mixed_precision(network: Any, amp_level: str = "O0", dtype: DType = float16) -> Any:
    """Makes a network compute in half precision, in place. Parameters and outputs stay float32.

    Args:
        network: a Cell.
        amp_level: ``"O0"``: nothing. ``"O1"``: what is on the white list. ``"O2"``: all but the black list
            (norms). ``"O3"``: all. ``"auto"``: products narrow, what would lose its range in float32, the
            rest
            as its operands.
        dtype: float16 or bfloat16.

    Returns:
        The network.

    Raises:
        TypeError: network is no Cell.
        ValueError: an unknown level or dtype.

    Example:
        >>> net = auto_mixed_precision(net, "O2")
    """
    if amp_level == "O0":
        return network
    _check("auto_mixed_precision", network, dtype)
    if amp_level == "O1":
        return _narrow(network, get_white_list(), dtype)
    if amp_level == "O2":
        return _all_but(network, get_black_list(), dtype)
    if amp_level == "O3":
        return _all_but(network, [], dtype)
    if amp_level == "auto":
        narrow, wide = frozenset(AMP_AUTO_WHITE_LIST), frozenset(AMP_AUTO_BLACK_LIST)
        _keep_wide(network, get_black_list(), None)
        network.set_policy(Policy(dtype, narrow=narrow, wide=wide, output=float32))
        return network
    raise ValueError(
        f"auto_mixed_precision: amp_level must be one of {', '.join(LEVELS)}. Received: "
        f"amp_level={amp_level!r}"
    )


def custom_mixed_precision(
    network: Any,
    *,
    white_list: Iterable[type] | None = None,
    black_list: Iterable[type] | None = None,
    dtype: DType = float16,
) -> Any:
    """Makes a network compute in half precision by a list of one's own, in place.

    Args:
        network: a Cell.
        white_list: Cell and primitive classes that compute in ``dtype``; everything else in float32.
        black_list: Cell classes that stay in float32; everything else computes in ``dtype``.
        dtype: float16 or bfloat16.

    Raises:
        ValueError: both lists or none.
        TypeError: an item is no class of a Cell or primitive.
    """
    _check("custom_mixed_precision", network, dtype)
    if (white_list is None) == (black_list is None):
        raise ValueError(
            "custom_mixed_precision: give either white_list or black_list. Received: "
            + ("neither" if white_list is None else "both")
        )
    if white_list is not None:
        return _narrow(network, _classes("white_list", white_list), dtype)
    return _all_but(network, _classes("black_list", black_list or ()), dtype)


def _classes(name: str, kinds: Iterable[type]) -> list[type]:
    from mycelia.nn.cell import Cell
    from mycelia.ops.primitive import Primitive

    listed = list(kinds)
    for kind in listed:
        if not (isinstance(kind, type) and issubclass(kind, (Cell, Primitive))):
            raise TypeError(
                f"custom_mixed_precision: {name} must hold classes of Cells and primitives, e.g. nn.Conv2d. "
                f"Received: {kind!r}"
            )
    return listed


def _check(function: str, network: Any, dtype: DType) -> None:
    from mycelia.nn.cell import Cell

    if not isinstance(network, Cell):
        raise TypeError(
            f"{function}: network must be a Cell. Received: {network!r:.80} (of type "
            f"{type(network).__name__})"
        )
    if dtype not in _DTYPES:
        raise ValueError(f"{function}: dtype must be float16 or bfloat16. Received: dtype={dtype!r}")


def _narrow(network: Any, kinds: list[type], dtype: DType) -> Any:
    """Cells of some classes compute in ``dtype``, and so do operators of some primitives; results are
    float32."""
    from mycelia.nn.cell import Cell

    cells = tuple(kind for kind in kinds if issubclass(kind, Cell))
    names = {kind.__name__ for kind in kinds if not issubclass(kind, Cell)}
    operators = frozenset(own for name in names for own in _CARRIED_OUT_BY.get(name, (name,)))
    for _, cell in network.cells_and_names():
        if isinstance(cell, cells):
            cell.set_policy(Policy(dtype, output=float32))
    if network._policy is None:
        network.set_policy(Policy(dtype, narrow=operators, restore=True))
    return network


def _all_but(network: Any, kinds: list[type], dtype: DType) -> Any:
    """Everything computes in ``dtype`` but Cells of some classes, in float32."""
    _keep_wide(network, kinds, dtype)
    alone = any(isinstance(network, kind) for kind in kinds)
    network.set_policy(Policy(float32 if alone else dtype, output=float32))
    return network


def _keep_wide(network: Any, kinds: list[type], output: DType | None) -> None:
    """Cells of some classes compute in float32, with outputs of another dtype if one is given."""
    for _, cell in network.cells_and_names():
        if any(isinstance(cell, kind) for kind in kinds):
            cell.set_policy(Policy(float32, output=output))


# What a level means for `build_train_network`, where nothing else is asked for.
_KEEPS_NORMS = {"O0": False, "O1": False, "O2": True, "O3": False, "auto": False}


def _warn_of_another_scale(optimizer: Any, scale: float) -> None:
    """Without an update cell nobody but the optimizer divides gradients by the scale of the loss."""
    given = getattr(optimizer, "loss_scale", scale)
    if given != scale:
        warn_user(
            f"the loss is scaled by {scale}, but the optimizer divides gradients by {given}: each update is "
            f"{scale / given:g} times what the learning rate says. Give the optimizer the same number, "
            f"nn.{type(optimizer).__name__}(..., loss_scale={float(scale)}), or make the manager with "
            "drop_overflow_update=True"
        )


def build_train_network(
    network: Any,
    optimizer: Any,
    loss_fn: Any = None,
    level: str = "O0",
    boost_level: str = "O0",
    **kwargs: Any,
) -> Any:
    """A training step of a network, its loss and optimizer, in mixed precision.

    Args:
        network: a Cell.
        optimizer: an `nn.Optimizer`.
        loss_fn: a Cell of (outputs, labels), which gets float32; None if the network returns its loss.
        level: as in `auto_mixed_precision`.
        boost_level: ``"O0"``.
        cast_model_type: float16 (default at O2 and O3) or bfloat16; float32 leaves the network as it is.
        keep_batchnorm_fp32: whether norms stay in float32; default: at O2.
        loss_scale_manager: what scales the loss; default: a `DynamicLossScaleManager` at O2, else None.

    Returns:
        An `nn.TrainOneStepCell`, or with a loss scale an `nn.TrainOneStepWithLossScaleCell`.

    Raises:
        ValueError: an unknown level or keyword.
    """
    from mycelia import nn
    from mycelia.train.loss_scale_manager import DynamicLossScaleManager

    known = ("keep_batchnorm_fp32", "cast_model_type", "loss_scale_manager")
    for name in kwargs:
        if name not in known:
            raise ValueError(
                f"build_train_network: got an unexpected keyword argument {name!r}; known are "
                f"{', '.join(known)}"
            )
    if level not in LEVELS:
        raise ValueError(
            f"build_train_network: level must be one of {', '.join(LEVELS)}. Received: {level!r}"
        )
    if boost_level != "O0":
        raise ValueError(
            f"build_train_network: boost_level must be 'O0'; boosting is not built yet. Received: "
            f"{boost_level!r}"
        )
    dtype = kwargs.get("cast_model_type", float16)
    if dtype is not float32:
        keeps = kwargs.get("keep_batchnorm_fp32")
        if level in ("O2", "O3") and keeps is not None and keeps != _KEEPS_NORMS[level]:
            level = "O2" if keeps else "O3"
        network = auto_mixed_precision(network, level, dtype)
    if loss_fn is not None:
        network = nn.WithLossCell(network, loss_fn)
    manager = kwargs.get("loss_scale_manager", DynamicLossScaleManager() if level == "O2" else None)
    if manager is None:
        return nn.TrainOneStepCell(network, optimizer)
    update = manager.get_update_cell()
    if update is None:
        _warn_of_another_scale(optimizer, manager.get_loss_scale())
        return nn.TrainOneStepCell(network, optimizer, sens=manager.get_loss_scale())
    return nn.TrainOneStepWithLossScaleCell(network, optimizer, scale_sense=update)
