"""Trains one residual block with a head on CIFAR-10: the smallest network that has a shortcut.

    MYCELIA_DATA=FOLDER mycelia run examples/train_residual_block.py [--epochs 2] [--limit STEPS]

FOLDER/cifar10 holds the binary files of CIFAR-10, unpacked. A MindSpore program: nothing in it is Mycelia's.
"""
import argparse
import os

import mindspore as ms
import mindspore.dataset as ds
from mindspore import nn
from mindspore.dataset import vision
from mindspore.nn import Momentum, SoftmaxCrossEntropyWithLogits


class ResidualBlock(nn.Cell):
    def __init__(self, in_channels, out_channels, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(in_channels, out_channels, kernel_size=3, stride=stride, pad_mode="same")
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2d(out_channels, out_channels, kernel_size=3, pad_mode="same")
        self.bn2 = nn.BatchNorm2d(out_channels)
        # The sum needs as many channels on both sides.
        self.shortcut = nn.Conv2d(in_channels, out_channels, kernel_size=1, stride=stride)

    def construct(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return self.relu(out)


def network(classes=10):
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dense(64, classes)]
    return nn.SequentialCell(ResidualBlock(3, 64), *head)


def images(usage, limit):
    folder = os.path.join(os.environ["MYCELIA_DATA"], "cifar10", "cifar-10-batches-bin")
    dataset = ds.Cifar10Dataset(folder, usage=usage, num_parallel_workers=8)
    dataset = dataset.map([vision.Rescale(1 / 255, 0), vision.HWC2CHW()], "image").batch(32)
    return dataset if limit is None else dataset.take(limit)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--limit", type=int, help="batches to take of each epoch; default: all")
    args = parser.parse_args()
    ms.set_seed(1)
    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
    net = network()
    loss_fn = SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = Momentum(net.trainable_params(), learning_rate=0.01, momentum=0.9)
    model = ms.Model(net, loss_fn=loss_fn, optimizer=optimizer, metrics={"accuracy"})
    model.train(epoch=args.epochs, train_dataset=images("train", args.limit), callbacks=[ms.LossMonitor(100)])
    print("on the test images:", model.eval(images("test", args.limit)))


if __name__ == "__main__":
    main()
