"""Shows that MindSpore reads Mycelia's checkpoints, and Mycelia MindSpore's, bit for bit.

checkpoint_oracle.py write FILE.ckpt      in either environment: a network's and optimizer's parameters, every
    type, and text
checkpoint_oracle.py show FILE.ckpt       in the other: prints a digest of each entry; the outputs of both
    must be equal
"""
from __future__ import annotations

import hashlib
import sys

import numpy as np

try:
    import mindspore as ms
except ImportError:
    import mycelia as ms


class LeNet5(ms.nn.Cell):
    def __init__(self):
        super().__init__()
        nn = ms.nn
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="same")
        self.norm = nn.BatchNorm2d(6)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.fc = nn.SequentialCell(nn.Dense(400, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(),
                                    nn.Dense(84, 10))


KINDS = ("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "float32", "float64", "bfloat16")


def entries() -> list[dict]:
    net = LeNet5()
    optimizer = ms.nn.Adam(net.trainable_params(), 1e-3)
    cells = [{"name": parameter.name, "data": parameter}
             for cell in (net, optimizer) for _, parameter in cell.parameters_and_names()]
    array = np.arange(6).reshape(2, 3)
    return cells + [{"name": f"types.{kind}", "data": ms.Tensor(array, getattr(ms, kind))} for kind in KINDS]


def main(action: str, path: str) -> None:
    if action == "write":
        ms.set_seed(0)
        ms.save_checkpoint(entries(), path,
                           append_dict={"epoch": 3, "rate": 0.5, "best": True, "note": "grüße"})
    for name, value in ms.load_checkpoint(path).items():
        if isinstance(value, str):
            print(f"{name:28}{value!r}")
            continue
        array = value.asnumpy() if value.dtype != ms.bfloat16 else value.astype(ms.float32).asnumpy()
        print(f"{name:28}{value.dtype!s:10}{value.shape!s:18}{hashlib.sha256(array.tobytes()).hexdigest()[:16]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
