"""MindRecord files: what is written is read, files of MindSpore are read, damage is named."""

from __future__ import annotations

import os
import pathlib
import sqlite3
import zipfile

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia import mindrecord
from mycelia.mindrecord import format as layout

SCHEMA = {
    "name": {"type": "string"},
    "label": {"type": "int32"},
    "score": {"type": "float64"},
    "data": {"type": "bytes"},
    "ids": {"type": "int64", "shape": [-1]},
    "grid": {"type": "float32", "shape": [2, 3]},
}


def row(i):
    return {
        "name": f"row {i}",
        "label": i * 3 - 5,
        "score": i / 8,
        "data": bytes(range(i % 20 + 1)) * 200,
        "ids": np.array([i, -i, 300 * i, 70000 * i, 2**40 * i]),
        "grid": np.full((2, 3), i / 4, np.float32),
    }


def written(path, rows, shards=1, schema=SCHEMA):
    writer = mindrecord.FileWriter(str(path), shards)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema(schema, "rows of a test")
    writer.write_raw_data(rows)
    writer.commit()
    return str(path) + ("0" if shards > 1 else "")


def assert_rows(data, count):
    seen = 0
    for i, got in enumerate(data.create_dict_iterator(num_epochs=1, output_numpy=True)):
        wanted = row(i)
        assert got["name"] == wanted["name"] and got["data"].tobytes() == wanted["data"]
        assert got["label"] == wanted["label"] and got["label"].dtype == np.int32
        assert got["score"] == wanted["score"] and got["score"].dtype == np.float64
        np.testing.assert_array_equal(got["ids"], wanted["ids"])
        np.testing.assert_array_equal(got["grid"], wanted["grid"])
        assert got["ids"].dtype == np.int64 and got["grid"].dtype == np.float32
        seen += 1
    assert seen == count


@pytest.mark.parametrize("shards, count", [(1, 3), (1, 200), (3, 100)])
def test_rows_are_read_as_written(tmp_path, shards, count):
    path = written(tmp_path / "rows", [row(i) for i in range(count)], shards)
    data = ds.MindDataset(path, shuffle=False)
    assert len(data) == count and data.get_col_names() == sorted(SCHEMA)
    assert_rows(data, count)
    assert [int(x["label"]) for x in mindrecord.FileReader(path).get_next()] == [
        i * 3 - 5 for i in range(count)
    ]


def test_files_of_mindspore_are_read(tmp_path):
    archive = os.path.join(os.path.dirname(__file__), "data", "mindrecord_of_mindspore.zip")
    with zipfile.ZipFile(archive) as files:
        files.extractall(tmp_path)
    assert_rows(ds.MindDataset(str(tmp_path / "real.mindrecord0"), shuffle=False), 30)


def test_rows_are_chosen(tmp_path):
    path = written(tmp_path / "rows", [row(i) for i in range(10)])
    labels = lambda **settings: [
        int(x[0])
        for x in ds.MindDataset(path, ["label"], **settings).create_tuple_iterator(
            num_epochs=1, output_numpy=True
        )
    ]
    assert labels(shuffle=False, num_shards=3, shard_id=1) == [-2, 7, 16, -5]
    assert sorted(labels()) == list(range(-5, 25, 3)) and labels() != labels(shuffle=False)
    assert labels(shuffle=False, num_samples=2) == [-5, -2]
    padded = {"label": 99}
    assert labels(shuffle=False, padded_sample=padded, num_padded=2)[-3:] == [22, 99, 99]
    assert labels(sampler=ds.PKSampler(2))[::2] == labels(shuffle=False)


def test_appending(tmp_path):
    path = written(tmp_path / "rows", [row(i) for i in range(4)])
    writer = mindrecord.FileWriter.open_for_append(path)
    writer.write_raw_data([row(i) for i in range(4, 7)])
    writer.commit()
    assert_rows(ds.MindDataset(path, shuffle=False), 7)


def test_a_dataset_is_saved(tmp_path):
    arrays = {"x": np.arange(12, dtype=np.float32).reshape(6, 2), "y": np.arange(6, dtype=np.uint8)}
    ds.NumpySlicesDataset(arrays, shuffle=False).save(str(tmp_path / "saved"))
    rows = ds.MindDataset(str(tmp_path / "saved"), shuffle=False).create_dict_iterator(output_numpy=True)
    for i, got in zip(range(6), rows):
        assert got["x"].tolist() == arrays["x"][i].tolist() and got["y"] == i and got["y"].dtype == np.int32


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_integers_are_packed_in_their_widths(kind):
    limits = np.iinfo(kind)
    edges = [0, 1, -1, 127, 128, -128, -129, 32767, 32768, -32768, -32769, limits.min, limits.max]
    for count in range(len(edges) + 1):
        values = np.array(edges[:count], kind)
        unpacked = layout.unpacked_integers(layout.packed_integers(values), np.dtype(kind))
        assert unpacked.dtype == kind and unpacked.tolist() == values.tolist()


