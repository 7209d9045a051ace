"""Jacobian products of networks as cells."""

from __future__ import annotations

from typing import Any

from mycelia.nn.cell import Cell


class _JacobianProduct(Cell):
    """Args:
    fn: a Cell or function.

    ``construct(*inputs, v)`` gives ``(outputs, product)``.
    """

    def __init__(self, fn: Any) -> None:
        super().__init__(auto_prefix=False)
        if not callable(fn):
            raise TypeError(f"{self.cls_name}: fn must be a Cell or a function. Received: {fn!r}")
        self.fn = fn

    def split(self, arguments: tuple) -> tuple[tuple, Any]:
        """The inputs and v."""
        if len(arguments) < 2:
            raise TypeError(
                f"{self.cls_name}: must be called with inputs and v. Received: {len(arguments)} arguments"
            )
        return arguments[:-1], arguments[-1]


class Jvp(_JacobianProduct):
    """The Jacobian times v, a vector for each input; see `mycelia.jvp`."""

    def construct(self, *arguments: Any) -> tuple[Any, Any]:
        from mycelia import jvp

        inputs, v = self.split(arguments)
        return jvp(self.fn, inputs if len(inputs) > 1 else inputs[0], v)


class Vjp(_JacobianProduct):
    """v, a vector for each output, times the Jacobian; see `mycelia.vjp`."""

    def construct(self, *arguments: Any) -> tuple[Any, Any]:
        from mycelia import vjp

        inputs, v = self.split(arguments)
        outputs, pull = vjp(self.fn, *inputs)
        products = pull(*v) if isinstance(v, tuple) else pull(v)
        return outputs, products[0] if len(inputs) == 1 else products
