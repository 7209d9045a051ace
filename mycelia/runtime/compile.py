"""Kernels to addresses: the table of this process first, then the object cache on disk, then LLVM, here and
in workers.

    compile_all(codes) -> {code.key: address of code.symbol}
    emit(code, target) -> bytes of an object file, for inspection

LLVM is loaded only when something has to be compiled.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import mycelia.codegen
from mycelia.codegen.target import Target, set_host_memory
from mycelia.kernels.api import Code
from mycelia.runtime import cache as cache_module
from mycelia.runtime import image as linker
from mycelia.runtime import workers
from mycelia.runtime.cache import ObjectCache
from mycelia.runtime.elf import undefined_symbols
from mycelia.runtime.fork import ForkLock
from mycelia.runtime.image import Image

__all__ = [
    "compile_all",
    "compile_module",
    "emit",
    "undefined_symbols",
    "object_cache",
    "statistics",
    "Statistics",
]

# What the text of a kernel depends on besides its key: the code that writes it.
_SOURCES = ("codegen", "kernels", "ops", "ir", "runtime")


class Statistics:
    """What this process compiled and what it found in the cache."""

    def __init__(self) -> None:
        self.compiled = self.cached = 0


statistics = Statistics()
_addresses: dict[tuple[str, str], dict[str, int]] = {}
_lock = ForkLock()
_cache: ObjectCache | None = None


def object_cache() -> ObjectCache:
    """The cache of this process; made from the environment on first use."""
    global _cache
    if _cache is None:
        _cache = ObjectCache(cache_module.default_folder())
    return _cache


def set_object_cache(cache: ObjectCache | None) -> None:
    """Replaces the cache; None: look at the environment again."""
    global _cache
    _cache = cache


@lru_cache(1)
def fingerprint() -> str:
    """A hash of the generators' sources and of llvmlite's version, which shape the code of a given key."""
    root = Path(mycelia.codegen.__file__).parent.parent
    sources = [path.read_bytes() for folder in _SOURCES for path in sorted((root / folder).rglob("*.py"))]
    return cache_module.digest(_llvmlite_version(), *sources)


def _llvmlite_version() -> bytes:
    """The file that tells llvmlite's version: reading it loads neither LLVM nor the package metadata."""
    found = find_spec("llvmlite")
    if found is None or found.origin is None:
        raise ImportError("llvmlite is not installed; Mycelia compiles with it: pip install llvmlite")
    return (Path(found.origin).parent / "_version.py").read_bytes()


def emit(code: Code, target: Target) -> bytes:
    """The object file of a code, compiled here and now, for any target.

    Raises:
        RuntimeError: LLVM does not accept the text; names the code.
    """
    from mycelia.runtime.emit import emit_object

    try:
        return emit_object(code.text(), target.triple, target.cpu, target.features)
    except RuntimeError as error:
        raise RuntimeError(f"kernel {code.symbol} ({code.key}) for {target.cpu}: {error}") from None


def compile_all(codes: Iterable[Code], target: Target | None = None) -> dict[str, int]:
    """Makes codes callable on this machine.

    Args:
        codes: any number of codes; equal keys count once.
        target: default and only sensible choice: this machine.

    Returns:
        For each key the address of the code's symbol. It stays valid for good.

    Raises:
        RuntimeError: LLVM does not accept a code's text.
        SymbolError: a code refers to a symbol outside the process.
    """
    wanted = {code.key: code for code in codes}
    modules = compile_modules(list(wanted.values()), target)
    return {key: modules[key][code.symbol] for key, code in wanted.items()}


def compile_module(code: Code, target: Target | None = None) -> dict[str, int]:
    """All global symbols of one code, with their addresses."""
    return compile_modules([code], target)[code.key]


def compile_modules(codes: list[Code], target: Target | None = None) -> dict[str, dict[str, int]]:
    target = target or Target.host()
    space = target.key
    missing = {code.key: code for code in codes if (space, code.key) not in _addresses}
    if missing:
        images = _images(list(missing.values()), target)
        mapped = linker.map_images([images[key] for key in missing])
        with _lock:
            for key, addresses in zip(missing, mapped):
                _addresses.setdefault((space, key), addresses)
    return {code.key: _addresses[space, code.key] for code in codes}


def _images(codes: list[Code], target: Target) -> dict[str, Image]:
    cache = object_cache()
    names = {
        code.key: cache_module.digest(fingerprint(), target.key, code.symbol, code.key) for code in codes
    }
    found: dict[str, Image] = {}
    for code in codes:
        entry = cache.get(names[code.key])
        if entry is not None:
            found[code.key] = Image.from_bytes(entry)
    statistics.cached += len(found)
    absent = [code for code in codes if code.key not in found]
    for code, object_file in workers.compile_objects(absent, target):
        found[code.key] = linker.link(object_file)
        cache.put(names[code.key], found[code.key].to_bytes())
        statistics.compiled += 1
    return found


def _remembered(detect: Callable[[], Target]) -> Target:
    """This machine's description, kept in the cache by what the kernel says of its processors."""
    cpu = "".join(
        sorted(set(re.findall(r"^(?:model name|flags|Features|CPU [a-z]+)\s*:.*$", _cpuinfo(), re.MULTILINE)))
    )
    name = cache_module.digest("host", fingerprint(), platform.machine(), cpu)
    entry = object_cache().get(name)
    if entry is not None:
        return Target(**json.loads(entry))
    target = detect()
    object_cache().put(name, json.dumps(asdict(target)).encode())
    return target


def _cpuinfo() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


set_host_memory(_remembered)
