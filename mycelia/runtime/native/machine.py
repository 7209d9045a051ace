"""What differs between processors in the native runtime: system call numbers, the pause hint, the
floating-point control register."""

from __future__ import annotations

from mycelia.codegen.target import Target

_X86_64 = """
@FUTEX = private unnamed_addr constant i64 202
declare void @llvm.x86.sse2.pause()
declare void @llvm.x86.sse.stmxcsr(ptr)
declare void @llvm.x86.sse.ldmxcsr(ptr)

define internal void @pause() alwaysinline {
  call void @llvm.x86.sse2.pause()
  ret void
}

; Saves the caller's control register and sets ours: round to nearest, exceptions masked, denormals kept.
define internal void @float_mode(ptr %saved) alwaysinline {
  %ours = alloca i32
  call void @llvm.x86.sse.stmxcsr(ptr %saved)
  store i32 8064, ptr %ours
  call void @llvm.x86.sse.ldmxcsr(ptr %ours)
  ret void
}

define internal void @float_mode_back(ptr %saved) alwaysinline {
  call void @llvm.x86.sse.ldmxcsr(ptr %saved)
  ret void
}
"""

_AARCH64 = """
@FUTEX = private unnamed_addr constant i64 98
declare void @llvm.aarch64.hint(i32)
declare i64 @llvm.aarch64.get.fpcr()
declare void @llvm.aarch64.set.fpcr(i64)

define internal void @pause() alwaysinline {
  call void @llvm.aarch64.hint(i32 1)
  ret void
}

; Saves the caller's control register and sets ours: round to nearest, exceptions masked, denormals kept.
define internal void @float_mode(ptr %saved) alwaysinline {
  %theirs = call i64 @llvm.aarch64.get.fpcr()
  store i64 %theirs, ptr %saved
  call void @llvm.aarch64.set.fpcr(i64 0)
  ret void
}

define internal void @float_mode_back(ptr %saved) alwaysinline {
  %theirs = load i64, ptr %saved
  call void @llvm.aarch64.set.fpcr(i64 %theirs)
  ret void
}
"""


def text(target: Target) -> str:
    """The definitions that the other modules of the native runtime rely on.

    Raises:
        NotImplementedError: the runtime has not been brought to that processor.
    """
    if target.triple.startswith("x86_64"):
        return _X86_64
    if target.triple.startswith(("aarch64", "arm64")):
        return _AARCH64
    raise NotImplementedError(f"the native runtime knows x86_64 and aarch64 Linux. Received: {target.triple}")
