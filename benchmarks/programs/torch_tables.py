"""PyTorch's programs. Variants: eager, compile (frozen weights at inference), each in both memory layouts for
images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import arrays
import measure
import networks_torch as networks
import numpy as np
import torch
import torch.nn.functional as F
from arrays import integers, normal
from measure import BASE, VARIANT, bench, three_losses
from networks_torch import with_weights

COMPILE = BASE == "compile"
LAYOUTS = (("nchw", torch.contiguous_format), ("channels last", torch.channels_last))
tensor = torch.from_numpy


def same(answer: Any) -> Any:
    return answer


def as_array(answer: Any) -> np.ndarray:
    return answer.numpy()


def prepared(function: Any, freeze: bool = False) -> Any:
    if not COMPILE:
        return function
    import torch._inductor.config as inductor

    torch._dynamo.reset()
    inductor.freezing = freeze
    return torch.compile(function, dynamic=False)


def quiet() -> Any:
    return torch.no_grad() if COMPILE else torch.inference_mode()


def trainer(net: Any, optimizer: Any, inputs: tuple, labels: Any) -> Callable[[], float]:
    """A training step that returns the loss as a number."""
    forward = prepared(net)

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(forward(*inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def momentum(net: Any, rate: float = 0.01, **settings: Any) -> Any:
    return torch.optim.SGD(net.parameters(), rate, momentum=0.9, **settings)


def resnet_infer() -> None:
    for case, batch in arrays.RESNET_INFER:
        for name, layout in LAYOUTS:
            net = with_weights(networks.ResNet50()).eval().to(memory_format=layout)
            x = tensor(normal(batch, 3, 224, 224)).to(memory_format=layout)
            with quiet():
                forward = prepared(net, freeze=True)
                bench(
                    case,
                    lambda f=forward, x=x: f(x),
                    name,
                    flops=batch * arrays.RESNET_FLOPS,
                    answer=as_array,
                )


def resnet_train() -> None:
    for case, batch, size, classes in arrays.RESNET_TRAIN:
        for name, layout in LAYOUTS:
            net = with_weights(networks.ResNet50(classes)).train().to(memory_format=layout)
            x = tensor(normal(batch, 3, size, size)).to(memory_format=layout)
            step = trainer(net, momentum(net), (x,), tensor(integers(classes, batch)).long())
            flops = 3 * batch * arrays.RESNET_FLOPS if size == 224 else None
            bench(case, step, name, flops=flops, answer=same)


def bert_infer() -> None:
    net, ids, mask = (
        with_weights(networks.Bert()).eval(),
        tensor(integers(30522, 1, 128)),
        torch.zeros(1, 128),
    )
    with quiet():
        forward = prepared(net, freeze=True)
        bench("bert b1 s128", lambda: forward(ids, mask), flops=arrays.BERT_FLOPS, answer=as_array)


def bert_train() -> None:
    net = with_weights(networks.Bert(classes=2)).train()
    inputs = (tensor(integers(30522, 4, 128)), torch.zeros(4, 128))
    step = trainer(net, momentum(net, 1e-3), inputs, tensor(integers(2, 4)).long())
    bench("bert train b4 s128", step, flops=12 * arrays.BERT_FLOPS, answer=three_losses(step))


def gpt2() -> None:
    net, prompt = with_weights(networks.GPT2()), tensor(integers(arrays.VOCABULARY, 1, arrays.PROMPT))

    def growing() -> Any:
        token, past = net.growing(prompt)
        tokens = [token]
        for _ in range(arrays.NEW - 1):
            token, past = net.growing(token, past)
            tokens.append(token)
        return torch.cat(tokens, 1)

    shape = (1, arrays.HEADS, arrays.CONTEXT, arrays.WIDTH // arrays.HEADS)
    keys, values = ([torch.zeros(shape) for _ in range(arrays.LAYERS)] for _ in range(2))
    mask = torch.full((arrays.CONTEXT, arrays.CONTEXT), float("-inf")).triu(1)
    places = torch.arange(arrays.CONTEXT)

    def static() -> Any:
        token = step(prompt, places[: arrays.PROMPT], mask[: arrays.PROMPT], keys, values)
        tokens = [token]
        for i in range(arrays.PROMPT, arrays.PROMPT + arrays.NEW - 1):
            token = step(token, places[i : i + 1].clone(), mask[i : i + 1].clone(), keys, values)
            tokens.append(token)
        return torch.cat(tokens, 1)

    with quiet():
        if not COMPILE:
            bench("gpt2 32+64", growing, "growing", answer=as_array)
        step = prepared(net.static, freeze=True)
        bench("gpt2 32+64", static, "static", answer=as_array)


def small_train() -> None:
    labels = tensor(integers(10, 32)).long()
    for name, make in (("lenet", networks.LeNet), ("mlp", networks.Perceptron)):
        x = tensor(normal(32, 1, 28, 28))
        for fused in (False, True):
            net = with_weights(make()).train()
            step = trainer(net, momentum(net, fused=fused), (x,), labels)
            variant = "fused" if fused else ""
            bench(f"{name} b32 train", step, variant, unit="us", answer=three_losses(step))
        with quiet():
            forward = prepared(with_weights(make()).eval(), freeze=True)
            bench(f"{name} b32 infer", lambda f=forward, x=x: f(x), unit="us", answer=as_array)


def eager() -> None:
    a, b = tensor(normal(2, 3)), tensor(normal(2, 3, seed=1))

    def adds() -> Any:
        c = a
        for _ in range(1000):
            c = c + b
        return c

    bench("add (2,3)", adds, unit="us", per=1000, answer=as_array)
    with torch.inference_mode():
        bench("add (2,3)", adds, "inference", unit="us", per=1000, answer=as_array)
    x = a.clone().requires_grad_()

    def chain() -> Any:
        y = x
        for _ in range(100):
            y = y + b
        return torch.autograd.grad(y.sum(), x)[0]

    bench("chain100 fwd+grad", chain, unit="us", answer=as_array)


def pointwise() -> None:
    scale, shift = torch.ones(1024, requires_grad=True), torch.zeros(1024, requires_grad=True)
    functions = (
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: torch.softmax(x, -1),
        lambda x, w, b: F.layer_norm(x, (1024,), w, b),
    )
    for (case, shape), function in zip(arrays.POINTWISE, functions):
        x, g = tensor(normal(*shape)), tensor(normal(*shape, seed=1))
        rest = (scale, shift) if "norm" in case else ()
        forward = prepared(function)
        with quiet():
            bench(case, lambda f=forward, x=x, r=rest: f(x, *r), answer=as_array)
        inputs = (x.clone().requires_grad_(), *rest)
        forward = prepared(function)
        bench(
            case + " fwd+bwd",
            lambda f=forward, i=inputs, g=g: torch.autograd.grad(f(*i), i, g),
            answer=lambda grads: grads[0].numpy(),
        )


def gelu_fresh() -> None:
    x = tensor(normal(16 << 20))
    function = prepared(lambda x: F.gelu(x, approximate="tanh"))
    with quiet():
        measure.bench_fresh("gelu 16M fresh", lambda: function(x))
        bench("gelu 16M warm", lambda: function(x), answer=as_array)


def gemm() -> None:
    with torch.inference_mode():
        for case, a, b, flops, bytes_ in arrays.matrices():
            left, right = tensor(a), tensor(b)
            bench(case, lambda a=left, b=right: a @ b, flops=flops, bytes_=bytes_, answer=as_array)


def first_call() -> None:
    net, x = with_weights(networks.ResNet50()).eval(), tensor(normal(1, 3, 224, 224))
    with quiet():
        forward = prepared(net, freeze=True)
        measure.bench_first("r50 b1 first call", lambda: forward(x), as_array)


def shared_core() -> None:
    net = with_weights(networks.ResNet50()).eval().to(memory_format=torch.channels_last)
    x = tensor(normal(1, 3, 224, 224)).to(memory_format=torch.channels_last)
    with torch.inference_mode():
        measure.bench_mean("r50 b1, a core busy", lambda: net(x), as_array)


class Crops(torch.utils.data.Dataset):
    """Random crop with padding 4, flip, normalise, channels first; image by image, or by whole batches."""

    def __init__(self) -> None:
        images, self.labels = arrays.photographs()
        self.images = np.pad(images, ((0, 0), (4, 4), (4, 4), (0, 0)))
        self.rng = np.random.default_rng(0)
        self.mean, self.deviation = np.array(arrays.MEAN, "f"), np.array(arrays.DEVIATION, "f")
        if BASE == "batch":
            self.__getitems__ = self.batch

    def __len__(self) -> int:
        return len(self.labels)

    def crop(self, index: int, top: int, left: int, flip: bool) -> np.ndarray:
        x = self.images[index, top : top + 32, left : left + 32]
        return x[:, ::-1] if flip else x

    def normalised(self, x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.moveaxis((x - self.mean) / self.deviation, -1, -3))

    def __getitem__(self, index: int) -> tuple:
        (top, left), flip = self.rng.integers(0, 9, 2), self.rng.random() < 0.5
        return self.normalised(self.crop(index, top, left, flip)), self.labels[index]

    def batch(self, indices: list[int]) -> tuple:
        corners, flips = self.rng.integers(0, 9, (len(indices), 2)), self.rng.random(len(indices)) < 0.5
        crops = [self.crop(i, top, left, f) for i, (top, left), f in zip(indices, corners, flips)]
        return self.normalised(np.stack(crops)), self.labels[indices]


def dataset() -> None:
    data = Crops()
    collate = (lambda batch: tuple(map(tensor, batch))) if BASE == "batch" else None
    workers = 0 if measure.THREADS == 1 else measure.THREADS

    def epoch() -> None:
        loader = torch.utils.data.DataLoader(
            data, 128, shuffle=True, drop_last=True, collate_fn=collate, num_workers=workers
        )
        for x, _ in loader:  # noqa: B007 (the last batch is looked at)
            pass
        assert x.shape == (128, 3, 32, 32) and x.dtype == torch.float32

    bench("augment 32x32", epoch, unit="us/image", per=len(data) // 128 * 128)


def export() -> None:
    """Not a table: writes the model that the runtimes read, for the table named by the variant."""

    def save(net: Any, args: tuple, inputs: list[str], outputs: list[str], axes: dict | None = None) -> None:
        with torch.no_grad():
            torch.onnx.export(
                net,
                args,
                VARIANT + ".onnx",
                input_names=inputs,
                output_names=outputs,
                dynamo=False,
                opset_version=17,
                dynamic_axes=axes,
            )

    if VARIANT in ("resnet_infer", "first_call", "shared_core"):
        net = with_weights(networks.ResNet50()).eval()
        save(net, (tensor(normal(1, 3, 224, 224)),), ["x"], ["y"], {"x": {0: "b"}, "y": {0: "b"}})
    elif VARIANT == "bert_infer":
        net = with_weights(networks.Bert()).eval()
        save(net, (tensor(integers(30522, 1, 128)), torch.zeros(1, 128)), ["ids", "mask"], ["y"])
    elif VARIANT == "gpt2":
        past = torch.zeros(2 * arrays.LAYERS, 1, arrays.HEADS, 4, arrays.WIDTH // arrays.HEADS)
        ids = tensor(integers(arrays.VOCABULARY, 1, arrays.PROMPT)).long()
        save(
            with_weights(networks.GPT2()),
            (ids, past),
            ["ids", "past"],
            ["token", "kept"],
            {"ids": {1: "s"}, "past": {3: "p"}, "kept": {3: "t"}},
        )


if __name__ == "__main__":
    measure.run(globals())
