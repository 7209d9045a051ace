"""MindSpore's ``mint``: the functions of `mycelia.ops` under PyTorch's names and parameters (``dim``,
``keepdim``)."""
from __future__ import annotations

from typing import Any

from mycelia.ir.dtypes import int64
from mycelia.mint import nn, special
from mycelia.mint.views import view
from mycelia.ops import inplace
from mycelia.ops.explanations import explain_public
from mycelia.ops.function import (
    creating,
    drawing,
    elementwise,
    finding,
    products,
    reducing,
    scattering,
    shaping,
)
from mycelia.ops.function.arranging import dstack, hstack, ravel, trace
from mycelia.ops.function.arranging import numpy_diag as diag
from mycelia.ops.function.convolving import conv_tbc
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
from mycelia.ops.function.finding import histc, kthvalue, searchsorted, unique_consecutive
from mycelia.ops.function.linear import addmm, baddbmm, bmm, dot, einsum, matmul, mm, mv, outer
from mycelia.ops.function.picking import take
from mycelia.ops.function.products import addbmm, addmv, cross, vdot
from mycelia.ops.function.reducing import cumprod, logsumexp, sum
from mycelia.ops.function.scalars import (
    float_power,
    frac,
    gcd,
    isneginf,
    logaddexp2,
    sinc,
)
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


# -- views with PyTorch's names of parameters ---------------------------------------------------------------
cat = concat = view(shaping.cat, dim="axis")
stack = view(shaping.stack, dim="axis")
split = view(shaping.split, dim="axis")
chunk = view(shaping.chunk, dim="axis")
unbind = view(shaping.unbind)
squeeze = view(shaping.squeeze, dim="axis")
gather = view(shaping.gather_elements, "gather")
repeat_interleave = view(shaping.repeat_interleave, dim="axis")
meshgrid = view(shaping.meshgrid, defaults={"indexing": "ij"})
scatter = view(scattering.scatter, dim="axis")
index_add = view(scattering.index_added, "index_add")
scatter_add = view(scattering.scatter_add_elements, "scatter_add")
mean = view(reducing.mean, input="x", dim="axis", keepdim="keep_dims")
amax = view(reducing.amax, dim="axis", keepdim="keepdims")
amin = view(reducing.amin, dim="axis", keepdim="keepdims")
all = view(reducing.all, dim="axis", keepdim="keep_dims")
any = view(reducing.any, dim="axis", keepdim="keep_dims")
argmax = view(reducing.argmax)
argmin = view(reducing.argmin, indices=int64, dim="axis", keepdim="keepdims")
norm = view(reducing.p_norm, input="A", p="ord")
nansum = view(finding.nansum, dim="axis", keepdim="keepdims")
diff = view(finding.diff, input="x", dim="axis")
cummax = view(reducing.cummax, dim="axis")
cummin = view(reducing.cummin, indices=int64, dim="axis")
topk = view(reducing.topk, indices=int64, defaults={"dim": -1})


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged; a view."""
    return swapaxes(input, dim0, dim1)


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The axes from ``start_dim`` to ``end_dim`` merged into one."""
    return shaping.flatten(input, start_dim=start_dim, end_dim=end_dim)


def bincount(input: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each number from 0 on occurs in a vector (int64), or the sums of the weights of each."""
    found = finding.bincount(input, weights, minlength)
    return found.astype(int64) if weights is None else found


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One index along an axis; a view without that axis."""
    return input[(slice(None),) * normalise_axis("select", dim, input.ndim) + (index,)]


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask holds, as a vector."""
    return input.masked_select(mask)


def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    """``input`` where the condition holds, else ``other``; without them the indices where it holds."""
    return nonzero(condition, as_tuple=True) if input is None else elementwise.where(condition, input, other)


def clone(input: Tensor) -> Tensor:
    """The same elements in memory of its own."""
    return input.copy()


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close, as `isclose` has it."""
    return bool(reducing.all(isclose(input, other, rtol, atol, equal_nan)))


def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "") -> Tensor:
    """The p-norm's distances of all pairs of rows; ``compute_mode`` changes nothing."""
    return products.cdist(x1, x2, p)


def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``, written over the input."""
    return inplace.write(input, products.addr(input, vec1, vec2, beta=beta, alpha=alpha))


def npu_gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`nn.functional.gelu`."""
    return nn.functional.gelu(input, approximate)


# -- reducing ------------------------------------------------------------------------------------------------
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


