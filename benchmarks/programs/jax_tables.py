"""JAX's programs, networks included (channels last; batch norm folded at inference). Variants: jit; eager for
one table."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import arrays
import measure
import numpy as np
from arrays import RESNET_STAGES, integers, normal, weight
from measure import THREADS, bench, three_losses

if THREADS == 1:
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
from jax import lax

STRIDES = [stride if index == 0 else 1 for _, count, stride in RESNET_STAGES for index in range(count)]
ready = jax.block_until_ready


def conv(x: Any, w: Any, stride: int, pad: int) -> Any:
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        x, w, (stride, stride), [(pad, pad), (pad, pad)], dimension_numbers=layout
    )


def max_pool(x: Any, size: int, stride: int, pad: int) -> Any:
    edges = [(0, 0), (pad, pad), (pad, pad), (0, 0)]
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), edges)


def dense(path: str, inputs: int, outputs: int) -> tuple[np.ndarray, np.ndarray]:
    return weight(f"{path}.weight", (outputs, inputs)).T.copy(), weight(f"{path}.bias", (outputs,))


def filters(path: str, out: int, channels: int, size: int) -> np.ndarray:
    return weight(f"{path}.weight", (out, channels, size, size)).transpose(2, 3, 1, 0).copy()


def cross_entropy(logits: Any, labels: Any) -> Any:
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()


# -- ResNet-50 --
def layer(conv_path: str, norm_path: str, size: int, channels: int, out: int) -> dict[str, np.ndarray]:
    names = {"g": "gamma", "b": "beta", "m": "moving_mean", "v": "moving_variance"}
    norm = {short: weight(f"{norm_path}.{long}", (out,)) for short, long in names.items()}
    return {"w": filters(conv_path, out, channels, size), **norm}


def resnet_parameters(classes: int = 1000) -> Any:
    blocks, channels = [], 64
    for width, count, _ in RESNET_STAGES:
        for index in range(count):
            at = f"l.{len(blocks)}"
            block = {
                "1": layer(f"{at}.c1", f"{at}.b1", 1, channels, width),
                "2": layer(f"{at}.c2", f"{at}.b2", 3, width, width),
                "3": layer(f"{at}.c3", f"{at}.b3", 1, width, 4 * width),
            }
            if index == 0:
                block["d"] = layer(f"{at}.d.0", f"{at}.d.1", 1, channels, 4 * width)
            blocks.append(block)
            channels = 4 * width
    return jax.tree.map(
        jnp.asarray, {"stem": layer("c", "b", 7, 3, 64), "l": blocks, "f": dense("f", 2048, classes)}
    )


def resnet(parameters: Any, x: Any, convolve: Callable[..., Any]) -> Any:
    """``convolve`` is a convolution and its norm."""
    x = max_pool(jax.nn.relu(convolve(x, parameters["stem"], 2, 3)), 3, 2, 1)
    for block, stride in zip(parameters["l"], STRIDES):
        y = jax.nn.relu(convolve(x, block["1"], 1, 0))
        y = jax.nn.relu(convolve(y, block["2"], stride, 1))
        y = convolve(y, block["3"], 1, 0)
        x = jax.nn.relu(y + (convolve(x, block["d"], stride, 0) if "d" in block else x))
    return x.mean((1, 2)) @ parameters["f"][0] + parameters["f"][1]


def folded(parameters: Any) -> Any:
    """Norms at inference as a factor on the filters and a bias."""

    def fold(p: Any) -> Any:
        scale = p["g"] * lax.rsqrt(p["v"] + 1e-5)
        return {"w": p["w"] * scale, "b": p["b"] - p["m"] * scale}

    blocks = [{name: fold(p) for name, p in block.items()} for block in parameters["l"]]
    return {"stem": fold(parameters["stem"]), "l": blocks, "f": parameters["f"]}


def resnet_inference(parameters: Any, x: Any) -> Any:
    return resnet(parameters, x, lambda x, p, stride, pad: conv(x, p["w"], stride, pad) + p["b"])


def resnet_training(parameters: Any, x: Any) -> tuple[Any, list]:
    """With the batch's statistics, which are returned too."""
    statistics = []

    def convolve(x: Any, p: Any, stride: int, pad: int) -> Any:
        x = conv(x, p["w"], stride, pad)
        mean = x.mean((0, 1, 2))
        variance = ((x - mean) ** 2).mean((0, 1, 2))
        statistics.append((mean, variance))
        return (x - mean) * (lax.rsqrt(variance + 1e-5) * p["g"]) + p["b"]

    return resnet(parameters, x, convolve), statistics


