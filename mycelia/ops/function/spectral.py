"""Functions of complex numbers and Fourier transforms. Real input converts to complex; integers and halves
count as float32."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir.dtypes import COMPLEX, float32, float64
from mycelia.ops import complex_numbers as numbers
from mycelia.ops.complex_numbers import PART
from mycelia.ops.constants import constant, like
from mycelia.ops.function import elementwise
from mycelia.ops.function.shaping import cat, extents, flip, narrow, roll, stack
from mycelia.ops.inference import normalise_axis
from mycelia.ops.movement import Pad
from mycelia.ops.promotion import as_tensor, cast, require_tensor, resolve_dtype
from mycelia.tensor.tensor import Tensor

__all__ = [
    "angle", "complex", "conj", "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "ifft", "ifft2",
    "ifftn", "ifftshift", "ihfft", "imag", "irfft", "irfft2", "irfftn", "is_complex", "isreal", "polar",
    "real", "rfft", "rfft2", "rfftfreq", "rfftn", "view_as_real",
]


def _parts(x: Tensor) -> Tensor:
    """Real numbers as float32 or float64."""
    return x if x.dtype in (float32, float64) else cast(x, float32)


def _whole(name: str, input: Any) -> Tensor:
    x = as_tensor(name, input)
    if x.dtype in PART:
        return x
    x = _parts(x)
    return numbers.Complex(x, x * 0.0)


def complex(input: Any, other: Any) -> Tensor:  # noqa: A001
    """``input + i other``; real numbers of one dtype."""
    return numbers.Complex(as_tensor("complex", input), as_tensor("complex", other))


def is_complex(input: Any) -> bool:
    """Whether a tensor holds complex numbers."""
    return require_tensor("is_complex", input).dtype in COMPLEX


def real(input: Any) -> Tensor:
    """The real parts; real numbers as they are."""
    x = as_tensor("real", input)
    return numbers.Real(x) if x.dtype in PART else x


def imag(input: Any) -> Tensor:
    """The imaginary parts; 0 of real numbers."""
    x = as_tensor("imag", input)
    return numbers.Imag(x) if x.dtype in PART else like(0, x) * x


def conj(input: Any) -> Tensor:
    """The complex conjugates; real numbers as they are."""
    x = as_tensor("conj", input)
    return numbers.Conj(x) if x.dtype in PART else x


def angle(input: Any) -> Tensor:
    """The angles from the positive real axis; pi for negative real numbers."""
    x = as_tensor("angle", input)
    if x.dtype in PART:
        return numbers.Angle(x)
    x = _parts(x)
    return elementwise.where(elementwise.isnan(x), x, elementwise.where(x < 0, like(np.pi, x), like(0, x)))


def polar(abs: Any, angle: Any) -> Tensor:
    """The complex numbers of distances from 0 and angles."""
    size, turn = as_tensor("polar", abs, "abs"), as_tensor("polar", angle, "angle")
    return numbers.Complex(size * elementwise.cos(turn), size * elementwise.sin(turn))


def view_as_real(input: Any) -> Tensor:
    """Real and imaginary parts along a new last axis (a copy)."""
    z = require_tensor("view_as_real", input)
    return stack((numbers.Real(z), numbers.Imag(z)), -1)


def isreal(input: Any) -> Tensor:
    """Whether the imaginary part is 0."""
    x = as_tensor("isreal", input)
    return numbers.Imag(x) == 0.0 if x.dtype in PART else constant(np.ones(x.shape, np.bool_))


# -- Fourier transforms --------------------------------------------------------------------------------------
def _axes(name: str, x: Tensor, s: Any, dim: Any) -> tuple[tuple[int, ...], tuple]:
    sizes = None if s is None else extents(name, s, "s")
    if dim is None:
        chosen = tuple(range(x.ndim if sizes is None else min(len(sizes), x.ndim)))
        chosen = tuple(x.ndim - len(chosen) + i for i in chosen)
    else:
        chosen = tuple(normalise_axis(name, a, x.ndim, "dim") for a in extents(name, dim, "dim"))
    wanted = sizes or tuple(x.shape[a] for a in chosen)
    if len(wanted) != len(chosen):
        raise ValueError(f"{name}: s and dim must name equally many axes. Received: s={s}, dim={dim}")
    if any(n < 1 for n in wanted):
        raise ValueError(f"{name}: sizes must be positive. Received: s={wanted}")
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"{name}: dim must not name an axis twice. Received: dim={dim}")
    return chosen, wanted


def _sized(x: Tensor, axes: tuple[int, ...], sizes: tuple) -> Tensor:
    """Cut, or filled up with zeros."""
    for axis, size in zip(axes, sizes):
        have = x.shape[axis]
        if size < have:
            x = narrow(x, axis, 0, size)
        elif size > have:
            more = tuple((0, size - have if i == axis else 0) for i in range(x.ndim))
            if x.dtype in PART:
                x = numbers.Complex(*(Pad(p, paddings=more, value=0) for p in (real(x), imag(x))))
            else:
                x = Pad(x, paddings=more, value=0)
    return x


def _full(name: str, input: Any, s: Any, dim: Any, norm: str | None, inverse: bool) -> Tensor:
    z = _whole(name, input)
    axes, sizes = _axes(name, z, s, dim)
    return numbers.FourierTransform(
        _sized(z, axes, sizes), axes=axes, inverse=inverse, norm=norm or "backward"
    )


def _half(name: str, input: Any, s: Any, dim: Any, norm: str | None) -> Tensor:
    """The transform of real numbers: the half of the last axis that determines the rest."""
    x = as_tensor(name, input)
    if x.dtype in PART:
        raise TypeError(f"{name}: the input must be real. Received: {x.type}. Use the transform without r")
    axes, sizes = _axes(name, x, s, dim)
    z = _full(name, _sized(_parts(x), axes, sizes), None, axes, norm, False)
    return narrow(z, axes[-1], 0, sizes[-1] // 2 + 1)


def _from_half(name: str, input: Any, s: Any, dim: Any, norm: str | None) -> Tensor:
    """Real numbers from the half of their transform."""
    z = _whole(name, input)
    axes, sizes = _axes(name, z, s, dim)
    last = axes[-1]
    n = sizes[-1] if s is not None else 2 * (z.shape[last] - 1)
    if n < 1:
        raise ValueError(f"{name}: the last size must be positive. Received: {n}")
    z = _sized(z, axes, (*sizes[:-1], n // 2 + 1))
    if len(axes) > 1:
        z = numbers.FourierTransform(z, axes=axes[:-1], inverse=True, norm=norm or "backward")
    rest = n - (n // 2 + 1)
    # the imaginary part of what is its own mirror image counts for nothing
    mirror = conj(flip(narrow(z, last, 1, rest), last)) if rest else None
    first = narrow(z, last, 0, 1)
    pieces = [_purely_real(first), narrow(z, last, 1, z.shape[last] - 1)]
    if n % 2 == 0:
        pieces[1:] = [narrow(z, last, 1, n // 2 - 1), _purely_real(narrow(z, last, n // 2, 1))]
    pieces = [p for p in (*pieces, mirror) if p is not None and p.shape[last]]
    whole = numbers.Complex(*(cat([part(p) for p in pieces], last) for part in (real, imag)))
    return real(numbers.FourierTransform(whole, axes=(last,), inverse=True, norm=norm or "backward"))


def _purely_real(z: Tensor) -> Tensor:
    return numbers.Complex(real(z), imag(z) * 0.0)


def _one(n: Any) -> Any:
    return None if n is None else (n,)


def fft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The discrete Fourier transform along an axis, cut or filled up with zeros to ``n``."""
    return _full("fft", input, _one(n), (dim,), norm, False)


