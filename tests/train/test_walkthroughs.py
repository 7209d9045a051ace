"""Two walk-throughs of training a ResNet, typed in as printed but for ``device_target="CPU"``.

Neither can train as it is. Each must stop at its mistakes in turn, with a message that names the mistake and
its mending; mended as the message says, it goes on to the next. The mended scripts are in ``examples``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"

IMPORTED = "from mindspore.dataset import vision\n"
MAPPED = IMPORTED + "dataset = dataset.map({steps}, 'image')\ndataset = dataset.batch"
BLOCK_SHORTCUT = "self.bn2 = nn.BatchNorm2d(out_channels)\n        self.shortcut = nn.Conv2d(3, 64, 1)"

# The folder of the data, and stages: (what is replaced by what before it, the error, pieces of its message).
BLOCK = [
    ((), "TypeError", (
        "Conv2d 'conv1'", "float32[n, 3, height, width]", "uint8[32, 32, 32, 3]", "vision.Rescale(1/255, 0)",
        "vision.HWC2CHW()",
    )),
    (("dataset = dataset.batch", MAPPED.format(steps="vision.Rescale(1/255, 0)")), "ValueError", (
        "Conv2d 'conv1'", "float32[32, 32, 32, 3]", "vision.HWC2CHW()",
    )),
    (("vision.Rescale(1/255, 0)", "[vision.Rescale(1/255, 0), vision.HWC2CHW()]"), "ValueError", (
        "Add", "float32[32, 64, 32, 32]", "float32[32, 3, 32, 32]", "residual connection",
        "nn.Conv2d(3, 64, 1)", "ResNet50Block", "out += identity",
    )),
    ((
        "self.bn2 = nn.BatchNorm2d(out_channels)", BLOCK_SHORTCUT,
        "out += identity", "out += self.shortcut(identity)",
    ), "ValueError", (
        "float32[32, 64, 32, 32]", "target uint32[32]", "no head", "nn.Flatten()", "nn.Dense(64, classes)",
        "SoftmaxCrossEntropyWithLogits",
    )),
]  # fmt: skip
RESNET = [
    ((), "ValueError", (
        "Conv2d", "padding=3", "pad_mode='same'", "Conv2d(..., pad_mode='pad', padding=3)", "kernel_size=7",
    )),
    (("stride=2, padding=3", "stride=2, pad_mode='pad', padding=3"), "ValueError", (
        "MaxPool2d", "padding=1", "pad_mode='valid'", "MaxPool2d(..., pad_mode='pad', padding=1)",
    )),
    (("kernel_size=3, stride=2, padding=1", "kernel_size=3, stride=2, pad_mode='pad', padding=1"),
     "ValueError", ("Conv2d(..., pad_mode='pad', padding=1)", "ResidualBlock(in_channels, out_channels, st")),
    (("stride=stride, padding=1", "stride=stride, pad_mode='pad', padding=1",
      "kernel_size=3, padding=1", "kernel_size=3, pad_mode='pad', padding=1"), "TypeError", (
        "callbacks must be a Callback or a list of them", "Ellipsis", "callbacks=[LossMonitor()]",
    )),
    (("callbacks=[...]", "callbacks=[ms.LossMonitor()]"), "TypeError", (
        "Conv2d 'conv1'", "uint8[32, 32, 32, 3]", "vision.Rescale(1/255, 0)", "vision.HWC2CHW()",
    )),
    (("dataset = dataset.batch", MAPPED.format(steps="[vision.Rescale(1/255, 0), vision.HWC2CHW()]")),
     "ValueError", (
        "AvgPool2d", "kernel_size=(7, 7)", "float32[32, 512, 1, 1]", "images of 1x1",
        "nn.AdaptiveAvgPool2d(1)", "ops.mean(x, (2, 3))",
    )),
    (("nn.AvgPool2d(7)", "nn.AdaptiveAvgPool2d(1)"), "ValueError", (
        "Dense 'fc'", "in_channels=25088", "float32[32, 512]", "'fc.weight'", "float32[10, 25088]",
        "Dense(512, ...)",
    )),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with small files in the format of CIFAR-10, under both names that the texts use."""
    place = tmp_path_factory.mktemp("walkthrough")
    draw = np.random.default_rng(3)
    for name in ("cifar10", "cifar10_data"):
        (place / name).mkdir()
        for file in [*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]:
            rows = draw.integers(0, 256, (16, 3073), dtype=np.uint8)
            rows[:, 0] %= 10
            (place / name / file).write_bytes(rows.tobytes())
    return place


def run(script, *arguments, cwd):
    command = [sys.executable, "-m", "mycelia.cli", "run", str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd)


def stages(name, script, steps):
    changes: list[str] = []
    for number, (change, kind, words) in enumerate(steps):
        changes += change
        yield pytest.param(script, tuple(changes), kind, words, id=f"{name}-{number}")


@pytest.mark.parametrize(("script", "changes", "kind", "words"), [
    *stages("block", "resnet_block.txt", BLOCK),
    *stages("resnet50", "resnet50.txt", RESNET),
])  # fmt: skip
def test_a_walkthrough_stops_at_each_mistake(script, changes, kind, words, folder):
    text = (HERE / "scripts" / script).read_text()
    for old, new in zip(changes[::2], changes[1::2]):
        assert old in text
        text = text.replace(old, new)
    file = folder / "walkthrough.py"
    file.write_text(text)
    done = run(file, cwd=folder)
    assert done.returncode == 1, done.stdout
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(kind + ": "), done.stderr
    for word in words:
        assert word in last or word in done.stderr.split("Traceback", 1)[1], (word, done.stderr)
    assert 'walkthrough.py", line' in done.stderr


@pytest.mark.parametrize("example", ["train_residual_block.py", "train_resnet_cifar10.py"])
def test_the_mended_scripts_train(example, tmp_path):
    if not os.path.isdir(os.path.join(os.environ.get("MYCELIA_DATA", ""), "cifar10")):
        pytest.skip("MYCELIA_DATA names no folder with CIFAR-10")
    done = run(EXAMPLES / example, "--limit", "2", "--epochs", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "on the test images: {'acc" in done.stdout
