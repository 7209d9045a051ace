"""Trains LeNet-5 on real images of clothing, evaluates it, and saves a checkpoint.

    mycelia run examples/train_fashion_mnist.py [--epochs 8] [--mode GRAPH] [--data FOLDER]

A MindSpore program: it runs on MindSpore as it stands, given a folder of Fashion-MNIST's (or MNIST's) files,
unpacked. Without ``--data`` it takes the images that come with Mycelia.
"""
import argparse
import os
import time

import mindspore as ms
from mindspore import nn, ops
from mindspore.dataset import FashionMnistDataset, transforms, vision


class LeNet5(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 5, pad_mode="same")
        self.conv2 = nn.Conv2d(12, 24, 5, pad_mode="valid")
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()
        self.fc = nn.SequentialCell(
            nn.Dense(600, 120), nn.ReLU(), nn.Dense(120, 84), nn.ReLU(), nn.Dense(84, 10))

    def construct(self, x):
        x = self.pool(ops.relu(self.conv1(x)))
        x = self.pool(ops.relu(self.conv2(x)))
        return self.fc(self.flatten(x))


def images(folder, usage, batch_size):
    data = FashionMnistDataset(folder, usage=usage, shuffle=usage == "train")
    steps = [vision.Rescale(1 / 255, 0.0), vision.Normalize(mean=(0.286,), std=(0.353,)), vision.HWC2CHW()]
    if usage == "train":
        steps = [vision.RandomHorizontalFlip(), *steps]
    data = data.map(steps, "image").map(transforms.TypeCast(ms.int32), "label")
    return data.batch(batch_size, drop_remainder=usage == "train")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", help="folder of train-images-idx3-ubyte and the others")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--mode", choices=["GRAPH", "PYNATIVE"], default="GRAPH")
    parser.add_argument("--checkpoint", default="fashion_mnist_lenet.ckpt")
    args = parser.parse_args()
    if args.data is None:
        from mycelia.dataset.shipped import fashion_mnist_folder
        args.data = fashion_mnist_folder()
    ms.set_seed(1)
    ms.set_context(mode=getattr(ms, args.mode + "_MODE"))
    train, test = images(args.data, "train", 32), images(args.data, "test", 200)
    net, loss_fn = LeNet5(), nn.CrossEntropyLoss()
    steps = train.get_dataset_size()
    rates = nn.cosine_decay_lr(1e-5, 2e-3, args.epochs * steps, steps, args.epochs)
    optimizer = nn.Adam(net.trainable_params(), learning_rate=rates)

    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss_fn), optimizer)
    for epoch in range(args.epochs):
        step.set_train()
        start, total, count = time.perf_counter(), 0.0, 0
        for image, label in train.create_tuple_iterator(num_epochs=1):
            total += float(step(image, label).asnumpy())
            count += len(label)
        seconds = time.perf_counter() - start
        speed = count / seconds
        print(f"epoch {epoch + 1}: loss {total / steps:.4f}, {speed:.0f} images per second", flush=True)

    net.set_train(False)
    right = count = 0
    for image, label in test.create_tuple_iterator(num_epochs=1):
        right += int((net(image).argmax(1) == label).sum().asnumpy())
        count += len(label)
    print(f"accuracy {right / count:.4f} on {count} test images")
    ms.save_checkpoint(net, args.checkpoint)
    print(f"checkpoint saved to {os.path.abspath(args.checkpoint)}")


if __name__ == "__main__":
    main()
