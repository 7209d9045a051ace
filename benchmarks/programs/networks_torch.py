"""The networks in PyTorch; twins of `networks_mindspore.py`, with the same names for the same parameters."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from arrays import HEADS, LAYERS, RESNET_STAGES, VOCABULARY, WIDTH, weight
from measure import THREADS
from torch import Tensor, nn

torch.set_num_threads(THREADS)
torch.set_num_interop_threads(1)


def with_weights(net: nn.Module) -> nn.Module:
    """Fills parameters and running statistics with the arrays that belong to their names."""
    with torch.no_grad():
        for path, tensor in net.state_dict().items():
            if tensor.is_floating_point():
                tensor.copy_(torch.from_numpy(weight(path, tuple(tensor.shape))))
    return net


class Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, out: int, stride: int) -> None:
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.c2, self.b2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.c3, self.b3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.d = None
        if stride != 1 or channels != out:
            self.d = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.b1(self.c1(x)))
        y = F.relu(self.b2(self.c2(y)))
        y = self.b3(self.c3(y))
        return F.relu(y + (x if self.d is None else self.d(x)))


class ResNet50(nn.Module):
    def __init__(self, classes: int = 1000) -> None:
        super().__init__()
        self.c, self.b = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        blocks, channels = [], 64
        for width, count, stride in RESNET_STAGES:
            for index in range(count):
                blocks.append(Bottleneck(channels, width, 4 * width, stride if index == 0 else 1))
                channels = 4 * width
        self.l = nn.Sequential(*blocks)
        self.f = nn.Linear(2048, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.b(self.c(x))), 3, 2, 1)
        return self.f(self.l(x).mean((2, 3)))


class LeNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.f1, self.f2, self.f3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.f3(F.relu(self.f2(F.relu(self.f1(x.flatten(1))))))


class Perceptron(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.f1, self.f2, self.f3 = nn.Linear(784, 512), nn.Linear(512, 512), nn.Linear(512, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.f3(F.relu(self.f2(F.relu(self.f1(x.flatten(1))))))


class EncoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.l1, self.l2 = nn.LayerNorm(WIDTH, eps=1e-12), nn.LayerNorm(WIDTH, eps=1e-12)
        self.i, self.o2 = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        q, k, v = (self.heads(layer(x)) for layer in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = self.l1(x + self.o(attended.transpose(1, 2).reshape(x.shape)))
        return self.l2(x + self.o2(F.gelu(self.i(x))))


class Bert(nn.Module):
    def __init__(self, classes: int = 0) -> None:
        super().__init__()
        self.w, self.p, self.t = nn.Embedding(30522, WIDTH), nn.Embedding(512, WIDTH), nn.Embedding(2, WIDTH)
        self.l = nn.LayerNorm(WIDTH, eps=1e-12)
        self.L = nn.ModuleList([EncoderLayer() for _ in range(LAYERS)])
        self.h = nn.Linear(WIDTH, classes) if classes else None

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.l(self.w(ids) + self.p.weight[: ids.shape[1]] + self.t.weight[0])
        lined_up = mask[:, None, None, :]
        for layer in self.L:
            x = layer(x, lined_up)
        return x if self.h is None else self.h(x[:, 0])


class DecoderLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.l1, self.l2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.o = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.f, self.p = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def heads(self, x: Tensor) -> list[Tensor]:
        batch, length, _ = x.shape
        parts = self.qkv(self.l1(x)).split(WIDTH, 2)
        return [part.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts]

    def tail(self, x: Tensor, attended: Tensor) -> Tensor:
        x = x + self.o(attended.transpose(1, 2).reshape(x.shape))
        return x + self.p(F.gelu(self.f(self.l2(x)), approximate="tanh"))


class GPT2(nn.Module):
    """Three ways to keep keys and values: growing tensors, tensors allocated before, one tensor for exported
    graphs."""

    def __init__(self) -> None:
        super().__init__()
        self.w, self.pe = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(1024, WIDTH)
        self.L = nn.ModuleList([DecoderLayer() for _ in range(LAYERS)])
        self.ln = nn.LayerNorm(WIDTH)
        self.eval().requires_grad_(False)

    def pick(self, x: Tensor) -> Tensor:
        return F.linear(self.ln(x[:, -1]), self.w.weight).argmax(-1, keepdim=True)

    def growing(self, ids: Tensor, past: list | None = None) -> tuple[Tensor, list]:
        begin = 0 if past is None else past[0][0].shape[2]
        x = self.w(ids) + self.pe.weight[begin : begin + ids.shape[1]]
        kept = []
        for i, layer in enumerate(self.L):
            q, k, v = layer.heads(x)
            if past is not None:
                k, v = torch.cat([past[i][0], k], 2), torch.cat([past[i][1], v], 2)
            kept.append((k, v))
            x = layer.tail(x, F.scaled_dot_product_attention(q, k, v, is_causal=past is None))
        return self.pick(x), kept

    def static(self, ids: Tensor, position: Tensor, mask: Tensor, keys: list, values: list) -> Tensor:
        x = self.w(ids) + self.pe(position)
        for i, layer in enumerate(self.L):
            q, k, v = layer.heads(x)
            keys[i].index_copy_(2, position, k)
            values[i].index_copy_(2, position, v)
            x = layer.tail(x, F.scaled_dot_product_attention(q, keys[i], values[i], attn_mask=mask))
        return self.pick(x)

    def forward(self, ids: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        begin, length, kept = past.shape[3], ids.shape[1], []
        position = torch.arange(length) + begin
        x = self.w(ids) + self.pe(position)
        mask = torch.where(torch.arange(begin + length)[None] <= position[:, None], 0.0, -1e9)
        for i, layer in enumerate(self.L):
            q, k, v = layer.heads(x)
            k, v = torch.cat([past[2 * i], k], 2), torch.cat([past[2 * i + 1], v], 2)
            kept += [k, v]
            x = layer.tail(x, torch.softmax(q @ k.transpose(-1, -2) * 0.125 + mask, -1) @ v)
        return self.pick(x), torch.stack(kept)
