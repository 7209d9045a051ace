"""Methods of `Tensor` that pick, place, order and count elements; where MindSpore has two forms of a method,
their operands tell them apart."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.ir.dtypes import bool_
from mycelia.ops import inplace
from mycelia.ops.function import (
    arranging,
    decompositions,
    distributions,
    drawing,
    elementwise,
    finding,
    picking,
    reducing,
    scattering,
    shaping,
    spectral,
)
from mycelia.ops.inference import normalise_axis
from mycelia.ops.promotion import as_tensor, cast
from mycelia.tensor.tensor import Tensor

Method = Callable[..., Any]


def _in_place(function: Method) -> Method:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return inplace.write(self, cast(function(self, *args, **kwargs), self.dtype))
    return method


def _scatter(self: Tensor, *args: Any, reduce: str | None = None, **named: Any) -> Tensor:
    """``x.scatter(axis, index, src)``; with ``reduce`` "add" or "multiply" combined."""
    at, index, src = (
        *args, *(named[k] for k in ("axis", "dim", "index", "src", "value") if k in named)
    )
    if reduce is None:
        return scattering.scatter(self, at, index, src)
    ways = {"add": "add", "multiply": "mul"}
    if reduce not in ways:
        raise ValueError(f"Tensor.scatter: reduce must be 'add' or 'multiply'. Received: reduce={reduce!r}")
    return scattering.tensor_scatter_elements(self, index, src, at, ways[reduce])


def _scatter_add(self: Tensor, *args: Any, **named: Any) -> Tensor:
    """``x.scatter_add(indices, updates)`` adds slices at index tuples, ``x.scatter_add(dim, index, src)``
    elements along an axis."""
    if len(args) + len(named) == 2:
        return scattering.TENSOR_SCATTER["tensor_scatter_add"](self, *args, **named)
    return scattering.scatter_add_elements(self, *args, **named)


def _index_add(self: Tensor, *args: Any, **named: Any) -> Tensor:
    """``x.index_add(dim, index, source, alpha=1)``, or MindSpore's older ``x.index_add(indices, y,
    axis)``."""
    if args and isinstance(args[0], Tensor):
        indices, y, axis = (*args, *named.values())[:3]
        return scattering.index_added(self, axis, indices, y)
    return scattering.index_added(self, *args, **named)


def _select(self: Tensor, first: Any, second: Any) -> Tensor:
    """``x.select(dim, index)``: one index along an axis, a view; ``x.select(condition, y)``: elements of x
    where the condition holds, else those of y."""
    if isinstance(first, Tensor) and first.dtype is bool_:
        return elementwise.select(first, self, second)
    at = normalise_axis("Tensor.select", first, self.ndim, "dim")
    return self[(slice(None),) * at + (second,)]


def _take(self: Tensor, indices: Any, axis: int | None = None, mode: str = "clip") -> Tensor:
    """The elements at flat indices, or slices along an axis; ``mode`` says what an index out of range does:
    ``"clip"``, ``"wrap"`` or ``"raise"``."""
    if mode not in ("clip", "wrap", "raise"):
        raise ValueError(f"Tensor.take: mode must be 'clip', 'wrap' or 'raise'. Received: mode={mode!r}")
    x = shaping.reshape(self, (-1,)) if axis is None else self
    at = normalise_axis("Tensor.take", axis or 0, x.ndim)
    index, extent = as_tensor("Tensor.take", indices, "indices"), x.shape[at]
    if mode == "clip":
        index = elementwise.clamp(index, 0, extent - 1)
    elif mode == "wrap":
        index = index % extent
    return shaping.gather(x, index, at)


def _choose(self: Tensor, choices: Any, mode: str = "clip") -> Tensor:
    """For each element the element of the choice that it names; all broadcast together."""
    options = shaping.stack([as_tensor("Tensor.choose", c) for c in choices]) if isinstance(
        choices, (list, tuple)
    ) else choices
    index = elementwise.clamp(self, 0, options.shape[0] - 1) if mode == "clip" else self % options.shape[0]
    shape = elementwise.add(index, options[0] * 0).shape
    rows = shaping.broadcast_to(options, (options.shape[0], *shape))
    picked = shaping.gather_elements(rows, 0, shaping.expand_dims(shaping.broadcast_to(index, shape), 0))
    return shaping.reshape(picked, shape)


def _gather(self: Tensor, *args: Any, **named: Any) -> Tensor:
    """``x.gather(indices, axis, batch_dims=0)``: slices along an axis; ``x.gather(dim, index)``: the element
    at each index along an axis."""
    if "dim" in named or "index" in named or (args and not isinstance(args[0], Tensor)):
        return shaping.gather_elements(self, *args, **named)
    return shaping.gather(self, *args, **named)


def _searchsorted(self: Tensor, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """Where numbers would be inserted into the sorted tensor, int32."""
    return finding.searchsorted(self, v, out_int32=True, side=side, sorter=sorter)


def _repeat_interleave(self: Tensor, repeats: Any, dim: int | None = None, **named: Any) -> Tensor:
    return shaping.repeat_interleave(self, repeats, named.get("axis", dim))


def _with_indices(name: str) -> Method:
    def method(self: Tensor, axis: int = 0, keep_dims: bool = False) -> tuple[Tensor, Tensor]:
        return getattr(reducing, name)(self, axis, keep_dims)
    return method


def _ptp(self: Tensor, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest less the smallest element over axes."""
    return reducing.amax(self, axis, keepdims) - reducing.amin(self, axis, keepdims)


