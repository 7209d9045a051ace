"""Recurrent layers: several layers and both directions over whole sequences.

The input's share of all gates of all steps is one product; then the steps follow one another. A compiled
graph
holds them unrolled, each as one product and one fused kernel.
"""

from __future__ import annotations

import math
from typing import Any

from mycelia.common.initializer import Uniform, initializer
from mycelia.ir.dtypes import DType, float32, int32
from mycelia.nn.arguments import positive_int
from mycelia.nn.cell import Cell
from mycelia.nn.layer.rnn_cells import (
    gru_step,
    lstm_step,
    pieces,
    relu_step,
    require_states,
    tanh_step,
)
from mycelia.ops.comparison import Greater
from mycelia.ops.constants import like
from mycelia.ops.creation import Iota
from mycelia.ops.function.creating import zeros
from mycelia.ops.function.drawing import dropout
from mycelia.ops.function.linear import dense
from mycelia.ops.function.shaping import cat, stack
from mycelia.ops.indexing import Gather
from mycelia.ops.movement import Reshape, Transpose
from mycelia.ops.selection import Select
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor

_STEPS = {
    "RNN_TANH": (tanh_step, 1),
    "RNN_RELU": (relu_step, 1),
    "GRU": (gru_step, 3),
    "LSTM": (lstm_step, 4),
}


class _Recurrent(Cell):
    """Args:
    input_size, hidden_size: extents of the input and of the state.
    num_layers: layers on top of each other.
    has_bias: whether there are biases.
    batch_first: sequences are ``[batch, steps, input_size]`` instead of ``[steps, batch, input_size]``.
    dropout: share of elements that is dropped between layers while training, in [0, 1).
    bidirectional: a second set of layers goes from the end to the start.
    dtype: of the parameters.

    ``construct(x, hx=None, seq_length=None)`` gives ``(outputs, states)``: outputs ``[..., directions *
    hidden_size]`` for all steps, and the last states ``[num_layers * directions, batch, hidden_size]`` (for
    LSTM a tuple of h and c). ``hx`` are the first states, zeros if None. ``seq_length`` ``[batch]`` says
    how many
    steps of each sequence count: outputs after them are zero, states stay.

    Raises:
        ValueError: a number out of range, or inputs of other shapes.
        TypeError: arguments of other types, or inputs of other dtypes.
    """

    mode = "LSTM"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: DType = float32,
    ) -> None:
        super().__init__()
        positive_int(self.cls_name, input_size=input_size, hidden_size=hidden_size, num_layers=num_layers)
        for name, value in (
            ("has_bias", has_bias),
            ("batch_first", batch_first),
            ("bidirectional", bidirectional),
        ):
            if not isinstance(value, bool):
                raise TypeError(
                    f"{self.cls_name}: {name} must be a bool. Received: {name}={value!r} (of type "
                    f"{type(value).__name__})"
                )
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
            raise TypeError(f"{self.cls_name}: dropout must be a number. Received: dropout={dropout!r}")
        if not 0 <= dropout < 1:
            raise ValueError(f"{self.cls_name}: dropout must be in [0, 1). Received: dropout={dropout}")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.has_bias, self.batch_first, self.bidirectional = has_bias, batch_first, bidirectional
        self.dropout = float(dropout)
        self.directions = 2 if bidirectional else 1
        rows = _STEPS[self.mode][1] * hidden_size
        draw = Uniform(1 / math.sqrt(hidden_size))

        def parameters(kind: str, columns: Any) -> ParameterTuple:
            made = []
            for layer in range(num_layers):
                for suffix in ("", "_reverse")[: self.directions]:
                    shape = (rows,) if columns is None else (rows, columns(layer))
                    made.append(Parameter(initializer(draw, shape, dtype), name=f"{kind}_l{layer}{suffix}"))
            return ParameterTuple(made)

        width = hidden_size * self.directions
        self.w_ih_list = parameters("weight_ih", lambda layer: input_size if layer == 0 else width)
        self.w_hh_list = parameters("weight_hh", lambda layer: hidden_size)
        self.b_ih_list = parameters("bias_ih", None) if has_bias else ParameterTuple(())
        self.b_hh_list = parameters("bias_hh", None) if has_bias else ParameterTuple(())

    def construct(self, x: Tensor, hx: Any = None, seq_length: Tensor | None = None) -> tuple[Tensor, Any]:
        two = self.mode == "LSTM"
        first = self._first_states(x, hx)
        if self.batch_first:
            x = Transpose(x, perm=(1, 0, 2))
        if seq_length is not None:
            if not isinstance(seq_length, Tensor):
                raise TypeError(
                    f"{self.cls_name}: seq_length must be a Tensor of integers, one for each sequence. "
                    f"Received: {seq_length!r:.80} (of type {type(seq_length).__name__}). "
                    "Wrap it: Tensor(seq_length, mindspore.int32)"
                )
            if not seq_length.dtype.is_integer or seq_length.shape != x.shape[1:2]:
                raise (ValueError if seq_length.dtype.is_integer else TypeError)(
                    f"{self.cls_name}: seq_length must hold one integer for each of {x.shape[1]} sequences. "
                    f"Received: {seq_length.type}"
                )
            seq_length = seq_length.astype(int32)
        last: list[Any] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in range(self.directions):
                i = layer * self.directions + direction
                state = (first[0][i], first[1][i]) if two else first[0][i]
                y, state = self._recur(i, x, state, seq_length, backward=direction == 1)
                outputs.append(y)
                last.append(state)
            x = cat(outputs, 2) if self.bidirectional else outputs[0]
            if self.dropout and self.training and layer < self.num_layers - 1:
                x = dropout(x, self.dropout)
        if self.batch_first:
            x = Transpose(x, perm=(1, 0, 2))
        if two:
            return x, (stack([h for h, _ in last], 0), stack([c for _, c in last], 0))
        return x, stack(last, 0)

    def _first_states(self, x: Tensor, hx: Any) -> tuple[Tensor, ...]:
        name, count = self.cls_name, 2 if self.mode == "LSTM" else 1
        require_states(name, x=x)
        if x.ndim != 3 or x.shape[2] != self.input_size:
            order = "[batch, steps, " if self.batch_first else "[steps, batch, "
            raise ValueError(
                f"{name}: the input must be {order}{self.input_size}]. Received: a tensor of shape {x.shape}"
            )
        if x.shape[1 if self.batch_first else 0] == 0:
            raise ValueError(
                f"{name}: the input must have one step at least. Received: a tensor of shape {x.shape}"
            )
        batch = x.shape[0] if self.batch_first else x.shape[1]
        shape = (self.num_layers * self.directions, batch, self.hidden_size)
        if hx is None:
            return (zeros(shape, x.dtype),) * count
        if count == 2 and (not isinstance(hx, (tuple, list)) or len(hx) != 2):
            raise TypeError(f"{name}: hx must be (h, c). Received: {hx!r:.80} (of type {type(hx).__name__})")
        states = tuple(hx) if count == 2 else (hx,)
        require_states(name, x=x, **dict(zip(("hx", "c"), states)))
        for state in states:
            if state.shape != shape:
                raise ValueError(f"{name}: hx must have shape {shape}. Received: {state.shape}")
        return states

    def _recur(
        self, i: int, x: Tensor, state: Any, seq_length: Tensor | None, backward: bool
    ) -> tuple[Tensor, Any]:
        """One layer in one direction over ``[steps, batch, ...]``."""
        step, _ = _STEPS[self.mode]
        steps, batch = x.shape[:2]
        w_ih, w_hh = (w[i].astype(x.dtype) for w in (self.w_ih_list, self.w_hh_list))
        b_ih = b_hh = None
        if self.has_bias:
            b_ih, b_hh = (b[i].astype(x.dtype) for b in (self.b_ih_list, self.b_hh_list))
            if self.mode != "GRU":  # both biases come before the same function
                b_ih, b_hh = b_ih + b_hh, None
        if backward and seq_length is not None:
            x = _reversed(x, seq_length)
        # [steps * batch, gates], cut into one piece for each step
        given = pieces(dense(Reshape(x, shape=(steps * batch, x.shape[2])), w_ih, b_ih), 0, steps)
        outputs: list[Any] = [None] * steps
        order = range(steps) if not backward or seq_length is not None else range(steps - 1, -1, -1)
        for t in order:
            new = step(given[t], state, (w_hh, b_hh))
            if seq_length is None:
                state = new
                outputs[t] = new[0] if isinstance(new, tuple) else new
                continue
            runs = Reshape(Greater(seq_length, like(t, seq_length)), shape=(batch, 1))
            h = new[0] if isinstance(new, tuple) else new
            outputs[t] = Select(runs, h, h * 0.0)
            if isinstance(new, tuple):
                state = tuple(Select(runs, after, before) for after, before in zip(new, state))
            else:
                state = Select(runs, new, state)
        y = stack(outputs, 0)
        return (_reversed(y, seq_length) if backward and seq_length is not None else y), state


