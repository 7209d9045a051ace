"""The checkpoint format: against MindSpore's own files, the protobuf package, damage, and failing disks."""
from __future__ import annotations

import errno
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, load_checkpoint, load_param_into_net, save_checkpoint
from mycelia.ir import dtypes
from mycelia.train import checkpoint_format
from mycelia.train.checkpoint_format import DamagedCheckpoint, read_checkpoint, write_checkpoint

GIVEN = Path(__file__).parent / "data" / "mindspore_2.10.ckpt"
KINDS = ["bool_", *(dtype.name for dtype in dtypes.ALL if dtype is not dtypes.bool_)]
TRAINED = ["conv.weight", "norm.gamma", "norm.beta", "fc.weight", "fc.bias"]
NAMES = [*TRAINED, "norm.moving_mean", "norm.moving_variance", "global_step", "learning_rate", "beta1_power",
         "beta2_power", *(f"moment1.{name}" for name in TRAINED), *(f"moment2.{name}" for name in TRAINED)]
SHAPES = {"conv.weight": (4, 1, 3, 3), "fc.weight": (10, 36), "fc.bias": (10,), "global_step": (1,),
          "learning_rate": (), "beta1_power": (), "beta2_power": ()}


class Net:
    """The part of a Cell that loading needs."""

    def __init__(self, **arrays):
        self.parameters = {name.replace("__", "."): Parameter(Tensor(array), name=name.replace("__", "."))
                           for name, array in arrays.items()}

    def parameters_and_names(self):
        return list(self.parameters.items())

    def __getitem__(self, name):
        return self.parameters[name].asnumpy()


def message_classes():
    """Checkpoint's message classes, made from its description by the protobuf package: the oracle of the wire
    format."""
    pytest.importorskip("google.protobuf")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="checkpoint_oracle.proto", package="oracle")
    tensor, checkpoint = file.message_type.add(name="Tensor"), file.message_type.add(name="Checkpoint")
    value = checkpoint.nested_type.add(name="Value")
    rows = ((tensor, "dims", 1, field.TYPE_INT64, field.LABEL_REPEATED, None),
            (tensor, "tensor_type", 2, field.TYPE_STRING, field.LABEL_REQUIRED, None),
            (tensor, "tensor_content", 3, field.TYPE_BYTES, field.LABEL_REQUIRED, None),
            (value, "tag", 1, field.TYPE_STRING, field.LABEL_REQUIRED, None),
            (value, "tensor", 2, field.TYPE_MESSAGE, field.LABEL_OPTIONAL, ".oracle.Tensor"),
            (checkpoint, "value", 1, field.TYPE_MESSAGE, field.LABEL_REPEATED, ".oracle.Checkpoint.Value"))
    for message, name, number, kind, label, type_name in rows:
        message.field.add(name=name, number=number, type=kind, label=label, type_name=type_name)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("oracle.Checkpoint"))


def expected(position: int, name: str) -> np.ndarray:
    shape = SHAPES.get(name.split(".", 1)[1] if name.startswith("moment") else name, (4,))
    size = int(np.prod(shape))
    kind = np.int32 if name == "global_step" else np.float32
    return np.sin(np.arange(size) + position).reshape(shape).astype(kind)


# -- MindSpore's own file ----------------------------------------------------------------------------------
def test_a_file_of_mindspore_loads_bit_for_bit():
    loaded = load_checkpoint(str(GIVEN))
    assert [name for name in loaded if name in NAMES] == NAMES
    for position, name in enumerate(NAMES):
        wanted = expected(position, name)
        assert loaded[name].name == name
        assert loaded[name].shape == wanted.shape
        assert loaded[name].asnumpy().tobytes() == wanted.tobytes()
    for kind in KINDS:
        parameter = loaded[f"types.{kind}"]
        assert parameter.dtype is getattr(dtypes, kind)
        assert np.array_equal(parameter.asnumpy(), np.arange(6).reshape(2, 3).astype(parameter.dtype.numpy))
    assert loaded["note"] == "grüße 你好"
    assert (loaded["epoch"].dtype, int(loaded["epoch"].asnumpy())) == (ms.int64, 3)
    assert (loaded["rate"].dtype, float(loaded["rate"].asnumpy())) == (ms.float32, 0.5)
    assert (loaded["best"].dtype, bool(loaded["best"].asnumpy())) == (ms.bool_, True)


