"""Operations on images (`mindspore.dataset.vision`)."""
from mycelia.dataset.vision.transforms import (
    HWC2CHW,
    CenterCrop,
    Decode,
    Normalize,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    Rescale,
    Resize,
    ToTensor,
)
from mycelia.dataset.vision.utils import Border, Inter

__all__ = ["HWC2CHW", "Border", "CenterCrop", "Decode", "Inter", "Normalize", "Pad", "RandomCrop",
           "RandomHorizontalFlip", "RandomVerticalFlip", "Rescale", "Resize", "ToTensor"]
