"""``mint.special``."""
from mycelia.mint.nn.functional import log_softmax
from mycelia.ops.function.elementwise import erfc, exp2, expm1, log1p, round
from mycelia.ops.function.scalars import sinc

__all__ = ["erfc", "exp2", "expm1", "log1p", "log_softmax", "round", "sinc"]
