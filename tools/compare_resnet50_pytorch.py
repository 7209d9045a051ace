"""Holds ResNet-50 on Mycelia against PyTorch's, with the same weights and images.

    python tools/compare_resnet50_pytorch.py --torch PATH/TO/PYTHON [--mode GRAPH|PYNATIVE]

PyTorch runs in an environment of its own (``--torch`` is its interpreter) and leaves its results in a file.
Compared are - the output of a forward pass at batch 2, 224x224, float32, running statistics not trivial:
within 1e-4 of its largest
  element;
- in float64, batch 4, 64x64, Momentum with rate 0.01 and momentum 0.9: the losses of five training steps
within 1e-6,
  and the first step's gradients within 1e-5 in norm.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "benchmarks" / "programs"))

STEPS, RATE, MOMENTUM = 5, 0.01, 0.9
LIMITS = {"forward": 1e-4, "losses": 1e-6, "gradients": 1e-5}


def images(batch: int, size: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal((batch, 3, size, size), dtype=np.float32)


def labels(batch: int) -> np.ndarray:
    return np.random.default_rng(4).integers(0, 10, batch).astype(np.int32)


def with_torch(path: str) -> None:
    """Runs in PyTorch's environment and writes what it computes."""
    import networks_torch as networks
    import torch
    import torch.nn.functional as F

    net = networks.with_weights(networks.ResNet50(10)).eval()
    with torch.no_grad():
        results = {"forward": net(torch.from_numpy(images(2, 224))).numpy()}
    net = networks.with_weights(networks.ResNet50(10)).double().train()
    optimizer = torch.optim.SGD(net.parameters(), RATE, momentum=MOMENTUM)
    x, y, losses = torch.from_numpy(images(4, 64)).double(), torch.from_numpy(labels(4)).long(), []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            results |= {f"grad {name}": p.grad.numpy().copy() for name, p in net.named_parameters()}
        optimizer.step()
    np.savez(path, losses=np.array(losses), **results)


def in_float64(net) -> None:
    """Replaces a network's parameters by float64 ones of the same values."""
    from mycelia import Parameter

    for _, cell in net.cells_and_names():
        for name, p in list(cell._params.items()):
            values = p.asnumpy().astype(np.float64)
            cell._params[name] = Parameter(values, name=p.name, requires_grad=p.requires_grad)


def with_mycelia(mode: str) -> dict[str, np.ndarray]:
    """The same results by the same names."""
    from mycelia import compat

    compat.install()
    import mindspore as ms
    import networks_mindspore as networks
    from mindspore import Tensor, nn

    ms.set_context(mode=ms.GRAPH_MODE if mode == "GRAPH" else ms.PYNATIVE_MODE)
    net = networks.with_weights(networks.ResNet50(10))
    net.set_train(False)
    results = {"forward": net(Tensor(images(2, 224))).asnumpy().copy()}
    net = networks.with_weights(networks.ResNet50(10))
    in_float64(net)
    loss = networks.WithLoss(net)
    loss.set_train()
    optimizer = nn.Momentum(net.trainable_params(), RATE, MOMENTUM)
    gradient = ms.value_and_grad(loss, None, optimizer.parameters)
    x, y, losses = Tensor(images(4, 64).astype(np.float64)), Tensor(labels(4)), []
    paths = {id(p): path for path, p in net.parameters_and_names()}
    for step in range(STEPS):
        value, gradients = gradient(y, x)
        losses.append(float(value.asnumpy()))
        if step == 0:
            pairs = zip(optimizer.parameters, gradients)
            results |= {f"grad {_torch_name(paths[id(p)])}": g.asnumpy().copy() for p, g in pairs}
        optimizer(gradients)
    return results | {"losses": np.array(losses)}


def _torch_name(path: str) -> str:
    return path.replace(".gamma", ".weight").replace(".beta", ".bias")


def compare(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> bool:
    """Prints each difference beside its limit."""
    names = [name for name in theirs if name.startswith("grad ")]
    difference = np.sqrt(sum(np.sum((ours[n] - theirs[n]) ** 2) for n in names))
    norm = np.sqrt(sum(np.sum(theirs[n] ** 2) for n in names))
    worst = max(names, key=lambda n: np.linalg.norm(ours[n] - theirs[n]) / np.linalg.norm(theirs[n]))
    share = np.linalg.norm(ours[worst] - theirs[worst]) / np.linalg.norm(theirs[worst])
    found = {
        "forward": np.abs(ours["forward"] - theirs["forward"]).max() / np.abs(theirs["forward"]).max(),
        "losses": np.abs(ours["losses"] - theirs["losses"]).max(),
        "gradients": max(difference / norm, share),
    }
    for name, value in found.items():
        print(f"{name:10} {value:.2g}  {'within' if value <= LIMITS[name] else 'BEYOND'} {LIMITS[name]:g}")
    print(f"losses: {', '.join(f'{a:.9f} / {b:.9f}' for a, b in zip(ours['losses'], theirs['losses']))}")
    print(f"worst gradient: {worst.removeprefix('grad ')}, {share:.2g} of its norm, of {len(names)}")
    return all(value <= LIMITS[name] for name, value in found.items())


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", help="the interpreter of an environment with PyTorch and NumPy")
    parser.add_argument("--mode", choices=["GRAPH", "PYNATIVE"], default="GRAPH")
    parser.add_argument(
        "--write", help=argparse.SUPPRESS
    )  # how this program calls itself in PyTorch's environment
    asked = parser.parse_args()
    if asked.write:
        with_torch(asked.write)
        return 0
    if not asked.torch:
        parser.error("--torch must name the interpreter of an environment with PyTorch")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "torch.npz")
        subprocess.run([asked.torch, __file__, "--write", path], check=True)
        with np.load(path) as file:
            theirs = dict(file)
    return 0 if compare(with_mycelia(asked.mode), theirs) else 1


if __name__ == "__main__":
    sys.exit(main())
