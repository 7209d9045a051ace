"""Functions that MindSpore's CPU lacks, or whose results were not recorded, against NumPy; and what functions
refuse."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

RNG = np.random.default_rng(1)
A, B, C = (RNG.uniform(-1, 1, s).astype(np.float32) for s in ((2, 3, 4), (2, 5, 4), (4, 6)))


def close(tensor, expected, tolerance=1e-5):
    assert tensor.shape == np.shape(expected)
    np.testing.assert_allclose(tensor.asnumpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("equation", "arrays"),
    [
        ("bij,bkj->bik", (A, B)),
        ("bij,jk->bik", (A, C)),
        ("ij,jk", (A[0], C)),
        ("bij->bji", (A,)),
        ("bij->i", (A,)),
        ("i,j->ij", (A[0, 0], C[0])),
        ("...ij,...kj->...ik", (A, B)),
        ("ij,ij->", (A[0], A[1])),
        ("bij,bkj,jm->bikm", (A, B, C)),
        ("ij,ik->jk", (A[0], A[1])),
        ("ii->i", (A[0, :, :3],)),
        ("bii->b", (A[:, :, :3],)),
        ("iji,j->i", (A[:, :, :2], A[0, :, 0])),
    ],
)
def test_einsum(equation, arrays):
    close(ops.einsum(equation, *map(Tensor, arrays)), np.einsum(equation, *arrays))


def test_einsum_refuses():
    with pytest.raises(ValueError, match="one term for each operand"):
        ops.einsum("ij,jk->ik", Tensor(A[0]))
    with pytest.raises(ValueError, match="every axis of its operand"):
        ops.einsum("ij->i", Tensor(A))
    with pytest.raises(ValueError, match="share the index 'i' must have one extent"):
        ops.einsum("ii->i", Tensor(A[0]))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 2)),
        ((5, 2, 3), (3, 4)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((2, 3), (5, 3, 4)),
        ((0, 3), (3, 2)),
    ],
)
def test_matmul_as_numpy(x, y):
    a, b = RNG.uniform(-1, 1, x).astype(np.float32), RNG.uniform(-1, 1, y).astype(np.float32)
    close(ops.matmul(Tensor(a), Tensor(b)), a @ b)
    close(Tensor(a) @ Tensor(b), a @ b)


def test_matmul_refuses():
    with pytest.raises(TypeError, match="one dtype"):
        ops.matmul(Tensor(A[0]), Tensor(C.astype(np.float16)))
    with pytest.raises(ValueError, match="but are 4 and 3"):
        ops.matmul(Tensor(A[0]), Tensor(A[0]))
    with pytest.raises(ValueError, match="Multiply with"):
        ops.matmul(Tensor(1.0), Tensor(A[0]))


def test_rolling_and_turning():
    for shifts, axis in ((2, None), (-1, 0), ((1, 2), (1, 2))):
        close(ops.roll(Tensor(A), shifts, axis), np.roll(A, shifts, axis))
    close(ops.flip(Tensor(A), (0, -1)), A[::-1, :, ::-1])
    close(Tensor(A).flip(1), A[:, ::-1])


def test_batched_gather():
    index = np.array([[0, 2], [1, 1]])
    close(ops.gather(Tensor(A), Tensor(index), 1, batch_dims=1), np.stack([A[b][index[b]] for b in range(2)]))


def test_transposed_convolution_is_the_adjoint():
    x, w = (
        RNG.uniform(-1, 1, (1, 2, 3, 3)).astype(np.float32),
        RNG.uniform(-1, 1, (2, 3, 3, 3)).astype(np.float32),
    )
    y = ops.conv2d_transpose(Tensor(x), Tensor(w), stride=2, padding=1, output_padding=1)
    assert y.shape == (1, 3, 6, 6)
    z = RNG.uniform(-1, 1, y.shape).astype(np.float32)
    back = ops.conv2d(Tensor(z), Tensor(w), stride=2, pad_mode="pad", padding=1)
    np.testing.assert_allclose((y.asnumpy() * z).sum(), (x * back.asnumpy()).sum(), rtol=1e-4)


def test_one_dimensional_convolution():
    x, w = RNG.uniform(-1, 1, (1, 2, 9)).astype(np.float32), RNG.uniform(-1, 1, (3, 2, 3)).astype(np.float32)
    expected = np.stack([[sum(np.correlate(x[0, c], w[o, c], "valid") for c in range(2)) for o in range(3)]])
    close(ops.conv1d(Tensor(x), Tensor(w)), expected)


def test_batch_norm_moves_the_running_statistics():
    x = RNG.uniform(-1, 3, (8, 2, 3, 3)).astype(np.float32)
    mean, var = ms.Parameter(np.zeros(2, np.float32)), ms.Parameter(np.ones(2, np.float32))
    gamma, beta = Tensor(np.array([1.0, 2.0], np.float32)), Tensor(np.array([0.5, 0.0], np.float32))
    y = ops.batch_norm(Tensor(x), mean, var, gamma, beta, training=True, momentum=0.25, eps=1e-3)
    axes, line = (0, 2, 3), (1, 2, 1, 1)
    m, v = x.mean(axes), x.var(axes)
    close(
        y,
        (x - m.reshape(line)) / np.sqrt(v + 1e-3).reshape(line) * gamma.asnumpy().reshape(line)
        + beta.asnumpy().reshape(line),
        1e-4,
    )
    close(mean, 0.25 * m)
    close(var, 0.75 + 0.25 * v * 72 / 71)


def test_layer_norm():
    x, g = RNG.uniform(-1, 1, (2, 3, 4)).astype(np.float32), RNG.uniform(1, 2, (3, 4)).astype(np.float32)
    m, v = x.mean((1, 2), keepdims=True), x.var((1, 2), keepdims=True)
    close(ops.layer_norm(Tensor(x), (3, 4), Tensor(g), None, 1e-3), (x - m) / np.sqrt(v + 1e-3) * g)
    with pytest.raises(ValueError, match="must end in normalized_shape"):
        ops.layer_norm(Tensor(x), (5,))


def test_rms_norm():
    g = np.array([1, 2, 3, 4], np.float32)
    close(ops.rms_norm(Tensor(A), Tensor(g), 1e-6), A / np.sqrt((A ** 2).mean(-1, keepdims=True) + 1e-6) * g)


def test_python_protocols():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]] and len(x) == 2 and 3 in x and 9 not in x
    assert (
        int(Tensor(3.7)) == 3
        and float(Tensor([2])) == 2.0
        and bool(Tensor([0.5]))
        and [10, 20][Tensor(1)] == 20
    )
    assert (~Tensor([True])).tolist() == [False] and (Tensor([True]) & Tensor([False])).tolist() == [False]
    for convert, error in (
        (bool, "only one element"),
        (int, "Only one element"),
        (float, "Only one element"),
    ):
        with pytest.raises(ValueError, match=error):
            convert(x)
    with pytest.raises(TypeError, match="0-d"):
        len(Tensor(1.0))
    y = x
    y += 1
    assert x.tolist() == [[1, 2], [3, 4]], "as in MindSpore, += makes a new tensor"


def test_hypermap_and_multitype():
    scale = ops.MultitypeFuncGraph("scale")

    @scale.register("Number", "Tensor")
    def _tensor(factor, x):
        return x * factor

    @scale.register("Number", "Number")
    def _number(factor, x):
        return x * factor + 1

    grads = ops.HyperMap()(ops.partial(scale, 2), (Tensor([1.0]), Tensor([2.0])))
    assert [g.tolist() for g in grads] == [[2.0], [4.0]]
    assert ops.HyperMap(scale)((1, 2), (3, 4)) == (4, 9)
    assert ops.Map(lambda a: a + 1)([1, 2]) == [2, 3]
    assert ops.HyperMap(lambda a: -a)((1, (2, 3))) == (-1, (-2, -3))
    with pytest.raises(TypeError, match=r"scale: no function is registered for \(str, int\)"):
        scale("a", 1)


def test_primitives_say_how_they_are_made():
    assert repr(ops.MatMul(transpose_b=True)) == "MatMul(transpose_a=False, transpose_b=True)"
    with pytest.raises(TypeError, match="Softmax: must be constructed with"):
        ops.Softmax(1, 2)
    with pytest.raises(AttributeError, match="did you mean"):
        _ = ops.ReLu
    with pytest.raises(ValueError, match="data_format must be 'NCHW'"):
        ops.MaxPool(2, 2, data_format="NHWC")(Tensor(np.ones((1, 1, 4, 4), np.float32)))


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda x: ops.reshape(x, (5,)), ValueError, r"must hold the input's|must hold as many"),
        (lambda x: ops.reshape(x, (-1, -1)), ValueError, "at most one -1"),
        (lambda x: ops.sum(x, 3), ValueError, r"sum: axis must be in \[-2, 2\)"),
        (lambda x: ops.sum(x, 1.5), TypeError, "axis must be an int"),
        (lambda x: ops.cat(()), ValueError, "must not be empty"),
        (lambda x: ops.cat((x, x[0])), ValueError, "equal shapes but for axis 0"),
        (lambda x: ops.stack((x, x[:1])), ValueError, "must have one shape"),
        (lambda x: ops.split(x, 0), ValueError, "must be positive"),
        (lambda x: ops.softmax(x.astype(ms.int32)), TypeError, "Softmax: the dtype must be float16"),
        (lambda x: ops.gelu(x, "x"), ValueError, "approximate must be"),
        (lambda x: ops.gelu(x.astype(ms.int32)), TypeError, "gelu: the input must be a float tensor"),
        (lambda x: ops.transpose(x, (0,)), ValueError, "each of the 2 axes"),
        (lambda x: ops.cross_entropy(x, x[0]), TypeError, "class indices"),
        (lambda x: ops.cross_entropy(x, Tensor([1, 2, 3])), ValueError, r"shape \(2,\)"),
        (lambda x: ops.clip_by_global_norm(x), TypeError, "list or tuple"),
        (lambda x: ops.clip_by_value(x), ValueError, "at least one"),
        (lambda x: ops.mse_loss(x, x, "avg"), ValueError, "reduction must be one of"),
        (lambda x: ops.arange(0, 3, -1), ValueError, "step must lead"),
        (lambda x: ops.broadcast_to(x, (3, 2)), ValueError, "must broadcast to"),
        (lambda x: x + Tensor([1.0, 2.0]), ValueError, "must broadcast"),
        (lambda x: ops.conv2d(x, x), ValueError, "must have 4 axes"),
        (lambda x: ops.max_pool2d(x, 2), ValueError, "must have 3 or 4 axes"),
    ],
)
def test_refuses(call, error, match):
    with pytest.raises(error, match=match):
        call(Tensor(np.ones((2, 3), np.float32)))
