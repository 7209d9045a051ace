"""Attention, and the layers of transformers. Vaswani et al., "Attention Is All You Need", 2017."""

from __future__ import annotations

import copy
from typing import Any

from mycelia.common.initializer import XavierNormal, XavierUniform, initializer
from mycelia.ir.dtypes import DType, float32
from mycelia.nn.arguments import positive_int
from mycelia.nn.cell import Cell
from mycelia.nn.layer.basic import Dropout
from mycelia.nn.layer.container import CellList
from mycelia.nn.layer.dense import Dense
from mycelia.nn.layer.normalization import LayerNorm
from mycelia.ops.function import activations
from mycelia.ops.function.attention import multi_head_attention_forward
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class MultiheadAttention(Cell):
    """Attention by several heads.

    ``construct(query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
    average_attn_weights=True)`` gives ``(output, weights)``; weights are None without ``need_weights``.

    Args:
        embed_dim: extent of query and output; the heads share it.
        num_heads: see there.
        dropout: share of attention weights that is dropped while training.
        has_bias: whether projections have biases.
        add_bias_kv: whether a trained key and value are added to each sequence.
        add_zero_attn: whether a key and value of zeros are added.
        kdim, vdim: extents of key and value, embed_dim if None.
        batch_first: tensors are ``[batch, length, extent]`` instead of ``[length, batch, extent]``.
        dtype: of the parameters.

    Raises:
        ValueError: num_heads does not divide embed_dim.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        has_bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        positive_int("MultiheadAttention", embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: num_heads must divide embed_dim. Received: embed_dim={embed_dim}, "
                f"num_heads={num_heads}"
            )
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, float(dropout)
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.batch_first, self.add_zero_attn = bool(batch_first), bool(add_zero_attn)
        self.one_projection = self.kdim == self.vdim == embed_dim

        def weight(columns: int, rows: int = embed_dim) -> Any:
            return initializer(XavierUniform(), (rows, columns), dtype)

        self.in_proj_weight = self.q_proj_weight = self.k_proj_weight = self.v_proj_weight = None
        if self.one_projection:
            self.in_proj_weight = Parameter(weight(embed_dim, 3 * embed_dim), name="in_proj_weight")
        else:
            self.q_proj_weight = Parameter(weight(embed_dim), name="q_proj_weight")
            self.k_proj_weight = Parameter(weight(self.kdim), name="k_proj_weight")
            self.v_proj_weight = Parameter(weight(self.vdim), name="v_proj_weight")
        self.in_proj_bias = self.bias_k = self.bias_v = None
        if has_bias:
            self.in_proj_bias = Parameter(initializer("zeros", (3 * embed_dim,), dtype), name="in_proj_bias")
        self.out_proj = Dense(embed_dim, embed_dim, has_bias=has_bias, dtype=dtype)
        if add_bias_kv:
            shape = (1, 1, embed_dim)
            self.bias_k = Parameter(initializer(XavierNormal(), shape, dtype), name="bias_k")
            self.bias_v = Parameter(initializer(XavierNormal(), shape, dtype), name="bias_v")

    def construct(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
    ) -> tuple[Tensor, Tensor | None]:
        flipped = self.batch_first and query.ndim == 3
        if flipped:
            query, key, value = (x.swapaxes(0, 1) for x in (query, key, value))
        output, weights = multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias if self.out_proj.has_bias else None,
            training=self.training,
            key_padding_mask=key_padding_mask,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self.one_projection,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
        )
        return output.swapaxes(0, 1) if flipped else output, weights if need_weights else None


def _activation(owner: str, given: Any) -> Any:
    known = {"relu": activations.relu, "gelu": activations.gelu}
    if isinstance(given, str):
        if given not in known:
            raise ValueError(
                f"{owner}: activation must be 'relu', 'gelu', a Cell or a function. Received: {given!r}"
            )
        return known[given]
    if not callable(given):
        raise TypeError(f"{owner}: activation must be a name, a Cell or a function. Received: {given!r}")
    return given


class _TransformerLayer(Cell):
    """Args:
    d_model: extent of the inputs.
    nhead: heads of the attention.
    dim_feedforward: extent of the inner dense layer.
    dropout: share that is dropped while training.
    activation: ``"relu"``, ``"gelu"``, a Cell or a function.
    layer_norm_eps: eps of the layer norms.
    batch_first: tensors are ``[batch, length, d_model]`` instead of ``[length, batch, d_model]``.
    norm_first: whether norms come before attention and dense layers instead of after.
    dtype: of the parameters.
    """

    attentions = ("self_attn",)

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        for name in self.attentions:
            setattr(
                self, name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
            )
        self.dense1 = Dense(d_model, dim_feedforward, dtype=dtype)
        self.dropout = Dropout(p=dropout)
        self.dense2 = Dense(dim_feedforward, d_model, dtype=dtype)
        self.norm_first = bool(norm_first)
        parts = range(1, len(self.attentions) + 2)
        for i in parts:
            setattr(self, f"norm{i}", LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype))
        for i in parts:
            setattr(self, f"dropout{i}", Dropout(p=dropout))
        self.activation = _activation(self.cls_name, activation)

    def _added(self, x: Tensor, i: int, compute: Any) -> Tensor:
        """x plus what part i makes of it, with its norm before or after."""
        norm, drop = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        return x + drop(compute(norm(x))) if self.norm_first else norm(x + drop(compute(x)))

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.dense2(self.dropout(self.activation(self.dense1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and two dense layers, each with a shortcut around it and a layer norm.
    ``construct(src, src_mask=None, src_key_padding_mask=None)``."""

    def construct(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask)[0]

        return self._added(self._added(src, 1, attend), 2, self._feed_forward)


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to the encoder's memory, and two dense layers, each with a shortcut around
    it and
    a layer norm. ``construct(tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
    memory_key_padding_mask=None)``."""

    attentions = ("self_attn", "multihead_attn")

    def construct(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask)[0]

        def remember(x: Tensor) -> Tensor:
            return self.multihead_attn(x, memory, memory, memory_key_padding_mask, False, memory_mask)[0]

        return self._added(self._added(self._added(tgt, 1, attend), 2, remember), 3, self._feed_forward)


class _Stack(Cell):
    """Args:
    a layer, which is copied.
    num_layers: how often.
    norm: a layer norm at the end, or None.
    """

    def __init__(self, layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        positive_int(self.cls_name, num_layers=num_layers)
        self.layers = CellList([copy.deepcopy(layer) for _ in range(num_layers)])
        self.num_layers, self.norm = num_layers, norm


class TransformerEncoder(_Stack):
    """Encoder layers on top of each other; arguments of ``construct`` as of `TransformerEncoderLayer`."""

    def construct(
        self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None
    ) -> Tensor:
        for layer in self.layers:
            src = layer(src, src_mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """Decoder layers on top of each other; arguments of ``construct`` as of `TransformerDecoderLayer`."""

    def construct(self, tgt: Tensor, memory: Tensor, *masks: Tensor | None, **named: Tensor | None) -> Tensor:
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **named)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Cell):
    """An encoder and a decoder that attends to its memory.

    ``construct(src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None,
    tgt_key_padding_mask=None, memory_key_padding_mask=None)``.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
            dtype: of
            the layers.
        num_encoder_layers, num_decoder_layers: how many of them.
        custom_encoder, custom_decoder: cells in their place.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = "relu",
        custom_encoder: Cell | None = None,
        custom_decoder: Cell | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        options = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)

        def stack(kind: Any, layer: Any, count: int) -> Cell:
            norm = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
            return kind(layer(*options, batch_first, norm_first, dtype), count, norm)

        self.encoder = custom_encoder or stack(
            TransformerEncoder, TransformerEncoderLayer, num_encoder_layers
        )
        self.decoder = custom_decoder or stack(
            TransformerDecoder, TransformerDecoderLayer, num_decoder_layers
        )
        for parameter in self.get_parameters():
            if parameter.ndim > 1:
                parameter.set_data(initializer(XavierUniform(), parameter.shape, parameter.dtype))
        self.d_model, self.nhead, self.batch_first = d_model, nhead, bool(batch_first)

    def construct(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise ValueError(
                f"Transformer: src and tgt must end in d_model={self.d_model}. Received: {src.shape} and "
                f"{tgt.shape}"
            )
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