def test_saving_it_again_gives_the_same_file(tmp_path):
    save_checkpoint(load_checkpoint(str(GIVEN)), str(tmp_path / "again.ckpt"))
    assert (tmp_path / "again.ckpt").read_bytes() == GIVEN.read_bytes()


def test_the_wire_format_is_that_of_the_protobuf_package(tmp_path):
    checkpoint = message_classes()
    message = checkpoint.FromString(GIVEN.read_bytes())
    assert message.SerializeToString() == GIVEN.read_bytes()
    content = {"w": np.arange(300, dtype=np.float32).reshape(3, 100), "größe": np.array(-7, np.int64),
               "empty": np.zeros((0, 3), np.float32), "text": "a𝄞b", "none": ""}
    write_checkpoint(str(tmp_path / "x.ckpt"), content.items())
    values = checkpoint.FromString((tmp_path / "x.ckpt").read_bytes()).value
    assert [value.tag for value in values] == list(content)
    assert [list(value.tensor.dims) for value in values] == [[3, 100], [], [0, 3], [0], [0]]
    assert values[0].tensor.tensor_content == content["w"].tobytes()
    assert values[3].tensor.tensor_content == "a𝄞b".encode("utf-32-le")


# -- what goes in comes out --------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 0, 3), (2, 3, 4)], ids=str)
def test_every_type_and_shape_survives(tmp_path, dtype, shape):
    size = int(np.prod(shape))
    array = np.random.default_rng(0).integers(0, 256, size * dtype.itemsize, dtype=np.uint8)
    array = (array % 2 if dtype is ms.bool_ else array).view(dtype.numpy).reshape(shape)
    save_checkpoint({"x": Tensor(array)}, str(tmp_path / "x.ckpt"))
    loaded = load_checkpoint(str(tmp_path / "x.ckpt"))["x"]
    assert (loaded.dtype, loaded.shape) == (dtype, shape)
    assert loaded.asnumpy().tobytes() == array.tobytes()


def test_a_large_tensor_is_cut_into_slices(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_format, "SLICE_BYTES", 1000)
    array = np.random.default_rng(0).standard_normal((33, 31)).astype(np.float32)
    write_checkpoint(str(tmp_path / "x.ckpt"), [("a", array), ("b", array[:1]), ("c", array)])
    values = message_classes().FromString((tmp_path / "x.ckpt").read_bytes()).value
    assert [value.tag for value in values] == ["a"] * 5 + ["b"] + ["c"] * 5
    assert all(list(value.tensor.dims) == [33, 31] for value in values if value.tag != "b")
    loaded = read_checkpoint(str(tmp_path / "x.ckpt"))
    assert np.array_equal(loaded["a"], array) and np.array_equal(loaded["c"], array)


def test_what_can_be_saved(tmp_path):
    path = str(tmp_path / "sub" / "x")
    parameter = Parameter(Tensor([1.0, 2.0]), name="w")
    for saved in ([parameter], [{"name": "w", "data": parameter}], {"w": parameter},
                  {"w": np.float32([1, 2])}):
        save_checkpoint(saved, path, append_dict={"flag": False, "text": "hello"})
        loaded = load_checkpoint(path + ".ckpt")
        assert loaded["w"].asnumpy().tolist() == [1, 2] and loaded["text"] == "hello"
    save_checkpoint(Net(a=np.ones(2), b=np.zeros(2)), path, choice_func=lambda name: name == "b")
    assert list(load_checkpoint(path + ".ckpt")) == ["b"]


