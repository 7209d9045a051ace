"""Cells around a network: with its loss, for evaluation, and for a whole training step."""

from __future__ import annotations

from typing import Any

from mycelia.common.parallel_context import ParallelMode
from mycelia.engine.grad import value_and_grad
from mycelia.engine.grad_operation import GradOperation
from mycelia.ir.dtypes import float32
from mycelia.nn.cell import Cell
from mycelia.ops.inplace import write
from mycelia.ops.mapping import HyperMap
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


def _unchanged(gradients: Any) -> Any:
    """The mean of gradients over one device."""
    return gradients


class WithLossCell(Cell):
    """A network followed by its loss: ``construct(data, label)`` gives ``loss_fn(backbone(data), label)``."""

    def __init__(self, backbone: Cell, loss_fn: Any) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self._loss_fn = loss_fn

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Cell:
        return self._backbone


class WithEvalCell(Cell):
    """A network for evaluation: ``construct(data, label)`` gives ``(loss, outputs, label)``.

    Args:
        add_cast_fp32: whether outputs are cast to float32 before the loss.
    """

    def __init__(self, network: Cell, loss_fn: Any, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self._network = network
        self._loss_fn = loss_fn
        self.add_cast_fp32 = bool(add_cast_fp32)

    def construct(self, data: Any, label: Any) -> tuple[Any, Any, Any]:
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs, label = outputs.astype(float32), label.astype(float32) if label.dtype.is_float else label
        return self._loss_fn(outputs, label), outputs, label


class TrainOneStepCell(Cell):
    """A whole training step: forward, gradients by the optimizer's parameters, update. Returns the loss.

    Args:
        network: takes the inputs and returns the loss.
        optimizer: updates its parameters when called with their gradients.
        sens: factor on the gradients.
        return_grad: whether to return ``(loss, {parameter name: gradient})``.

    Example:
        >>> step = TrainOneStepCell(WithLossCell(net, CrossEntropyLoss()), Momentum(net.trainable_params(),
        0.1, 0.9)).set_train()
        >>> loss = step(images, labels)
    """

    def __init__(
        self, network: Cell, optimizer: Cell, sens: float | None = None, return_grad: bool = False
    ) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(return_grad, bool):
            raise TypeError(
                f"TrainOneStepCell: return_grad must be a bool. Received: return_grad={return_grad!r} (of "
                "type "
                f"{type(return_grad).__name__})"
            )
        if sens is not None and (isinstance(sens, bool) or not isinstance(sens, (int, float)) or sens <= 0):
            raise ValueError(
                f"TrainOneStepCell: sens must be a positive number or None. Received: sens={sens!r}"
            )
        self.network = network
        self.network.set_grad()
        self.optimizer = optimizer
        if not hasattr(optimizer, "parameters"):
            raise TypeError(
                "TrainOneStepCell: optimizer must be an optimizer such as nn.Adam(net.trainable_params(), "
                f"learning_rate=0.001). Received: optimizer={optimizer!r:.60} (of type "
                f"{type(optimizer).__name__})"
            )
        self.weights = optimizer.parameters
        self.sens = 1.0 if sens is None else float(sens)
        self.return_grad = return_grad
        # What steps of one's own, derived from this one, use in their construct.
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = GradOperation(get_by_list=True)
        self.hyper_map = HyperMap()
        self.grad_reducer = _unchanged
        self.reducer_flag, self.parallel_mode = False, ParallelMode.STAND_ALONE
        self.mean, self.degree = False, 1

    def construct(self, *inputs: Any) -> Any:
        loss, gradients = value_and_grad(self.network, None, self.weights)(*inputs)
        if self.sens != 1.0:
            gradients = tuple(g * self.sens for g in gradients)
        self.optimizer(gradients)
        if self.return_grad:
            return loss, {p.name: g for p, g in zip(self.weights, gradients)}
        return loss


class WithGradCell(Cell):
    """The gradients of a network by its trainable parameters: ``construct(data, label)``."""

    def __init__(self, network: Cell, loss_fn: Any = None, sens: float | None = None) -> None:
        super().__init__(auto_prefix=False)
        self.network = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.network.set_grad()
        self.sens = 1.0 if sens is None else float(sens)

    def construct(self, *inputs: Any) -> tuple[Tensor, ...]:
        _, gradients = value_and_grad(self.network, None, self.network.trainable_params())(*inputs)
        return gradients if self.sens == 1.0 else tuple(g * self.sens for g in gradients)


class ForwardValueAndGrad(Cell):
    """A network's value with its gradients: ``construct(*inputs)`` gives ``(value, gradients)``.

    Args:
        network: a Cell or function; its first result is differentiated.
        weights: parameters to differentiate by, with ``get_by_list``.
        get_all: gradients by all inputs instead of the first.
        get_by_list: gradients by ``weights``; with ``get_all`` by both.
        sens_param: whether the last input is a factor on the gradients.
    """

    def __init__(
        self,
        network: Any,
        weights: Any = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        for name, value in (("get_all", get_all), ("get_by_list", get_by_list), ("sens_param", sens_param)):
            if not isinstance(value, bool):
                raise TypeError(f"{self.cls_name}: {name} must be a bool. Received: {name}={value!r}")
        if get_by_list and weights is None:
            raise ValueError(f"{self.cls_name}: get_by_list=True needs weights. Received: weights=None")
        self.network, self.weights = network, weights
        self.get_all, self.get_by_list, self.sens_param = get_all, get_by_list, sens_param
        if isinstance(network, Cell):
            network.set_grad()

    def construct(self, *inputs: Any) -> tuple[Any, Any]:
        sens = None
        if self.sens_param:
            inputs, sens = inputs[:-1], inputs[-1]
        positions = tuple(range(len(inputs))) if self.get_all else None if self.get_by_list else 0

        def weighted(*arguments: Any) -> Any:
            value = self.network(*arguments)
            return (value, value) if sens is None else (value * sens, value)

        weights = self.weights if self.get_by_list else None
        (_, value), gradients = value_and_grad(weighted, positions, weights, has_aux=True)(*inputs)
        return value, gradients


class MicroBatchInterleaved(Cell):
    """Runs a network over ``interleave_num`` equal pieces of its inputs and adds up the results."""

    def __init__(self, network: Cell, interleave_num: int = 2) -> None:
        super().__init__(auto_prefix=False)
        from mycelia.nn.wrap.grad_accumulation import GradAccumulationCell

        self.network = network
        self.pieces = GradAccumulationCell(network, interleave_num)

    def construct(self, *inputs: Any) -> Any:
        return self.pieces(*inputs)


class ParameterUpdate(Cell):
    """``construct(x)`` gives a parameter the elements of ``x`` and returns it."""

    def __init__(self, param: Parameter) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise TypeError(
                f"{self.cls_name}: param must be a Parameter. Received: {param!r:.80} (of type "
                f"{type(param).__name__})"
            )
        self._param = param

    def construct(self, x: Tensor) -> Tensor:
        write(self._param, x)
        return self._param
