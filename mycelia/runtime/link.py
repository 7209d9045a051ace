"""From IR text to machine code in memory, through LLVM's ORC linker, which raises on an unknown symbol."""
from __future__ import annotations

import ctypes
import itertools
import threading
from typing import Any

from mycelia.codegen.target import Target

_lock = threading.RLock()
_count = itertools.count()
_jit: Any = None


def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def target_machine(target: Target, opt: int = 3) -> Any:
    llvm = _llvm()
    return llvm.Target.from_triple(target.triple).create_target_machine(
        cpu=target.cpu, features=target.features, opt=opt, reloc="pic", codemodel="small")


def compile_object(text: str, target: Target) -> bytes:
    """Optimises IR text and returns an object file's bytes."""
    llvm = _llvm()
    machine = target_machine(target)
    with _lock:
        module = llvm.parse_assembly(f'target triple = "{target.triple}"\n{text}')
        module.verify()
        options = llvm.create_pipeline_tuning_options(speed_level=2)
        # unrolled kernels overflow the micro-op cache; generators unroll where it pays
        options.loop_unrolling = False
        options.slp_vectorization = False
        options.loop_vectorization = False
        builder = llvm.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        return machine.emit_object(module)


def load_object(image: bytes, symbols: list[str]) -> dict[str, int]:
    """Links an object into the process for good (code is never unmapped) and returns the addresses of its symbols."""
    global _jit
    llvm = _llvm()
    with _lock:
        if _jit is None:
            _jit = llvm.create_lljit_compiler(target_machine(Target.host()), use_jit_link=False)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(_jit))
        library = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
        for symbol in symbols:
            library.export_symbol(symbol)
        tracker = library.link(_jit, f"kernels{next(_count)}")
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(tracker))
        return {symbol: tracker[symbol] for symbol in symbols}
