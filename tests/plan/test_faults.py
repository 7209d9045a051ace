"""What a user reads when an index is out of range, in both modes."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import nn, ops


@pytest.fixture(params=[ms.GRAPH_MODE, ms.PYNATIVE_MODE], ids=["graph", "pynative"])
def mode(request):
    before = ms.get_context("mode")
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=before)


def embed(indices, dtype):
    table = ms.Tensor(np.ones((5, 3), np.float32))
    return ms.jit(lambda i: ops.gather(table, i, 0) * 2)(ms.Tensor(np.array(indices), dtype)).asnumpy()


@pytest.mark.parametrize("index", [5, -6, 2**40])
def test_the_index_and_its_place_are_named(mode, index):
    message = rf"index {index} at \(1, 0\) .* axis 0 of shape \(5, 3\) takes -5 to 4"
    with pytest.raises(IndexError, match=message):
        embed([[0, 4], [index, -5]], ms.int64)


def test_an_unsigned_index_is_no_negative_one(mode):
    with pytest.raises(IndexError, match=r"index -1 at \(0,\) .*takes 0 to 4"):
        embed(np.array([2**64 - 1, 0], np.uint64), ms.uint64)


def test_the_line_is_named():
    def pick(x, i):
        return ops.gather(x, i, 0)  # this line

    with pytest.raises(IndexError, match=rf"test_faults.py:{pick.__code__.co_firstlineno + 1}"):
        ms.jit(pick)(ms.Tensor([1.0, 2.0]), ms.Tensor([2])).asnumpy()


@pytest.mark.parametrize("label", [10, -1])
def test_a_label_that_is_no_class(mode, label):
    logits, labels = ms.Tensor(np.zeros((3, 10), np.float32)), ms.Tensor([1, label, 2], ms.int32)
    for loss in (nn.CrossEntropyLoss(), nn.SoftmaxCrossEntropyWithLogits(sparse=True)):
        with pytest.raises(IndexError, match=rf"index {label} at \(1, 0\) .* takes 0 to 9"):
            loss(logits, labels).asnumpy()


def test_an_ignored_label_is_no_index(mode):
    logits, labels = ms.Tensor(np.zeros((3, 10), np.float32)), ms.Tensor([1, -100, 2], ms.int32)
    assert nn.CrossEntropyLoss()(logits, labels).asnumpy() == pytest.approx(np.log(10))
    gradient = ms.grad(lambda x: nn.CrossEntropyLoss()(x, labels))(logits).asnumpy()
    assert not gradient[1].any() and gradient[0].any()
