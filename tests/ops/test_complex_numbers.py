"""Complex numbers and Fourier transforms against NumPy; gradients against finite differences; refusals."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

RNG = np.random.default_rng(0)


def numbers(*shape):
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(np.complex64)


Z, W, M = numbers(3, 4), numbers(3, 4), numbers(4, 2)
X = RNG.standard_normal((3, 4)).astype(np.float32)

CASES = {
    "add": (lambda a, b: a + b, lambda a, b: a + b, (Z, W)),
    "sub a number": (lambda a: 1 - a, lambda a: 1 - a, (Z,)),
    "mul real": (lambda a, b: a * b, lambda a, b: a * b, (Z, X)),
    "div": (lambda a, b: a / b, lambda a, b: a / b, (Z, W)),
    "neg": (lambda a: -a, lambda a: -a, (Z,)),
    "pow": (lambda a: a**2, lambda a: a**2, (Z,)),
    "abs": (ops.abs, np.abs, (Z,)),
    "angle": (ops.angle, np.angle, (Z,)),
    "angle of real": (ops.angle, np.angle, (X,)),
    "real": (lambda a: a.real(), lambda a: a.real, (Z,)),
    "imag": (ops.imag, lambda a: a.imag, (Z,)),
    "conj": (ops.conj, np.conj, (Z,)),
    "polar": (ops.polar, lambda r, t: r * np.exp(1j * t), (np.abs(X), X)),
    "view_as_real": (ops.view_as_real, lambda a: np.stack([a.real, a.imag], -1), (Z,)),
    **{name: (getattr(ops, name), getattr(np, name), (Z,)) for name in ("exp", "log", "sqrt", "sin", "cos",
                                                                       "tanh", "square")},
    "sum": (lambda a: a.sum(1), lambda a: a.sum(1), (Z,)),
    "mean": (lambda a: a.mean(), lambda a: a.mean(), (Z,)),
    "prod": (lambda a: a.prod(0), lambda a: a.prod(0), (Z,)),
    "matmul": (ops.matmul, np.matmul, (Z, M)),
    "equal": (lambda a, b: a == b, lambda a, b: a == b, (Z, Z)),
    "cast to real": (lambda a: a.astype(ms.float32), lambda a: a.real, (Z,)),
    "cast from real": (lambda a: a.astype(ms.complex64), lambda a: a.astype(np.complex64), (X,)),
    "transpose": (lambda a: a.T, lambda a: a.T, (Z,)),
    "index": (lambda a: a[1:, ::2], lambda a: a[1:, ::2], (Z,)),
    "picked": (lambda a: a[Tensor([2, 0])], lambda a: a[[2, 0]], (Z,)),
    "cat": (lambda a, b: ops.cat((a, b), 1), lambda a, b: np.concatenate((a, b), 1), (Z, W)),
    "where": (lambda a, b: ops.where(Tensor(X > 0), a, b), lambda a, b: np.where(X > 0, a, b), (Z, W)),
    "tile": (lambda a: ops.tile(a, (2, 1)), lambda a: np.tile(a, (2, 1)), (Z,)),
    **{name: (getattr(ops, name), getattr(np.fft, name), (Z,))
       for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn", "irfft", "hfft", "fftshift", "ifftshift",
                    "irfft2", "irfftn")},
    **{f"{name} of real": (getattr(ops, name), getattr(np.fft, name), (X,))
       for name in ("fft", "rfft", "rfft2", "rfftn", "ihfft")},
    "fft longer": (lambda a: ops.fft(a, 6, 0, "ortho"), lambda a: np.fft.fft(a, 6, 0, "ortho"), (Z,)),
    "fft shorter": (
        lambda a: ops.fft(a, 3, norm="forward"), lambda a: np.fft.fft(a, 3, norm="forward"), (Z,)),
    "rfft longer": (lambda a: ops.rfft(a, 7), lambda a: np.fft.rfft(a, 7), (X,)),
    "irfft odd": (lambda a: ops.irfft(a, 5), lambda a: np.fft.irfft(a, 5), (Z,)),
    "hfft ortho": (lambda a: ops.hfft(a, 7, norm="ortho"), lambda a: np.fft.hfft(a, 7, norm="ortho"), (Z,)),
    "fftfreq": (lambda a: ops.fftfreq(7, 0.5), lambda a: np.fft.fftfreq(7, 0.5), (X,)),
    "rfftfreq": (lambda a: ops.rfftfreq(7, 0.5), lambda a: np.fft.rfftfreq(7, 0.5), (X,)),
}


@pytest.mark.parametrize("mode", ["eager", "graph"])
@pytest.mark.parametrize("name", CASES)
def test_gives_what_numpy_gives(name, mode):
    function, expected, operands = CASES[name]
    called = ms.jit(lambda *t: function(*t)) if mode == "graph" else function
    got = called(*map(Tensor, operands)).asnumpy()
    wanted = np.asarray(expected(*operands))
    narrow = {np.dtype(np.complex128): np.complex64, np.dtype(np.float64): np.float32}
    wanted = wanted.astype(narrow.get(wanted.dtype, wanted.dtype))
    assert got.shape == wanted.shape and got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=2e-6)


def test_writes_and_dtypes():
    z = Tensor(Z)
    z[0] = Tensor(W[1])
    np.testing.assert_array_equal(z.asnumpy()[0], W[1])
    assert z.dtype is ms.complex64 and Tensor([1 + 2j]).dtype is ms.complex128
    assert str(ms.complex64) == "Complex64"
    assert (Tensor(Z) * Tensor([2.0], ms.float64)).dtype is ms.complex128
    assert ops.is_complex(z) and not ops.is_complex(Tensor(X))
    assert ops.zeros((2,), ms.complex64).asnumpy().dtype == np.complex64


LOSSES = {
    "products": lambda z: ops.abs((z * z + z / (z + 3.0)).sum()),
    "functions": lambda z: (ops.exp(z) * ops.sin(z) + ops.sqrt(z + 9.0)).real().sum(),
    "fft": lambda z: (ops.abs(ops.fft(z, 6)) ** 2 * Tensor(np.arange(6.0))).sum(),
    "irfft": lambda z: (ops.irfft(z, 5) ** 2).sum(),
    "matmul": lambda z: ops.imag(ops.matmul(z, ops.conj(z).T)[0, 1]),
    "angle": lambda z: (ops.angle(z) * Tensor(np.arange(12.0).reshape(3, 4))).sum(),
    "moved": lambda z: (ops.cat((z.T[1:, ::2], z.T[:2, ::2])).real() ** 3).sum(),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients(name):
    loss, z = LOSSES[name], Z.astype(np.complex128)
    x, y = z.real.copy(), z.imag.copy()
    made = lambda x, y: loss(ops.complex(x, y))
    gx, gy = (g.asnumpy() for g in ms.grad(made, (0, 1))(Tensor(x), Tensor(y)))
    a, b, step = RNG.standard_normal(x.shape), RNG.standard_normal(x.shape), 1e-6
    up, down = (float(made(Tensor(x + s * step * a), Tensor(y + s * step * b)).asnumpy()) for s in (1, -1))
    np.testing.assert_allclose((gx * a + gy * b).sum(), (up - down) / (2 * step), rtol=1e-5)


@pytest.mark.parametrize("call", [
    lambda: ops.relu(Tensor(Z)), lambda: Tensor(Z) < 1, lambda: Tensor(Z).max(), lambda: ops.sort(Tensor(Z)),
    lambda: ops.floor(Tensor(Z)), lambda: ops.rfft(Tensor(Z)), lambda: Tensor(Z) * 1j,
    lambda: ops.conv1d(Tensor(numbers(1, 1, 4)), Tensor(numbers(1, 1, 2))), lambda: ops.softmax(Tensor(Z)),
    lambda: ops.cumprod(Tensor(Z), 0), lambda: Tensor(Z).argmax(),
    lambda: ops.topk(Tensor(Z), 1), lambda: ops.complex(Tensor([1]), Tensor([2])), lambda: ops.erf(Tensor(Z)),
])
def test_refuses_what_has_no_meaning(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize(("call", "match"), [
    (lambda: ops.fft(Tensor(Z), 0), "sizes must be positive"),
    (lambda: ops.fft(Tensor(Z), norm="both"), "norm must be"),
    (lambda: ops.fft2(Tensor(Z), dim=(0, 0)), "twice"),
    (lambda: ops.fftn(Tensor(Z), (2, 2, 2)), "equally many"),
])
def test_refuses(call, match):
    with pytest.raises(ValueError, match=match):
        call()
