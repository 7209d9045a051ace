"""Layers."""

from mycelia.nn.cell import Cell as _Cell
from mycelia.nn.layer import (
    activation,
    basic,
    combined,
    container,
    conv,
    dense,
    embedding,
    image,
    math,
    normalization,
    padding,
    pooling,
    rnn_cells,
    rnns,
    timedistributed,
    transformer,
)
from mycelia.nn.layer.activation import get_activation

__all__ = ["get_activation"]

for _module in (
    activation,
    basic,
    combined,
    container,
    conv,
    dense,
    embedding,
    image,
    math,
    normalization,
    padding,
    pooling,
    rnn_cells,
    rnns,
    timedistributed,
    transformer,
):
    for _name, _class in vars(_module).items():
        if isinstance(_class, type) and issubclass(_class, _Cell) and not _name.startswith("_"):
            globals()[_name] = _class
            if _name != "Cell" and _name not in __all__:
                __all__.append(_name)
del _module, _name, _class
