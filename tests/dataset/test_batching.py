"""Batches by length, rows that wait, and operations on arrays."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset import transforms


def ragged(count=15):
    return ds.GeneratorDataset(lambda: ((i, np.arange(i + 1)) for i in range(count)), ["a", "b"])


def shapes(data):
    return [(a.tolist(), b.shape[1]) for a, b in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def test_batches_by_length():
    data = ragged().bucket_batch_by_length(["b"], [5, 10], [2, 3, 2], pad_info={"b": ([None], -1)})
    wanted = [([0, 1], 2), ([2, 3], 4), ([4, 5, 6], 7), ([9, 10], 11), ([11, 12], 13)]
    wanted += [([13, 14], 15), ([7, 8], 9)]
    assert shapes(data) == wanted and len(data) == len(wanted)
    fixed = ragged(9).bucket_batch_by_length(
        ["b"], [5, 10], [2, 3, 2], pad_info={"b": ([None], 0)}, pad_to_bucket_boundary=True
    )
    assert shapes(fixed) == [([0, 1], 4), ([2, 3], 4), ([4, 5, 6], 9), ([7, 8], 9)]
    whole = ragged(9).bucket_batch_by_length(
        ["a", "b"], [5], [2, 2], lambda a, b: int(a) + 1, {"b": ([None], 0)}, drop_remainder=True
    )
    assert shapes(whole) == [([0, 1], 2), ([2, 3], 4), ([4, 5], 6), ([6, 7], 8)]


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ((["b"], [5, 3], [2, 2, 2]), ValueError, "strictly increasing"),
        ((["b"], [0], [2, 2]), ValueError, "must be positive"),
        ((["b"], [5], [2]), ValueError, "one more than"),
        ((["b"], [5], [2, 0]), ValueError, "must be positive"),
        (([], [5], [2, 2]), ValueError, "must not be empty"),
        ((["q"], [5], [2, 2]), ValueError, "column 'q' does not exist"),
        ((["a", "b"], [5], [2, 2]), ValueError, "column_names must be one column"),
    ],
)
def test_wrong_buckets(arguments, error, message):
    with pytest.raises(error, match=message):
        ragged().bucket_batch_by_length(*arguments)


def test_errors_of_functions_name_row_and_line():
    def broken(*columns):
        raise ZeroDivisionError("no length")

    data = ragged().bucket_batch_by_length(["b"], [5], [2, 2], broken)
    with pytest.raises(
        RuntimeError, match=r"failed on row 0, .*no length \(at .*test_batching.py:\d+, in broken"
    ):
        list(data)
    with pytest.raises(
        RuntimeError, match=r"per_batch_map failed at batch 0 .*test_batching.py:\d+, in broken"
    ):
        list(ragged().batch(1, per_batch_map=broken))
    with pytest.raises(RuntimeError, match="with pad_to_bucket_boundary no row may be as long"):
        list(ragged().bucket_batch_by_length(["b"], [2], [1, 1], None, {"b": ([None], 0)}, True))


def test_rows_wait_for_the_program():
    seen, data = [], ds.NumpySlicesDataset(np.arange(6), "x", shuffle=False)
    data = data.sync_wait("step", num_batch=2, callback=seen.append)
    assert data.is_sync()
    for i, (x,) in enumerate(data.create_tuple_iterator(num_epochs=1, output_numpy=True)):
        assert x == i
        if i % 2 == 1:
            data.sync_update("step", data=i)
    assert seen == [1, 3, 5]
    with pytest.raises(ValueError, match="no sync_wait is named 'other'. There are: step"):
        data.sync_update("other")
    data.disable_sync()
    assert len(list(data)) == 6


def test_waiting_ends(monkeypatch):
    monkeypatch.setattr(ds.config, "get_callback_timeout", lambda: 0.05)
    data = ds.NumpySlicesDataset(np.arange(6), "x", shuffle=False).sync_wait("step")
    with pytest.raises(RuntimeError, match=r"waited 0.05 seconds for sync_update\('step'\)"):
        list(data)


def test_operations_on_arrays_in_a_pipeline():
    data = ds.NumpySlicesDataset({"x": [[1, 1, 2], [3, 3, 3]], "y": [[7], [8]]}, shuffle=False)
    row = lambda mapped: [x.tolist() for x in next(mapped.create_tuple_iterator(output_numpy=True))]
    assert row(data.map(transforms.Unique(), "x", ["u", "i", "n"])) == [[1, 2], [0, 0, 1], [2, 1], [7]]
    assert row(data.map(transforms.Concatenate(append=np.array([0])), ["x", "y"], "z")) == [[1, 1, 2, 7, 0]]
    assert row(data.map(transforms.PadEnd([4], -1), "x"))[0] == [1, 1, 2, -1]
    assert row(data.map(transforms.Slice([0, 2]), "x"))[0] == [1, 2]
    assert row(data.map(transforms.Mask(transforms.Relational.LT, 2), "x"))[0] == [True, True, False]


def test_settings(tmp_path):
    before = dict(ds.config._settings)
    (tmp_path / "c.json").write_text('{"numParallelWorkers": 1, "seed": 5}')
    ds.config.load(str(tmp_path / "c.json"))
    assert ds.config.get_num_parallel_workers() == 1 and ds.config.get_seed() == 5
    for name, value in [
        ("enable_autotune", True),
        ("enable_shared_mem", False),
        ("numa_enable", True),
        ("callback_timeout", 7),
        ("multiprocessing_timeout_interval", 9),
        ("autotune_interval", 3),
        ("debug_mode", True),
    ]:
        getattr(ds.config, f"set_{name}")(value)
        assert getattr(ds.config, f"get_{name}")() == value
        with pytest.raises(TypeError, match=f"set_{name}: .* must be"):
            getattr(ds.config, f"set_{name}")("x")
    with pytest.raises(ValueError, match="start_method must be one of"):
        ds.config.set_multiprocessing_start_method("teleport")
    with pytest.raises(RuntimeError, match="cannot read settings from"):
        ds.config.load(str(tmp_path / "none.json"))
    ds.config._settings.update(before)
