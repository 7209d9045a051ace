"""Safetensors files, saves in the background, conversions: what goes in comes out, damage is found."""

from __future__ import annotations

import errno
import importlib.util
import json
import os
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, load_checkpoint, nn, save_checkpoint
from mycelia.ir import dtypes
from mycelia.train.checkpoint_format import DamagedCheckpoint
from mycelia.train.safetensors_format import SafetensorsFile, read_safetensors, write_safetensors

TOOLS = Path(__file__).parents[2] / "tools"


def header(path) -> dict:
    raw = Path(path).read_bytes()
    return json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (2, 3, 4)], ids=str)
def test_every_type_and_shape_survives(tmp_path, dtype, shape):
    size = int(np.prod(shape))
    raw = np.random.default_rng(0).integers(0, 256, size * dtype.itemsize, dtype=np.uint8)
    array = (raw % 2 if dtype is ms.bool_ else raw).view(dtype.numpy).reshape(shape)
    save_checkpoint({"x": Tensor(array)}, str(tmp_path / "x"), format="safetensors", crc_check=True)
    loaded = load_checkpoint(str(tmp_path / "x.safetensors"), format="safetensors", crc_check=True)["x"]
    assert (loaded.dtype, loaded.shape, loaded.asnumpy().tobytes()) == (dtype, shape, array.tobytes())


def test_the_file_is_as_the_format_says(tmp_path):
    path = str(tmp_path / "x.safetensors")
    content = {
        "half": np.float16([1, 2, 3]),
        "größe": np.arange(6, dtype=np.float64).reshape(2, 3),
        "note": "hello",
    }
    write_safetensors(path, content.items())
    assert header(path) == {
        "__metadata__": {"format": "ms", "text:note": "hello"},
        "größe": {"dtype": "F64", "shape": [2, 3], "data_offsets": [0, 48]},
        "half": {"dtype": "F16", "shape": [3], "data_offsets": [48, 54]},
    }
    raw = Path(path).read_bytes()
    start = 8 + int.from_bytes(raw[:8], "little")
    assert start % 64 == 0
    assert raw[start:] == content["größe"].tobytes() + content["half"].tobytes()
    assert read_safetensors(path)["note"] == "hello"
    assert list(read_safetensors(path, lambda name: name == "half")) == ["half"]


def test_the_checksum_is_mindspores(tmp_path):
    # As real MindSpore 2.10 writes it for this tensor.
    path = str(tmp_path / "x.safetensors")
    write_safetensors(path, [("a", np.arange(6, dtype=np.float32).reshape(2, 3))], checksum=True)
    assert header(path)["__metadata__"] == {"format": "ms", "crc_num": "1969295763"}


def saved(tmp_path, checksum) -> bytes:
    path = tmp_path / "whole.safetensors"
    write_safetensors(str(path), [("w", np.arange(9, dtype=np.float32)), ("b", np.int8([1, 2]))], checksum)
    return path.read_bytes()


def test_truncation_at_any_byte_is_found(tmp_path):
    raw = saved(tmp_path, False)
    path = tmp_path / "cut.safetensors"
    for length in range(1, len(raw)):
        path.write_bytes(raw[:length])
        with pytest.raises(
            DamagedCheckpoint, match=r"cut.safetensors is not a whole safetensors file: .*byte \d+"
        ):
            load_checkpoint(str(path))


def test_a_checksum_finds_any_flipped_bit(tmp_path):
    raw = saved(tmp_path, True)
    blanks = raw.index(b"}} ") + 2
    path = tmp_path / "flipped.safetensors"
    for at in range(len(raw)):
        for bit in (0, 3, 7):
            flipped = bytearray(raw)
            flipped[at] ^= 1 << bit
            path.write_bytes(flipped)
            in_metadata = (
                raw.index(b"{", 9) <= at <= raw.index(b"}")
            )  # of the checksum's own name or "format"
            blank = blanks <= at < 8 + int.from_bytes(raw[:8], "little")
            try:
                got = read_safetensors(str(path))
            except DamagedCheckpoint:
                continue
            assert in_metadata or blank, (at, bit)
            assert np.array_equal(got["w"], np.arange(9, dtype=np.float32))


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        '{"w": 3}',
        '{"w": {"dtype": "F32", "shape": [2]}}',
        '{"w": {"dtype": "F99", "shape": [2], "data_offsets": [0, 8]}}',
        '{"w": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}',
        '{"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 9999]}}',
        '{"w": {"dtype": "F32", "shape": [2], "data_offsets": ["a", 8]}}',
        '{"w": {"dtype": "F32", "shape": [1e9], "data_offsets": [0, 8]}}',
        '{"__metadata__": 3}',
        "[" * 100000,
    ],
)
def test_foreign_headers_are_named(tmp_path, text):
    path = tmp_path / "x.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text.encode() + bytes(8))
    with pytest.raises(DamagedCheckpoint, match="x.safetensors is not a whole safetensors file"):
        load_checkpoint(str(path))


def test_only_what_is_chosen_is_read(tmp_path):
    path = str(tmp_path / "x.safetensors")
    write_safetensors(path, [(f"w{i}", np.full(1000, i, np.float32)) for i in range(3)])
    file = SafetensorsFile(path)
    assert sorted(file.names) == ["w0", "w1", "w2"] and isinstance(file._data, np.memmap)
    array = file["w1"]
    array += 1  # its own memory
    assert SafetensorsFile(path)["w1"].max() == 1
    assert list(load_checkpoint(path, choice_func=lambda name: name == "w2")) == ["w2"]


