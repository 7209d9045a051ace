"""Trains ResNet-50 on CIFAR-10 at 32x32, so that it can be stopped at any moment and taken up again.

    python tools/train_resnet_cifar10.py --data DIR/cifar-10-batches-bin [--epochs 3] [--limit IMAGES]
                                         [--seed 1] [--mode GRAPH|PYNATIVE] [--checkpoint FILE] [--resume]

Every 500 steps, and at the end, the network, the optimizer's state and the step are saved. With ``--resume``
the training goes on from there: each epoch's order and augmentation follow from the seed and the epoch alone,
so that what is left of an epoch has the images that it would have had. At the end the accuracy on the test
images is printed.

`train_resnet_cifar10_pytorch.py` is the same network and recipe in PyTorch.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path

import mycelia as ms
import mycelia.dataset as ds
from mycelia import nn
from mycelia.common.initializer import HeNormal
from mycelia.dataset import transforms, vision

MEAN, STD = [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]
SAVE_EVERY = 500
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # width, blocks, stride of the first


def convolution(channels: int, out: int, size: int, stride: int = 1) -> list[nn.Cell]:
    padding = {"pad_mode": "pad", "padding": 1} if size == 3 else {}
    return [nn.Conv2d(channels, out, size, stride=stride, **padding), nn.BatchNorm2d(out)]


class Bottleneck(nn.Cell):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.residual = nn.SequentialCell(
            *convolution(channels, width, 1), nn.ReLU(),
            *convolution(width, width, 3, stride), nn.ReLU(),
            *convolution(width, out, 1),
        )
        widens = stride != 1 or channels != out
        self.shortcut = nn.SequentialCell(*convolution(channels, out, 1, stride)) if widens else None
        self.relu = nn.ReLU()

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        identity = x if self.shortcut is None else self.shortcut(x)
        return self.relu(self.residual(x) + identity)


class ResNet50(nn.Cell):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.SequentialCell(
            nn.Conv2d(3, 64, 7, stride=2, pad_mode="pad", padding=3, weight_init=HeNormal()),
            nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, stride=2, pad_mode="same"),
        )
        blocks, channels = [], 64
        for width, count, stride in STAGES:
            for index in range(count):
                blocks.append(Bottleneck(channels, width, stride if index == 0 else 1))
                channels = 4 * width
        self.blocks = nn.SequentialCell(blocks)
        self.head = nn.Dense(channels, classes)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.head(self.blocks(self.stem(x)).mean(axis=(2, 3)))


def images(folder: str, usage: str, batch_size: int, limit: int | None) -> ds.Dataset:
    train = usage == "train"
    data = ds.Cifar10Dataset(folder, usage=usage, shuffle=train, num_samples=limit, num_parallel_workers=2)
    steps = [vision.RandomCrop(32, padding=4), vision.RandomHorizontalFlip()] if train else []
    steps += [vision.Rescale(1 / 255, 0.0), vision.Normalize(MEAN, STD), vision.HWC2CHW()]
    data = data.map(steps, "image").map(transforms.TypeCast(ms.int32), "label")
    return data.batch(batch_size, drop_remainder=train)


def save(trainer: nn.Cell, path: Path, step: int, seed: int) -> None:
    ms.save_checkpoint(trainer, str(path), append_dict={"step": step, "seed": seed})


def resumed(trainer: nn.Cell, path: Path, seed: int) -> int:
    """Loads a checkpoint and returns the step to go on with."""
    saved = ms.load_checkpoint(str(path))
    step, saved_seed = int(saved.pop("step")), int(saved.pop("seed"))
    if saved_seed != seed:
        raise SystemExit(f"{path} was trained with --seed {saved_seed}, not {seed}")
    missing, _ = ms.load_param_into_net(trainer, saved, strict_load=True)
    if missing:
        raise SystemExit(f"{path} has no values for {', '.join(missing)}")
    return step


def accuracy(net: nn.Cell, data: ds.Dataset) -> float:
    net.set_train(False)
    forward = ms.jit(lambda x, y: (net(x).argmax(1) == y).sum())
    right = total = 0
    for x, y in data.create_tuple_iterator(num_epochs=1):
        right, total = right + int(forward(x, y)), total + x.shape[0]
    net.set_train(True)
    return right / total


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", required=True, help="folder of CIFAR-10's binary files")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--limit", type=int, help="train on so many of the images")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", choices=["GRAPH", "PYNATIVE"], default="GRAPH")
    parser.add_argument("--checkpoint", type=Path, default=Path("resnet50_cifar10.ckpt"))
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()

    ms.set_seed(args.seed)
    ms.set_context(mode=getattr(ms, args.mode + "_MODE"))
    net = ResNet50()
    steps = images(args.data, "train", args.batch_size, args.limit).get_dataset_size()
    rate = nn.cosine_decay_lr(0.0, 0.01, args.epochs * steps, steps, args.epochs)
    optimizer = nn.Momentum(net.trainable_params(), learning_rate=rate, momentum=0.9, weight_decay=5e-4)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    trainer = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer)
    trainer.set_train()
    done = resumed(trainer, args.checkpoint, args.seed) if args.resume and args.checkpoint.exists() else 0

    begin = time.perf_counter()
    for epoch in range(done // steps, args.epochs):
        ms.set_seed(args.seed * 1000 + epoch)
        data = images(args.data, "train", args.batch_size, args.limit).skip(done - epoch * steps)
        total, count = 0.0, 0
        for x, y in data.create_tuple_iterator(num_epochs=1):
            value = float(trainer(x, y))
            if not math.isfinite(value):
                raise SystemExit(f"the loss of step {done} is {value}")
            total, count, done = total + value, count + 1, done + 1
            if done % SAVE_EVERY == 0:
                save(trainer, args.checkpoint, done, args.seed)
            if done % 100 == 0:
                spent = f"{time.perf_counter() - begin:.0f} s"
                print(f"epoch {epoch + 1} step {done} loss {total / count:.4f} after {spent}", flush=True)
                total, count = 0.0, 0
    save(trainer, args.checkpoint, done, args.seed)
    result = accuracy(net, images(args.data, "test", 100, None))
    spent = f"{time.perf_counter() - begin:.0f} s, {os.cpu_count()} CPUs"
    print(f"accuracy {100 * result:.2f} % (seed {args.seed}, {args.epochs} epochs, {spent})")


if __name__ == "__main__":
    main()
