"""Holds ResNet-50 on Mycelia against PyTorch's, with the same weights and images.

    python tools/compare_resnet50_pytorch.py --torch-python PATH/TO/PYTHON [--mode GRAPH|PYNATIVE]

PyTorch runs in an environment of its own and leaves its results in a file. Compared are, in both modes,

- the output of a forward pass at batch 2, 224x224, float32, running statistics not trivial: within 1e-4 of
  its largest element;
- in float64, batch 4, 64x64, Momentum with rate 0.01 and momentum 0.9: the losses of the first five training
  steps within 1e-6, and the first step's gradients within 1e-5 in norm, all together and each parameter's.

The exit status is 0 only if all of it holds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks" / "programs"))

from arrays import integers, normal  # noqa: E402  (found through the line before)

CLASSES, STEPS, RATE, MOMENTUM = 10, 5, 0.01, 0.9
LIMITS = {"forward": 1e-4, "losses": 1e-6, "gradients": 1e-5}
Results = dict[str, np.ndarray]  # "forward", "losses", and "gradient PATH" by PyTorch's paths


def forward_images() -> np.ndarray:
    return normal(2, 3, 224, 224, seed=3)


def training_images() -> np.ndarray:
    return normal(4, 3, 64, 64, seed=4).astype(np.float64)


def with_torch() -> Results:
    """What PyTorch computes; runs in its environment."""
    import networks_torch as networks
    import torch
    import torch.nn.functional as F

    net = networks.with_weights(networks.ResNet50(CLASSES)).eval()
    with torch.no_grad():
        results = {"forward": net(torch.from_numpy(forward_images())).numpy()}
    net = networks.with_weights(networks.ResNet50(CLASSES)).double().train()
    optimizer = torch.optim.SGD(net.parameters(), RATE, momentum=MOMENTUM)
    images, labels = torch.from_numpy(training_images()), torch.from_numpy(integers(CLASSES, 4)).long()
    losses = []
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        losses.append(loss.item())
        if step == 0:
            results |= {f"gradient {path}": p.grad.numpy().copy() for path, p in net.named_parameters()}
        optimizer.step()
    return results | {"losses": np.array(losses)}


def with_mycelia(mode: str) -> Results:
    """The same results by the same names."""
    from mycelia import compat

    compat.install()
    import mindspore as ms
    import networks_mindspore as networks
    from mindspore import Tensor, nn

    ms.set_context(mode=ms.GRAPH_MODE if mode == "GRAPH" else ms.PYNATIVE_MODE)
    net = networks.with_weights(networks.ResNet50(CLASSES))
    net.set_train(False)
    results = {"forward": net(Tensor(forward_images())).asnumpy().copy()}

    net = networks.with_weights(networks.ResNet50(CLASSES))
    in_float64(net)
    loss = networks.WithLoss(net)
    loss.set_train()
    optimizer = nn.Momentum(net.trainable_params(), RATE, MOMENTUM)
    gradient = ms.value_and_grad(loss, None, optimizer.parameters)
    images, labels = Tensor(training_images()), Tensor(integers(CLASSES, 4))
    paths = {id(p): path for path, p in net.parameters_and_names()}
    losses = []
    for step in range(STEPS):
        value, gradients = gradient(labels, images)
        losses.append(float(value.asnumpy()))
        if step == 0:
            for p, g in zip(optimizer.parameters, gradients):
                results[f"gradient {torch_path(paths[id(p)])}"] = g.asnumpy().copy()
        optimizer(gradients)
    return results | {"losses": np.array(losses)}


def in_float64(net) -> None:
    """Puts float64 parameters of the same values in the place of a network's own."""
    from mindspore import Parameter

    for _, cell in net.cells_and_names():
        for attribute, p in list(cell.parameters_and_names(expand=False)):
            values = p.asnumpy().astype(np.float64)
            setattr(cell, attribute, Parameter(values, name=p.name, requires_grad=p.requires_grad))


def torch_path(path: str) -> str:
    return path.replace(".gamma", ".weight").replace(".beta", ".bias")


def compare(ours: Results, theirs: Results) -> bool:
    """Prints each difference beside its limit; whether all are within."""
    paths = [name for name in theirs if name.startswith("gradient ")]
    if missing := set(theirs) ^ set(ours):
        raise ValueError(f"one side has results that the other lacks: {', '.join(sorted(missing))}")
    shares = {p: np.linalg.norm(ours[p] - theirs[p]) / np.linalg.norm(theirs[p]) for p in paths}
    apart = np.sqrt(sum(np.sum((ours[p] - theirs[p]) ** 2) for p in paths))
    whole = np.sqrt(sum(np.sum(theirs[p] ** 2) for p in paths))
    worst = max(paths, key=shares.__getitem__)
    found = {
        "forward": np.abs(ours["forward"] - theirs["forward"]).max() / np.abs(theirs["forward"]).max(),
        "losses": np.abs(ours["losses"] - theirs["losses"]).max(),
        "gradients": max(apart / whole, shares[worst]),
    }
    for name, value in found.items():
        print(f"{name:10} {value:.2g}  {'within' if value <= LIMITS[name] else 'BEYOND'} {LIMITS[name]:g}")
    pairs = zip(ours["losses"], theirs["losses"])
    print("losses:    " + ", ".join(f"{own:.9f} (PyTorch {other:.9f})" for own, other in pairs))
    print(
        f"gradients: {len(paths)}, together {apart / whole:.2g} of their norm apart, the worst is "
        f"{worst.removeprefix('gradient ')} with {shares[worst]:.2g} of its own"
    )
    return all(value <= LIMITS[name] for name, value in found.items())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--torch-python", metavar="PATH", help="interpreter of an environment with PyTorch and NumPy"
    )
    parser.add_argument("--mode", choices=["GRAPH", "PYNATIVE"], action="append", help="default: both")
    parser.add_argument("--write", help=argparse.SUPPRESS)  # how this program calls itself with PyTorch
    asked = parser.parse_args()
    if not asked.write and not asked.torch_python:
        parser.error("--torch-python must name the interpreter of an environment with PyTorch")
    return asked


def main() -> int:
    asked = arguments()
    if asked.write:
        np.savez(asked.write, **with_torch())  # pyright: ignore[reportArgumentType]
        return 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BENCH_ARRAYS"] = folder  # weights and images, drawn by one process and read by both
        path = os.path.join(folder, "torch.npz")
        subprocess.run([asked.torch_python, __file__, "--write", path], check=True)
        with np.load(path) as file:
            theirs = dict(file)
        within = []
        for mode in asked.mode or ["GRAPH", "PYNATIVE"]:
            print(f"-- {mode}")
            within.append(compare(with_mycelia(mode), theirs))
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