def trainer(net: Callable[..., Any], parameters: Any, x: Any, y: Any) -> Callable[[], float]:
    """A step with momentum and, where the network has them, running statistics; buffers are donated."""
    x, y = jnp.asarray(x), jnp.asarray(y)

    def loss(parameters: Any) -> Any:
        out = net(parameters, x)
        out, statistics = out if isinstance(out, tuple) else (out, [])
        return cross_entropy(out, y), statistics

    def step(parameters: Any, moments: Any, running: Any) -> Any:
        (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(parameters)
        running = jax.tree.map(lambda r, s: 0.9 * r + 0.1 * s, running, statistics)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradients)
        return jax.tree.map(lambda p, m: p - 0.01 * m, parameters, moments), moments, running, value

    def zeros(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), tree)

    fast = jax.jit(step, donate_argnums=(0, 1, 2))
    state = [parameters, zeros(parameters), zeros(jax.eval_shape(loss, parameters)[1])]

    def run() -> float:
        *state[:], value = fast(*state)
        ready(state[0])
        return float(value)

    return run


def resnet_infer() -> None:
    parameters = folded(resnet_parameters())
    for case, batch in arrays.RESNET_INFER:
        x, flops = jnp.asarray(normal(batch, 3, 224, 224).transpose(0, 2, 3, 1)), batch * arrays.RESNET_FLOPS
        given = jax.jit(resnet_inference)
        bench(case, lambda f=given, x=x: ready(f(parameters, x)), flops=flops, answer=np.asarray)
        constant = jax.jit(lambda x: resnet_inference(parameters, x))
        bench(case, lambda f=constant, x=x: ready(f(x)), "constants", flops=flops, answer=np.asarray)


def resnet_train() -> None:
    for case, batch, size, classes in arrays.RESNET_TRAIN:
        x = normal(batch, 3, size, size).transpose(0, 2, 3, 1)
        step = trainer(resnet_training, resnet_parameters(classes), x, integers(classes, batch))
        flops = 3 * batch * arrays.RESNET_FLOPS if size == 224 else None
        bench(case, step, flops=flops, answer=np.asarray)


def first_call() -> None:
    parameters, x = folded(resnet_parameters()), jnp.asarray(normal(1, 3, 224, 224).transpose(0, 2, 3, 1))
    function = jax.jit(resnet_inference)
    measure.bench_first("r50 b1 first call", lambda: ready(function(parameters, x)), np.asarray)


