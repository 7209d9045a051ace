"""The data that comes with Mycelia: a small real collection, for examples and tests without a download."""
from __future__ import annotations

import os


def fashion_mnist_folder() -> str:
    """The folder of the first 5,500 training and 1,000 test images of Fashion-MNIST, packed IDX files, 28x28
    in ten classes.

    Example:
        >>> from mycelia.dataset import FashionMnistDataset
        >>> FashionMnistDataset(fashion_mnist_folder(), usage="train").get_dataset_size()
        5500
    """
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "fashion_mnist")
