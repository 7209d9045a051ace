"""MindSpore's ``mint``: the functions of `mycelia.ops` under PyTorch's names and parameters (``dim``,
``keepdim``)."""
from __future__ import annotations

from typing import Any

from mycelia.ir.dtypes import int64
from mycelia.mint import nn
from mycelia.ops.function import creating, drawing, elementwise, reducing, shaping
from mycelia.ops.function.creating import (
    arange,
    empty,
    empty_like,
    eye,
    full,
    full_like,
    linspace,
    ones_like,
    zeros,
    zeros_like,
)
from mycelia.ops.function.elementwise import (
    abs,
    acos,
    acosh,
    add,
    addcdiv,
    addcmul,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    ceil,
    clamp,
    clip,
    cos,
    cosh,
    div,
    divide,
    eq,
    equal,
    erf,
    erfc,
    exp,
    exp2,
    expm1,
    floor,
    floor_divide,
    fmod,
    ge,
    greater,
    greater_equal,
    gt,
    isclose,
    isfinite,
    isinf,
    isnan,
    le,
    lerp,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    lt,
    maximum,
    minimum,
    mul,
    nan_to_num,
    ne,
    neg,
    negative,
    not_equal,
    pow,
    reciprocal,
    remainder,
    round,
    rsqrt,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    square,
    sub,
    tan,
    tanh,
    trunc,
    xlogy,
)
from mycelia.ops.function.linear import addmm, baddbmm, bmm, dot, einsum, matmul, mm, mv, outer
from mycelia.ops.function.reducing import logsumexp
from mycelia.ops.function.shaping import (
    broadcast_to,
    flip,
    index_select,
    narrow,
    nonzero,
    permute,
    reshape,
    roll,
    swapaxes,
    t,
    tile,
    tril,
    triu,
    unsqueeze,
)
from mycelia.ops.generator import drawing_from
from mycelia.ops.inference import normalise_axis
from mycelia.ops.promotion import cast
from mycelia.tensor.tensor import Tensor


def ones(size: Any, *, dtype: Any = None) -> Tensor:
    """A tensor of ones, float32 unless told otherwise."""
    return creating.ones(size, dtype)


# -- joining, splitting, moving ------------------------------------------------------------------------------
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """The tensors one after the other along an axis."""
    return shaping.cat(tensors, dim)


concat = cat


def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors of one shape along a new axis."""
    return shaping.stack(tensors, dim)


def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of a size, or of the sizes of a list, along an axis."""
    return shaping.split(tensor, split_size_or_sections, dim)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most ``chunks`` views of equal size along an axis."""
    return shaping.chunk(input, chunks, dim)


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """One view for each index along an axis."""
    return shaping.unbind(input, dim)


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged; a view."""
    return swapaxes(input, dim0, dim1)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from ``start_dim`` to ``end_dim`` merged into one."""
    return shaping.flatten(input, start_dim=start_dim, end_dim=end_dim)


def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the axes of extent 1."""
    return shaping.squeeze(input, dim)


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One index along an axis; a view without that axis."""
    return input[(slice(None),) * normalise_axis("select", dim, input.ndim) + (index,)]


def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The element at each index along an axis."""
    return shaping.gather_elements(input, dim, index)


def repeat_interleave(input: Tensor, repeats: int, dim: int | None = None) -> Tensor:
    """Each element repeated in place along an axis."""
    return shaping.repeat_interleave(input, repeats, dim)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Grids of coordinates."""
    return shaping.meshgrid(*tensors, indexing=indexing)


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, as a vector."""
    return input.masked_select(mask)


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """``input`` where the condition holds, else ``other``; without them the indices where it holds."""
    return nonzero(condition, as_tuple=True) if input is None else elementwise.where(condition, input, other)


def clone(input: Tensor) -> Tensor:
    """The same elements in memory of its own."""
    return input.copy()


# -- reducing ------------------------------------------------------------------------------------------------
def sum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over axes; of integers in int64."""
    return reducing.sum(input, dim, keepdim, dtype=dtype)


def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over axes."""
    return reducing.mean(input, dim, keepdim, dtype=dtype)


def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product over axes."""
    return reducing.prod(input, dim, keepdim, dtype)


def _extremum(input: Tensor, dim: Any, keepdim: bool, whole: Any, both: Any, other: Any) -> Any:
    if isinstance(dim, Tensor):
        return other(input, dim)
    return whole(input) if dim is None else both(input, dim, keepdim)


def max(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The largest element, or along an axis the largest elements and their indices; of two tensors the larger
    elements."""
    return _extremum(input, dim, keepdim, reducing.amax, reducing.max, maximum)


