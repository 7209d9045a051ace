"""Sources that read files: folders of images, CIFAR-100, TFRecord, CSV, text."""

from __future__ import annotations

import struct
import warnings

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset import tfrecord

Image = pytest.importorskip("PIL.Image")


def rows(data):
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


def column(data, name):
    return [row[name].tolist() for row in rows(data)]


# -- images ------------------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for name, count in (("dog", 3), ("ant", 1), ("cat", 2)):
        (tmp_path / name).mkdir()
        for i in range(count):
            pixels = rng.integers(0, 256, (10 + i, 12, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / name / f"{i}.png")
    (tmp_path / "cat" / "notes.txt").write_text("not an image")
    return tmp_path


def test_a_folder_of_images(folder):
    data = ds.ImageFolderDataset(str(folder), extensions=[".png"], shuffle=False, decode=True)
    assert data.get_class_indexing() == {"ant": 0, "cat": 1, "dog": 2} and data.num_classes() == 3
    assert column(data, "label") == [0, 1, 1, 2, 2, 2]
    got = rows(data)
    assert [row["image"].shape[0] for row in got] == [10, 10, 11, 10, 11, 12]
    np.testing.assert_array_equal(got[2]["image"], np.array(Image.open(folder / "cat" / "1.png")))
    raw = rows(ds.ImageFolderDataset(str(folder), extensions=[".png"], shuffle=False))
    assert raw[0]["image"].tobytes() == (folder / "ant" / "0.png").read_bytes()
    assert raw[0]["label"].dtype == np.int32
    some = ds.ImageFolderDataset(
        str(folder), class_indexing={"dog": 7, "ant": 3}, shuffle=False, decode=True
    ).batch(1)
    assert column(some, "label") == [[3], [7], [7], [7]] and some.get_class_indexing() == {"dog": 7, "ant": 3}
    assert column(ds.ImageFolderDataset(str(folder), sampler=ds.PKSampler(2)), "label") == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize(
    "settings, error, message",
    [
        ({"dataset_dir": "/nowhere"}, ValueError, "the folder /nowhere does not exist"),
        ({"extensions": [".gif"]}, RuntimeError, r"no files that end in .gif in the folders of"),
        ({"class_indexing": {"cow": 0}}, RuntimeError, "names 'cow', but there is no folder"),
        ({"decode": True}, RuntimeError, r"are no image that Pillow knows \(file .*notes.txt\)"),
        ({"decode": 1}, TypeError, "decode must be a bool"),
    ],
)
def test_a_folder_that_does_not_fit(folder, settings, error, message):
    with pytest.raises(error, match=message):
        rows(ds.ImageFolderDataset(**{"dataset_dir": str(folder)} | settings))


def cifar100(path, count):
    rng = np.random.default_rng(1)
    records = rng.integers(0, 256, (count, 3074), dtype=np.uint8)
    records[:, 0], records[:, 1] = np.arange(count) % 20, np.arange(count) % 100
    path.write_bytes(records.tobytes())
    return records


def test_cifar100(tmp_path):
    records = cifar100(tmp_path / "train.bin", 30)
    cifar100(tmp_path / "test.bin", 5)
    data = ds.Cifar100Dataset(str(tmp_path), usage="train", shuffle=False)
    assert data.get_col_names() == ["image", "coarse_label", "fine_label"] and data.num_classes() == 100
    assert column(data, "fine_label") == list(range(30))
    assert column(data, "coarse_label") == [i % 20 for i in range(30)]
    got = rows(data)[4]
    assert got["image"].shape == (32, 32, 3) and got["fine_label"].dtype == np.uint32
    np.testing.assert_array_equal(got["image"].transpose(2, 0, 1).reshape(-1), records[4, 2:])
    with pytest.warns(UserWarning, match='usage is not given, so that the test images .* give usage="train"'):
        assert len(ds.Cifar100Dataset(str(tmp_path))) == 35
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(ds.Cifar100Dataset(str(tmp_path), usage="all")) == 35
    (tmp_path / "train.bin").write_bytes(records.tobytes()[:-10])
    with pytest.raises(ValueError, match="train.bin is truncated .* CIFAR-100 .* which end in image 29"):
        rows(ds.Cifar100Dataset(str(tmp_path), usage="train"))


def test_folders_above_the_files(tmp_path):
    (tmp_path / "cifar-100-binary").mkdir()
    cifar100(tmp_path / "cifar-100-binary" / "train.bin", 4)
    assert len(ds.Cifar100Dataset(str(tmp_path), usage="train")) == 4
    for part, stem, count in (("train", "train", 3), ("test", "t10k", 2)):
        (tmp_path / part).mkdir()
        head = struct.pack(">4B3I", 0, 0, 8, 3, count, 28, 28)
        (tmp_path / part / f"{stem}-images-idx3-ubyte").write_bytes(head + bytes(784 * count))
        head = struct.pack(">4BI", 0, 0, 8, 1, count)
        (tmp_path / part / f"{stem}-labels-idx1-ubyte").write_bytes(head + bytes(count))
    assert len(ds.MnistDataset(str(tmp_path), usage="train")) == 3
    assert len(ds.MnistDataset(str(tmp_path), usage="test")) == 2 and len(ds.MnistDataset(str(tmp_path))) == 5


# -- text and CSV ------------------------------------------------------------------------------------------
@pytest.fixture
def texts(tmp_path):
    (tmp_path / "a.txt").write_text("hello world\n\n  two  \n三\r\nlast", encoding="utf-8")
    (tmp_path / "b.txt").write_text("u1\nu2\nu3\n")
    return str(tmp_path / "*.txt")


def test_text(texts):
    lines = ["hello world", "  two  ", "三", "last", "u1", "u2", "u3"]
    assert column(ds.TextFileDataset(texts, shuffle=False), "text") == lines
    assert len(ds.TextFileDataset(texts)) == 7
    assert column(ds.TextFileDataset(texts, shuffle=False, num_samples=2), "text") == lines[:2]
    shards = [
        column(ds.TextFileDataset(texts, shuffle=False, num_shards=2, shard_id=i), "text") for i in (0, 1)
    ]
    assert shards == [lines[:4], lines[4:] + lines[:1]]
    shuffled = column(ds.TextFileDataset(texts), "text")
    assert sorted(shuffled) == sorted(lines) and shuffled != lines
    within = column(ds.TextFileDataset(texts, shuffle=ds.Shuffle.INFILE), "text")
    assert sorted(within[:4]) == sorted(lines[:4])
    files = column(ds.TextFileDataset(texts, shuffle=ds.Shuffle.FILES), "text")
    assert files in (lines, lines[4:] + lines[:4])
    assert column(ds.TextFileDataset(texts, shuffle=False).shuffle(3).batch(7), "text")[0] != lines


def test_csv(tmp_path):
    (tmp_path / "named.csv").write_text('a,b,c\n1,2.5,x\n3,4,"y,""z"\n5,6,\n')
    (tmp_path / "plain.csv").write_text("1,2.5,x\n,,\n")
    data = ds.CSVDataset(str(tmp_path / "named.csv"), shuffle=False)
    assert data.get_col_names() == ["a", "b", "c"] and column(data, "c") == ["x", 'y,"z', ""]
    data = ds.CSVDataset(
        str(tmp_path / "plain.csv"),
        column_defaults=[7, 0.5, "none"],
        column_names=["a", "b", "c"],
        shuffle=False,
    )
    first, second = rows(data)
    assert (first["a"].dtype, first["b"].dtype) == (np.int32, np.float32)
    assert [x.tolist() for x in second.values()] == [7, 0.5, "none"]


@pytest.mark.parametrize(
    "text, settings, error, message",
    [
        (
            "1,2\n3\n",
            {"column_names": ["a", "b"]},
            RuntimeError,
            r"t.csv, line 2, must have 2 fields \(a, b\)",
        ),
        (
            "1\nx\n",
            {"column_names": ["a"], "column_defaults": [1]},
            RuntimeError,
            r"t.csv, line 2: field 1 must be int. Received: 'x'",
        ),
        (
            "1\n",
            {"column_names": ["a"], "column_defaults": [[]]},
            TypeError,
            "column_defaults must be a list",
        ),
        ("1\n", {"field_delim": ",,"}, ValueError, "field_delim must be one character"),
        ('a\n"x\n', {}, RuntimeError, "t.csv, line 2, is no CSV"),
        ("1\n", {"dataset_files": "/nowhere/*.csv"}, ValueError, "did not match any files: .'/nowhere"),
        ("1\n", {"num_shards": 2}, RuntimeError, "requires shard_id"),
        ("1\n", {"shuffle": "all"}, TypeError, "shuffle must be a bool or of Shuffle"),
    ],
)
def test_csv_that_does_not_fit(tmp_path, text, settings, error, message):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(error, match=message):
        rows(ds.CSVDataset(**{"dataset_files": str(tmp_path / "t.csv"), "shuffle": False} | settings))


# -- TFRecord ----------------------------------------------------------------------------------------------
def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def part(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(**features):
    entries = b""
    for name, values in features.items():
        if isinstance(values[0], bytes):
            feature = part(1, b"".join(part(1, value) for value in values))
        elif isinstance(values[0], float):
            feature = part(2, part(1, struct.pack(f"<{len(values)}f", *values)))
        else:
            feature = part(3, part(1, b"".join(map(varint, values))))
        entries += part(1, part(1, name.encode()) + part(2, feature))
    return part(1, entries)


def write_records(path, records):
    data = b""
    for record in records:
        head = struct.pack("<Q", len(record))
        data += head + struct.pack("<I", tfrecord.masked_crc(head)) + record
        data += struct.pack("<I", tfrecord.masked_crc(record))
    path.write_bytes(data)
    return str(path)


@pytest.fixture
def records(tmp_path):
    made = [example(i=[k, -k], f=[k / 2, 1.5], s=[b"ab" * (k + 1)]) for k in range(7)]
    return write_records(tmp_path / "a.tfrecord", made)


def test_the_checksum_is_crc32c():
    crc = (tfrecord.masked_crc(b"123456789") - 0xA282EAD8) & 0xFFFFFFFF
    assert (crc >> 17 | crc << 15) & 0xFFFFFFFF == 0xE3069283  # the check value of CRC-32C


def test_tfrecord(records, tmp_path):
    data = ds.TFRecordDataset(records, shuffle=False)
    assert data.get_col_names() == ["f", "i", "s"] and len(data) == 7
    got = rows(data)[6]
    assert got["i"].tolist() == [6, -6] and got["i"].dtype == np.int64
    assert got["f"].tolist() == [3.0, 1.5] and got["f"].dtype == np.float32
    assert got["s"].tobytes() == b"ab" * 7 and got["s"].dtype == np.uint8
    schema = ds.Schema()
    schema.add_column("i", "int32", [1, 2])
    schema.add_column("s", "string")
    shaped = rows(ds.TFRecordDataset(records, schema, shuffle=False))[2]
    assert shaped["i"].tolist() == [[2, -2]] and shaped["i"].dtype == np.int32
    assert shaped["s"].tolist() == ["ababab"]
    (tmp_path / "schema.json").write_text(schema.to_json().replace("{", '{"numRows": 3, ', 1))
    assert len(ds.TFRecordDataset(records, str(tmp_path / "schema.json"))) == 3
    other = write_records(tmp_path / "b.tfrecord", [example(i=[9, 9], f=[0.5], s=[b"x"])])
    both = [records, other]
    assert [len(ds.TFRecordDataset(both, num_shards=2, shard_id=i)) for i in (0, 1)] == [7, 1]
    equal = {"num_shards": 2, "shard_equal_rows": True}
    assert [len(ds.TFRecordDataset(both, shard_id=i, **equal)) for i in (0, 1)] == [4, 4]


def test_tfrecord_files_that_do_not_fit(records, tmp_path):
    whole = (tmp_path / "a.tfrecord").read_bytes()

    def read(data):
        (tmp_path / "bad.tfrecord").write_bytes(data)
        rows(ds.TFRecordDataset(str(tmp_path / "bad.tfrecord"), shuffle=False))

    with pytest.raises(RuntimeError, match=r"bad.tfrecord is truncated: record 6, at byte \d+, takes \d+"):
        read(whole[:-5])
    with pytest.raises(RuntimeError, match=r"bad.tfrecord is no TFRecord file: record 0, at byte 0"):
        read(b"PNG or so" * 9)
    with pytest.raises(RuntimeError, match=r"bad.tfrecord is damaged: record 1, at byte"):
        length = struct.unpack("<Q", whole[:8])[0] + 16
        read(whole[: length + 3] + b"\xff" + whole[length + 4 :])
    with pytest.raises(RuntimeError, match="bad.tfrecord, record 0, is damaged or no Example"):
        read(whole[:12] + b"\xff" * 20 + whole[32:])
    schema = ds.Schema()
    schema.add_column("q", "int32")
    with pytest.raises(RuntimeError, match="record 0, lacks column 'q'; it has: f, i, s"):
        rows(ds.TFRecordDataset(records, schema, shuffle=False))
    with pytest.raises(ValueError, match="there must be a file for each shard"):
        ds.TFRecordDataset(records, num_shards=2, shard_id=0)
    with pytest.raises(ValueError, match="column 'q' does not exist"):
        ds.TFRecordDataset(records, columns_list=["q"])


def test_rows_to_fill_up():
    data = ds.NumpySlicesDataset({"x": [1, 2]}, shuffle=False) + ds.PaddedDataset([{"x": np.array(9)}] * 2)
    assert column(data, "x") == [1, 2, 9, 9]


def test_schemas(tmp_path):
    schema = ds.Schema()
    schema.from_json({"columns": [{"name": "a", "type": "int8", "shape": [2]}], "numRows": 4})
    assert schema.columns == {"a": {"type": "int8", "shape": [2]}} and schema.num_rows == 4
    for use, error in [
        (lambda: ds.Schema(str(tmp_path / "no.json")), RuntimeError),
        (lambda: schema.add_column("b", "int31"), TypeError),
        (lambda: schema.add_column(3, "int32"), TypeError),
        (lambda: schema.from_json({}), RuntimeError),
        (lambda: schema.parse_columns({"a": {}}), RuntimeError),
        (lambda: schema.parse_columns(3), TypeError),
    ]:
        with pytest.raises(error, match="Schema|add_column|parse_columns"):
            use()


_FROM_FILES = "Mnist FashionMnist Cifar10 Cifar100 ImageFolder TFRecord TextFile CSV Mind"


@pytest.mark.parametrize("kind", _FROM_FILES.split())
def test_what_is_not_there_is_refused_at_construction(kind, tmp_path):
    missing = str(tmp_path / "missing")
    with pytest.raises(ValueError, match=f"{kind}Dataset: .*{missing}"):
        getattr(ds, f"{kind}Dataset")(missing)