def test_choosing_what_is_loaded():
    path = str(GIVEN)
    assert set(load_checkpoint(path, specify_prefix="fc")) == {"fc.weight", "fc.bias"}
    assert "fc.bias" not in load_checkpoint(path, filter_prefix=["fc", "types"])
    assert list(load_checkpoint(path, choice_func=lambda name: name.endswith("gamma"))) == [
        "norm.gamma", "moment1.norm.gamma", "moment2.norm.gamma"]
    with pytest.raises(ValueError, match="holds no parameter that filter_prefix"):
        load_checkpoint(path, specify_prefix="nothing")


# -- into a network ----------------------------------------------------------------------------------------
def test_loading_into_a_network():
    net = Net(fc__bias=np.zeros(10, np.float32), other=np.ones(2, np.float32))
    with pytest.warns(UserWarning, match="1 parameters of the network are not in parameter_dict.*other"):
        missing, unused = load_param_into_net(net, load_checkpoint(str(GIVEN), specify_prefix="fc"))
    assert (missing, unused) == (["other"], ["fc.weight"])
    assert np.array_equal(net["fc.bias"], expected(4, "fc.bias"))


def test_a_common_prefix_is_left_out():
    net = Net(weight=np.zeros((10, 36), np.float32), bias=np.zeros(10, np.float32))
    with pytest.warns(UserWarning, match="2 parameters are in parameter_dict with the prefix 'fc.'"):
        missing, _ = load_param_into_net(net, load_checkpoint(str(GIVEN), specify_prefix="fc"))
    assert missing == []
    assert np.array_equal(net["weight"], expected(3, "fc.weight"))
    with pytest.warns(UserWarning, match="not in parameter_dict"):
        missing, _ = load_param_into_net(net, load_checkpoint(str(GIVEN)), strict_load=True)
    assert missing == ["weight", "bias"]


def test_another_shape_or_type_names_both():
    values = {"w": Parameter(Tensor(np.zeros((2, 3), np.float32)), name="w")}
    with pytest.raises(RuntimeError,
                       match=r"'w' has shape \(3, 2\) in the network. Received: shape \(2, 3\)"):
        load_param_into_net(Net(w=np.zeros((3, 2), np.float32)), values)
    with pytest.raises(RuntimeError, match="'w' has type int32 in the network. Received: type float32"):
        load_param_into_net(Net(w=np.zeros((2, 3), np.int32)), values)
    with pytest.warns(UserWarning, match="'w' is float32 in parameter_dict and is converted to .* float16"):
        load_param_into_net(Net(w=np.zeros((2, 3), np.float16)), values)
    with pytest.raises(RuntimeError, match="strict_load=True converts nothing"):
        load_param_into_net(Net(w=np.zeros((2, 3), np.float16)), values, strict_load=True)
    padded = {"w": Parameter(Tensor(np.ones((2, 3, 1, 1), np.float32)), name="w")}
    net = Net(w=np.zeros((2, 3), np.float32))
    assert load_param_into_net(net, padded) == ([], [])
    assert net["w"].sum() == 6


# -- damage ------------------------------------------------------------------------------------------------
def ends_of_values(content: bytes) -> set[int]:
    """Where a shorter file is a whole checkpoint with fewer parameters, which only a checksum can tell."""
    ends = {0}
    while max(ends) < len(content):
        reader = checkpoint_format._Reader("", memoryview(content), max(ends) + 1, len(content))
        length = reader.varint()
        ends.add(reader.at + length)
    return ends


def test_truncation_at_any_byte_inside_a_value_is_found(tmp_path):
    content, path = GIVEN.read_bytes(), tmp_path / "cut.ckpt"
    ends = ends_of_values(content)
    for size in range(1, len(content), 7):
        path.write_bytes(content[:size])
        if size not in ends:
            with pytest.raises(DamagedCheckpoint,
                               match=r"cut.ckpt is not a whole checkpoint: .* at byte \d+ of"):
                read_checkpoint(str(path))


