"""Primitive classes of picking, placing, ordering and counting elements, of linear algebra and of complex
numbers: more of the table in `mycelia.ops.primitives`."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.ops.function import (
    arranging,
    decompositions,
    elementwise,
    finding,
    picking,
    reducing,
    scattering,
    shaping,
    spectral,
)
from mycelia.ops.primitive import primitive, primitive_of_inputs

_PLAIN: dict[str, Callable[..., Any]] = {
    "Angle": spectral.angle,
    "Complex": spectral.complex,
    "ComplexAbs": elementwise.abs,
    "Conj": spectral.conj,
    "Imag": spectral.imag,
    "Polar": spectral.polar,
    "Real": spectral.real,
    "Bincount": finding.bincount,
    "DiagPart": arranging.diagonal,
    "Eig": decompositions.eig,
    "Erfinv": elementwise.erfinv,
    "GatherV2": shaping.gather,
    "LogMatrixDeterminant": decompositions.slogdet,
    "MatrixDeterminant": decompositions.det,
    "MatrixExp": decompositions.matrix_exp,
    "MatrixInverse": decompositions.inverse,
    "Geqrf": decompositions.geqrf,
    "Orgqr": decompositions.orgqr,
    "LuSolve": decompositions.lu_solve,
    "LeftShift": elementwise.bitwise_left_shift,
    "MaskedSelect": scattering.masked_select,
    "MatrixBandPart": picking.matrix_band_part,
    "RightShift": elementwise.bitwise_right_shift,
    "ScatterNd": scattering.scatter_nd,
    "TensorScatterAdd": scattering.TENSOR_SCATTER["tensor_scatter_add"],
    "TensorScatterDiv": scattering.TENSOR_SCATTER["tensor_scatter_div"],
    "TensorScatterMax": scattering.TENSOR_SCATTER["tensor_scatter_max"],
    "TensorScatterMin": scattering.TENSOR_SCATTER["tensor_scatter_min"],
    "TensorScatterMul": scattering.TENSOR_SCATTER["tensor_scatter_mul"],
    "TensorScatterSub": scattering.TENSOR_SCATTER["tensor_scatter_sub"],
    "TensorScatterUpdate": scattering.TENSOR_SCATTER["tensor_scatter_update"],
    "Unique": finding.unique,
    "UniqueWithPad": finding.unique_with_pad,
    "UnsortedSegmentMax": scattering.unsorted_segment_max,
    "UnsortedSegmentMin": scattering.unsorted_segment_min,
    "UnsortedSegmentProd": scattering.unsorted_segment_prod,
    "UnsortedSegmentSum": scattering.unsorted_segment_sum,
}
for _name, _function in _PLAIN.items():
    primitive(_function, _name)

# name, function, the parameters that are tensors
for _name, _function, _inputs in (
    ("Cholesky", decompositions.cholesky, "input_x"),
    ("CholeskyInverse", decompositions.cholesky_inverse, "input_x"),
    ("CholeskySolve", decompositions.cholesky_solve, "input input2"),
    ("LuUnpack", decompositions.lu_unpack, "LU_data LU_pivots"),
    ("MatrixPower", decompositions.matrix_power, "input"),
    ("MatrixSolve", decompositions.matrix_solve, "matrix rhs"),
    ("Ormqr", decompositions.ormqr, "input tau other"),
    ("Bucketize", finding.bucketize, "input"),
    ("Cummax", reducing.cummax, "input"),
    ("Cummin", reducing.cummin, "input"),
    ("IndexAdd", scattering.index_add, "x indices y"),
    ("IndexFill", scattering.index_fill, "input axis index value"),
    ("IndexPut", scattering.index_put, "input indices values"),
    ("InplaceIndexAdd", scattering.inplace_index_add, "var indices updates"),
    ("ReverseSequence", picking.reverse_sequence, "x seq_lengths"),
    ("SearchSorted", finding.searchsorted, "sorted_sequence values"),
    ("TensorScatterElements", scattering.tensor_scatter_elements, "input_x indices updates"),
    ("TrilIndices", arranging.tril_indices, ""),
    ("TriuIndices", arranging.triu_indices, ""),
    ("UniqueConsecutive", finding.unique_consecutive, "input"),
    ("InplaceAdd", scattering.inplace_add, "x v"),
    ("InplaceSub", scattering.inplace_sub, "x v"),
    ("InplaceUpdate", scattering.inplace_update, "x v"),
    *(
        (f"{family}{way.title()}", table[f"{prefix}_{way}"], "input_x indices updates")
        for family, prefix, table in (
            ("Scatter", "scatter", scattering.SCATTER), ("ScatterNd", "scatter_nd", scattering.SCATTER_ND)
        )
        for way in ("update", "add", "sub", "mul", "div", "max", "min")
    ),
):
    primitive_of_inputs(_name, _function, _inputs)
