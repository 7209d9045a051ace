"""A training step gives the same bits with one thread and with two, and from run to run."""
import os
import subprocess
import sys

import pytest

PROGRAM = """
import hashlib, sys
import numpy as np
import mycelia as ms
from mycelia import Tensor, nn, ops

class Block(nn.Cell):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3)
        self.norm2 = nn.BatchNorm2d(channels)

    def construct(self, x):
        return ops.relu(x + self.norm2(self.conv2(ops.relu(self.norm1(self.conv1(x))))))

def lenet():
    return nn.SequentialCell(
        nn.Conv2d(1, 6, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Conv2d(6, 16, 5, pad_mode="valid"), nn.ReLU(), nn.MaxPool2d(2, 2),
        nn.Flatten(), nn.Dense(256, 120), nn.ReLU(), nn.Dropout(p=0.3), nn.Dense(120, 10))

def resnet():
    return nn.SequentialCell(
        nn.Conv2d(1, 32, 3, stride=2), nn.BatchNorm2d(32), nn.ReLU(), Block(32), Block(32),
        nn.AvgPool2d(14, 14), nn.Flatten(), nn.Dense(32, 10))

network, mode = {"lenet": lenet, "resnet": resnet}[sys.argv[1]], sys.argv[2]
ms.set_seed(3)
net = network().set_train()
loss_fn, optimizer = nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.05, 0.9)
gradient = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimizer.parameters)

def step(x, y):
    loss, grads = gradient(x, y)
    optimizer(grads)
    return loss

step = ms.jit(step) if mode == "jit" else step
rng = np.random.default_rng(5)
digest = hashlib.sha256()
for _ in range(4):
    x = Tensor(rng.normal(size=(32, 1, 28, 28)).astype(np.float32))
    digest.update(step(x, Tensor(rng.integers(0, 10, 32).astype(np.int32))).asnumpy().tobytes())
for p in net.get_parameters():
    digest.update(p.asnumpy().tobytes())
print(digest.hexdigest())
"""


def digest(network, mode, threads):
    environment = {**os.environ, "MYCELIA_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, network, mode],
        env=environment, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("mode", ["jit", "pynative"])
@pytest.mark.parametrize("network", ["lenet", "resnet"])
def test_training_steps(network, mode):
    first = digest(network, mode, 1)
    assert digest(network, mode, 1) == first
    assert digest(network, mode, 2) == first