def min(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest element, or along an axis the smallest elements and their indices; of two tensors the
    smaller elements."""
    return _extremum(input, dim, keepdim, reducing.amin, reducing.min, minimum)


def amax(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The largest element over axes."""
    return reducing.amax(input, dim, keepdim)


def amin(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The smallest element over axes."""
    return reducing.amin(input, dim, keepdim)


def all(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether all elements over axes are true."""
    return reducing.all(input, dim, keepdim)


def any(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """Whether any element over axes is true."""
    return reducing.any(input, dim, keepdim)


def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the first largest element."""
    return reducing.argmax(input, dim, keepdim)


def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The index (int64) of the first smallest element."""
    return cast(reducing.argmin(input, dim, keepdim), int64)


def var(input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The variance over axes, divided by the count minus ``correction``."""
    return reducing.var(input, dim, correction, keepdim)


def std(input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The standard deviation over axes."""
    return reducing.std(input, dim, correction, keepdim)


def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    """The p-norm over axes."""
    return reducing.norm(input, p, dim, keepdim, dtype=dtype)


def cumsum(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Running sums along an axis; of integers in int64."""
    return reducing.cumsum(
        input if input.dtype.is_float or dtype is not None else cast(input, int64), dim, dtype
    )


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not 0, int64."""
    return reducing.count_nonzero(input, () if dim is None else dim, dtype=int64)


def topk(
    input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    """The k largest elements along an axis and their indices (int64)."""
    values, indices = reducing.topk(input, k, dim, largest)
    return values, cast(indices, int64)


def sort(
    input: Tensor, *, dim: int = -1, descending: bool = False, stable: bool = False
) -> tuple[Tensor, Tensor]:
    """The elements in order along an axis and where they were (int64); equal ones keep their order."""
    values, indices = reducing.sort(input, dim, descending)
    return values, cast(indices, int64)


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices (int64) that put the elements along an axis in order."""
    return sort(input, dim=dim, descending=descending)[1]


def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median, or along an axis the medians and their indices."""
    return (
        reducing.median(reshape(input, (-1,)), 0)[0] if dim is None else reducing.median(input, dim, keepdim)
    )


def softmax(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """exp(input) over its sum along an axis."""
    from mycelia.ops.function.activations import softmax as along
    return along(input, dim, dtype=dtype)


# -- drawing -------------------------------------------------------------------------------------------------
def _seeded(generator: Any, function: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Draws from a generator given, else from the default one."""
    if generator is None:
        return function(*args, **kwargs)
    with drawing_from(generator):
        return function(*args, **kwargs)


def rand(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    """Uniform numbers of [0, 1)."""
    return _seeded(generator, drawing.rand, *size, dtype=dtype)


def randn(*size: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    """Standard normal numbers."""
    return _seeded(generator, drawing.randn, *size, dtype=dtype)


def rand_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """`rand` with the input's shape and dtype."""
    return drawing.rand_like(input, dtype=dtype)


def randn_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """`randn` with the input's shape and dtype."""
    return drawing.randn_like(input, dtype=dtype)


def randint(*args: Any, generator: Any = None, dtype: Any = None, device: Any = None) -> Tensor:
    """Whole numbers: ``randint(high, size)`` of [0, high), ``randint(low, high, size)`` of [low, high)."""
    low, high, size = args if len(args) == 3 else (0, *args)
    return _seeded(generator, drawing.randint, low, high, size, dtype=dtype)


def randperm(n: int, *, generator: Any = None, dtype: Any = int64) -> Tensor:
    """0, 1, ... n - 1 in random order."""
    return _seeded(generator, drawing.randperm, n, dtype=dtype)


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, generator: Any = None) -> Tensor:
    """Normal numbers with a mean and a standard deviation."""
    if size is None:
        size = next(v.shape for v in (mean, std) if isinstance(v, Tensor))
    return _seeded(generator, drawing.normal, size, mean, std)


def bernoulli(input: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability that each element gives, else 0."""
    return _seeded(generator, drawing.bernoulli, input, input)


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:
    """Indices drawn with the probabilities of the last axis."""
    return _seeded(generator, drawing.multinomial, input, num_samples, replacement)


__all__ = [
    "abs", "acos", "acosh", "add", "addcdiv", "addcmul", "addmm", "all", "amax", "amin", "any", "arange",
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argsort",
    "asin", "asinh", "atan", "atan2", "atanh", "baddbmm", "bernoulli", "bitwise_and", "bitwise_not",
    "bitwise_or", "bitwise_xor", "bmm", "broadcast_to", "cat", "ceil", "chunk", "clamp", "clip", "clone",
    "concat", "cos", "cosh", "count_nonzero", "cumsum", "div", "divide", "dot", "einsum", "empty",
    "empty_like", "eq", "equal", "erf", "erfc", "exp", "exp2", "expm1", "eye", "flatten", "flip", "floor",
    "floor_divide", "fmod", "full", "full_like", "gather", "ge", "greater", "greater_equal", "gt",
    "index_select", "isclose", "isfinite", "isinf", "isnan", "le", "lerp", "less", "less_equal", "linspace",
    "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not", "logical_or", "logical_xor",
    "logsumexp", "lt", "masked_select", "matmul", "max", "maximum", "mean", "median", "meshgrid", "min",
    "minimum", "mm", "mul", "multinomial", "mv", "nan_to_num", "narrow", "ne", "neg", "negative", "nn",
    "nonzero", "norm", "normal", "not_equal", "ones", "ones_like", "outer", "permute", "pow", "prod",
    "rand", "rand_like", "randint", "randn", "randn_like", "randperm", "reciprocal", "remainder",
    "repeat_interleave", "reshape", "roll", "round", "rsqrt", "select", "sigmoid", "sign", "sin", "sinh",
    "softmax", "sort", "split", "sqrt", "square", "squeeze", "stack", "std", "sub", "sum", "swapaxes", "t",
    "tan", "tanh", "tile", "topk", "transpose", "tril", "triu", "trunc", "unbind", "unsqueeze", "var",
    "where", "xlogy", "zeros", "zeros_like",
]
