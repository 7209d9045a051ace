"""Images run channels-last: convolutions, pooling and what lies between them change from NCHW to NHWC.

One sweep keeps, for every value, the layouts in which it exists. Nodes of the families below are rewritten to
NHWC; pointwise operators, reductions, concatenations, slices and pads follow their operands; everything else
asks for NCHW, and a Transpose is made where a layout is missing, once for each value. So Transposes between
two convolutions never come into being.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mycelia.ir.graph import Graph, Node, Value
from mycelia.ops import conv_layouts  # noqa: F401  (defines the operators that this pass makes)
from mycelia.passes.rewrite import make_node

TO_NHWC = (0, 2, 3, 1)
TO_NCHW = (0, 3, 1, 2)
_NHWC_AXIS = {0: 0, 1: 3, 2: 1, 3: 2}  # where an axis of NCHW lies in NHWC

IMAGE = frozenset(["Conv2D", "Conv2DInputGrad", "Conv2DWeightGrad", "MaxPool", "MaxPoolGrad",
    "MaxPoolGradGrad", "AvgPool", "AvgPoolGrad"])


def layout(graph: Graph) -> bool:
    """Rewrites a graph in place; says whether it holds images."""
    if not any(node.op.name in IMAGE for node in graph.nodes):
        return False
    _Layout(graph).run()
    return True


def nhwc_shape(shape: Sequence[Any]) -> tuple:
    return tuple(shape[p] for p in TO_NHWC)


class _Layout:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.nodes: list[Node] = []
        self.first: dict[Value, Value] = {}   # original -> NCHW
        self.last: dict[Value, Value] = {}    # original -> NHWC
        self.native: set[Value] = set()       # originals that were computed in NHWC
        self.broadcasts: dict[Value, Node] = {}  # originals whose BroadcastTo is made where it is read

    def run(self) -> None:
        graph = self.graph
        for value in graph.inputs:
            self.first[value] = value
        for node in graph.nodes:
            self.at = node
            rewrite = _RULES.get(node.op.name)
            if rewrite is None and node.op.pointwise and len(node.outputs) == 1:
                rewrite = _Layout.pointwise
            if rewrite is None or not rewrite(self, node):
                node.inputs = [self.nchw(v) for v in node.inputs]
                self.nodes.append(node)
                for value in node.outputs:
                    self.first[value] = value
        graph.outputs = [self.nchw(v) for v in graph.outputs]
        graph.writes = {i: self.nchw(v) for i, v in graph.writes.items()}
        graph.nodes = self.nodes

    # -- values in one layout or the other -----------------------------------------------------------------
    def emit(self, op: str, *inputs: Value, **attrs: Any) -> Node:
        node = make_node(op, inputs, attrs, self.at, "layout")
        self.nodes.append(node)
        return node

    def nchw(self, value: Value) -> Value:
        found = self.first.get(value)
        if found is None and value in self.broadcasts:
            node = self.broadcasts[value]
            found = self.first[value] = self.emit(
                "BroadcastTo", self.nchw(node.inputs[0]), shape=value.shape
            ).output
        if found is None:
            found = self.first[value] = self.emit("Transpose", self.last[value], perm=TO_NCHW).output
            found.name = value.name
        return found

    def nhwc(self, value: Value) -> Value:
        found = self.last.get(value)
        if found is None and value in self.broadcasts:
            source = self.broadcast_operand(self.broadcasts[value].inputs[0])
            found = self.last[value] = self.emit("BroadcastTo", source, shape=nhwc_shape(value.shape)).output
        if found is None:
            found = self.last[value] = self.emit("Transpose", self.first[value], perm=TO_NHWC).output
        return found

    def broadcast_operand(self, value: Value) -> Value:
        """An operand of a pointwise operator whose result is NHWC: of rank 4, or one element of any rank."""
        shape = value.shape
        if all(isinstance(d, int) and d == 1 for d in shape):
            return self.last[value] if value in self.last else self.nchw(value)
        if len(shape) < 4 and value not in self.last:
            whole = self.emit("Reshape", self.nchw(value), shape=(1,) * (4 - len(shape)) + tuple(shape))
            self.last[value] = self.emit("Transpose", whole.output, perm=TO_NHWC).output
        return self.nhwc(value)

    def give(self, value: Value, result: Value) -> None:
        """``result`` holds ``value`` in NHWC."""
        result.name = value.name
        self.last[value] = result
        self.native.add(value)

    def give_as_is(self, value: Value, result: Value) -> None:
        result.name = value.name
        self.first[value] = result

    # -- operators that follow their operands --------------------------------------------------------------
    def pointwise(self, node: Node) -> bool:
        if len(node.output.shape) != 4 or not any(v in self.native for v in node.inputs):
            return False
        operands = [self.broadcast_operand(v) for v in node.inputs]
        self.give(node.output, self.emit(node.op.name, *operands, **node.attrs).output)
        return True

    def broadcast(self, node: Node) -> bool:
        """Made in the layout that its readers want."""
        if len(node.output.shape) != 4:
            return False
        self.broadcasts[node.output] = node
        if node.inputs[0] in self.native:
            self.native.add(node.output)
        return True

    def reduction(self, node: Node) -> bool:
        x = node.inputs[0]
        if x not in self.native:
            return False
        axes = node.attrs["axes"]
        moved = tuple(sorted(_NHWC_AXIS[a] for a in axes))
        result = self.emit(node.op.name, self.nhwc(x), axes=moved, keepdims=node.attrs["keepdims"]).output
        if node.attrs["keepdims"]:
            self.give(node.output, result)
            return True
        left = [TO_NHWC[i] for i in range(4) if i not in moved]  # the axes of NCHW, in the result's order
        if left != sorted(left):
            result = self.emit("Transpose", result, perm=tuple(left.index(a) for a in sorted(left))).output
        self.give_as_is(node.output, result)
        return True

    def concat(self, node: Node) -> bool:
        if not any(v in self.native for v in node.inputs):
            return False
        parts = [self.nhwc(v) for v in node.inputs]
        self.give(node.output, self.emit("Concat", *parts, axis=_NHWC_AXIS[node.attrs["axis"]]).output)
        return True

    def by_axis(self, node: Node) -> bool:
        """Attributes that hold one entry for each axis move along: Pad, StridedSlice, SliceScatter."""
        if node.inputs[0] not in self.native:
            return False
        attrs = {
            k: nhwc_shape(a) if isinstance(a, tuple) and len(a) == 4 else a for k, a in node.attrs.items()
        }
        self.give(node.output, self.emit(node.op.name, *map(self.nhwc, node.inputs), **attrs).output)
        return True

    def softmax(self, node: Node) -> bool:
        if node.inputs[0] not in self.native:
            return False
        operands = map(self.nhwc, node.inputs)
        result = self.emit(node.op.name, *operands, axis=_NHWC_AXIS[node.attrs["axis"]]).output
        self.give(node.output, result)
        return True

    # -- images --------------------------------------------------------------------------------------------
    def packed(self, w: Value, attrs: dict[str, Any], form: str) -> Value:
        return self.emit(
            "PackConvWeights",
            self.nchw(w),
            groups=attrs["groups"],
            form=form,
            stride=attrs["stride"],
            dilation=attrs["dilation"],
        ).output

    def conv(self, node: Node) -> bool:
        x, w = node.inputs
        result = self.emit(
            "ConvNHWC",
            self.nhwc(x),
            self.packed(w, node.attrs, "forward"),
            kernel_size=w.shape[2:],
            **node.attrs,
            out_channels=w.shape[0],
            epilogue="",
            has_bias=False,
            has_residual=False,
        )
        self.give(node.output, result.output)
        return True

    def conv_input_grad(self, node: Node) -> bool:
        dy, w = node.inputs
        attrs = {k: a for k, a in node.attrs.items() if k != "input_shape"}
        result = self.emit(
            "ConvInputGradNHWC",
            self.nhwc(dy),
            self.packed(w, attrs, "input_grad"),
            input_shape=nhwc_shape(node.attrs["input_shape"]),
            kernel_size=w.shape[2:],
            **attrs,
        )
        self.give(node.output, result.output)
        return True

    def conv_weight_grad(self, node: Node) -> bool:
        x, dy = node.inputs
        attrs = {k: a for k, a in node.attrs.items() if k != "weight_shape"}
        result = self.emit("ConvWeightGradNHWC", self.nhwc(x), self.nhwc(dy),
                           kernel_size=tuple(node.attrs["weight_shape"][2:]), **attrs)
        self.give_as_is(node.output, result.output)
        return True

    def pool(self, node: Node) -> bool:
        attrs = dict(node.attrs)
        if "input_shape" in attrs:
            attrs["input_shape"] = nhwc_shape(attrs["input_shape"])
        name = node.op.name + "NHWC"
        self.give(node.output, self.emit(name, *map(self.nhwc, node.inputs), **attrs).output)
        return True

    def batch_norm(self, node: Node) -> bool:
        """Rows of channels: statistics over axis 0 of [n * h * w, c]."""
        images = 2 if node.op.name == "BatchNormTrainGrad" else 1
        if not any(v in self.native for v in node.inputs[:images]):
            return False
        n, h, w, c = nhwc_shape(node.inputs[0].shape)
        rows = [self.emit("Reshape", self.nhwc(v), shape=(n * h * w, c)).output for v in node.inputs[:images]]
        result = self.emit(node.op.name, *rows, *map(self.nchw, node.inputs[images:]), **node.attrs)
        self.give(node.output, self.emit("Reshape", result.output, shape=(n, h, w, c)).output)
        for old, new in zip(node.outputs[1:], result.outputs[1:]):
            self.give_as_is(old, new)
        return True


_REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceAll", "ReduceAny")
_RULES: dict[str, Callable[[_Layout, Node], bool]] = {
    "Conv2D": _Layout.conv,
    "Conv2DInputGrad": _Layout.conv_input_grad,
    "Conv2DWeightGrad": _Layout.conv_weight_grad,
    "MaxPool": _Layout.pool,
    "MaxPoolGrad": _Layout.pool,
    "MaxPoolGradGrad": _Layout.pool,
    "AvgPool": _Layout.pool,
    "AvgPoolGrad": _Layout.pool,
    "BatchNormTrain": _Layout.batch_norm,
    "BatchNormTrainGrad": _Layout.batch_norm,
    "Concat": _Layout.concat,
    "BroadcastTo": _Layout.broadcast,
    "Pad": _Layout.by_axis,
    "StridedSlice": _Layout.by_axis,
    "SliceScatter": _Layout.by_axis,
    "Softmax": _Layout.softmax,
    "LogSoftmax": _Layout.softmax,
    "SoftmaxGrad": _Layout.softmax,
    "LogSoftmaxGrad": _Layout.softmax,
    **dict.fromkeys(_REDUCTIONS, _Layout.reduction),
}