def test_a_checksum_finds_any_flipped_bit_and_cuts_inside_a_value(tmp_path):
    path, bad = tmp_path / "x.ckpt", tmp_path / "bad.ckpt"
    save_checkpoint(load_checkpoint(str(GIVEN)), str(path), crc_check=True)
    content = path.read_bytes()
    assert content[:-17] == GIVEN.read_bytes() and content[-17:-10] == b"crc_num"
    assert len(load_checkpoint(str(path), crc_check=True)) == len(load_checkpoint(str(GIVEN)))
    rng, ends = np.random.default_rng(0), ends_of_values(content[:-17])
    for position in rng.integers(0, len(content), 300):
        flipped = bytearray(content)
        flipped[position] ^= 1 << int(rng.integers(8))
        bad.write_bytes(flipped)
        with pytest.raises(DamagedCheckpoint, match="bad.ckpt is"):
            read_checkpoint(str(bad))
    for size in rng.integers(1, len(content), 50):
        bad.write_bytes(content[:size])
        if size not in ends:
            with pytest.raises(DamagedCheckpoint):
                read_checkpoint(str(bad))


def test_without_a_checksum_damage_is_an_error_or_other_values_but_never_another_failure(tmp_path):
    content, path = GIVEN.read_bytes(), tmp_path / "bad.ckpt"
    rng = np.random.default_rng(1)
    for position in rng.integers(0, len(content), 1000):
        flipped = bytearray(content)
        flipped[position] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        try:
            read_checkpoint(str(path))
        except DamagedCheckpoint as error:
            assert "bad.ckpt is not a whole checkpoint" in str(error)


@pytest.mark.parametrize("content", [b"PK\x03\x04 a zip file", b"\x89PNG\r\n\x1a\n", b"\x08\x07",
                                     b"\x0a\xff\xff\xff", b"\x0a\x03\x0a\x01a", bytes(100)])
def test_foreign_files_are_named(tmp_path, content):
    path = tmp_path / "foreign.ckpt"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="foreign.ckpt is not a whole checkpoint: .*truncated, damaged, or "
                                         "of another"):
        load_checkpoint(str(path))


def test_files_that_cannot_be_loaded(tmp_path):
    (tmp_path / "empty.ckpt").touch()
    with pytest.raises(ValueError, match=r"empty.ckpt is empty \(0 bytes\)"):
        load_checkpoint(str(tmp_path / "empty.ckpt"))
    with pytest.raises(ValueError, match="does not exist"):
        load_checkpoint(str(tmp_path / "none.ckpt"))
    with pytest.raises(ValueError, match="must end in .ckpt"):
        load_checkpoint(str(tmp_path / "x.pt"))
    with pytest.raises(ValueError, match="nn.GraphCell"):
        load_checkpoint("net.mindir")
    with pytest.warns(UserWarning, match="holds no checksum to check"):
        load_checkpoint(str(GIVEN), crc_check=True)


# -- failing saves -----------------------------------------------------------------------------------------
def only_file(folder: Path) -> bytes:
    (path,) = folder.iterdir()
    return path.read_bytes()


def test_a_full_disk_leaves_the_earlier_file_and_no_part(tmp_path, monkeypatch):
    path = str(tmp_path / "x.ckpt")
    save_checkpoint({"w": np.ones(4)}, path)
    before = only_file(tmp_path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"the disk is full: the checkpoint .*x.ckpt was not written") as caught:
        save_checkpoint({"w": np.zeros(4)}, path)
    assert caught.value.errno == errno.ENOSPC
    assert only_file(tmp_path) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_disk_that_fills_up_while_writing(tmp_path, monkeypatch):
    real_open = open
    monkeypatch.setattr("builtins.open", lambda path, mode="r", *rest: real_open(
        "/dev/full" if str(path).endswith(".tmp") else path, mode, *rest))
    with pytest.raises(OSError, match="the disk is full"):
        write_checkpoint(str(tmp_path / "x.ckpt"), [("w", np.zeros(2**20))])
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_save_leaves_the_earlier_file(tmp_path):
    path = str(tmp_path / "x.ckpt")
    save_checkpoint({"w": np.ones(4)}, path)
    before = only_file(tmp_path)

    def entries():
        yield "w", np.zeros(4)
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        write_checkpoint(path, entries())
    assert only_file(tmp_path) == before


