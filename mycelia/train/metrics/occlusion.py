"""Which parts of an image a prediction hangs on."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.tensor.tensor import Tensor
from mycelia.train.metrics.metric import Metric


class OcclusionSensitivity(Metric):
    """How much the score of a class falls when the surroundings of each element are covered. Zeiler and
    Fergus,
    "Visualizing and Understanding Convolutional Networks", 2013, section 4.2.

    ``update(model, image, label)``: the image is ``[1, ...]``.

    Args:
        pad_val: what covers.
        margin: how far it reaches to each side.
        n_batch: images that the model is called with at a time.
        b_box: (first, last) of each axis but the first, where to look; None for everywhere.
    """

    def __init__(self, pad_val: float = 0.0, margin: Any = 2, n_batch: int = 128, b_box: Any = None) -> None:
        super().__init__()
        for name, value in (("margin", margin), ("n_batch", n_batch)):
            if type(value) is not int or value < 1:
                raise ValueError(f"OcclusionSensitivity: {name} must be a positive int. Received: {value!r}")
        self.pad_val, self.margin, self.n_batch, self.b_box = pad_val, margin, n_batch, b_box
        self.clear()

    def clear(self) -> None:
        self._result: np.ndarray | None = None

    def _box(self, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        if self.b_box is None:
            return np.zeros(len(shape), np.int64), np.array(shape) - 1
        self._require(
            len(self.b_box) == 2 * len(shape), f"b_box must have {2 * len(shape)} numbers", self.b_box
        )
        first, last = np.maximum(self.b_box[::2], 0), np.array(self.b_box[1::2])
        last = np.where(last < 0, np.array(shape) - 1, last)
        self._require(
            (last < shape).all() and (first <= last).all(), f"b_box must lie in {shape}", self.b_box
        )
        return first, last

    def update(self, *inputs: Any) -> None:
        inputs = self.pick(inputs)
        self._require(len(inputs) == 3, "must have 3 inputs (model, image, label)", len(inputs))
        model, image = inputs[0], self._convert_data(inputs[1])
        label = int(np.asarray(self._convert_data(inputs[2])).reshape(-1)[0])
        self._require(image.shape[0] == 1, "the image must be one, [1, ...]", image.shape)
        shape = image.shape[1:]
        first, last = self._box(shape)

        def score(images: np.ndarray) -> np.ndarray:
            return model(Tensor(images)).asnumpy()[:, label]

        extents = last - first + 1
        scores = []
        places = list(np.ndindex(*extents))
        for start in range(0, len(places), self.n_batch):
            covered = np.repeat(image, len(places[start : start + self.n_batch]), axis=0)
            for row, place in zip(covered, places[start : start + self.n_batch]):
                at = first + place
                row[tuple(slice(max(0, i - self.margin), i + self.margin) for i in at)] = self.pad_val
            scores.append(score(covered))
        self._result = float(score(image)[0]) - np.squeeze(np.concatenate(scores).reshape(extents))

    def eval(self) -> np.ndarray:
        self._some(self._result is not None)
        return self._result  # type: ignore[return-value]
