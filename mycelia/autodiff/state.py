"""What a tensor knows about its own gradient. Few tensors have such a state; the others' slot stays empty."""

from __future__ import annotations

from typing import Any

from mycelia.tensor.tensor import Tensor


class GradientState:
    """One tensor's.

    Attributes:
        requires_grad: whether the user asked for a gradient of this very tensor (a leaf).
        grad: what `Tensor.backward` has added up so far.
        hooks: functions that see, and may replace, the tensor's cotangent.
        source: how `mycelia.autodiff.recording` knows where the value comes from.
        retained: whether `backward` leaves a gradient here although the tensor is no leaf.
        unused: this tensor is the zero gradient of a parameter that the loss does not depend on.
    """

    __slots__ = ("requires_grad", "grad", "hooks", "source", "retained", "unused")

    def __init__(self) -> None:
        self.requires_grad = self.retained = self.unused = False
        self.grad: Tensor | None = None
        self.hooks: list[Any] = []
        self.source: Any = None


def known_state(tensor: Any) -> GradientState | None:
    """The tensor's state, None where it has none."""
    return getattr(tensor, "_gradient", None)


def state_of(tensor: Tensor) -> GradientState:
    """The tensor's state, made now if it has none."""
    state = known_state(tensor)
    if state is None:
        state = tensor._gradient = GradientState()
    return state


def mark_unused(gradient: Tensor) -> None:
    """Notes that a gradient is zero because the loss does not depend on its parameter."""
    state_of(gradient).unused = True


def is_unused(gradient: Any) -> bool:
    """Whether `mark_unused` was told of the gradient: an optimizer then leaves the parameter alone."""
    state = known_state(gradient)
    return state is not None and state.unused
