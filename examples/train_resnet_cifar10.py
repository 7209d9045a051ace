"""Trains a residual network of 16 blocks on CIFAR-10.

    MYCELIA_DATA=FOLDER mycelia run examples/train_resnet_cifar10.py [--epochs 10] [--limit STEPS]

FOLDER/cifar10 holds the binary files of CIFAR-10, unpacked. A MindSpore program: nothing in it is Mycelia's.
"""
import argparse
import os

import mindspore as ms
from mindspore import nn
from mindspore.dataset import Cifar10Dataset, vision


class ResidualBlock(nn.Cell):
    def __init__(self, in_channels, out_channels, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(
            in_channels, out_channels, kernel_size=3, stride=stride, padding=1, pad_mode="pad")
        self.bn1 = nn.BatchNorm2d(out_channels)
        self.conv2 = nn.Conv2d(out_channels, out_channels, kernel_size=3, padding=1, pad_mode="pad")
        self.bn2 = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU()
        self.shortcut = nn.SequentialCell()
        if stride != 1 or in_channels != out_channels:
            self.shortcut = nn.Conv2d(in_channels, out_channels, kernel_size=1, stride=stride)

    def construct(self, x):
        identity = self.shortcut(x)
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += identity
        return self.relu(out)


class ResNet(nn.Cell):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3, pad_mode="pad")
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1, pad_mode="pad")
        self.layer1 = self._make_layer(64, 64, 3)
        self.layer2 = self._make_layer(64, 128, 4, stride=2)
        self.layer3 = self._make_layer(128, 256, 6, stride=2)
        self.layer4 = self._make_layer(256, 512, 3, stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d(1)  # images of CIFAR-10 are 1x1 here already
        self.fc = nn.Dense(512, num_classes)

    def _make_layer(self, in_channels, out_channels, blocks, stride=1):
        layers = [ResidualBlock(in_channels, out_channels, stride)]
        layers += [ResidualBlock(out_channels, out_channels) for _ in range(1, blocks)]
        return nn.SequentialCell(*layers)

    def construct(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        x = self.avgpool(x)
        x = x.view(x.shape[0], -1)
        return self.fc(x)


def images(usage, limit):
    folder = os.path.join(os.environ["MYCELIA_DATA"], "cifar10", "cifar-10-batches-bin")
    dataset = Cifar10Dataset(folder, usage=usage, shuffle=usage == "train")
    dataset = dataset.map([vision.Rescale(1 / 255, 0), vision.HWC2CHW()], "image").batch(32)
    return dataset if limit is None else dataset.take(limit)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--limit", type=int, help="batches to take of each epoch; default: all")
    args = parser.parse_args()
    ms.set_seed(1)
    ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
    net = ResNet(num_classes=10)
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Adam(net.trainable_params(), learning_rate=1e-4)
    model = ms.Model(net, loss_fn=loss_fn, optimizer=optimizer, metrics={"acc"})
    watching = [ms.LossMonitor(100), ms.TimeMonitor()]
    model.train(args.epochs, images("train", args.limit), callbacks=watching)
    print("on the test images:", model.eval(images("test", args.limit)))


if __name__ == "__main__":
    main()
