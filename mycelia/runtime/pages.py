"""Memory from the system, by address: mmap and its kin through libc."""

from __future__ import annotations

import ctypes
import mmap
import os

PAGE = mmap.PAGESIZE
READ_WRITE = mmap.PROT_READ | mmap.PROT_WRITE
READ_EXECUTE = mmap.PROT_READ | mmap.PROT_EXEC
INACCESSIBLE = 0

HUGE_PAGES = 14  # MADV_HUGEPAGE
WIPE_ON_FORK = 18  # MADV_WIPEONFORK
DONT_NEED = 4  # MADV_DONTNEED
_NO_RESERVE = 0x4000  # MAP_NORESERVE

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_long,
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_FAILED = ctypes.c_void_p(-1).value


def map_pages(nbytes: int, protection: int = READ_WRITE, *, align: int = PAGE) -> int:
    """Maps zeroed private memory and returns its address; inaccessible memory only reserves addresses.

    Raises:
        MemoryError: the system has none.
    """
    spare = align - PAGE if align > PAGE else 0
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (0 if protection else _NO_RESERVE)
    base = _libc.mmap(None, nbytes + spare, protection, flags, -1, 0)
    if base is None or base == _FAILED:
        raise MemoryError(f"the system gives no {nbytes} bytes of memory: {os.strerror(ctypes.get_errno())}")
    start = base + -base % align
    if start > base:
        _libc.munmap(base, start - base)
    end, mapped = start + nbytes + -nbytes % PAGE, base + nbytes + spare
    if mapped > end:
        _libc.munmap(end, mapped - end)
    return start


def unmap_pages(address: int, nbytes: int) -> None:
    _libc.munmap(address, nbytes)


def protect(address: int, nbytes: int, protection: int) -> None:
    """Changes what may be done with mapped pages.

    Raises:
        PermissionError: the system refuses (executable memory under a strict policy).
    """
    if _libc.mprotect(address, nbytes, protection):
        raise PermissionError(
            ctypes.get_errno(),
            "the system refuses to change the protection of memory (executable "
            "memory may be forbidden by its security policy)",
        )


def advise(address: int, nbytes: int, advice: int) -> bool:
    """Gives the kernel a hint; False when it does not know it."""
    return _libc.madvise(address, nbytes, advice) == 0