def var(input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The variance over axes, divided by the count minus ``correction``."""
    return reducing.var(input, dim, correction, keepdim)


def std(input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False) -> Tensor:
    """The standard deviation over axes."""
    return reducing.std(input, dim, correction, keepdim)


def var_mean(
    input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """The variance and the mean over axes."""
    return var(input, dim, correction=correction, keepdim=keepdim), reducing.mean(input, dim, keepdim)


def std_mean(
    input: Tensor, dim: Any = None, *, correction: int = 1, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    """The standard deviation and the mean over axes."""
    return std(input, dim, correction=correction, keepdim=keepdim), reducing.mean(input, dim, keepdim)


def cumsum(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """Running sums along an axis; of integers in int64."""
    return reducing.cumsum(
        input if input.dtype.is_float or dtype is not None else cast(input, int64), dim, dtype
    )


def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not 0, int64."""
    return reducing.count_nonzero(input, () if dim is None else dim, dtype=int64)


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
        size = next((v.shape for v in (mean, std) if isinstance(v, Tensor)), None)
        if size is None:
            raise TypeError("normal: size must be given where neither mean nor std is a Tensor. Received: "
                            f"mean={mean!r}, std={std!r}")
    return _seeded(generator, drawing.normal, size, mean, std)


def bernoulli(input: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability that each element gives, else 0."""
    return _seeded(generator, drawing.bernoulli, input, input)


def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:
    """Indices drawn with the probabilities of the last axis."""
    return cast(_seeded(generator, drawing.multinomial, input, num_samples, replacement), int64)


def randint_like(input: Tensor, *args: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """`randint` with the input's shape and dtype."""
    low, high = args if len(args) == 2 else (0, *args)
    return drawing.randint(low, high, input.shape, dtype=dtype or input.dtype)


# -- batch normalisation in parts ----------------------------------------------------------------------------
def batch_norm_stats(input: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """The mean of each channel, and 1 / sqrt(variance + eps)."""
    axes = tuple(i for i in range(input.ndim) if i != 1)
    return reducing.mean(input, axes), rsqrt(reducing.var(input, axes) + eps)


def batch_norm_elemt(
    input: Tensor, weight: Any = None, bias: Any = None, mean: Any = None, invstd: Any = None,
    eps: float = 1e-05,
) -> Tensor:
    """``(input - mean) * invstd * weight + bias`` for each channel."""
    line = (1, -1, *(1,) * (input.ndim - 2))
    y = (input - reshape(mean, line)) * reshape(invstd, line)
    y = y if weight is None else y * reshape(weight, line)
    return y if bias is None else y + reshape(bias, line)


# Looked up among the functions of `mycelia.ops` when first named.
_OF_OPS = frozenset(["erfinv", "imag", "inverse", "polar", "real", "triangular_solve"])


def __getattr__(name: str) -> Any:
    from mycelia import ops

    if name in _OF_OPS and hasattr(ops, name):
        return getattr(ops, name)
    if name == "functional":
        return nn.functional
    if name in ("linalg", "optim"):
        import importlib

        return importlib.import_module(f"mycelia.mint.{name}")
    import difflib

    near = difflib.get_close_matches(name, __all__, 3)
    raise AttributeError(
        f"module 'mycelia.mint' has no attribute {name!r}"
        + (f"; did you mean {', '.join(near)}?" if near else "")
    )


__all__ = [
    "abs", "acos", "acosh", "add", "addbmm", "addcdiv", "addcmul", "addmm", "addmv", "addr_", "all",
    "allclose", "amax", "amin", "any", "arange", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
    "arctan2", "arctanh", "argmax", "argmin", "argsort", "asin", "asinh", "atan", "atan2", "atanh",
    "baddbmm", "batch_norm_elemt", "batch_norm_stats", "bernoulli", "bincount", "bitwise_and",
    "bitwise_not", "bitwise_or", "bitwise_xor", "bmm", "broadcast_to", "cat", "cdist", "ceil", "chunk",
    "clamp", "clip", "clone", "concat", "conv_tbc", "cos", "cosh", "count_nonzero", "cross", "cummax",
    "cummin", "cumprod", "cumsum", "diag", "diff", "div", "divide", "dot", "dstack", "einsum", "empty",
    "empty_like", "eq", "equal", "erf", "erfc", "exp", "exp2", "expm1", "eye", "flatten", "flip",
    "float_power", "floor", "floor_divide", "fmod", "frac", "full", "full_like", "gather", "gcd", "ge",
    "greater", "greater_equal", "gt", "histc", "hstack", "index_add", "index_select", "isclose", "isfinite",
    "isinf", "isnan", "isneginf", "kthvalue", "le", "lerp", "less", "less_equal", "linspace", "log",
    "log10", "log1p", "log2", "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or",
    "logical_xor", "logsumexp", "lt", "masked_select", "matmul", "max", "maximum", "mean", "median",
    "meshgrid", "min", "minimum", "mm", "mul", "multinomial", "mv", "nan_to_num", "nansum", "narrow", "ne",
    "neg", "negative", "nn", "nonzero", "norm", "normal", "not_equal", "npu_gelu", "ones", "ones_like",
    "outer", "permute", "pow", "prod", "rand", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "randperm", "ravel", "reciprocal", "remainder", "repeat_interleave", "reshape", "roll",
    "round", "rsqrt", "scatter", "scatter_add", "searchsorted", "select", "sigmoid", "sign", "sin", "sinc",
    "sinh", "softmax", "sort", "special", "split", "sqrt", "square", "squeeze", "stack", "std", "std_mean",
    "sub", "sum", "swapaxes", "t", "take", "tan", "tanh", "tile", "topk", "trace", "transpose", "tril",
    "triu", "trunc", "unbind", "unique_consecutive", "unsqueeze", "var", "var_mean", "vdot", "where",
    "xlogy", "zeros", "zeros_like",
]

explain_public(__name__, globals(), __all__)
