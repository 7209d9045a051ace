"""The networks in MindSpore, public interface only; twins of `networks_torch.py`. Mycelia runs this file
unchanged."""

import mindspore as ms
import numpy as np
from arrays import CONTEXT, HEADS, LAYERS, RESNET_STAGES, VOCABULARY, WIDTH, weight
from mindspore import Tensor, nn, ops

SIZE = WIDTH // HEADS


def with_weights(net):
    """Fills parameters and moving statistics with the arrays that belong to their names."""
    for path, parameter in net.parameters_and_names():
        parameter.set_data(Tensor(weight(path, tuple(parameter.shape))))
    return net


def conv(channels, out, size, stride=1):
    return nn.Conv2d(channels, out, size, stride, pad_mode="pad", padding=size // 2, has_bias=False)


class Bottleneck(nn.Cell):
    def __init__(self, channels, width, out, stride):
        super().__init__()
        self.c1, self.b1 = conv(channels, width, 1), nn.BatchNorm2d(width)
        self.c2, self.b2 = conv(width, width, 3, stride), nn.BatchNorm2d(width)
        self.c3, self.b3 = conv(width, out, 1), nn.BatchNorm2d(out)
        self.relu = nn.ReLU()
        self.down = stride != 1 or channels != out
        if self.down:
            self.d = nn.SequentialCell([conv(channels, out, 1, stride), nn.BatchNorm2d(out)])

    def construct(self, x):
        y = self.relu(self.b1(self.c1(x)))
        y = self.relu(self.b2(self.c2(y)))
        y = self.b3(self.c3(y))
        if self.down:
            x = self.d(x)
        return self.relu(y + x)


class ResNet50(nn.Cell):
    def __init__(self, classes=1000):
        super().__init__()
        self.c, self.b, self.relu = conv(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU()
        self.pool = nn.MaxPool2d(3, 2, pad_mode="pad", padding=1)
        blocks, channels = [], 64
        for width, count, stride in RESNET_STAGES:
            for index in range(count):
                blocks.append(Bottleneck(channels, width, 4 * width, stride if index == 0 else 1))
                channels = 4 * width
        self.l = nn.SequentialCell(blocks)
        self.f = nn.Dense(2048, classes)

    def construct(self, x):
        x = self.pool(self.relu(self.b(self.c(x))))
        return self.f(self.l(x).mean((2, 3)))


class LeNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 6, 5, pad_mode="pad", padding=2, has_bias=True)
        self.c2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.f1, self.f2, self.f3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x):
        x = self.pool(self.relu(self.c1(x)))
        x = self.pool(self.relu(self.c2(x)))
        return self.f3(self.relu(self.f2(self.relu(self.f1(self.flatten(x))))))


class Perceptron(nn.Cell):
    def __init__(self):
        super().__init__()
        self.f1, self.f2, self.f3 = nn.Dense(784, 512), nn.Dense(512, 512), nn.Dense(512, 10)
        self.relu, self.flatten = nn.ReLU(), nn.Flatten()

    def construct(self, x):
        return self.f3(self.relu(self.f2(self.relu(self.f1(self.flatten(x))))))


class EncoderLayer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Dense(WIDTH, WIDTH) for _ in range(4))
        self.l1, self.l2 = nn.LayerNorm((WIDTH,), epsilon=1e-12), nn.LayerNorm((WIDTH,), epsilon=1e-12)
        self.i, self.o2 = nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH)
        self.gelu = nn.GELU(approximate=False)
        self.scale = SIZE**-0.5

    def construct(self, x, mask):
        batch, length, _ = x.shape
        q = self.q(x).view(batch, length, HEADS, SIZE).swapaxes(1, 2)
        k = self.k(x).view(batch, length, HEADS, SIZE).swapaxes(1, 2)
        v = self.v(x).view(batch, length, HEADS, SIZE).swapaxes(1, 2)
        attention = ops.softmax(ops.matmul(q, k.swapaxes(2, 3)) * self.scale + mask, -1)
        attended = ops.matmul(attention, v).swapaxes(1, 2).reshape(batch, length, WIDTH)
        x = self.l1(x + self.o(attended))
        return self.l2(x + self.o2(self.gelu(self.i(x))))


class Bert(nn.Cell):
    def __init__(self, classes=0):
        super().__init__()
        self.w, self.p, self.t = nn.Embedding(30522, WIDTH), nn.Embedding(512, WIDTH), nn.Embedding(2, WIDTH)
        self.l = nn.LayerNorm((WIDTH,), epsilon=1e-12)
        self.L = nn.CellList([EncoderLayer() for _ in range(LAYERS)])
        self.h = nn.Dense(WIDTH, classes) if classes else None
        self.position = Tensor(np.arange(128)[None], ms.int32)
        self.kind = Tensor(np.zeros((1, 128)), ms.int32)

    def construct(self, ids, mask):
        x = self.l(self.w(ids) + self.p(self.position) + self.t(self.kind))
        lined_up = mask[:, None, None, :]
        for layer in self.L:
            x = layer(x, lined_up)
        return x if self.h is None else self.h(x[:, 0])


class WithLoss(nn.Cell):
    """Cross entropy of a network with any number of inputs."""

    def __init__(self, net):
        super().__init__()
        self.net, self.loss = net, nn.CrossEntropyLoss()

    def construct(self, y, *inputs):
        return self.loss(self.net(*inputs), y)


class DecoderLayer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.LayerNorm((WIDTH,), epsilon=1e-5), nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.qkv, self.o = nn.Dense(WIDTH, 3 * WIDTH), nn.Dense(WIDTH, WIDTH)
        self.f, self.p = nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH)
        self.gelu = nn.GELU(approximate=True)

    def construct(self, x, keys, values, row, mask):
        length = x.shape[1]
        parts = self.qkv(self.l1(x)).view(1, length, 3, HEADS, SIZE)
        q, k, v = parts[:, :, 0].swapaxes(1, 2), parts[:, :, 1].swapaxes(1, 2), parts[:, :, 2].swapaxes(1, 2)
        if length > 1:
            keys = ops.cat((k, keys[:, :, length:]), 2)
            values = ops.cat((v, values[:, :, length:]), 2)
        else:  # row [1, 1, CONTEXT, 1] is where to write
            keys = ops.select(row, k.broadcast_to((1, HEADS, CONTEXT, SIZE)), keys)
            values = ops.select(row, v.broadcast_to((1, HEADS, CONTEXT, SIZE)), values)
        attention = ops.softmax(ops.matmul(q, keys.swapaxes(2, 3)) * 0.125 + mask, -1)
        attended = ops.matmul(attention, values).swapaxes(1, 2).reshape(1, length, WIDTH)
        x = x + self.o(attended)
        return x + self.p(self.gelu(self.f(self.l2(x)))), keys, values


class GPT2(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w, self.pe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(1024, WIDTH)
        self.L = nn.CellList([DecoderLayer() for _ in range(LAYERS)])
        self.ln = nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.project = ops.MatMul(transpose_b=True)

    def construct(self, ids, position, mask, row, keys, values):
        x = self.w(ids) + self.pe(position)
        new_keys, new_values = (), ()
        for i in range(LAYERS):
            x, k, v = self.L[i](x, keys[i], values[i], row, mask)
            new_keys += (k,)
            new_values += (v,)
        logits = self.project(self.ln(x[:, -1]), self.w.embedding_table)
        return logits.argmax(-1, keepdims=True), new_keys, new_values