def test_files_go_from_one_format_to_the_other(tmp_path):
    net = nn.Dense(3, 2)
    save_checkpoint(net, str(tmp_path / "a.ckpt"), append_dict={"note": "x", "epoch": 3})
    ms.ckpt_to_safetensors(str(tmp_path / "a.ckpt"), name_map={"bias": "b"})
    loaded = load_checkpoint(str(tmp_path / "a.safetensors"))
    assert set(loaded) == {"weight", "b", "note", "epoch"} and loaded["note"] == "x"
    (tmp_path / "out").mkdir()
    ms.safetensors_to_ckpt(str(tmp_path), str(tmp_path / "out"))
    assert (
        load_checkpoint(str(tmp_path / "out" / "a.ckpt"))["weight"].asnumpy().tobytes()
        == net.weight.asnumpy().tobytes()
    )
    with pytest.raises(ValueError, match="no .ckpt file that matches"):
        ms.ckpt_to_safetensors(str(tmp_path), file_name_regex="^nothing$")
    with pytest.raises(ValueError, match="no file or folder"):
        ms.ckpt_to_safetensors(str(tmp_path / "absent"))


# -- in the background -------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", [True, "thread", "process"])
@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
def test_a_background_save_keeps_the_values_of_its_call(tmp_path, how, form):
    path = str(tmp_path / f"x.{form}")
    weight = Parameter(Tensor(np.zeros(10**5, np.float32)), name="w")
    for number in range(3):
        weight.set_data(Tensor(np.full(10**5, number, np.float32)))
        save_checkpoint([weight], path, async_save=how, format=form, crc_check=True)
        weight.set_data(Tensor(np.full(10**5, 99, np.float32)))
    save_checkpoint([weight], str(tmp_path / f"y.{form}"), format=form)  # waits
    assert not ms.async_ckpt_thread_status()
    assert (load_checkpoint(path, crc_check=True)["w"].asnumpy() == 2).all()


def test_an_error_in_the_process_comes_with_the_next_save(tmp_path, monkeypatch):
    def full(*paths):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)  # the process is forked, and finds the same
    save_checkpoint({"w": np.ones(4)}, str(tmp_path / "x.ckpt"), async_save="process")
    monkeypatch.undo()
    with pytest.raises(OSError, match="process of its own failed: .*the disk is full"):
        save_checkpoint({"w": np.ones(4)}, str(tmp_path / "y.ckpt"))


def test_loading_in_the_background(tmp_path):
    save_checkpoint({"w": np.ones(4, np.float32)}, str(tmp_path / "x.ckpt"))
    assert ms.load_checkpoint_async(str(tmp_path / "x.ckpt")).result()["w"].asnumpy().sum() == 4
    with pytest.raises(ValueError, match="does not exist"):
        ms.load_checkpoint_async(str(tmp_path / "z.ckpt")).result()


def killer():
    spec = importlib.util.spec_from_file_location("kill_while_saving", TOOLS / "kill_while_saving.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize("form", ["ckpt", "safetensors"])
def test_killed_at_any_moment_the_previous_checkpoint_is_whole(form, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(TOOLS.parent) + os.pathsep + os.environ.get("PYTHONPATH", ""))
    assert killer().main(5, form) == 0


# -- what is refused ---------------------------------------------------------------------------------------
def test_encrypted_files_are_named(tmp_path):
    path = tmp_path / "x.ckpt"
    path.write_bytes(b"\xd8^:\x7f\xd3\x1c\xc9Ae\x88\xb8o5\xda\xe6\xfe")  # begins as MindSpore's do
    with pytest.raises(ValueError, match="x.ckpt is encrypted"):
        load_checkpoint(str(path))
    with pytest.raises(ValueError, match="encrypted files"):
        load_checkpoint(str(path), dec_key=b"0123456789ABCDEF")
    with pytest.raises(ValueError, match="encryption"):
        save_checkpoint({"w": np.ones(2)}, str(path), enc_key=b"0123456789ABCDEF")


@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda: save_checkpoint({"w": np.ones(2)}, "x", format="onnx"),
            ValueError,
            "'ckpt' or 'safetensors'.*onnx",
        ),
        (
            lambda: save_checkpoint({"w": np.ones(2)}, "x", foo=1),
            ValueError,
            "unexpected keyword argument 'foo'",
        ),
        (lambda: save_checkpoint({"w": np.ones(2)}, "x", choice_func=3), TypeError, "must be callable"),
        (lambda: load_checkpoint("x.bin"), ValueError, "must end in .ckpt or .safetensors"),
        (
            lambda: ms.export(nn.Dense(2, 2), file_name="x", file_format="FOO"),
            ValueError,
            "'MINDIR', 'ONNX'.*FOO",
        ),
        (
            lambda: ms.export(nn.Dense(2, 2), file_name="x", file_format="ONNX"),
            NotImplementedError,
            "cannot be written yet",
        ),
    ],
)
def test_wrong_uses(tmp_path, monkeypatch, call, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        call()
    assert not os.listdir(tmp_path)


def test_a_name_that_the_format_keeps_for_itself(tmp_path):
    with pytest.raises(ValueError, match="__metadata__"):
        save_checkpoint({"__metadata__": np.ones(2)}, str(tmp_path / "x"), format="safetensors")
    assert not os.listdir(tmp_path)