def test_a_killed_save_leaves_the_earlier_file(tmp_path):
    path = str(tmp_path / "x.ckpt")
    write_checkpoint(path, [("w", np.ones(4))])
    before = only_file(tmp_path)
    program = ("import os, numpy as np\nfrom mycelia.train.checkpoint_format import write_checkpoint\n"
               "def entries():\n    yield 'w', np.zeros(10**6)\n    os.kill(os.getpid(), 9)\n"
               f"write_checkpoint({path!r}, entries())\n")
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert result.returncode == -9, result.stderr.decode()
    assert Path(path).read_bytes() == before


def test_an_unwritable_folder_is_named(tmp_path):
    with pytest.raises(OSError, match="cannot write the checkpoint .*x.ckpt: Is a directory"):
        (tmp_path / "x.ckpt").mkdir()
        save_checkpoint({"w": np.ones(4)}, str(tmp_path / "x.ckpt"))


def test_a_place_that_cannot_hold_a_checkpoint_is_told_with_the_cure(tmp_path):
    (tmp_path / "file").touch()
    for name in ("file/x", "file/sub/deeper/x"):
        with pytest.raises(OSError, match=r"save_checkpoint: cannot make the folder .*/file.* of "
                                          r"ckpt_file_name=.*x.ckpt.*/file is a file, not a folder: move it"):
            save_checkpoint({"w": np.ones(4)}, str(tmp_path / name))
    (tmp_path / "d.safetensors").mkdir()
    with pytest.raises(IsADirectoryError, match="save_checkpoint: .*Give a file's name, e.g. "
                                                ".*d.safetensors/net.safetensors"):
        save_checkpoint({"w": np.ones(4)}, str(tmp_path / "d.safetensors"), format="safetensors")
    save_checkpoint({"w": np.ones(4)}, str(tmp_path / "made" / "here" / "x.ckpt"))
    assert list(load_checkpoint(str(tmp_path / "made" / "here" / "x.ckpt"))) == ["w"]


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_named(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="is the last folder of it that exists: let this user"):
            save_checkpoint({"w": np.ones(4)}, str(tmp_path / "a" / "b" / "x.ckpt"))
    finally:
        tmp_path.chmod(0o700)


def test_loading_from_a_folder_or_from_nowhere_says_what_is_there(tmp_path):
    with pytest.raises(ValueError, match=r"/x is a folder, not a checkpoint; .* It holds no checkpoint"):
        (tmp_path / "x").mkdir()
        load_checkpoint(str(tmp_path / "x"))
    (tmp_path / "y.ckpt").mkdir()
    for number in range(7):
        (tmp_path / "y.ckpt" / f"net-{number}.ckpt").touch()
    with pytest.raises(ValueError, match=r"is a folder, not .* It holds net-0.ckpt, .*net-4.ckpt and 2 more"):
        load_checkpoint(str(tmp_path / "y.ckpt"))
    with pytest.raises(ValueError, match=r"net-9.ckpt does not exist. Its folder holds net-0.ckpt"):
        load_checkpoint(str(tmp_path / "y.ckpt" / "net-9.ckpt"))
    with pytest.raises(ValueError, match=r"does not exist. .*net-0.ckpt is a file, not a folder"):
        load_checkpoint(str(tmp_path / "y.ckpt" / "net-0.ckpt" / "x.ckpt"))
    with pytest.raises(ValueError, match=r"does not exist. Its folder cannot be read: No such file"):
        load_checkpoint(str(tmp_path / "none" / "x.ckpt"))


def test_a_background_save_keeps_the_values_of_its_call_and_reports_its_error(tmp_path, monkeypatch):
    path, parameter = str(tmp_path / "x.ckpt"), Parameter(Tensor(np.zeros(1000, np.float32)), name="w")
    save_checkpoint([parameter], path, async_save=True)
    parameter.set_data(Tensor(np.ones(1000, np.float32)))
    save_checkpoint([parameter], str(tmp_path / "y.ckpt"))
    assert not ms.train.async_ckpt_thread_status()
    assert load_checkpoint(path)["w"].asnumpy().max() == 0
    with monkeypatch.context() as patch, pytest.warns(UserWarning, match="in the background failed"):
        patch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError(errno.EACCES, "denied")))
        save_checkpoint([parameter], path, async_save="thread")
        with pytest.raises(OSError, match="cannot write the checkpoint"):
            save_checkpoint([parameter], path)


