"""Writes mindspore_2.10.ckpt beside this file; run it where MindSpore 2.10 is installed.

The values follow from the position of each parameter, so that test_checkpoint.py can tell them (`expected`).
"""
from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, pad_mode="same")
        self.norm = nn.BatchNorm2d(4)
        self.fc = nn.Dense(36, 10)

    def construct(self, x):
        return self.fc(self.norm(self.conv(x)).reshape(x.shape[0], -1))


net = Net()
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 1e-3))
for position, (_, parameter) in enumerate(step.parameters_and_names()):
    values = np.sin(np.arange(parameter.size) + position).reshape(parameter.shape)
    parameter.set_data(Tensor(values.astype(parameter.asnumpy().dtype)))
entries = [{"name": parameter.name, "data": parameter} for _, parameter in step.parameters_and_names()]
for kind in ("bool_", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
             "float32", "float64", "bfloat16"):
    dtype = getattr(ms, kind)
    entries.append({"name": f"types.{kind}", "data": Tensor(np.arange(6).reshape(2, 3), dtype)})
folder = Path(__file__).parent
ms.save_checkpoint(entries, str(folder / "mindspore_2.10.ckpt"),
                   append_dict={"epoch": 3, "rate": 0.5, "best": True, "note": "grüße 你好"})