def ifft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`."""
    return _full("ifft", input, _one(n), (dim,), norm, True)


def fft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`fft` over two axes."""
    return _full("fft2", input, s, dim, norm, False)


def ifft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`ifft` over two axes."""
    return _full("ifft2", input, s, dim, norm, True)


def fftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`fft` over several axes, all of them unless told otherwise."""
    return _full("fftn", input, s, dim, norm, False)


def ifftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`ifft` over several axes, all of them unless told otherwise."""
    return _full("ifftn", input, s, dim, norm, True)


def rfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The first ``n // 2 + 1`` elements of the transform of real numbers: the others are their conjugates."""
    return _half("rfft", input, _one(n), (dim,), norm)


def irfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: ``n`` real numbers, an even count unless told otherwise."""
    return _from_half("irfft", input, _one(n), (dim,), norm)


def rfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`rfft` over two axes."""
    return _half("rfft2", input, s, dim, norm)


def irfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: str | None = None) -> Tensor:
    """`irfft` over two axes."""
    return _from_half("irfft2", input, s, dim, norm)


def rfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`rfft` over several axes, all of them unless told otherwise."""
    return _half("rfftn", input, s, dim, norm)


def irfftn(input: Any, s: Any = None, dim: Any = None, norm: str | None = None) -> Tensor:
    """`irfft` over several axes, all of them unless told otherwise."""
    return _from_half("irfftn", input, s, dim, norm)


_SWAPPED = {None: "forward", "backward": "forward", "forward": "backward", "ortho": "ortho"}


def hfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real transform of numbers that are their mirror image's conjugates, given by half of them."""
    return _from_half("hfft", conj(_whole("hfft", input)), _one(n), (dim,), _SWAPPED.get(norm, norm))


def ihfft(input: Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`."""
    return conj(_half("ihfft", input, _one(n), (dim,), _SWAPPED.get(norm, norm)))


def fftshift(input: Any, dim: Any = None) -> Tensor:
    """The elements turned round so that frequency 0 is in the middle."""
    return _shifted("fftshift", input, dim, 0)


def ifftshift(input: Any, dim: Any = None) -> Tensor:
    """Undoes `fftshift`."""
    return _shifted("ifftshift", input, dim, 1)


def _shifted(name: str, input: Any, dim: Any, up: int) -> Tensor:
    x = as_tensor(name, input)
    axes = tuple(range(x.ndim)) if dim is None else extents(name, dim, "dim")
    return roll(x, tuple((x.shape[a] + up) // 2 for a in axes), axes)


def fftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Tensor:
    """The frequencies of `fft`'s elements for samples at a distance ``d``."""
    return constant(np.fft.fftfreq(n, d).astype(_kind("fftfreq", dtype)))


def rfftfreq(n: int, d: float = 1.0, dtype: Any = None) -> Tensor:
    """The frequencies of `rfft`'s elements for samples at a distance ``d``."""
    return constant(np.fft.rfftfreq(n, d).astype(_kind("rfftfreq", dtype)))


def _kind(name: str, dtype: Any) -> np.dtype:
    return (float32 if dtype is None else resolve_dtype(name, dtype)).numpy