@pytest.mark.parametrize("arguments, error, message", [
    (("net",), TypeError, "save_obj must be a Cell, a list or a dict. Received: 'net'"),
    (([1],), TypeError, "a list must hold Parameters or dicts"),
    (({1: np.ones(1)},), TypeError, "names must be strings. Received: 1"),
    (({"w": 1.5},), TypeError, "data of 'w' must be a Parameter, Tensor, array or text"),
])
def test_what_cannot_be_saved(tmp_path, arguments, error, message):
    with pytest.raises(error, match=message):
        save_checkpoint(*arguments, str(tmp_path / "x.ckpt"))
    with pytest.raises(TypeError, match=r"append_dict\['x'\] must be an int"):
        save_checkpoint({}, str(tmp_path / "x.ckpt"), append_dict={"x": [1]})
    with pytest.raises(ValueError, match="encryption"):
        save_checkpoint({}, str(tmp_path / "x.ckpt"), enc_key=b"key")
    assert list(tmp_path.iterdir()) == []


# -- processes that are killed
SAVES_FOREVER = """
import sys
import numpy as np
from mycelia.train.checkpoint_format import write_checkpoint
i = int(sys.argv[2])
print("ready", flush=True)
while True:
    i += 1
    parts = [(f"part{k}", np.full(20000, i, np.float32)) for k in range(10)]
    write_checkpoint(sys.argv[1], parts, checksum=True)
"""


def test_kill_at_any_moment_leaves_a_whole_checkpoint_and_nothing_for_long(tmp_path, monkeypatch):
    path = tmp_path / "x.ckpt"
    content = [(f"part{k}", np.zeros(20000, np.float32)) for k in range(10)]
    write_checkpoint(str(path), content, checksum=True)
    last, left = 0, 0
    for turn in range(24):
        saver = subprocess.Popen([sys.executable, "-c", SAVES_FOREVER, str(path), str(last)],
                                 stdout=subprocess.PIPE)
        assert saver.stdout is not None
        saver.stdout.readline()
        time.sleep(0.0005 * turn)
        saver.kill()
        saver.wait()
        saver.stdout.close()
        found = read_checkpoint(str(path))
        values = {float(v) for array in found.values() for v in np.unique(array)}
        assert len(found) == 10 and len(values) == 1, values
        assert (number := values.pop()) >= last
        last = int(number)
        left = max(left, len(os.listdir(tmp_path)) - 1)
    assert left, "no saver was killed while it wrote"
    monkeypatch.setattr(checkpoint_format, "_YOUNG", 0.0)
    write_checkpoint(str(path), content)
    assert os.listdir(tmp_path) == ["x.ckpt"]


def test_temporary_files_in_use_and_other_files_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint_format, "_YOUNG", 0.0)
    used, young = tmp_path / "y.ckpt.12345.tmp", tmp_path / "young.ckpt.12345.tmp"
    others = [tmp_path / "notes.tmp", tmp_path / "x.ckpt.tmp", tmp_path / "data.12a.tmp"]
    for file in (used, *others):
        file.write_bytes(b"1")
    (tmp_path / "folder.1.tmp").mkdir()
    with open(used, "r+b") as file:
        assert checkpoint_format._lock(file)
        write_checkpoint(str(tmp_path / "x.ckpt"), [])
        assert all(f.exists() for f in (used, *others, tmp_path / "folder.1.tmp"))
    write_checkpoint(str(tmp_path / "x.ckpt"), [])
    assert not used.exists() and all(f.exists() for f in others)
    monkeypatch.undo()
    young.write_bytes(b"1")
    write_checkpoint(str(tmp_path / "x.ckpt"), [])
    assert young.exists()
