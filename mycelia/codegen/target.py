"""What the generators need to know of a processor."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True)
class Target:
    """A processor to emit code for.

    Attributes:
        triple: LLVM's target triple.
        cpu: LLVM's processor name.
        features: LLVM's feature string, e.g. ``"+avx2,+fma"``.
        vector_bytes: bytes of a vector register: 16, 32 or 64.
        registers: number of vector registers: 16 (AVX2) or 32.
    """

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    registers: int

    def lanes(self, itemsize: int) -> int:
        """Elements of that size in one vector register."""
        return self.vector_bytes // itemsize

    @property
    def key(self) -> str:
        return f"{self.triple}/{self.cpu}/{self.features}"

    @staticmethod
    def host() -> Target:
        """This machine's processor. Loads LLVM."""
        return _host()


X86_64_V3 = Target("x86_64-unknown-linux-gnu", "x86-64-v3", "", 32, 16)
X86_64_V4 = Target("x86_64-unknown-linux-gnu", "x86-64-v4", "", 64, 32)
AARCH64 = Target("aarch64-unknown-linux-gnu", "generic", "+neon", 16, 32)
ALL = (X86_64_V3, X86_64_V4, AARCH64)


_remember: Callable[[Callable[[], Target]], Target] | None = None


def set_host_memory(remember: Callable[[Callable[[], Target]], Target]) -> None:
    """Registers who remembers this machine's description between runs, since to ask LLVM for it means to
    load it."""
    global _remember
    _remember = remember


@lru_cache(1)
def _host() -> Target:
    return _remember(_detect) if _remember else _detect()


def _detect() -> Target:
    import llvmlite.binding as llvm

    features = llvm.get_host_cpu_features()
    triple = llvm.get_default_triple()
    if features.get("avx512f") and features.get("avx512vl") and features.get("avx512dq"):
        vector, registers = 64, 32
        features["prefer-256-bit"] = False
    elif features.get("avx2") and features.get("fma"):
        vector, registers = 32, 16
    elif triple.startswith(("aarch64", "arm64")):
        vector, registers = 16, 32
    else:
        raise RuntimeError(f"this processor ({llvm.get_host_cpu_name()}) has neither AVX2 with FMA nor NEON, "
                           f"which "
                           f"Mycelia's kernels need")
    return Target(triple, llvm.get_host_cpu_name(), features.flatten(), vector, registers)
