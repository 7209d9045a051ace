"""Small native kernels to run the runtime with, and executables made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.kernels.api import Code
from mycelia.runtime.compile import compile_all
from mycelia.runtime.executable import Executable, Instruction

# args {x, y, z}: z[8 i .. 8 i + 7] = x + y for chunk i
ADD = Code(
    "add",
    "test: add",
    lambda: (
        """
define i32 @add(ptr %args, i64 %chunk) {
  %x = load ptr, ptr %args
  %y.at = getelementptr i64, ptr %args, i64 1
  %y = load ptr, ptr %y.at
  %z.at = getelementptr i64, ptr %args, i64 2
  %z = load ptr, ptr %z.at
  %first = shl i64 %chunk, 3
  %xs = getelementptr float, ptr %x, i64 %first
  %ys = getelementptr float, ptr %y, i64 %first
  %zs = getelementptr float, ptr %z, i64 %first
  %a = load <8 x float>, ptr %xs, align 4
  %b = load <8 x float>, ptr %ys, align 4
  %c = fadd <8 x float> %a, %b
  store <8 x float> %c, ptr %zs, align 4
  ret i32 0
}"""
    ),
)

# args {limit, status}: returns the status at the chunk given by limit, else 0
FAIL = Code(
    "fail",
    "test: fail",
    lambda: (
        """
define i32 @fail(ptr %args, i64 %chunk) {
  %limit = load i64, ptr %args
  %status.at = getelementptr i64, ptr %args, i64 1
  %status = load i64, ptr %status.at
  %here = icmp eq i64 %chunk, %limit
  %code = trunc i64 %status to i32
  %result = select i1 %here, i32 %code, i32 0
  ret i32 %result
}"""
    ),
)

# args {out, steps}: out[chunk] = 1 + 1.5 * steps, slowly
SLOW = Code(
    "slow",
    "test: slow",
    lambda: (
        """
define i32 @slow(ptr %args, i64 %chunk) {
entry:
  %n.at = getelementptr i64, ptr %args, i64 1
  %n = load i64, ptr %n.at
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%i1, %loop]
  %x = phi double [1.0, %entry], [%y, %loop]
  %y = fadd double %x, 1.5
  %i1 = add i64 %i, 1
  %more = icmp slt i64 %i1, %n
  br i1 %more, label %loop, label %out
out:
  %p = load ptr, ptr %args
  %q = getelementptr double, ptr %p, i64 %chunk
  store double %y, ptr %q
  ret i32 0
}"""
    ),
)

# args {out}: out[chunk] = 1 / 3 as the rounding mode in force has it
ROUND = Code(
    "third",
    "test: round",
    lambda: (
        """
define i32 @third(ptr %args, i64 %chunk) {
  %p = load ptr, ptr %args
  %one = getelementptr double, ptr %p, i64 0
  %three = getelementptr double, ptr %p, i64 1
  %a = load volatile double, ptr %one
  %b = load volatile double, ptr %three
  %c = fdiv double %a, %b
  %q = getelementptr double, ptr %p, i64 2
  %r = getelementptr double, ptr %q, i64 %chunk
  store double %c, ptr %r
  ret i32 0
}"""
    ),
)

CODES = (ADD, FAIL, SLOW, ROUND)


def address(code: Code) -> int:
    return compile_all([code])[code.key]


def adder(chunks: int, **options: Any) -> Executable:
    """z = x + y over 8 * chunks elements; slots x, y, z."""
    return Executable(
        [Instruction(address(ADD), 0, chunks, node=7)],
        np.zeros(3, np.int64),
        [(0, 0, 0), (1, 1, 0), (2, 2, 0)],
        slots=3,
        **options,
    )


def slow(chunks: int, steps: int, instructions: int = 1, **options: Any) -> Executable:
    """Fills a slot of ``chunks`` doubles; a step takes about a nanosecond."""
    return Executable(
        [Instruction(address(SLOW), 0, chunks, node=i) for i in range(instructions)],
        np.array([0, steps], np.int64),
        [(0, 0, 0)],
        slots=1,
        **options,
    )


def pointers(*arrays: np.ndarray) -> Sequence[int]:
    return [a.ctypes.data for a in arrays]
