"""`train_resnet_cifar10.py` in PyTorch: the same network, initial distributions and recipe.

    PYTHON tools/train_resnet_cifar10_pytorch.py --data DIR/cifar-10-batches-bin [--epochs 3] [--limit IMAGES]
                                                 [--seed 1] [--checkpoint FILE] [--resume]
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

MEAN, STD = np.array([0.4914, 0.4822, 0.4465], "f"), np.array([0.2470, 0.2435, 0.2616], "f")
SAVE_EVERY = 500
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))


def convolution(channels: int, out: int, size: int, stride: int = 1) -> list[nn.Module]:
    return [nn.Conv2d(channels, out, size, stride, size // 2, bias=False), nn.BatchNorm2d(out)]


class Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.residual = nn.Sequential(
            *convolution(channels, width, 1), nn.ReLU(),
            *convolution(width, width, 3, stride), nn.ReLU(),
            *convolution(width, out, 1),
        )
        widens = stride != 1 or channels != out
        self.shortcut = nn.Sequential(*convolution(channels, out, 1, stride)) if widens else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.residual(x) + self.shortcut(x))


class ResNet50(nn.Module):
    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(*convolution(3, 64, 7, 2), nn.ReLU())
        nn.init.kaiming_normal_(self.stem[0].weight)
        blocks, channels = [], 64
        for width, count, stride in STAGES:
            for index in range(count):
                blocks.append(Bottleneck(channels, width, stride if index == 0 else 1))
                channels = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # MindSpore's padding "same" adds a row and a column behind
        x = F.max_pool2d(F.pad(self.stem(x), (0, 1, 0, 1), value=-math.inf), 3, 2)
        return self.head(self.blocks(x).mean((2, 3)))


def load(folder: Path, files: list[str]) -> tuple[np.ndarray, np.ndarray]:
    records = np.concatenate([np.fromfile(folder / f, np.uint8).reshape(-1, 3073) for f in files])
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(np.int64)


def normalised(x: np.ndarray) -> torch.Tensor:
    return torch.from_numpy((x.astype("f") / 255 - MEAN[:, None, None]) / STD[:, None, None])


def augmented(x: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Crops out of images padded by 4, half of them flipped."""
    padded = np.pad(x, ((0, 0), (0, 0), (4, 4), (4, 4)))
    result = np.empty_like(x)
    for i, (top, left) in enumerate(draw.integers(0, 9, (len(x), 2))):
        crop = padded[i, :, top:top + 32, left:left + 32]
        result[i] = crop[:, :, ::-1] if draw.random() < 0.5 else crop
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of CIFAR-10's binary files")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--limit", type=int, help="train on so many of the images")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--checkpoint", type=Path, default=Path("resnet50_cifar10.pt"))
    parser.add_argument("--resume", action="store_true")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    net = ResNet50()
    images, labels = load(args.data, [f"data_batch_{i}.bin" for i in range(1, 6)])
    images, labels = images[:args.limit], labels[:args.limit]
    steps = len(images) // args.batch_size
    norms = [p for m in net.modules() if isinstance(m, nn.BatchNorm2d) for p in m.parameters()]
    others = [p for p in net.parameters() if not any(p is n for n in norms)]
    groups = [{"params": others, "weight_decay": 5e-4}, {"params": norms}]
    optimizer = torch.optim.SGD(groups, 0.01, momentum=0.9)
    done = 0
    if args.resume and args.checkpoint.exists():
        saved = torch.load(args.checkpoint)
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        done = saved["step"]

    def save() -> None:
        state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": done}
        torch.save(state, args.checkpoint)

    begin = time.perf_counter()
    for epoch in range(done // steps, args.epochs):
        draw = np.random.default_rng((args.seed, epoch))
        order = draw.permutation(len(images))
        rate = 0.5 * 0.01 * (1 + math.cos(math.pi * epoch / args.epochs))  # once an epoch, as cosine_decay_lr
        for group in optimizer.param_groups:
            group["lr"] = rate
        total = count = 0
        for step in range(done - epoch * steps, steps):
            batch = order[step * args.batch_size:(step + 1) * args.batch_size]
            logits = net(normalised(augmented(images[batch], draw)))
            loss = F.cross_entropy(logits, torch.from_numpy(labels[batch]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if not math.isfinite(loss.item()):
                raise SystemExit(f"the loss of step {done} is {loss.item()}")
            total, count, done = total + loss.item(), count + 1, done + 1
            if done % SAVE_EVERY == 0:
                save()
            if done % 100 == 0:
                spent = f"{time.perf_counter() - begin:.0f} s"
                print(f"epoch {epoch + 1} step {done} loss {total / count:.4f} after {spent}", flush=True)
                total = count = 0
    save()
    net.eval()
    images, labels = load(args.data, ["test_batch.bin"])
    right = 0
    with torch.no_grad():
        for at in range(0, len(images), 100):
            predicted = net(normalised(images[at:at + 100])).argmax(1).numpy()
            right += int((predicted == labels[at:at + 100]).sum())
    print(f"accuracy {100 * right / len(images):.2f} % (seed {args.seed}, {args.epochs} epochs, "
          f"{time.perf_counter() - begin:.0f} s)")


if __name__ == "__main__":
    main()