def _cauchy(self: Tensor, median: float = 0.0, sigma: float = 1.0) -> Tensor:
    """Numbers of the Cauchy distribution with the tensor's shape and dtype."""
    return distributions.cauchy(self.shape, median, sigma, self.dtype)


def _log_normal(self: Tensor, mean: float = 1.0, std: float = 2.0) -> Tensor:
    """Numbers whose logarithms are normal, with the tensor's shape and dtype."""
    return distributions.log_normal(self.shape, mean, std, self.dtype)


def _uniform(self: Tensor, from_: Any = 0.0, to: Any = 1.0, generator: Any = None) -> Tensor:
    """Uniform numbers of [from_, to) with the tensor's shape and dtype."""
    return distributions.uniform_(self.copy(), from_, to, generator=generator)


_SAME: dict[Any, str] = {
    arranging: """
        diagflat diagonal dsplit fliplr flipud hsplit movedim rot90 tensor_split trace vsplit""",
    finding: """
        aminmax bincount cov diff histc kthvalue msort nanmean nanmedian nanquantile nansum quantile
        unique_consecutive unique_with_pad""",
    decompositions: """
        cholesky cholesky_inverse cholesky_solve det eigvals geqrf inverse log_matrix_determinant logdet lstsq
        lu_solve matrix_determinant matrix_power orgqr ormqr pinv qr slogdet svd""",
    distributions: "bernoulli_ exponential_ normal_ random_ random_categorical uniform_",
    drawing: "multinomial",
    elementwise: "bitwise_left_shift bitwise_right_shift erfinv",
    picking: "diagonal_scatter fill_diagonal reverse reverse_sequence",
    spectral: "angle conj imag is_complex isreal real",
    reducing: "cummax cummin cumprod logcumsumexp",
    scattering: """
        index_fill index_put inplace_update masked_scatter masked_select put_ select_scatter slice_scatter
        unsorted_segment_max unsorted_segment_min unsorted_segment_prod unsorted_segment_sum""",
}

METHODS: dict[str, Method] = {
    **{name: getattr(module, name) for module, names in _SAME.items() for name in names.split()},
    **{f"scatter_{way}": scattering.TENSOR_SCATTER[f"tensor_scatter_{way}"]
       for way in ("sub", "mul", "div", "max", "min")},
    "argmax_with_value": _with_indices("max"),
    "argmin_with_value": _with_indices("min"),
    "cauchy": _cauchy,
    "choose": _choose,
    "diag": arranging.diag,
    "erfinv_": _in_place(elementwise.erfinv),
    "gather": _gather,
    "index_add": _index_add,
    "index_add_": _in_place(_index_add),
    "index_copy_": _in_place(scattering.index_copied),
    "index_fill_": _in_place(scattering.index_fill),
    "index_put_": _in_place(scattering.index_put),
    "log_normal": _log_normal,
    "masked_scatter_": _in_place(scattering.masked_scatter),
    "fill_diagonal_": _in_place(picking.fill_diagonal),
    "ptp": _ptp,
    "repeat_interleave": _repeat_interleave,
    "scatter": _scatter,
    "scatter_": _in_place(_scatter),
    "scatter_add": _scatter_add,
    "scatter_add_": _in_place(_scatter_add),
    "searchsorted": _searchsorted,
    "select": _select,
    "take": _take,
    "uniform": _uniform,
    "unique": finding.unique_sorted,
}
