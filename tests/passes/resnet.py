"""ResNet-50 for inference as a graph, built by hand: what the passes must digest quickly."""
from mycelia.ir import dtypes
from mycelia.ir.graph import Graph, Value
from mycelia.ir.types import TensorType


def resnet50(
    batch: int = 1, size: int = 224, layers=(3, 4, 6, 3), width: int = 64, classes: int = 1000
) -> Graph:
    graph = Graph("resnet50")
    x = graph.input(TensorType(dtypes.float32, (batch, 3, size, size)), "x")

    def parameter(name: str, *shape: int) -> Value:
        return graph.input(TensorType(dtypes.float32, shape), name)

    def norm(y: Value, name: str) -> Value:
        c = y.shape[1]
        gamma, beta, mean, var = (parameter(f"{name}.{p}", c) for p in ("gamma", "beta", "mean", "var"))
        epsilon = graph.constant(dtypes.float32.numpy.type(1e-5))
        r = graph.add("Rsqrt", graph.add("Add", var, epsilon).output).output
        y = graph.add("Sub", y, column(mean)).output
        y = graph.add("Mul", y, column(r)).output
        y = graph.add("Mul", y, column(gamma)).output
        return graph.add("Add", y, column(beta)).output

    def column(v: Value) -> Value:
        return graph.add("Reshape", v, shape=(1, v.shape[0], 1, 1)).output

    def conv(y: Value, out: int, kernel: int, stride: int, name: str) -> Value:
        pad = kernel // 2
        y = graph.add("Conv2D", y, parameter(name, out, y.shape[1], kernel, kernel), stride=(stride, stride),
                      pads=(pad,) * 4, dilation=(1, 1), groups=1).output
        return norm(y, name + ".bn")

    y = graph.add("ReLU", conv(x, width, 7, 2, "stem")).output
    y = graph.add("MaxPool", y, kernel_size=(3, 3), stride=(2, 2), pads=(1, 1, 1, 1)).output
    for stage, count in enumerate(layers):
        inner = width << stage
        for block in range(count):
            name, stride = f"layer{stage}.{block}", 2 if stage and not block else 1
            z = graph.add("ReLU", conv(y, inner, 1, 1, name + ".a")).output
            z = graph.add("ReLU", conv(z, inner, 3, stride, name + ".b")).output
            z = conv(z, inner * 4, 1, 1, name + ".c")
            if not block:
                y = conv(y, inner * 4, 1, stride, name + ".d")
            y = graph.add("ReLU", graph.add("Add", z, y).output).output
    y = graph.add("ReduceMean", y, axes=(2, 3), keepdims=False).output
    y = graph.add(
        "MatMul", y, parameter("fc.weight", classes, y.shape[1]), transpose_a=False, transpose_b=True
    ).output
    graph.outputs = [graph.add("Add", y, parameter("fc.bias", classes)).output]
    return graph
