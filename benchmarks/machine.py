"""The machine: processor, instruction set, and the floors of one core, found by kernels made through LLVM."""

from __future__ import annotations

import ctypes
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CHAINS = 12  # independent accumulators: enough to hide the latency of a fused multiply-add
PIECES = 200  # short pieces, the best one counts: it fits between two preemptions
DATA = 256 << 20  # bytes, many times what any cache holds


@dataclass
class Floors:
    """What one core can do at most: billions of float32 operations a second, gigabytes read a second."""

    gflops: float = 0.0
    gbs: float = 0.0


def processor() -> str:
    for line in _cpuinfo().splitlines():
        if line.lower().startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def instruction_set() -> str:
    flags = set(_cpuinfo().split())
    if "avx512f" in flags:
        return "AVX-512"
    if "avx2" in flags and "fma" in flags:
        return "AVX2 with FMA"
    return "NEON" if platform.machine() in ("aarch64", "arm64") else "SSE"


def describe() -> str:
    cores = len(os.sched_getaffinity(0))
    return f"{processor()}, {instruction_set()}, {cores} CPU(s), Python {platform.python_version()}"


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


def measure(floors: Floors) -> Floors:
    """Raises the floors to what this process reaches now; call it pinned, several times in a run."""
    from mycelia.codegen.target import Target
    from mycelia.runtime.link import compile_object, load_object

    target = Target.host()
    lanes = target.lanes(4)
    text = _multiply_add(lanes) + _read(lanes)
    addresses = load_object(compile_object(text, target), ["fma_peak", "read_all"])
    sink, data = np.zeros(64, np.float32), np.ones(DATA // 4, np.float32)
    multiply = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(addresses["fma_peak"])
    read = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(addresses["read_all"])
    loops, piece = 500_000, (4 << 20) // (4 * lanes * CHAINS)  # vectors of a piece of 4 MB, over the chains
    step = piece * lanes * CHAINS * 4
    for index in range(PIECES):
        begin = time.perf_counter()
        multiply(sink.ctypes.data, loops)
        floors.gflops = max(floors.gflops, 2 * CHAINS * lanes * loops / (time.perf_counter() - begin) / 1e9)
        at = data.ctypes.data + index % (DATA // step) * step
        begin = time.perf_counter()
        read(sink.ctypes.data, at, piece)
        floors.gbs = max(floors.gbs, step / (time.perf_counter() - begin) / 1e9)
    return floors


def _multiply_add(lanes: int) -> str:
    """Chains of fused multiply-adds whose results are stored at the end, so that none can be left out."""
    vector = f"<{lanes} x float>"
    chains = range(CHAINS)
    start = "\n".join(f"  %s{k} = phi {vector} [ %x, %entry ], [ %n{k}, %loop ]" for k in chains)
    body = "\n".join(
        f"  %n{k} = call {vector} @llvm.fma.v{lanes}f32({vector} %s{k}, {vector} %x, {vector} %x)"
        for k in chains
    )
    return f"""
declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})

define void @fma_peak(ptr %out, i64 %loops) {{
entry:
  %x = load {vector}, ptr %out, align 4
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{start}
{body}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %loops
  br i1 %more, label %loop, label %end
end:
{_sum(vector, "n")}
  ret void
}}
"""


def _read(lanes: int) -> str:
    """Sums of everything in a range, one vector a chain."""
    vector = f"<{lanes} x float>"
    chains = range(CHAINS)
    start = "\n".join(f"  %s{k} = phi {vector} [ zeroinitializer, %entry ], [ %n{k}, %loop ]" for k in chains)
    body = "\n".join(
        f"  %p{k} = getelementptr {vector}, ptr %at, i64 {k}\n  %v{k} = load {vector}, ptr %p{k}, align 4\n"
        f"  %n{k} = fadd {vector} %s{k}, %v{k}"
        for k in chains
    )
    return f"""
define void @read_all(ptr %out, ptr %data, i64 %count) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
{start}
  %offset = mul i64 %i, {CHAINS}
  %at = getelementptr {vector}, ptr %data, i64 %offset
{body}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %end
end:
{_sum(vector, "n")}
  ret void
}}
"""


def _sum(vector: str, name: str) -> str:
    lines, total = [], f"%{name}0"
    for k in range(1, CHAINS):
        lines.append(f"  %t{k} = fadd {vector} {total}, %{name}{k}")
        total = f"%t{k}"
    return "\n".join([*lines, f"  store {vector} {total}, ptr %out, align 4"])


if __name__ == "__main__":  # started pinned by the runner
    found = measure(Floors())
    print(f"{found.gflops:.1f} {found.gbs:.2f}")
