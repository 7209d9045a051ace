"""Operators that passes make and users never write: fused clusters, copies of views, norms over the last
axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.ir.graph import Graph
from mycelia.ir.operator import Operator, register
from mycelia.ir.types import TensorType


def _body_types(types: tuple[TensorType, ...], body: Graph) -> tuple[TensorType, ...]:
    """Types of a body's outputs when its inputs have these types."""
    known = dict(zip(body.inputs, types))
    for node in body.nodes:
        known.update(
            zip(node.outputs, node.op.output_types(tuple(known[v] for v in node.inputs), node.attrs))
        )
    return tuple(known[v] for v in body.outputs)


def _evaluate(body: Graph, arrays: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    values = dict(zip(body.inputs, arrays))
    for node in body.nodes:
        assert node.op.reference is not None, f"operator {node.op.name} has no NumPy reference"
        results = node.op.reference(*(values[v] for v in node.inputs), **node.attrs)
        values.update(zip(node.outputs, results if isinstance(results, tuple) else (results,)))
    return tuple(np.asarray(values[v]) for v in body.outputs)


def _fused_infer(*types: TensorType, body: Graph) -> tuple[TensorType, ...]:
    return _body_types(types, body)


def _fused_reference(*arrays: np.ndarray, body: Graph) -> Any:
    results = _evaluate(body, arrays)
    return results if len(results) > 1 else results[0]


register(
    Operator("Fused", infer=_fused_infer, num_outputs=-1, reference=_fused_reference, subgraphs=("body",))
)


def _kept_shape(shape: tuple, axes: tuple[int, ...], keepdims: bool) -> tuple:
    if keepdims:
        return tuple(1 if d in axes else extent for d, extent in enumerate(shape))
    return tuple(extent for d, extent in enumerate(shape) if d not in axes)


def _fused_reduce_infer(
    *types: TensorType, body: Graph, reduce: str, axes: tuple[int, ...], keepdims: bool
) -> TensorType:
    (inside,) = _body_types(types, body)
    return TensorType(inside.dtype, _kept_shape(inside.shape, axes, keepdims))


_REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "prod": np.prod,
    "max": np.max,
    "min": np.min,
    "all": np.all,
    "any": np.any,
}


def _fused_reduce_reference(
    *arrays: np.ndarray, body: Graph, reduce: str, axes: tuple[int, ...], keepdims: bool
) -> np.ndarray:
    (inside,) = _evaluate(body, arrays)
    options: dict[str, Any] = {}
    if reduce in ("sum", "prod", "mean"):
        options["dtype"] = np.float64 if inside.dtype.kind not in "biu" else inside.dtype
    return np.asarray(_REDUCTIONS[reduce](inside, axis=axes, keepdims=keepdims, **options)).astype(
        inside.dtype
    )


register(
    Operator("FusedReduce", infer=_fused_reduce_infer, reference=_fused_reduce_reference, subgraphs=("body",))
)


def _strided_copy_infer(
    x: TensorType, *, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> TensorType:
    return TensorType(x.dtype, tuple(shape))


def _strided_copy_reference(
    x: np.ndarray, *, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> np.ndarray:
    if 0 in shape:
        return np.empty(shape, x.dtype)
    index = np.asarray(offset)
    for extent, stride in zip(shape, strides):
        index = index[..., None] + np.arange(extent) * stride
    return np.ascontiguousarray(x).reshape(-1)[index]


# A view made dense: element ``offset + sum(index * strides)`` (in elements) of a dense buffer; strides may
# be 0 or negative.
register(Operator("StridedCopy", infer=_strided_copy_infer, reference=_strided_copy_reference))
