"""Complex numbers: made of parts, taken apart, conjugated, and Fourier transforms. NumPy runs them all, on
the host.

A cotangent of a complex z = x + iy is dL/dx + i dL/dy.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mycelia.ir import dtypes
from mycelia.ir.dtypes import COMPLEX, DType, complex64, complex128, float32, float64
from mycelia.ir.types import TensorType
from mycelia.ops.batching import all_at_front, at_front
from mycelia.ops.constants import like
from mycelia.ops.definition import operator
from mycelia.ops.inference import broadcast_shapes, require_dtypes, wrong_dtype, wrong_shape
from mycelia.ops.samples import ErrorCase, Sample, tensor, values

PART = {complex64: float32, complex128: float64}
WHOLE = {part: whole for whole, part in PART.items()}


def numbers(shape: tuple[int, ...], dtype: DType, key: str = "") -> np.ndarray:
    parts = (values(shape, float64, key=f"{key}{i}") for i in "ri")
    return np.asarray(next(parts) + 1j * next(parts)).astype(dtype.numpy)


def _batch(op: Callable[[], Any]) -> Callable[..., Any]:
    def batch(axes, *inputs, **attrs):
        whole = [at_front(inputs[0], axes[0])] if len(inputs) == 1 else all_at_front(axes, inputs)
        return op()(*whole, **attrs), 0
    return batch


def _samples() -> Iterator[Sample]:
    for dtype in COMPLEX:
        for shape in ((3, 4), (), (0,)):
            yield Sample((numbers(shape, dtype),), gradient=False)


class _Part:
    """The type rule of a real number of a complex one."""

    operator = "?"

    def __set_name__(self, owner: type, _: str) -> None:
        self.operator = owner.__name__

    def __call__(self, x: TensorType) -> TensorType:
        if x.dtype not in PART:
            raise wrong_dtype(self.operator, (x,), "the dtype must be complex64 or complex128",
                              "Make it with ops.Complex()(real, imag)")
        return x.with_dtype(PART[x.dtype])


_ERRORS = [ErrorCase((tensor(float32, 2),), TypeError, "must be complex64 or complex128")]


@operator("Complex")
class Complex:
    """real + i imag, of two tensors of one shape and dtype."""

    def infer(real: TensorType, imag: TensorType) -> TensorType:
        dtype = require_dtypes("Complex", (real, imag), (float32, float64))
        return TensorType(WHOLE[dtype], broadcast_shapes("Complex", (real, imag)))

    def vjp(g, real, imag, z): return Real(g), Imag(g)
    batch = _batch(lambda: Complex)

    def reference(real, imag):
        unit = np.asarray(1j, np.result_type(real, np.complex64))
        return np.asarray(real + unit * imag)

    def samples():
        for dtype in (float32, float64):
            for shape in ((3, 4), (), (0,)):
                yield Sample((values(shape, dtype, key="r"), values(shape, dtype, key="i")), gradient=False)

    errors = [ErrorCase((tensor(dtypes.int32, 2),) * 2, TypeError, "dtype must be float32"),
              ErrorCase((tensor(float32, 2), tensor(float32, 3)), ValueError, "must broadcast")]


@operator("Real")
class Real:
    """The real part."""

    infer = _Part()
    def vjp(g, z, x): return Complex(g, g * 0.0)
    batch = _batch(lambda: Real)
    def reference(z): return np.array(z.real)
    samples = _samples
    errors = _ERRORS


@operator("Imag")
class Imag:
    """The imaginary part."""

    infer = _Part()
    def vjp(g, z, y): return Complex(g * 0.0, g)
    batch = _batch(lambda: Imag)
    def reference(z): return np.array(z.imag)
    samples = _samples
    errors = _ERRORS


@operator("ComplexAbs")
class ComplexAbs:
    """The distance from 0; the gradient at 0 is 0."""

    infer = _Part()

    def vjp(g, z, size):
        from mycelia.ops.selection import Select
        scale = g / Select(size == 0.0, like(1, size), size)
        return Complex(Real(z) * scale, Imag(z) * scale)

    batch = _batch(lambda: ComplexAbs)
    def reference(z): return np.asarray(np.abs(z))
    samples = _samples
    errors = _ERRORS


@operator("Angle")
class Angle:
    """The angle from the positive real axis, within [-pi, pi]."""

    infer = _Part()

    def vjp(g, z, angle):
        x, y = Real(z), Imag(z)
        scale = g / (x * x + y * y)
        return Complex(-y * scale, x * scale)

    batch = _batch(lambda: Angle)
    def reference(z): return np.asarray(np.angle(z)).astype(z.real.dtype)
    samples = _samples
    errors = _ERRORS


@operator("Conj")
class Conj:
    """The complex conjugate."""

    def infer(z: TensorType) -> TensorType: return TensorType(WHOLE[_conj_part(z).dtype], z.shape)
    def vjp(g, z, y): return Conj(g)
    batch = _batch(lambda: Conj)
    def reference(z): return np.asarray(np.conj(z))
    samples = _samples
    errors = _ERRORS


class _ConjPart(_Part):
    operator = "Conj"


_conj_part = _ConjPart()


# -- Fourier transforms --------------------------------------------------------------------------------------
def _transform(x: np.ndarray, axes: tuple[int, ...], inverse: bool, norm: str) -> np.ndarray:
    function = np.fft.ifftn if inverse else np.fft.fftn
    return np.asarray(function(x.astype(np.complex128), axes=axes, norm=norm)).astype(x.dtype)


_OPPOSITE = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


@operator("FourierTransform")
class FourierTransform:
    """The discrete Fourier transform of complex numbers over axes, or its inverse; ``norm`` says which of the
    two divides by the count: ``"backward"`` (the inverse), ``"forward"``, or ``"ortho"`` (both, by its
    root)."""

    def infer(z: TensorType, *, axes: tuple[int, ...], inverse: bool, norm: str) -> TensorType:
        if z.dtype not in PART:
            raise wrong_dtype("FourierTransform", (z,), "the dtype must be complex64 or complex128",
                              "Convert it with astype")
        if norm not in _OPPOSITE:
            raise ValueError(
                f"FourierTransform: norm must be 'backward', 'forward' or 'ortho'. Received: norm={norm!r}"
            )
        if any(not 0 <= a < z.ndim for a in axes):
            expected = f"axes must be within {z.ndim} dimensions, not {axes}"
            raise wrong_shape("FourierTransform", (z,), expected, "Normalise them first")
        if any(z.shape[a] == 0 for a in axes):
            raise wrong_shape("FourierTransform", (z,), "the axes must not be empty", "Test the size first")
        return z

    def vjp(g, z, y, *, axes, inverse, norm):
        """The adjoint: the other transform, with the same division."""
        return FourierTransform(g, axes=axes, inverse=not inverse, norm=_OPPOSITE[norm])

    def batch(axes_of, z, *, axes, inverse, norm):
        moved = tuple(a + 1 for a in axes)
        return FourierTransform(at_front(z, axes_of[0]), axes=moved, inverse=inverse, norm=norm), 0

    reference = staticmethod(_transform)

    def samples():
        for dtype in COMPLEX:
            for axes in ((0,), (0, 1)):
                for inverse in (False, True):
                    how = {"axes": axes, "inverse": inverse, "norm": "ortho"}
                    yield Sample((numbers((3, 4), dtype),), how, gradient=False)

    errors = [ErrorCase((tensor(float32, 2),), TypeError, "must be complex64",
                        {"axes": (0,), "inverse": False, "norm": "ortho"}),
              ErrorCase((tensor(complex64, 2),), ValueError, "norm must be",
                        {"axes": (0,), "inverse": False, "norm": "x"})]


