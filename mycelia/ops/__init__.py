"""MindSpore's ``ops``: functions, primitive classes, and the operators that both stand for.

The definitions of the operators are in the modules of this package, one file for each family; what is
exported here are MindSpore's names for them. `mycelia.ir.operator.get` gives an operator's own record.
"""
from __future__ import annotations

from typing import Any

from mycelia.ops import (  # noqa: F401  (importing a family registers its operators)
    activation,
    arithmetic,
    combining,
    comparison,
    complex_numbers,
    control,
    convolution,
    creation,
    ctc,
    cumulative,
    exponential,
    indexing,
    integers,
    internal,
    linear_algebra,
    logic,
    matrix,
    movement,
    normalisation,
    pooling,
    random,
    reduction,
    rounding,
    searching,
    selection,
    softmaxes,
    special,
    trigonometric,
)
from mycelia.ops import element_primitives as _element_primitives  # noqa: F401
from mycelia.ops import network_primitives as _network_primitives  # noqa: F401  (makes the classes)
from mycelia.ops import primitives as _primitives  # noqa: F401
from mycelia.ops import random_primitives as _random_primitives  # noqa: F401
from mycelia.ops import summaries as _summaries  # noqa: F401
from mycelia.ops import tensor_methods as _tensor_methods
from mycelia.ops.explanations import explain_public
from mycelia.ops.function import (
    activations,
    arranging,
    attention,
    blocks,
    convolving,
    creating,
    decompositions,
    detection,
    distributions,
    drawing,
    dropouts,
    effects,
    elementwise,
    embeddings,
    finding,
    images,
    linear,
    losses,
    margin_losses,
    padding,
    picking,
    pools,
    products,
    reducing,
    resizing,
    scalars,
    scattering,
    sequences,
    shaping,
    sliding,
    spectral,
    windows,
)
from mycelia.ops.generator import Generator, default_generator
from mycelia.ops.mapping import HyperMap, Map, MultitypeFuncGraph, constexpr, partial
from mycelia.ops.op_info_register import DataType
from mycelia.ops.primitive import PRIMITIVES as _PRIMITIVES
from mycelia.ops.primitive import Primitive

_tensor_methods.install()

_FUNCTIONS = {
    elementwise: """
        abs absolute acos acosh add addcdiv addcmul addn arccos arccosh arcsin arcsinh arctan arctan2 arctanh
        asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
        bitwise_xor cast ceil clamp clip clip_by_value cos cosh div divide eq equal erf erfc erfinv exp exp2
        expm1 floor floor_div floor_divide floor_mod fmod ge greater greater_equal gt hypot inv isclose
        isfinite isinf isnan le lerp less less_equal log log10 log1p log2 logaddexp logical_and logical_not
        logical_or logical_xor lt masked_fill maximum minimum mixed_precision_cast mod mul multiply nan_to_num
        ne neg negative not_equal pow real_div reciprocal remainder rint round rsqrt select sigmoid sign sin
        sinh sqrt square sub subtract tan tanh tensor_add tensor_div tensor_exp tensor_floordiv tensor_ge
        tensor_gt tensor_le tensor_lt tensor_mod tensor_mul tensor_pow tensor_sub true_divide trunc where
        xlogy""",
    reducing: """
        all amax amin any argmax argmin argsort count_nonzero cummax cummin cumprod cumsum intopk
        logcumsumexp logsumexp max mean median min norm prod reduce_max reduce_mean reduce_min reduce_sum
        sort std sum top_k topk var""",
    shaping: """
        argwhere broadcast_to cat chunk concat dtype expand_dims flatten flip gather gather_elements
        gather_nd index_select is_tensor meshgrid moveaxis narrow nonzero numel one_hot permute rank
        repeat_elements repeat_interleave reshape roll shape size slice split squeeze stack strided_slice
        swapaxes t tile transpose tril triu tuple_to_array unbind unsqueeze unstack""",
    creating: """
        arange empty empty_like eye fill full full_like linspace ones ones_like range scalar_to_tensor zeros
        zeros_like""",
    drawing: """
        bernoulli dropout multinomial normal rand rand_like randint randint_like randn randn_like randperm
        standard_normal uniform uniform_real""",
    linear: """
        addmm baddbmm batch_matmul bias_add bmm cosine_similarity dense dot einsum ger linear matmul mm mv
        outer""",
    activations: """
        celu elu fast_gelu gelu glu gumbel_softmax hardshrink hardsigmoid hardswish hardtanh leaky_relu
        log_softmax logit logsigmoid mish prelu relu relu6 rrelu selu silu soft_shrink softmax softmin
        softplus softshrink softsign swiglu swish tanhshrink threshold""",
    losses: """
        binary_cross_entropy binary_cross_entropy_with_logits clip_by_global_norm clip_by_norm
        cosine_embedding_loss cross_entropy huber_loss kl_div l1_loss mse_loss nll_loss smooth_l1_loss""",
    images: "batch_norm group_norm layer_norm lrn rms_norm",
    effects: "assign assign_add assign_sub depend identity print_ stop_gradient",
}
# These say themselves what is public.
for _module in (
    arranging,
    attention,
    blocks,
    convolving,
    decompositions,
    detection,
    distributions,
    dropouts,
    embeddings,
    finding,
    margin_losses,
    padding,
    picking,
    pools,
    products,
    resizing,
    scalars,
    scattering,
    sequences,
    sliding,
    spectral,
    windows,
):
    _FUNCTIONS[_module] = " ".join(_module.__all__)

__all__ = [
    "DataType",
    "Generator",
    "HyperMap",
    "Map",
    "MultitypeFuncGraph",
    "Primitive",
    "constexpr",
    "default_generator",
    "partial",
    *_PRIMITIVES,
    *(name for names in _FUNCTIONS.values() for name in names.split()),
]

globals().update(_PRIMITIVES)
for _module, _names in _FUNCTIONS.items():
    for _name in _names.split():
        globals()[_name] = getattr(_module, _name)
explain_public(__name__, globals(), __all__)
del _module, _names, _name


# MindSpore's other names for the same, and the modules that it keeps its primitives in.
_ALIASES = {
    "accumulate_n": "addn", "adaptive_avg_pool2d_ext": "adaptive_avg_pool2d", "clamp_scalar": "clamp",
    "floordiv": "floor_div", "floormod": "floor_mod", "gather_d": "gather_elements", "invert": "bitwise_not",
    "pows": "pow", "tensor_expm1": "expm1", "tensor_muls": "mul",
}
_MODULES = frozenset(
    ["array_ops", "math_ops", "nn_ops", "other_ops", "inner_ops", "_inner_ops", "image_ops", "random_ops"]
)


def __getattr__(name: str) -> Any:
    import difflib
    import importlib
    import sys

    if name in _ALIASES:
        return globals()[_ALIASES[name]]
    if name in _MODULES:
        return sys.modules[__name__]
    if name in ("auto_generate", "_primitive_cache"):
        return importlib.import_module(f"mycelia.ops.{name}")
    from mycelia.ops.equivalents import equivalent

    near = difflib.get_close_matches(name, __all__, 3)
    raise AttributeError(
        f"module 'mycelia.ops' has no attribute {name!r}"
        + (equivalent("ops", name) or (f"; did you mean {', '.join(near)}?" if near else ""))
    )
