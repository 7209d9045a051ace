"""The linker: object files to images, for all targets, and the errors it makes of what kernels must not
have."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest

from mycelia.codegen.target import AARCH64, ALL, X86_64_V3, Target
from mycelia.runtime import elf, image, native
from mycelia.runtime.elf import ObjectError, undefined_symbols
from mycelia.runtime.image import Image, SymbolError
from mycelia.runtime.link import compile_object, load_object

CONSTANT = (1.25, 2.5, 3.75, 5.0)
TEXT = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i32 @scale(ptr %args, i64 %nbytes) {
  %p = load ptr, ptr %args
  %q.at = getelementptr i64, ptr %args, i64 1
  %q = load ptr, ptr %q.at
  %v = load <4 x float>, ptr %p, align 4
  %w = fmul <4 x float> %v, <float 1.25, float 2.5, float 3.75, float 5.0>
  store <4 x float> %w, ptr %p, align 4
  call void @llvm.memcpy.p0.p0.i64(ptr %q, ptr %p, i64 %nbytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %args, ptr %p, i64 %nbytes, i1 false)
  ret i32 0
}
"""
ids = [t.cpu for t in ALL]


def test_a_linked_function_runs():
    host = Target.host()
    code = load_object(compile_object(TEXT, host), ["scale"])["scale"]
    x, y = np.ones(4, np.float32), np.zeros(4, np.float32)
    args = np.array([x.ctypes.data, y.ctypes.data], np.int64)
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64)(code)(args.ctypes.data, 16) == 0
    np.testing.assert_array_equal(y, np.array(CONSTANT, np.float32))
    np.testing.assert_array_equal(args.view(np.float32), y)


@pytest.mark.parametrize("target", ALL, ids=ids)
def test_only_allowed_symbols_are_undefined(target):
    object_file = compile_object(TEXT, target)
    assert undefined_symbols(object_file) == {"memcpy"}
    linked = image.link(object_file)
    assert linked.exports == {"scale": 0}
    assert [name for _, name, _ in linked.slots] == ["memcpy"]


@pytest.mark.parametrize("target", ALL, ids=ids)
def test_an_image_survives_storage(target):
    linked = image.link(compile_object(TEXT, target))
    again = Image.from_bytes(linked.to_bytes())
    assert (again.machine, again.code, dict(again.exports), list(again.slots)) == (
        linked.machine,
        linked.code,
        dict(linked.exports),
        list(linked.slots),
    )


def test_aarch64_references_reach_their_targets():
    """Decodes the linked code: the constant is where ADRP and LDR say, and each call leads through the slot
    of memcpy."""
    linked = image.link(compile_object(TEXT, AARCH64))
    words = struct.unpack(f"<{len(linked.code) // 4}I", linked.code[: len(linked.code) // 4 * 4])
    ((slot, _, _),) = linked.slots
    constants, calls = 0, 0
    pages: dict[int, int] = {}
    for i, word in enumerate(words):
        at = 4 * i
        if word & 0x9F000000 == 0x90000000:  # adrp
            immediate = (word >> 5 & 0x7FFFF) << 2 | word >> 29 & 3
            pages[word & 31] = (at >> 12 << 12) + (immediate << 12)
        elif word & 0xFFC00000 == 0x3DC00000 and word >> 5 & 31 in pages:  # ldr q
            place = pages[word >> 5 & 31] + ((word >> 10 & 0xFFF) << 4)
            constants += struct.unpack_from("<4f", linked.code, place) == CONSTANT
        elif word & 0x7C000000 == 0x14000000:  # b, bl
            offset = (word & 0x3FFFFFF) - ((word & 0x2000000) << 1)
            load, jump = words[i + offset], words[i + offset + 1]
            if jump == 0xD61F0200:  # br x16
                assert load & 0xFF00001F == 0x58000010  # ldr x16, literal
                literal = (load >> 5 & 0x7FFFF) - (load >> 4 & 0x80000)
                assert 4 * (i + offset + literal) == slot
                calls += 1
    assert constants == 1
    assert calls == 2


@pytest.mark.parametrize("target", ALL, ids=ids)
def test_the_native_runtime_links_everywhere(target):
    linked = image.link(compile_object(native.text(target), target))
    assert set(linked.exports) == set(native.SYMBOLS)
    outside = undefined_symbols(compile_object(native.text(target), target))
    libc = {
        "clock_gettime",
        "free",
        "malloc",
        "memcpy",
        "memset",
        "pthread_create",
        "pthread_detach",
        "pthread_sigmask",
        "sched_yield",
        "syscall",
    }
    assert all(name.startswith("Py") for name in outside - libc), outside - libc


def test_an_unknown_symbol_is_an_error_when_the_code_is_mapped():
    text = (
        "declare i32 @no_such_function_anywhere()\ndefine i32 @f(ptr %a, i64 %c) {\n"
        " %r = call i32 @no_such_function_anywhere()\n ret i32 %r\n}"
    )
    with pytest.raises(SymbolError, match="no_such_function_anywhere"):
        load_object(compile_object(text, Target.host()), ["f"])


def test_writable_globals_are_refused():
    text = (
        "@count = global i64 7\ndefine i32 @f(ptr %a, i64 %c) {\n %n = load i64, ptr @count\n %m = add i64 "
        "%n, 1\n"
        " store i64 %m, ptr @count\n ret i32 0\n}"
    )
    with pytest.raises(ObjectError, match="writable"):
        image.link(compile_object(text, X86_64_V3))


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", b"MZ" + bytes(100)])
def test_other_files_are_refused(damage):
    with pytest.raises(ObjectError):
        elf.read(damage)


def test_truncated_objects_are_refused_or_incomplete_but_never_crash():
    whole = compile_object(TEXT, Target.host())
    for length in range(0, len(whole), 37):
        try:
            image.link(whole[:length])
        except ObjectError:
            continue


def test_several_images_share_a_mapping():
    texts = [f"define i32 @f(ptr %a, i64 %c) {{\n ret i32 {i}\n}}" for i in range(5)]
    host = Target.host()
    mapped = image.map_images([image.link(compile_object(t, host)) for t in texts])
    function = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64)
    assert [function(m["f"])(None, 0) for m in mapped] == [0, 1, 2, 3, 4]
    assert len({m["f"] >> 12 for m in mapped}) == 1
