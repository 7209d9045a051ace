"""Pooling on the CPU, channels last."""

from __future__ import annotations

from collections.abc import Sequence

from mycelia.codegen import pack, pool
from mycelia.codegen.pool import Pooling
from mycelia.codegen.target import Target
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, Refusal, kernel
from mycelia.kernels.cpu.contraction import Widened, ceil_div, evenly, tile_for

# Elements that a chunk reads.
CHUNK_ELEMENTS = 200_000


class PoolingKernel(KernelBase):
    kind = "max"

    def accepts(self, node: Node, target: Target) -> Refusal | None:
        if not node.inputs[0].dtype.is_float:
            return Refusal(f"pools floating-point images, not {node.inputs[0].dtype.name}")
        return None

    def spec(self, node: Node, target: Target) -> Pooling:
        dtype = node.inputs[0].dtype
        return Pooling(
            self.kind,
            tile_for(target, dtype),
            pack.STORED[dtype.name],
            bool(node.attrs.get("count_include_pad", False)),
        )


def _words(
    node: Node, image: Sequence[int], out: Sequence[int], block: int, blocks: int, group: int, **pointers: Arg
) -> list[Arg]:
    (kh, kw), (sh, sw), pads = (node.attrs[x] for x in ("kernel_size", "stride", "pads"))
    numbers = dict(
        height=image[1],
        width=image[2],
        channels=image[3],
        out_height=out[1],
        out_width=out[2],
        kernel_height=kh,
        kernel_width=kw,
        stride_height=sh,
        stride_width=sw,
        top=pads[0],
        left=pads[2],
        block=block,
        blocks=blocks,
        images=image[0],
        group=group,
    )
    return [{**pointers, **numbers}.get(name, 0) for name in pool.WORDS]


def _group(images: int, elements: int) -> int:
    """Images of a chunk that reads so many elements of each."""
    return evenly(images, max(CHUNK_ELEMENTS // max(elements, 1), 1))


class Forward(PoolingKernel):
    pointers: dict[str, Arg] = {"x": In(0), "y": Out(0)}

    def code(self, spec: Pooling) -> Code:
        return Code(spec.key, spec.key, lambda: pool.pool(spec, spec.key))

    def lower(self, node: Node, target: Target) -> list[Call]:
        image, out = node.inputs[0].shape, node.outputs[0].shape
        if 0 in out:
            return []
        code = self.code(self.spec(node, target))
        per_row = out[2] * out[3] * node.attrs["kernel_size"][0] * node.attrs["kernel_size"][1]
        block = evenly(out[1], max(CHUNK_ELEMENTS // per_row, 1))
        blocks = ceil_div(out[1], block)
        group = _group(out[0], per_row * block)
        words = _words(node, image, out, block, blocks, group, **self.pointers)
        return [Call(code, words, ceil_div(out[0], group) * blocks)]


@kernel("MaxPoolNHWC", device="CPU")
class MaxPooling(Forward):
    kind = "max"


@kernel("AvgPoolNHWC", device="CPU")
class AvgPooling(Forward):
    kind = "avg"


@kernel("MaxPoolGradGradNHWC", device="CPU")
class MaxPoolingGradGrad(Forward):
    """Inputs: the image, the output, and the cotangent of `MaxPoolGrad`'s result."""

    pointers = {"x": In(0), "y": In(1), "dx": In(2), "dy": Out(0)}

    def code(self, spec: Pooling) -> Code:
        symbol = spec.key.replace("pool", "pool_grad_grad")
        return Code(symbol, symbol, lambda: pool.max_pool_grad_grad(spec, symbol))


class Backward(PoolingKernel):
    def lower(self, node: Node, target: Target) -> list[Call]:
        image, out = node.outputs[0].shape, node.inputs[-1].shape
        if 0 in image:
            return []
        spec = self.spec(node, target)
        symbol = spec.key.replace("pool", "pool_grad")
        code = Code(symbol, symbol, lambda: pool.pool_grad(spec, symbol))
        wide = Widened(target, node.inputs[0].dtype)
        dx = wide.write(Out(0), image[0] * image[1] * image[2] * image[3])
        per_channel = max(out[1] * out[2] * node.attrs["kernel_size"][0] * node.attrs["kernel_size"][1], 1)
        block = evenly(image[3], max(CHUNK_ELEMENTS // per_channel, 4 * spec.tile.lanes), 4 * spec.tile.lanes)
        blocks = ceil_div(image[3], block)
        x, y, dy = (In(0), In(1), In(2)) if self.kind == "max" else (0, 0, In(0))
        group = _group(image[0], per_channel * block)
        words = _words(node, image, out, block, blocks, group, x=x, y=y, dy=dy, dx=dx)
        return [Call(code, words, ceil_div(image[0], group) * blocks), *wide.after]


@kernel("MaxPoolGradNHWC", device="CPU")
class MaxPoolingGrad(Backward):
    kind = "max"


@kernel("AvgPoolGradNHWC", device="CPU")
class AvgPoolingGrad(Backward):
    kind = "avg"
