"""``mint.linalg``: norms, inverses and decompositions of `mycelia.ops`."""
from mycelia import ops

inv, matrix_norm, norm, qr, vector_norm = (
    ops.inverse, ops.matrix_norm, ops.norm, ops.qr, ops.vector_norm,
)

__all__ = ["inv", "matrix_norm", "norm", "qr", "vector_norm"]
