"""Calls of Tensor's methods whose results were recorded from MindSpore 2.10: over the names of
`network_cases`."""
from __future__ import annotations

from typing import Any

try:
    from tests.ops.network_cases import names as common_names
except ImportError:  # run by MindSpore, without the project
    from network_cases import names as common_names  # type: ignore[no-redef]


def _changed(tensor: Any, method: str, *arguments: Any, **named: Any) -> Any:
    """What a method that writes to its tensor gives, for a copy."""
    return getattr(tensor.copy(), method)(*arguments, **named)


def names(ms: Any) -> dict[str, Any]:
    """The variables of the expressions."""
    return {
        **common_names(ms),
        "changed": _changed,
        "pos": ms.ops.abs(common_names(ms)["sq"]) + ms.ops.eye(4) * 9,
    }


# MindSpore does otherwise, and why Mycelia does not follow; docs/differences.md has them too.
_LATE = "MindSpore's kernel refuses with a RuntimeError; ValueError, which it documents, names the shapes"
DIFFERS: dict[str, str] = {
    "refused(lambda: m.matmul(m))": _LATE,
    "refused(lambda: ops.diag(3))": "a number counts as a tensor without axes",
    "ops.norm(x, 1.0, (0, 2))": "MindSpore sums over other axes than it documents",
    'm.scatter(1, T([[0, 1], [2, 3], [1, 0]]), p[:, :2], reduce="add")':
        "MindSpore forgets reduce where an equal call without it ran before",
}

