"""Losses."""

from mycelia.nn.loss import loss as _loss
from mycelia.nn.loss.loss import LossBase
from mycelia.nn.loss.sampled import SampledSoftmaxLoss

__all__ = ["LossBase", "SampledSoftmaxLoss"]

for _name, _class in vars(_loss).items():
    if isinstance(_class, type) and issubclass(_class, LossBase) and not _name.startswith("_"):
        globals()[_name] = _class
        if _name not in __all__:
            __all__.append(_name)
del _name, _class
