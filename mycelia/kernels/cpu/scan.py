"""Running sums, products, extrema and the like on the CPU."""
from __future__ import annotations

import math

from mycelia.codegen import scan as generator
from mycelia.codegen.scan import Scan
from mycelia.codegen.target import Target
from mycelia.ir.graph import Node
from mycelia.kernels.api import Arg, Call, Code, In, KernelBase, Out, Work, kernel
from mycelia.kernels.cpu.fused import SMALLEST_CHUNK, static_shape

LINE = 64  # elements: tiles of columns begin on lines of the cache
PART = 4 * SMALLEST_CHUNK  # elements of a part of a long axis: about 150 us
ENOUGH_UNITS = 16  # from which axes are not cut into parts


KINDS = {"CumSum": "sum", "CumProd": "prod", "CumulativeLogsumexp": "logsumexp", "CumMax": "max",
         "CumMin": "min"}


@kernel(list(KINDS))
class Running(KernelBase):
    """Columns side by side, rows one by one; long axes in parts, if there are few of them."""

    def lower(self, node: Node, target: Target) -> list[Call]:
        shape, dtype, axis = static_shape(node.outputs[0]), node.outputs[0].dtype, node.attrs["axis"]
        if 0 in shape:
            return []
        outer, extent, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
        exclusive, reverse = (bool(node.attrs.get(name, False)) for name in ("exclusive", "reverse"))
        scan = Scan(dtype, exclusive, reverse, inner == 1, KINDS[node.op.name])
        width = min(inner, -(-SMALLEST_CHUNK // (extent * LINE)) * LINE)
        tiles = -(-inner // width)
        part = extent
        if not scan.places and outer * tiles < ENOUGH_UNITS and extent * width > 2 * PART:
            part = -(-PART // width)
        parts = -(-extent // part)
        units = outer * parts * tiles
        each = max(1, SMALLEST_CHUNK // (part * width))
        totals: Arg = Work(outer * parts * inner * scan.total.itemsize, "totals") if parts > 1 else 0
        places: Arg = Out(1) if scan.places else 0
        sizes = (units, each, extent, inner, width, tiles, part, parts)
        words: list[Arg] = [In(0), Out(0), totals, places, *sizes]

        def call(name: str, totals_only: bool) -> Call:
            symbol = f"{name}_{scan.key}"
            code = Code(symbol, symbol, lambda: generator.scan_text(symbol, scan, target, totals_only))
            return Call(code, words, -(-units // each))

        return [*([call("scan_totals", True)] if parts > 1 else []), call("scan", False)]
