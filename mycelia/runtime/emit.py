"""From IR text to an object file, through LLVM. Imports nothing of Mycelia: a compile worker runs this file
as a script.

A worker reads requests from standard input and answers on standard output, both framed by 8-byte
little-endian lengths::

    request:  triple NUL cpu NUL features NUL text
    answer:   one byte, 0 (an object file follows) or 1 (an error message follows)
"""

from __future__ import annotations

import struct
import sys
from functools import lru_cache
from typing import Any, BinaryIO

_LENGTH = struct.Struct("<Q")


@lru_cache(None)
def _machine(triple: str, cpu: str, features: str) -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm.Target.from_triple(triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="pic", codemodel="small"
    )


def emit_object(text: str, triple: str, cpu: str, features: str) -> bytes:
    """Optimises IR text for a processor and returns the bytes of a relocatable ELF object.

    Raises:
        RuntimeError: LLVM does not accept the text; the message is LLVM's, with its line.
    """
    import llvmlite.binding as llvm

    machine = _machine(triple, cpu, features)
    module = llvm.parse_assembly(f'target triple = "{triple}"\n{text}', llvm.create_context())
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    # Generators vectorise and unroll where it pays: unrolled further, kernels overflow the micro-op cache.
    options.loop_unrolling = False
    options.slp_vectorization = False
    options.loop_vectorization = False
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame, or None at the end of the stream, also when it ends within a frame."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return body if len(body) == length else None


def write_frame(stream: BinaryIO, body: bytes) -> None:
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answers requests until the other side closes the pipe."""
    while (request := read_frame(requests)) is not None:
        triple, cpu, features, text = request.decode().split("\0", 3)
        try:
            answer = b"\0" + emit_object(text, triple, cpu, features)
        except Exception as error:  # LLVM's message goes back to the process that asked
            answer = b"\1" + str(error).encode()
        write_frame(answers, answer)


if __name__ == "__main__":
    sys.path[:] = sys.argv[1:]
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    import llvmlite.binding  # noqa: F401  loaded while the parent still traces

    serve(sys.stdin.buffer, sys.stdout.buffer)
