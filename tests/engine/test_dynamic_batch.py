"""Networks whose batch size changes: the second size makes it a symbol; one graph serves all later ones."""
import copy

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn

SIZES = (4, 5, 7, 9, 4)


def images(count):
    return Tensor(np.random.default_rng(count).normal(size=(count, 1, 8, 8)).astype(np.float32))


def network():
    return nn.SequentialCell(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(64, 3)
    )  # fmt: skip


def graphs(function):
    return [s for key, family in function.specialisations.items() if key[0] == "family" for s in family]


LAYERS = {
    "Conv2d": lambda: nn.Conv2d(1, 4, 3),
    "BatchNorm2d": lambda: nn.BatchNorm2d(1),
    "MaxPool2d": lambda: nn.MaxPool2d(2, 2),
    "AvgPool2d": lambda: nn.AvgPool2d(2, 2),
    "Dense": lambda: nn.SequentialCell(nn.Flatten(), nn.Dense(64, 3)),
    "LayerNorm": lambda: nn.LayerNorm((8,)),
    "GELU": nn.GELU,
    "Softmax": nn.Softmax,
    "whole": network,
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_one_graph_for_all_later_sizes(name, training):
    compiled = LAYERS[name]().set_train(training)
    eager = copy.deepcopy(compiled)
    function = ms.jit(lambda x: compiled(x))
    for count in SIZES:
        got, expected = function(images(count)).asnumpy(), eager(images(count)).asnumpy()
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=1e-5)
    for a, b in zip(compiled.get_parameters(), eager.get_parameters()):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6, err_msg=a.name)
    assert [s.symbolic for s in graphs(function)] == [False, True]


def test_training_steps_of_changing_sizes():
    def trained(compiled):
        ms.set_seed(1)
        net = network().set_train()
        loss_fn, optimizer = nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.1, 0.9)
        gradient = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)

        def step(x, y):
            loss, grads = gradient(x, y)
            optimizer(grads)
            return loss

        run = ms.jit(step) if compiled else step
        losses = [run(images(n), Tensor(np.arange(n, dtype=np.int32) % 3)).item() for n in SIZES]
        return losses, run

    expected, _ = trained(compiled=False)
    losses, run = trained(compiled=True)
    np.testing.assert_allclose(losses, expected, rtol=1e-4)
    assert [s.symbolic for s in graphs(run)] == [False, True]
