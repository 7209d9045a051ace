"""Attention (Vaswani et al. 2017): two batched products with scale, mask and softmax between them."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia.ir.dtypes import bool_
from mycelia.ops.constants import constant, like
from mycelia.ops.function.activations import softmax
from mycelia.ops.function.drawing import dropout
from mycelia.ops.function.linear import linear, matmul
from mycelia.ops.function.shaping import (
    broadcast_to,
    cat,
    chunk,
    expand_dims,
    repeat_interleave,
    reshape,
    swapaxes,
    transpose,
)
from mycelia.ops.promotion import cast, require_tensor
from mycelia.ops.reduction import ReduceMean
from mycelia.ops.selection import Select
from mycelia.tensor.tensor import Tensor

__all__ = ["flash_attention_score", "multi_head_attention_forward", "scaled_dot_product_attention"]


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    """Scores of minus infinity where a boolean mask holds."""
    return Select(mask, like(-math.inf, scores), scores)


def _band(queries: int, keys: int, before: int, after: int, from_the_end: bool = False) -> np.ndarray:
    """Booleans ``[queries, keys]``: keys farther than ``before`` to the left or ``after`` to the right."""
    distance = np.arange(keys)[None, :] - np.arange(queries)[:, None]
    if from_the_end:
        distance = distance - (keys - queries)
    return (distance > after) | (distance < -before)


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """``softmax(query @ key.T * scale + mask) @ value``.

    Args:
        query: ``[..., queries, features]``.
        key, value: ``[..., keys, features]``.
        attn_mask: booleans that are true where a query may see a key, or numbers that are added to scores;
            broadcast to ``[..., queries, keys]``.
        dropout_p: share of the weights to drop.
        is_causal: a query sees no later key; goes without attn_mask.
        scale: 1 / sqrt(features) unless given.

    Raises:
        ValueError: is_causal together with a mask.
    """
    q = require_tensor("scaled_dot_product_attention", query, "query")
    if is_causal and attn_mask is not None:
        raise ValueError(
            "scaled_dot_product_attention: attn_mask must be None with is_causal=True. Received: both"
        )
    scale = 1.0 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    scores = matmul(q * scale, swapaxes(key, -1, -2))
    if is_causal:
        scores = _masked(scores, constant(_band(int(q.shape[-2]), int(key.shape[-2]), 2**31, 0)))
    elif attn_mask is not None:
        if attn_mask.dtype is bool_:
            scores = _masked(scores, ~attn_mask)
        else:
            scores = scores + cast(attn_mask, scores.dtype)
    weights = softmax(scores, -1)
    return matmul(dropout(weights, dropout_p) if dropout_p else weights, value)


# Where batch, sequence, head and features stand in a layout; H is head and features in one.
_LAYOUTS = ("BSH", "SBH", "BNSD", "BSND")


def _heads(x: Tensor, layout: str, features: int) -> Tensor:
    """``[batch, heads, sequence, features]`` from another layout."""
    if layout in ("BSH", "SBH"):
        x = reshape(x, (*x.shape[:2], -1, features))
        layout = layout[:2] + "ND"
    order = tuple(layout.index(c) for c in "BNSD")
    return x if order == (0, 1, 2, 3) else transpose(x, order)


def flash_attention_score(
    query: Any,
    key: Any,
    value: Any,
    head_num: int,
    real_shift: Any = None,
    drop_mask: Any = None,
    padding_mask: Any = None,
    attn_mask: Any = None,
    prefix: Any = None,
    actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None,
    keep_prob: float = 1.0,
    scalar_value: float = 1.0,
    pre_tokens: int = 2147483647,
    next_tokens: int = 2147483647,
    inner_precise: int = 0,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
) -> Tensor:
    """Attention over heads: ``dropout(softmax(mask(query @ key.T * scalar_value + real_shift))) @ value``.

    Args:
        query, key, value: tensors in the layout; keys may have fewer heads than queries, which then share
            them.
        head_num: heads of the query.
        real_shift: added to the scores, ``[batch, heads, queries, keys]`` or what broadcasts to it.
        drop_mask: booleans, true where a weight stays; drawn unless given.
        padding_mask, prefix, actual_seq_qlen, actual_seq_kvlen: must be None.
        attn_mask: true (or 1) where a query must not see a key.
        keep_prob: share of the weights that stay.
        scalar_value: the scale.
        pre_tokens, next_tokens: how many keys before and after its own place a query sees (sparse_mode 0, 4).
        inner_precise: accepted; sums are accurate either way.
        input_layout: ``"BSH"``, ``"SBH"``, ``"BNSD"`` or ``"BSND"`` (batch, sequence, heads N, features D, H
            = N * D).
        sparse_mode: 0: the mask and the tokens; 1: the mask alone; 2: causal from the first key; 3: causal up
            to the last key; 4: the tokens, counted from the last key.

    Returns:
        In the query's layout.

    Raises:
        ValueError: another layout or mode.
        NotImplementedError: one of the parameters that must be None.
    """
    unsupported = {
        "padding_mask": padding_mask,
        "prefix": prefix,
        "actual_seq_qlen": actual_seq_qlen,
        "actual_seq_kvlen": actual_seq_kvlen,
    }
    given = [name for name, value in unsupported.items() if value is not None]
    if given:
        raise NotImplementedError(
            f"flash_attention_score: {', '.join(given)} must be None. Received: values. Put what they mean "
            "into attn_mask"
        )
    if input_layout not in _LAYOUTS or sparse_mode not in range(5):
        raise ValueError(
            f"flash_attention_score: input_layout must be one of {_LAYOUTS} and sparse_mode from 0 to "
            f"4. Received: input_layout={input_layout!r}, sparse_mode={sparse_mode!r}"
        )
    q = require_tensor("flash_attention_score", query, "query")
    features = q.shape[-1] // head_num if input_layout.endswith("H") else q.shape[-1]
    q, k, v = (_heads(x, input_layout, features) for x in (q, key, value))
    if k.shape[1] != q.shape[1]:
        k, v = (repeat_interleave(x, q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = matmul(q * float(scalar_value), swapaxes(k, -1, -2))
    if real_shift is not None:
        scores = scores + real_shift
    if attn_mask is not None and sparse_mode in (0, 1):
        scores = _masked(scores, cast(attn_mask, bool_))
    far = 2**31 - 1
    before, after = {2: (far, 0), 3: (far, 0)}.get(sparse_mode, (pre_tokens, next_tokens))
    if sparse_mode != 1 and min(before, after) < far:
        hidden = _band(int(q.shape[2]), int(k.shape[2]), before, after, sparse_mode in (3, 4))
        scores = _masked(scores, constant(hidden))
    weights = softmax(scores, -1)
    if drop_mask is not None:
        weights = Select(cast(drop_mask, bool_), weights * (1.0 / keep_prob), like(0, weights))
    elif keep_prob < 1:
        weights = dropout(weights, 1.0 - keep_prob)
    y = matmul(weights, v)
    if input_layout == "BNSD":
        return y
    y = transpose(y, (2, 0, 1, 3) if input_layout == "SBH" else (0, 2, 1, 3))
    return y if input_layout == "BSND" else reshape(y, query.shape)


def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    k_is_v: bool = False,
    q_is_k: bool = False,
    dtype: Any = None,
) -> tuple[Tensor, Tensor]:
    """Projection to heads, attention, projection back.

    Args:
        query: ``[queries, batch, embed]``; batch may be left out.
        key, value: ``[keys, batch, ...]``.
        embed_dim_to_check: the query's last extent.
        num_heads: must divide it.
        in_proj_weight, in_proj_bias: ``[3 * embed, embed]``, ``[3 * embed]`` or None: the three projections
            one below the other.
        bias_k, bias_v: a further key and value, or None.
        add_zero_attn: a further key and value of zeros.
        dropout_p: share of the weights that training drops.
        out_proj_weight, out_proj_bias: of the projection back.
        training: whether to drop.
        key_padding_mask: ``[batch, keys]``, true where a key does not count.
        attn_mask: ``[queries, keys]`` or ``[batch * heads, queries, keys]``: booleans that are true where a
            query must not see a key, or numbers that are added to scores.
        use_separate_proj_weight: take the next three weights instead of ``in_proj_weight``.
        static_k, static_v: projected keys and values ``[batch * heads, keys, features]`` that replace these.
        average_attn_weights: give the mean of the weights over heads.
        is_causal, k_is_v, q_is_k, dtype: accepted; the masks and tensors say it all.

    Returns:
        ``[queries, batch, embed]``, and the weights ``[batch, queries, keys]`` (or for each head).

    Raises:
        ValueError: extents that do not match.
    """
    name = "multi_head_attention_forward"
    q = require_tensor(name, query, "query")
    single = q.ndim == 2
    if single:
        q, key, value = (expand_dims(x, 1) for x in (q, key, value))
        key_padding_mask = None if key_padding_mask is None else expand_dims(key_padding_mask, 0)
    queries, batch, embed = q.shape
    if embed != embed_dim_to_check or embed % num_heads:
        raise ValueError(
            f"{name}: the query must end in embed_dim_to_check={embed_dim_to_check}, which num_heads="
            f"{num_heads} must divide. Received: a query of shape {query.shape}"
        )
    features = embed // num_heads
    weights: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
    if not use_separate_proj_weight:
        weights = chunk(in_proj_weight, 3)
    biases: Any = (None,) * 3 if in_proj_bias is None else chunk(in_proj_bias, 3)
    q, k, v = (linear(x, w, b) for x, w, b in zip((q, key, value), weights, biases))
    added = 0
    if bias_k is not None and bias_v is not None:
        k, v = (cat((x, broadcast_to(b, (1, batch, embed)))) for x, b in ((k, bias_k), (v, bias_v)))
        added += 1

    def by_head(x: Tensor) -> Tensor:  # [batch * heads, sequence, features]
        return swapaxes(reshape(x, (x.shape[0], batch * num_heads, features)), 0, 1)

    q = by_head(q)
    k = by_head(k) if static_k is None else static_k
    v = by_head(v) if static_v is None else static_v
    if add_zero_attn:
        k, v = (cat((x, x[:, :1] * 0.0), 1) for x in (k, v))
        added += 1
    keys = k.shape[1]
    scores = matmul(q * (1.0 / math.sqrt(features)), swapaxes(k, -1, -2))
    if attn_mask is not None:
        mask = _widened(attn_mask, added)
        scores = _masked(scores, mask) if mask.dtype is bool_ else scores + cast(mask, scores.dtype)
    if key_padding_mask is not None:
        mask = _widened(key_padding_mask, added)
        apart = reshape(scores, (batch, num_heads, queries, keys))
        line = reshape(mask, (batch, 1, 1, keys))
        apart = _masked(apart, line) if mask.dtype is bool_ else apart + cast(line, apart.dtype)
        scores = reshape(apart, (batch * num_heads, queries, keys))
    shares = softmax(scores, -1)
    if training and dropout_p > 0:
        shares = dropout(shares, dropout_p)
    y = reshape(swapaxes(matmul(shares, v), 0, 1), (queries, batch, embed))
    y = linear(y, out_proj_weight, out_proj_bias)
    shares = reshape(shares, (batch, num_heads, queries, keys))
    if average_attn_weights:
        shares = ReduceMean(shares, axes=(1,), keepdims=False)
    return (reshape(y, (queries, embed)), reshape(shares, shares.shape[1:])) if single else (y, shares)


def _widened(mask: Any, count: int) -> Tensor:
    """A mask with ``count`` more columns that hide nothing."""
    if not count:
        return mask
    zeros = cast(constant(np.zeros((*mask.shape[:-1], count), np.float32)), mask.dtype)
    return cat((mask, zeros), -1)