# -- GPT-2 --
def gpt2() -> None:
    width, heads, context, prompt_length = arrays.WIDTH, arrays.HEADS, arrays.CONTEXT, arrays.PROMPT
    size = width // heads

    def norm(path: str) -> tuple[np.ndarray, np.ndarray]:
        return weight(f"{path}.gamma", (width,)), weight(f"{path}.beta", (width,))

    def decoder(at: str) -> dict[str, Any]:
        shapes = {
            "qkv": (width, 3 * width),
            "o": (width, width),
            "f": (width, 4 * width),
            "p": (4 * width, width),
        }
        linear = {name: dense(f"{at}.{name}", *shape) for name, shape in shapes.items()}
        return {"l1": norm(f"{at}.l1"), "l2": norm(f"{at}.l2"), **linear}

    parameters = jax.tree.map(
        jnp.asarray,
        {
            "w": weight("w.embedding_table", (arrays.VOCABULARY, width)),
            "pe": weight("pe.embedding_table", (1024, width)),
            "ln": norm("ln"),
            "L": [decoder(f"L.{i}") for i in range(arrays.LAYERS)],
        },
    )

    def normalised(x: Any, p: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * p[0] + p[1]

    def linear(x: Any, p: Any) -> Any:
        return x @ p[0] + p[1]

    def step(parameters: Any, ids: Any, begin: Any, keys: list, values: list) -> tuple[Any, list, list]:
        length = ids.shape[1]
        place = begin + jnp.arange(length)
        x = parameters["w"][ids] + parameters["pe"][place]
        mask = jnp.where(jnp.arange(context)[None] <= place[:, None], 0.0, -1e9)
        new_keys, new_values = [], []
        for i, p in enumerate(parameters["L"]):
            parts = linear(normalised(x, p["l1"]), p["qkv"]).reshape(1, length, 3, heads, size)
            q, k, v = (parts[:, :, j].transpose(0, 2, 1, 3) for j in range(3))
            k = lax.dynamic_update_slice(keys[i], k, (0, 0, begin, 0))
            v = lax.dynamic_update_slice(values[i], v, (0, 0, begin, 0))
            new_keys.append(k)
            new_values.append(v)
            attended = jax.nn.softmax(q @ k.transpose(0, 1, 3, 2) * 0.125 + mask, -1) @ v
            x = x + linear(attended.transpose(0, 2, 1, 3).reshape(1, length, width), p["o"])
            x = x + linear(jax.nn.gelu(linear(normalised(x, p["l2"]), p["f"])), p["p"])
        logits = normalised(x[:, -1], parameters["ln"]) @ parameters["w"].T
        return jnp.argmax(logits, -1)[:, None], new_keys, new_values

    prompt = jnp.asarray(integers(arrays.VOCABULARY, 1, prompt_length))
    fast = jax.jit(step, donate_argnums=(3, 4))

    def empty() -> list:
        return [jnp.zeros((1, heads, context, size)) for _ in range(arrays.LAYERS)]

    def generate() -> np.ndarray:
        token, keys, values = fast(parameters, prompt, 0, empty(), empty())
        tokens = [token]
        for i in range(prompt_length, prompt_length + arrays.NEW - 1):
            token, keys, values = fast(parameters, token, i, keys, values)
            tokens.append(token)
        return np.concatenate([np.asarray(t) for t in tokens], 1)

    bench("gpt2 32+64", generate, "static", answer=np.asarray)


# -- small networks and single operations --
def perceptron(parameters: list, x: Any) -> Any:
    x = x.reshape(x.shape[0], -1)
    for i, (w, b) in enumerate(parameters):
        x = (jax.nn.relu(x) if i else x) @ w + b
    return x


def lenet(parameters: list, x: Any) -> Any:
    x = max_pool(jax.nn.relu(conv(x, parameters[0][0], 1, 2) + parameters[0][1]), 2, 2, 0)
    x = max_pool(jax.nn.relu(conv(x, parameters[1][0], 1, 0) + parameters[1][1]), 2, 2, 0)
    return perceptron(parameters[2:], x.transpose(0, 3, 1, 2))


def lenet_parameters() -> list:
    first = filters("c1", 6, 1, 5), weight("c1.bias", (6,))
    second = filters("c2", 16, 6, 5), weight("c2.bias", (16,))
    return [first, second, dense("f1", 400, 120), dense("f2", 120, 84), dense("f3", 84, 10)]


def perceptron_parameters() -> list:
    return [dense("f1", 784, 512), dense("f2", 512, 512), dense("f3", 512, 10)]


def small_train() -> None:
    x, labels = jnp.asarray(normal(32, 1, 28, 28).transpose(0, 2, 3, 1)), integers(10, 32)
    cases = (("lenet", lenet, lenet_parameters), ("mlp", perceptron, perceptron_parameters))
    for name, net, make in cases:
        step = trainer(net, jax.tree.map(jnp.array, make()), x, labels)
        bench(f"{name} b32 train", step, unit="us", answer=three_losses(step))
        function, parameters = jax.jit(net), jax.tree.map(jnp.array, make())
        bench(
            f"{name} b32 infer", lambda f=function, p=parameters: ready(f(p, x)), unit="us", answer=np.asarray
        )


def eager() -> None:
    a, b = jnp.asarray(normal(2, 3)), jnp.asarray(normal(2, 3, seed=1))

    def adds() -> Any:
        c = a
        for _ in range(1000):
            c = c + b
        return ready(c)

    bench("add (2,3)", adds, unit="us", per=1000, answer=np.asarray)

    def chain(x: Any) -> Any:
        for _ in range(100):
            x = x + b
        return x.sum()

    gradient = jax.grad(chain)
    bench("chain100 fwd+grad", lambda: ready(gradient(a)), unit="us", answer=np.asarray)


def pointwise() -> None:
    def norm(x: Any, w: Any, b: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(variance + 1e-5) * w + b

    for (case, shape), function in zip(arrays.POINTWISE, (jax.nn.gelu, jax.nn.softmax, norm)):
        x, g = jnp.asarray(normal(*shape)), jnp.asarray(normal(*shape, seed=1))
        inputs = (x, jnp.ones(1024), jnp.zeros(1024)) if "norm" in case else (x,)
        forward = jax.jit(function)
        bench(case, lambda f=forward, i=inputs: ready(f(*i)), answer=np.asarray)

        def both(g: Any, *inputs: Any, function: Any = function) -> Any:
            y, pull = jax.vjp(function, *inputs)
            return y, pull(g)

        forward_and_back = jax.jit(both)
        bench(
            case + " fwd+bwd",
            lambda f=forward_and_back, g=g, i=inputs: ready(f(g, *i)),
            answer=lambda result: np.asarray(result[1][0]),
        )


def gelu_fresh() -> None:
    x, function = jnp.asarray(normal(16 << 20)), jax.jit(jax.nn.gelu)
    measure.bench_fresh("gelu 16M fresh", lambda: ready(function(x)))
    bench("gelu 16M warm", lambda: ready(function(x)), answer=np.asarray)


def gemm() -> None:
    function = jax.jit(jnp.matmul)
    for case, a, b, flops, bytes_ in arrays.matrices():
        left, right = jnp.asarray(a), jnp.asarray(b)
        bench(
            case, lambda a=left, b=right: ready(function(a, b)), flops=flops, bytes_=bytes_, answer=np.asarray
        )


if __name__ == "__main__":
    measure.run(globals())