@pytest.mark.parametrize(
    "value",
    [0, 127, 128, 255, 256, 65535, 65536, 2**32, 2**63 - 1, -1, -32, -33, -128, -129, -(2**31), -(2**63)]
    + [0.0, 0.5, 1 / 3, -1e300, "", "a" * 31, "é" * 200, "x" * 70000, True, False, {"a": 1, "b": {"c": "d"}}],
)
def test_messagepack_round_trip(value):
    assert layout.unpack(layout.pack(value)) == value


# -- errors ------------------------------------------------------------------------------------------------
def test_truncated_and_damaged_files(tmp_path):
    path = written(tmp_path / "rows", [row(i) for i in range(60)])
    whole = pathlib.Path(path).read_bytes()

    def labels():
        return list(
            ds.MindDataset(path, shuffle=False).create_tuple_iterator(output_numpy=True, num_epochs=1)
        )

    with open(path, "wb") as file:
        file.write(whole[:60000])
    with pytest.raises(mindrecord.MRMOpenError, match=r"rows is truncated: row \d+ ends at byte \d+"):
        labels()
    with open(path, "wb") as file:
        file.write(whole[:9])
    with pytest.raises(mindrecord.MRMOpenError, match="truncated or no MindRecord file"):
        labels()
    damaged = bytearray(whole)
    damaged[(1 << 14) + 2] ^= 255  # in the length of the first row
    with open(path, "wb") as file:
        file.write(damaged)
    with pytest.raises(mindrecord.MRMOpenError, match="rows is damaged in row 0"):
        labels()
    with open(path, "wb") as file:
        file.write(whole)
    with open(path + ".db", "wb") as file:
        file.write(b"not a database, whatever its name says" * 50)
    with pytest.raises(mindrecord.MRMOpenError, match="rows.db, the index of .*rows, is damaged"):
        labels()
    os.remove(path + ".db")
    with pytest.raises(mindrecord.MRMOpenError, match="rows.db, the index of .* does not exist"):
        labels()


def test_no_bit_flip_crashes(tmp_path):
    path = written(tmp_path / "rows", [row(i) for i in range(5)])
    whole = pathlib.Path(path).read_bytes()
    rng = np.random.default_rng(0)
    used = np.flatnonzero(np.frombuffer(whole, np.uint8))
    for at in rng.choice(used, 60):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << int(rng.integers(8))
        with open(path, "wb") as file:
            file.write(damaged)
        try:
            list(ds.MindDataset(path, shuffle=False).create_tuple_iterator(output_numpy=True, num_epochs=1))
        except (mindrecord.MindRecordError, ValueError) as error:
            assert str(tmp_path) in str(error) or "does not exist" in str(error)


@pytest.mark.parametrize(
    "use, error, message",
    [
        (lambda p: ds.MindDataset(p + "?"), ValueError, r"rows\? does not exist"),
        (lambda p: ds.MindDataset(p, ["q"]), ValueError, "column 'q' does not exist. The columns are: data"),
        (lambda p: ds.MindDataset(3), TypeError, "dataset_files must be a path"),
        (lambda p: ds.MindDataset(p, num_shards=2), RuntimeError, "requires shard_id"),
        (lambda p: ds.MindDataset(p, padded_sample={}, num_padded=1), ValueError, "padded_sample lacks"),
        (lambda p: mindrecord.FileWriter(p), RuntimeError, "exists already; overwrite=True replaces it"),
        (lambda p: mindrecord.FileWriter(p, 0), ValueError, "shard_num must be an integer from 1 to 1000"),
        (lambda p: mindrecord.FileReader(p, columns=["q"]), ValueError, "column 'q' does not exist"),
    ],
)
def test_wrong_use(tmp_path, use, error, message):
    path = written(tmp_path / "rows", [row(0)])
    with pytest.raises(error, match=message):
        use(path)


@pytest.mark.parametrize(
    "schema, rows, error, message",
    [
        ({}, [], mindrecord.MRMInvalidSchemaError, "content must be a dict"),
        ({"a": {"type": "int31"}}, [], mindrecord.MRMInvalidSchemaError, "'a' must have a type"),
        ({"a": {"type": "int32", "shape": [-1, -1]}}, [], mindrecord.MRMInvalidSchemaError, "at most one"),
        (
            {"a": {"type": "int32"}},
            [{"b": 1}],
            mindrecord.MRMValidateDataError,
            "row 0 lacks field 'a'; it has: b",
        ),
        ({"a": {"type": "int32"}}, [{"a": "x"}], mindrecord.MRMValidateDataError, "must be int32. Received"),
        ({"a": {"type": "int32"}}, [3], TypeError, "must be a list of dictionaries"),
        (
            {"a": {"type": "bytes"}},
            [{"a": bytes(1 << 16)}],
            mindrecord.MRMValidateDataError,
            "must fit into a page",
        ),
    ],
)
def test_wrong_schemas_and_rows(tmp_path, schema, rows, error, message):
    with pytest.raises(error, match=message):
        written(tmp_path / "rows", rows, schema=schema)


def test_the_index_is_a_table(tmp_path):
    path = written(tmp_path / "rows", [row(i) for i in range(3)])
    database = sqlite3.connect(path + ".db")
    assert database.execute("SELECT label_0, name_0 FROM INDEXES ORDER BY ROW_ID").fetchall() == [
        (i * 3 - 5, f"row {i}") for i in range(3)
    ]
    database.close()
