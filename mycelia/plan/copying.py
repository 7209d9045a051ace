"""The native copy that a plan adds where a value must end up in memory that its producer could not write."""
from __future__ import annotations

from mycelia.kernels.api import Code

_BLOCK = 1 << 20  # bytes of one chunk


def _text() -> str:
    return f"""
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define i32 @mycelia_copy(ptr %args, i64 %chunk) {{
  %to = load ptr, ptr %args
  %p1 = getelementptr i8, ptr %args, i64 8
  %from = load ptr, ptr %p1
  %p2 = getelementptr i8, ptr %args, i64 16
  %bytes = load i64, ptr %p2
  %begin = mul i64 %chunk, {_BLOCK}
  %left = sub i64 %bytes, %begin
  %whole = icmp ugt i64 %left, {_BLOCK}
  %count = select i1 %whole, i64 {_BLOCK}, i64 %left
  %target = getelementptr i8, ptr %to, i64 %begin
  %source = getelementptr i8, ptr %from, i64 %begin
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %source, i64 %count, i1 false)
  ret i32 0
}}
"""


COPY = Code("mycelia_copy", f"plan.copy/{_BLOCK}", _text)


def copy_chunks(nbytes: int) -> int:
    return -(-nbytes // _BLOCK)
