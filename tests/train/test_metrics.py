"""Metrics against values that MindSpore 2.10 gave, and against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from mycelia import Tensor, nn, train

SCORES = np.array([[0.2, 0.7, 0.1], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.5, 0.4, 0.1]], np.float32)
LABELS = np.array([1, 0, 1, 2], np.int32)


def evaluated(metric, *updates, **options):
    for inputs in updates:
        metric.update(*inputs)
    return metric.eval(**options)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (train.Precision(), [0.5, 1.0, 0.0]),
        (train.Recall(), [1.0, 0.5, 0.0]),
        (train.F1(), [2 / 3, 2 / 3, 0.0]),
        (train.Fbeta(2.0), [1 / 1.2, 1.25 * 4 / 9, 0.0]),
        (train.ConfusionMatrix(3), [[1, 0, 0], [0, 1, 1], [1, 0, 0]]),
        (train.ConfusionMatrix(3, "target"), [[1, 0, 0], [0, 0.5, 0.5], [1, 0, 0]]),
        (train.ConfusionMatrix(3, "all"), [[0.25, 0, 0], [0, 0.25, 0.25], [0.25, 0, 0]]),
        (train.Perplexity(), (0.7 * 0.6 * 0.2 * 0.1) ** -0.25),
        (train.Perplexity(2), (0.7 * 0.6 * 0.2) ** (-1 / 3)),
        (train.TopKCategoricalAccuracy(2), 0.75),
    ],
)
def test_of_classes(metric, expected):
    np.testing.assert_allclose(evaluated(metric, (Tensor(SCORES), Tensor(LABELS))), expected, atol=1e-6)
    metric.clear()
    with pytest.raises(RuntimeError, match="update first"):
        metric.eval()


def test_several_labels_count_by_item():
    a, b = np.array([[1, 0, 1], [0, 0, 1]]), np.array([[1, 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(evaluated(train.Precision("multilabel"), (a, b)), [0.5, 1.0])
    np.testing.assert_allclose(evaluated(train.Recall("multilabel"), (a, b), average=True), 0.75)


def test_curve_and_its_area():
    scores, labels = np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1])
    false, true, thresholds = evaluated(train.ROC(pos_label=1), (scores, labels))
    np.testing.assert_allclose(false, [0, 0, 0.5, 0.5, 1])
    np.testing.assert_allclose(true, [0, 0.5, 0.5, 1, 1])
    np.testing.assert_allclose(thresholds, [1.8, 0.8, 0.4, 0.35, 0.1])
    assert train.auc(false, true) == pytest.approx(0.75)
    assert train.auc(false[::-1], true[::-1]) == pytest.approx(0.75)
    each = evaluated(train.ROC(class_num=3), (SCORES, LABELS))
    assert [len(curves) for curves in each] == [3, 3, 3]
    with pytest.raises(ValueError, match="rise or fall"):
        train.auc(np.array([0.0, 1.0, 0.5]), np.zeros(3))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sensitivity", 2 / 3),
        ("specificity", 0.6),
        ("precision", 0.5),
        ("accuracy", 0.625),
        ("mcc", 4 / 15**0.5 / 4),
        ("f1 score", 4 / 7),
        ("threat_score", 0.4),
        ("informedness", 2 / 3 + 0.6 - 1),
        ("for", 0.25),
    ],
)
def test_scores_of_counts(name, expected):
    predicted = np.array([[1, 1, 1, 1, 0, 0, 0, 0]]).reshape(1, 1, 8)
    true = np.array([[1, 1, 0, 0, 1, 0, 0, 0]]).reshape(1, 1, 8)
    got = evaluated(train.ConfusionMatrixMetric(metric_name=name), (predicted, true))
    np.testing.assert_allclose(got, [expected], atol=1e-6)


def test_surfaces():
    a, b = np.zeros((8, 9), np.int64), np.zeros((8, 9), np.int64)
    a[2:6, 1:5], b[2:6, 3:7] = 1, 1
    assert evaluated(train.HausdorffDistance(), (a, b, 1)) == 2
    assert evaluated(train.MeanSurfaceDistance(), (a, a, 1)) == 0
    moved = evaluated(train.MeanSurfaceDistance(True, "taxicab"), (a, b, 1))
    assert 0 < moved < 2
    assert evaluated(train.RootMeanSquareDistance(True, "taxicab"), (a, b, 1)) ** 2 >= moved**2


def test_likeness():
    rows = np.array([[1.0, 0.0], [3.0, 4.0]])
    np.testing.assert_allclose(evaluated(train.CosineSimilarity(), (rows,)), [[0, 0.6], [0.6, 0]])
    np.testing.assert_allclose(evaluated(train.CosineSimilarity("dot", "sum", False), (rows,)), [4, 28])
    assert evaluated(train.Dice(), (np.ones((2, 2)), np.ones((2, 2)))) == pytest.approx(0.5, abs=1e-5)


def test_translations():
    candidate = ["i", "have", "a", "pen", "on", "my", "desk"]
    references = [
        ["i", "have", "a", "pen", "in", "my", "desk"],
        ["there", "is", "a", "pen", "on", "the", "desk"],
    ]
    assert float(evaluated(train.BleuScore(), ([candidate], [references]))) == pytest.approx(0.5946036)
    assert float(evaluated(train.BleuScore(), ([["a"]], [references]))) == 0


def test_occlusion():
    class Sum(nn.Cell):
        def construct(self, x):
            return x.reshape((x.shape[0], -1)).sum(1, keepdims=True)

    image = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
    fall = evaluated(train.OcclusionSensitivity(margin=1, n_batch=4), (Sum(), image, 0))
    np.testing.assert_allclose(fall, [[0, 1, 3], [3, 8, 12]])


def test_names_and_indexes():
    assert "hausdorff_distance" in train.names()
    assert isinstance(nn.get_metric_fn("F1"), train.F1)
    metric = train.Precision().set_indexes([2, 0])
    np.testing.assert_allclose(evaluated(metric, (LABELS, None, SCORES)), [0.5, 1.0, 0.0])


@pytest.mark.parametrize(
    "make",
    [
        lambda: train.Fbeta(0),
        lambda: train.Precision("other"),
        lambda: train.ConfusionMatrixMetric(metric_name="other"),
        lambda: train.ConfusionMatrix(0),
        lambda: train.HausdorffDistance("other"),
        lambda: train.BleuScore(5),
        lambda: train.CosineSimilarity(reduction="other"),
        lambda: train.Precision().update(SCORES, LABELS + 5),
        lambda: train.Precision().update(SCORES),
        lambda: train.Dice().update(SCORES, LABELS),
        lambda: train.MeanSurfaceDistance().update(SCORES, SCORES, 7),
    ],
)
def test_wrong_arguments(make):
    with pytest.raises(ValueError, match="Received"):
        make()