EXPRESSIONS = """
p.absolute(); p.acos(); (p + 1).acosh(); v.add(w); v.add(1); v.add(w, alpha=2); p.arccos(); (p + 1).arccosh()
p.arcsin(); v.arcsinh(); v.arctan(); v.arctan2(w); p.arctanh(); p.asin(); v.asinh(); v.atan(); v.atan2(w)
p.atanh(); v.ceil(); v.clamp(-1, 1); v.clamp(min=0.5); v.clip(0.1, 0.5); v.cos(); v.cosh(); v.deg2rad()
v.div(w); v.div(2); v.div(w, rounding_mode="floor"); v.divide(w); v.eq(w); v.equal(w); v.eq(1); v.erf()
v.erfc(); p.erfinv(); v.expm1(); v.float_power(2); v.floor(); v.floor_divide(w); v.fmax(w); v.fmin(w)
v.fmod(w); v.ge(w); v.greater(w); v.greater_equal(w); v.gt(0); v.hypot(w); p.inv(); v.isclose(w); v.isfinite()
v.isinf(); v.isneginf(); v.isposinf(); v.isreal(); v.ldexp(w); v.le(w); v.lerp(w, 0.3); v.less(w)
v.less_equal(w); v.lt(0); p.log(); p.log10(); p.log1p(); p.log2(); v.logaddexp(w); v.logaddexp2(w)
b.logical_and(b); b.logical_not(); b.logical_or(b); b.logical_xor(b); p.logit(); p.logit(0.2); v.maximum(w)
v.minimum(w); v.mul(w); v.mul(2); v.multiply(w); v.nan_to_num(); v.ne(w); v.not_equal(1); v.neg()
v.negative(); p.pow(2); p.pow(-0.5); v.rad2deg(); p.reciprocal(); v.remainder(w); i.remainder(3); v.round()
v.round(decimals=1); p.rsqrt(); v.sgn(); v.sigmoid(); v.sign(); v.signbit(); v.sin(); v.sinh()
v.soft_shrink(); p.sqrt(); v.square(); v.sub(w); v.sub(w, alpha=2); v.sub(1); v.subtract(w); v.tan(); v.tanh()
v.true_divide(w); v.trunc(); v.xdivy(w); p.xlogy(p); i.lcm(j); v.addcdiv(v, abs(w) + 1, value=0.5)
v.addcmul(w, w, value=0.5); i.bitwise_and(j); i.bitwise_or(j); i.bitwise_xor(3); i.bitwise_not()
abs(i).bitwise_left_shift(1); abs(i).bitwise_right_shift(1); x.argmax_with_value(1)
x.argmin_with_value(2, True); x.amax(1); x.amin((0, 2)); x.amax(1, keepdims=True); m.aminmax()
m.aminmax(axis=1, keepdims=True); m.argsort(); m.argsort(0, True); m.argwhere(); i.argwhere()
i.count_nonzero(); i.count_nonzero(1); m.cummax(1); m.cummin(0); m.cumprod(1); m.cumsum(0)
m.cumsum(1, dtype=ms.float64); m.logcumsumexp(0); m.logsumexp(1); m.logsumexp(1, True); m.median()
m.median(1); m.nanmean(); m.nansum(); m.nansum(1); m.norm(); m.norm(1, dim=1); m.norm(float("inf"))
v.norm(3.0); x.kthvalue(2); m.kthvalue(1, 0); m.nanmedian(); m.nanquantile(0.3); m.quantile(0.3)
m.quantile(0.25, axis=1); m.ptp(); m.ptp(1); m.sort(); m.sort(0, True); m.msort(); m.topk(2); m.topk(2, 0)
m.topk(2, 1, False); m.trace(); m.cov(); v.diff(); m.diff(axis=0); abs(i).reshape(-1).bincount()
abs(i).reshape(-1).bincount(minlength=12); v.histc(4, -2, 2); m.unique(); i.reshape(-1).unique_consecutive()
m.addmm(m[:, :3], m); (m @ n).addmm(m, n, beta=0.5, alpha=2); m[:, 0].addmv(m, m[0]); n.addr(m[0], v)
x[0, :, :3].addbmm(x, y.swapaxes(1, 2)); (x @ y.swapaxes(1, 2)).baddbmm(x, y.swapaxes(1, 2))
x.bmm(y.swapaxes(1, 2)); m.mm(n); v.dot(w); m.inner(m); v.outer(w); v.ger(w); c.cross(d, 0); m.cross(m, 0)
pos.cholesky(); pos.det(); pos.inverse(); pos.matrix_power(3); pos.matrix_determinant(); pos.slogdet()
pos.logdet(); pos.log_matrix_determinant(); pos.matrix_power(-1); m.broadcast_to((2, 3, 4)); m.chunk(2, 1)
x.contiguous(); x.clone(); x.copy(); v.diag(); sq.diag(); v.diagflat(1); x.diagonal(); x.diagonal(1, 1, 2)
x.dsplit(2); x.hsplit(3); x.vsplit(2); v.expand((2, 5)); v.expand_as(m @ n); v.expand((2, -1)); x.flip(0)
x.flip((0, 2)); m.fliplr(); m.flipud(); m.gather(T([2, 0]), 0)
m.gather_elements(1, T([[0, 1], [3, 3], [2, 0]])); m.gather_nd(T([[0, 1], [2, 3]]))
m.gather(1, T([[0, 1], [3, 3], [2, 0]])); m.index_select(1, T([0, 2])); m.masked_select(m > 0); m.mT; x.mT
x.moveaxis(0, 2); x.movedim(0, 2); m.narrow(1, 1, 2); m.new_zeros((2, 2)); m.new_ones((2,), dtype=ms.int32)
m.new_full((2, 2), 3.0); m.new_empty((2, 3)).shape; i.nonzero(); x.permute(2, 0, 1); x.ravel(); v.repeat(2)
v.repeat_interleave(2); m.repeat_interleave(2, 1); m.repeat(2, 1); x.reshape_as(ms.ops.ones((4, 6)))
x.roll(1, 0); x.roll((1, 2), (0, 2)); v.roll(2, 0); m.rot90(1, (0, 1)); m.rot90(k=2, dims=(0, 1))
m.select(0, 1); m.select(m > 0, p); m.swapdims(0, 1); m.t(); m.take(T([0, 5])); m.tensor_split(2, 1)
m.tensor_split([1, 2]); m.triu(); m.triu(1); x.type_as(i); m.unbind(); m.unbind(1); img.unfold(3).shape
m.view_as(ms.ops.ones((4, 3))); m.where(m > 0, p); m.where(m > 0, 0.5)
m.index_add(0, T([0, 2], ms.int32), p[:2]); m.index_fill(0, T([0, 2], ms.int32), 5.0)
m.index_add(1, T([1], ms.int32), p[:, :1]); m.masked_scatter(m > 0, p); m.masked_fill(m > 0, T(2.0))
m.scatter(1, T([[0, 1], [2, 3], [1, 0]]), p[:, :2]); m.scatter_add(1, T([[0, 1], [2, 3], [1, 1]]), p[:, :2])
m.scatter(1, T([[0, 1], [2, 3], [1, 0]]), p[:, :2], reduce="add"); m.slice_scatter(p[:, :2], 1, 1, 3)
m.select_scatter(p[0], 0, 1); sq.diagonal_scatter(v[:4]); sq.fill_diagonal(3.0)
m.scatter_sub(T([[0], [2]]), p[:2]); m.scatter_max(T([[0, 1], [2, 2]]), v[:2])
m.scatter_min(T([[0], [2]]), p[:2]); m.scatter_mul(T([[0], [2]]), p[:2]); m.scatter_div(T([[0], [2]]), p[:2])
m.index_put((T([0, 2]),), p[:2]); m.index_put((T([0, 2]), T([1, 1])), v[:2], True)
m.unsorted_segment_max(T([0, 1, 0], ms.int32), 2); m.unsorted_segment_min(T([0, 1, 0], ms.int32), 2)
m.unsorted_segment_prod(T([0, 1, 0], ms.int32), 2); seq.reverse_sequence(T([2, 1], ms.int32), 1)
m.reverse((0,)); v.lerp(w, p[0, 0]); changed(v, "add_", w); changed(v, "add_", w, alpha=2)
changed(v, "sub_", w); changed(v, "mul_", w); changed(v, "div_", w); changed(v, "exp_"); changed(v, "floor_")
changed(p, "log_"); changed(v, "zero_"); changed(v, "fill_", 2.0); changed(v, "clamp_", -1, 1)
changed(v, "tanh_"); changed(v, "sigmoid_"); changed(v, "copy_", w); changed(m, "masked_fill_", m > 0, 3.0)
changed(p, "erfinv_"); changed(m, "index_add_", 0, T([0, 2], ms.int32), p[:2])
changed(m, "scatter_", 1, T([[0], [1], [2]]), p[:, :1])
changed(m, "scatter_add_", 1, T([[0], [1], [2]]), p[:, :1]); changed(sq, "fill_diagonal_", 2.0)
changed(m, "index_put_", (T([0, 2]),), p[:2]); changed(m, "index_fill_", 0, T([0, 2]), 5.0)
changed(m, "index_copy_", 0, T([0, 2]), p[:2]); changed(m, "masked_scatter_", m > 0, p)
changed(m, "put_", T([0, 5]), v[:2]); x.dim(); x.numel(); x.itemsize; x.nbytes; x.strides; x.dtype; x.ndim
x.size; x.is_contiguous(); x.is_complex(); x.is_floating_point(); i.is_floating_point(); v[0].item()
i[0, 1].item(); v.tolist(); i.tolist(); m.to(ms.float16); i.to(ms.float32); v.bool(); v.long(); v.short()
v.double(); v.half(); v.int(); T.from_numpy(np.arange(3.0)); v.bfloat16().float(); v.angle(); v.real()
v.conj(); refused(lambda: m.reshape(5, 5)); refused(lambda: m.sum(3)); refused(lambda: m.matmul(m))
refused(lambda: m.bmm(m)); refused(lambda: m.squeeze(0)); refused(lambda: m.expand_dims(4))
refused(lambda: m.astype("nix")); refused(lambda: m.transpose(0, 1, 2)); refused(lambda: m.permute(0, 0))
refused(lambda: m.swapaxes(0, 5)); refused(lambda: m.view(7)); refused(lambda: m.topk(9))
refused(lambda: m.gather(T([0.5]), 0)); refused(lambda: m.masked_fill(m, 1.0)); refused(lambda: v.add("a"))
refused(lambda: v + ms.ops.ones((3,))); refused(lambda: m.broadcast_to((2, 4))); refused(lambda: m.item())
refused(lambda: m.argmax(5)); refused(lambda: m.cumsum(5)); refused(lambda: m.max(axis=4))
refused(lambda: m[5]); refused(lambda: m[0, 1, 2]); refused(lambda: bool(m)); refused(lambda: len(v[0]))
refused(lambda: m.tile("a")); refused(lambda: m.flatten(start_dim=4))
refused(lambda: m.index_select(5, T([0]))); refused(lambda: m.index_select(0, 1)); refused(lambda: m.mm(m))
refused(lambda: v.dot(m[0])); refused(lambda: m.chunk(0)); refused(lambda: m.narrow(0, 2, 3))
refused(lambda: m.repeat_interleave("a")); ops.norm(m, 2.0); ops.norm(m, 'nuc'); ops.norm(m, -1)
ops.norm(x, 1.0, (0, 2)); ops.norm(m, 1, 0); refused(lambda: m.norm(3.0)); refused(lambda: ops.diag(3))
ops.diag(m); x[0, 0].diag(); ops.sort(v)[0].searchsorted(w)
"""
