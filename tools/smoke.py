"""A quick look whether an installed Mycelia works on this Python: both modes, gradients, a few training
steps."""
import platform
import subprocess
import sys

import numpy as np

import mycelia as ms
from mycelia import Tensor, nn, ops


def main() -> None:
    rng = np.random.default_rng(0)
    images = Tensor(rng.standard_normal((16, 1, 12, 12), dtype=np.float32))
    labels = Tensor((np.arange(16) % 4).astype(np.int32))
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(144, 4))
    loss_fn = nn.CrossEntropyLoss()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    gradient = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)

    def step(x: Tensor, y: Tensor) -> Tensor:
        loss, grads = gradient(x, y)
        optimizer(grads)
        return loss

    compiled = ms.jit(step)
    losses = [float(step(images, labels).asnumpy()) for _ in range(5)]
    losses += [float(compiled(images, labels).asnumpy()) for _ in range(20)]
    assert losses[-1] < 0.5 * losses[0], losses
    x = Tensor([0.5, -1.0])
    gradient_of_tanh = ms.grad(lambda v: ops.tanh(v).sum())(x).asnumpy()
    assert np.allclose(gradient_of_tanh, 1 - np.tanh(x.asnumpy()) ** 2, atol=1e-6)
    listing = "import mycelia, sys; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", listing], text=True)
    assert "llvmlite" not in loaded.split(), "import mycelia must not load LLVM"
    print(f"Python {platform.python_version()}: loss {losses[0]:.3f} -> {losses[-1]:.3f}")


if __name__ == "__main__":
    main()
