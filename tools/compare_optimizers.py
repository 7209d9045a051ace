"""Optimizers and learning rates side by side with MindSpore.

Run with real MindSpore to write what it gives, then with Mycelia to compare:

    python tools/compare_optimizers.py --module mindspore --save mindspore.npz
    python tools/compare_optimizers.py --module mycelia --against mindspore.npz
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

STEPS = 5


def cases(ms: Any) -> dict[str, Callable[[list], Any]]:
    """An optimizer over a list of parameters, by name."""
    nn, eo = ms.nn, importlib.import_module(f"{ms.__name__}.experimental.optim")
    schedule = nn.ExponentialDecayLR(0.1, 0.5, 2)

    def groups(p: list) -> list[dict]:
        return [{"params": p[:1], "lr": 0.02}, {"params": p[1:], "weight_decay": 0.1}]

    return {
        "AdaMax": lambda p: nn.AdaMax(p, 0.01),
        "AdaMax full": lambda p: nn.AdaMax(groups(p), 0.01, 0.8, 0.9, 1e-3, 0.05, 2.0),
        "Adagrad": lambda p: nn.Adagrad(p, 0.1, 0.01),
        "Adagrad fixed": lambda p: nn.Adagrad(p, 0.2, 0.01, False, 4.0, 0.1),
        "ProximalAdagrad": lambda p: nn.ProximalAdagrad(p, 0.1, 0.01, 0.02, 0.03),
        "ProximalAdagrad l2": lambda p: nn.ProximalAdagrad(p, 0.1, 0.01, 0.0, 0.3, weight_decay=0.1),
        "Adadelta": lambda p: nn.Adadelta(p),
        "Adadelta full": lambda p: nn.Adadelta(p, 0.5, 0.8, 1e-4, 2.0, 0.1),
        "FTRL": lambda p: nn.FTRL(p, learning_rate=0.1),
        "FTRL l1": lambda p: nn.FTRL(p, 0.2, 0.1, -0.4, 0.05, 0.1),
        "RMSProp": lambda p: nn.RMSProp(p, 0.01),
        "RMSProp momentum": lambda p: nn.RMSProp(p, schedule, 0.8, 0.7, 1e-4, weight_decay=0.1),
        "RMSProp centered": lambda p: nn.RMSProp(p, 0.01, 0.9, 0.5, 1e-4, centered=True),
        "Rprop": lambda p: nn.Rprop(p, 0.01),
        "ASGD": lambda p: nn.ASGD(p, 0.1, 0.01, 0.6, 2.0),
        "Lamb": lambda p: nn.Lamb(p, 0.01),
        "Lamb decay": lambda p: nn.Lamb(p, 0.01, 0.8, 0.9, 1e-3, 0.1),
        "LARS": lambda p: nn.LARS(nn.Momentum(p, 0.1, 0.9, 0.05), coefficient=0.02),
        "LARS clip": lambda p: nn.LARS(nn.SGD(p, 0.1, weight_decay=0.05), 1e-4, 0.1, True),
        "LazyAdam": lambda p: nn.LazyAdam(p, 0.01, use_nesterov=True),
        "AdamOffload": lambda p: nn.AdamOffload(p, 0.01, weight_decay=0.1),
        "AdaFactor": lambda p: nn.AdaFactor(p),
        "AdaFactor rate": lambda p: nn.AdaFactor(
            p, 0.02, beta1=None, relative_step=False, scale_parameter=False, weight_decay=0.1
        ),
        "AdaFactor warmup": lambda p: nn.AdaFactor(p, warmup_init=True),
        "x.SGD": lambda p: eo.SGD(p, 0.1, 0.9, 0.1, 0.05),
        "x.SGD nesterov": lambda p: eo.SGD(p, 0.1, 0.9, nesterov=True, maximize=True),
        "x.Adam": lambda p: eo.Adam(p, 0.01, weight_decay=0.1),
        "x.AdamW": lambda p: eo.AdamW(p, 0.01, amsgrad=True),
        "x.AdamW plain": lambda p: eo.AdamW(p, 0.01, (0.8, 0.9), 1e-4, 0.1, maximize=True),
        "x.Adagrad": lambda p: eo.Adagrad(p, 0.01, 0.1, 0.05, 0.1),
        "x.Adadelta": lambda p: eo.Adadelta(p, 0.5, weight_decay=0.1),
        "x.Adamax": lambda p: eo.Adamax(p, weight_decay=0.1),
        "x.NAdam": lambda p: eo.NAdam(p, weight_decay=0.1),
        "x.RAdam": lambda p: eo.RAdam(p, 0.01, (0.8, 0.9), weight_decay=0.1),
        "x.RMSprop": lambda p: eo.RMSprop(p, weight_decay=0.1),
        "x.RMSprop centered": lambda p: eo.RMSprop(p, momentum=0.9, centered=True, maximize=True),
        "x.Rprop": lambda p: eo.Rprop(p, 0.02),
        "x.ASGD": lambda p: eo.ASGD(p, 0.1, 0.01, 0.6, 2.0, 0.1),
        "x.groups": lambda p: eo.Adam(
            [{"params": p[:1], "lr": 0.1}, {"params": p[1:], "weight_decay": 0.2}], 0.01
        ),
    }


def schedulers(ms: Any) -> dict[str, Callable[[Any], Any]]:
    """A scheduler over an optimizer, by name."""
    s = importlib.import_module(f"{ms.__name__}.experimental.optim.lr_scheduler")
    return {
        "StepLR": lambda o: s.StepLR(o, 2),
        "LinearLR": lambda o: s.LinearLR(o, 0.25, 0.75, 4),
        "ExponentialLR": lambda o: s.ExponentialLR(o, 0.5),
        "PolynomialLR": lambda o: s.PolynomialLR(o, 4, 2.0),
        "MultiplicativeLR": lambda o: s.MultiplicativeLR(o, lambda epoch: 0.9),
        "ConstantLR": lambda o: s.ConstantLR(o, 0.5, 3),
        "MultiStepLR": lambda o: s.MultiStepLR(o, [2, 4, 4], 0.5),
        "LambdaLR": lambda o: s.LambdaLR(o, lambda epoch: 0.9**epoch),
        "SequentialLR": lambda o: s.SequentialLR(
            o, [s.ConstantLR(o, 0.1, 2), s.ExponentialLR(o, 0.9)], milestones=[3]
        ),
        "CyclicLR": lambda o: s.CyclicLR(o, 0.1, 1.0, 3),
        "CyclicLR triangular2": lambda o: s.CyclicLR(o, 0.1, 1.0, 2, 1, "triangular2"),
        "CyclicLR exp_range": lambda o: s.CyclicLR(o, 0.1, 1.0, 2, 3, "exp_range", 0.9),
        "CosineAnnealingWarmRestarts": lambda o: s.CosineAnnealingWarmRestarts(o, 2, 2, 0.01),
        "CosineAnnealingLR": lambda o: s.CosineAnnealingLR(o, 3, 0.01),
    }


def parameters(ms: Any) -> list:
    shapes = {"w": (4,), "gamma": (2, 3), "conv.weight": (3, 2, 2)}
    return [
        ms.Parameter(ms.Tensor(np.linspace(-1, 1.5, int(np.prod(s))).astype(np.float32).reshape(s)), name=n)
        for n, s in shapes.items()
    ]


def gradients(ms: Any, p: list, step: int) -> tuple:
    grid = [np.linspace(-0.5, 0.8, int(np.prod(x.shape))).reshape(x.shape) for x in p]
    return tuple(ms.Tensor((g * np.cos(step * 1.3) + 0.1 * step * g**2).astype(np.float32)) for g in grid)


def run(ms: Any) -> dict[str, np.ndarray]:
    ms.set_context(mode=ms.PYNATIVE_MODE)
    results: dict[str, np.ndarray] = {}
    for name, make in cases(ms).items():
        p = parameters(ms)
        try:
            optimizer = make(p)
            for step in range(STEPS):
                optimizer(gradients(ms, p, step))
        except Exception as error:  # noqa: BLE001  (the table shows it)
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0][:150]}", file=sys.stderr)
            continue
        for x in p:
            results[f"{name}/{x.name}"] = x.asnumpy().copy()
    eo = importlib.import_module(f"{ms.__name__}.experimental.optim")
    for name, make in schedulers(ms).items():
        optimizer = eo.SGD(parameters(ms), 0.5)
        scheduler = make(optimizer)
        rates = []
        for _ in range(8):
            rates.append(float(optimizer.param_groups[0]["lr"].asnumpy()))
            scheduler.step()
        results[f"{name}/rates"] = np.array(rates)
    optimizer = eo.SGD(parameters(ms), 0.5)
    plateau = importlib.import_module(f"{ms.__name__}.experimental.optim.lr_scheduler").ReduceLROnPlateau(
        optimizer, patience=1, cooldown=1
    )
    rates = []
    for loss in (1.0, 0.9, 0.9, 0.9, 0.95, 0.9, 0.9, 0.8, 0.8, 0.8, 0.8):
        plateau.step(ms.Tensor(loss, ms.float32))
        rates.append(float(optimizer.param_groups[0]["lr"].asnumpy()))
    results["ReduceLROnPlateau/rates"] = np.array(rates)
    return results


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--module", choices=("mindspore", "mycelia"), default="mycelia")
    options.add_argument("--save")
    options.add_argument("--against")
    options.add_argument("--tolerance", type=float, default=2e-6)
    chosen = options.parse_args()
    results = run(importlib.import_module(chosen.module))
    if chosen.save:
        np.savez(chosen.save, **results)
    failures = 0
    if chosen.against:
        expected = np.load(chosen.against)
        for key in expected.files:
            error = np.abs(results[key] - expected[key]).max() if key in results else np.inf
            if not error <= chosen.tolerance:
                failures += 1
                print(f"{key}: differs by {error:.3g}: {results.get(key)} instead of {expected[key]}")
        print(f"{len(expected.files)} compared, {failures} differ")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