def _reversed(x: Tensor, seq_length: Tensor) -> Tensor:
    """The first ``seq_length`` steps of each sequence in reverse order, of ``[steps, batch, ...]``."""
    steps, batch = x.shape[:2]
    step = Reshape(Iota(size=steps, dtype=int32), shape=(steps, 1))
    length = Reshape(seq_length, shape=(1, batch))
    source = Select(Greater(length, step), length - 1 - step, step + length * 0)
    column = Reshape(Iota(size=batch, dtype=int32), shape=(1, batch))
    rows = Reshape(source * batch + column, shape=(steps * batch,))
    return Reshape(Gather(Reshape(x, shape=(steps * batch, x.shape[2])), rows, axis=0), shape=x.shape)


class RNN(_Recurrent):
    """Elman networks; ``nonlinearity`` (by keyword) is ``"tanh"`` or ``"relu"``."""

    def __init__(self, *args: Any, nonlinearity: str = "tanh", **kwargs: Any) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity must be 'tanh' or 'relu'. Received: {nonlinearity!r}")
        self.mode = "RNN_TANH" if nonlinearity == "tanh" else "RNN_RELU"
        super().__init__(*args, **kwargs)


class GRU(_Recurrent):
    """Gated recurrent units.

    Example:
        >>> outputs, last = GRU(10, 16, 2, batch_first=True)(Tensor(numpy.ones((3, 5, 10), "f")))
        >>> outputs.shape, last.shape
        ((3, 5, 16), (2, 3, 16))
    """

    mode = "GRU"


class LSTM(_Recurrent):
    """Long short-term memory.

    Example:
        >>> outputs, (h, c) = LSTM(10, 16, 2, batch_first=True)(Tensor(numpy.ones((3, 5, 10), "f")))
        >>> outputs.shape, h.shape
        ((3, 5, 16), (2, 3, 16))
    """

    mode = "LSTM"
