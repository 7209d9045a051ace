"""Distances between the surfaces of two masks; needs SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.train.metrics.metric import Metric

METRICS = ("euclidean", "chessboard", "taxicab")


def _morphology() -> Any:
    try:
        from scipy import ndimage
    except ImportError:
        raise ImportError(
            "distances between surfaces need SciPy; install it with `pip install scipy`"
        ) from None
    return ndimage


class _Surfaces(Metric):
    """``update(prediction, label, label_idx)``: the masks are where prediction and label have the value
    label_idx; of the latest batch."""

    crop = False

    def __init__(self, distance_metric: str) -> None:
        super().__init__()
        if distance_metric not in METRICS:
            raise ValueError(
                f"{type(self).__name__}: distance_metric must be one of {METRICS}. Received: "
                f"{distance_metric!r}"
            )
        self.distance_metric = distance_metric
        self.clear()

    def clear(self) -> None:
        self._edges: tuple[np.ndarray, np.ndarray] | None = None

    def update(self, *inputs: Any) -> None:
        inputs = self.pick(inputs)
        self._require(len(inputs) == 3, "must have 3 inputs (prediction, label, label_idx)", len(inputs))
        predicted, true = (self._convert_data(x) for x in inputs[:2])
        label = inputs[2]
        if isinstance(label, bool) or not isinstance(label, (int, float)):
            raise TypeError(f"{type(self).__name__}.update: label_idx must be a number. Received: {label!r}")
        self._require(
            predicted.size and predicted.shape == true.shape,
            "prediction and label must have one shape and elements",
            f"{predicted.shape} and {true.shape}",
        )
        self._require(label in predicted or label in true, f"label_idx {label} must occur", "in neither")
        masks = [x if x.dtype == bool else x == label for x in (predicted, true)]
        if self.crop:
            places = np.nonzero(masks[0] | masks[1])
            box = tuple(slice(p.min(), p.max() + 1) for p in places)
            masks = [np.squeeze(mask[box]) for mask in masks]
        erode = _morphology().binary_erosion
        self._edges = (erode(masks[0]) ^ masks[0], erode(masks[1]) ^ masks[1])

    def distances(self, backward: bool = False) -> np.ndarray:
        """How far each point of the prediction's surface is from the label's, or the other way."""
        self._some(self._edges is not None)
        source, target = self._edges[::-1] if backward else self._edges  # type: ignore[index]
        if not source.any():
            return np.zeros(0)
        if not target.any():
            return np.full(int(source.sum()), np.inf)
        if self.distance_metric == "euclidean":
            field = _morphology().distance_transform_edt(~target)
        else:
            field = _morphology().distance_transform_cdt(~target, metric=self.distance_metric)
        return field[source]


class HausdorffDistance(_Surfaces):
    """The largest distance from one surface to the other.

    Args:
        distance_metric: ``"euclidean"``, ``"chessboard"`` or ``"taxicab"``.
        percentile: of the distances instead of the largest.
        directed: only from prediction to label; else the larger of both.
        crop: whether masks are cut to the box that holds both first.
    """

    def __init__(
        self,
        distance_metric: str = "euclidean",
        percentile: float | None = None,
        directed: bool = False,
        crop: bool = True,
    ) -> None:
        if percentile is not None and not 0 <= percentile <= 100:
            raise ValueError(
                f"HausdorffDistance: percentile must be in [0, 100]. Received: percentile={percentile}"
            )
        super().__init__(distance_metric)
        self.percentile, self.directed, self.crop = percentile, bool(directed), bool(crop)

    def _one_way(self, backward: bool) -> float:
        distances = self.distances(backward)
        if not distances.size:
            return np.inf
        return distances.max() if not self.percentile else np.percentile(distances, self.percentile)

    def eval(self) -> float:
        forward = self._one_way(False)
        return forward if self.directed else max(forward, self._one_way(True))


class MeanSurfaceDistance(_Surfaces):
    """The mean distance from the prediction's surface to the label's; with ``symmetric`` the mean of both
    ways."""

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        super().__init__(distance_metric)
        self.symmetric = bool(symmetric)

    def _mean(self, distances: np.ndarray) -> float:
        return distances.mean() if distances.size else np.inf

    def eval(self) -> float:
        forward = self._mean(self.distances())
        if not self.symmetric or np.isinf(forward):
            return forward
        return float(np.mean((forward, self._mean(self.distances(True)))))


class RootMeanSquareDistance(MeanSurfaceDistance):
    """The mean squared distance from the prediction's surface to the label's; with ``symmetric`` the root
    of the
    mean of both ways."""

    def _mean(self, distances: np.ndarray) -> float:
        return (distances**2).mean() if distances.size else np.inf

    def eval(self) -> float:
        value = super().eval()
        return float(np.sqrt(value)) if self.symmetric else value
