"""Storage: who owns the memory, who sees writes, when it goes."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import mycelia.runtime  # noqa: F401  registers the devices
from mycelia.runtime.cpu import cpu_memory
from mycelia.tensor.device import default_device, device
from mycelia.tensor.storage import Storage

CPU = device("CPU")
BOTH = pytest.mark.parametrize("place", [CPU, device("hostile")], ids=lambda d: d.name)


@pytest.mark.parametrize(
    "nbytes", [0, 1, 63, 64, 65, 4096, 16384, 16385, 1 << 20, (1 << 20) + 1, 5 << 20, 70 << 20]
)
def test_memory_is_aligned_and_goes_back(nbytes):
    before = cpu_memory().statistics().allocated
    storage = Storage(CPU, nbytes)
    assert storage.address % 64 == 0
    assert storage.as_numpy(np.uint8, (nbytes,)).shape == (nbytes,)
    assert cpu_memory().statistics().allocated >= before + nbytes
    address = storage.address
    del storage
    assert cpu_memory().statistics().allocated == before
    assert Storage(CPU, nbytes).address == address


def test_the_host_s_array_is_shared_where_it_can_be():
    array = np.arange(6, dtype=np.float32)
    storage = Storage.from_host(array, CPU)
    assert storage.owner is array
    view = storage.as_numpy(np.float32, (6,))
    array[2] = 50
    view[3] = 60
    assert view[2] == 50 and array[3] == 60


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12.0).reshape(3, 4).T,
        np.arange(12.0)[::2],
        np.frombuffer(bytes(64), np.uint8)[1:33],
        np.broadcast_to(np.arange(3.0), (2, 3)),
    ],
    ids=["transposed", "strided", "read-only", "broadcast"],
)
def test_other_arrays_are_copied_in_c_order(array):
    storage = Storage.from_host(array, CPU)
    assert storage.owner is None
    np.testing.assert_array_equal(storage.as_numpy(array.dtype, array.shape), array)


def test_the_shared_array_lives_as_long_as_the_storage():
    class Owner(np.ndarray):
        pass

    array = np.zeros(100).view(Owner)
    gone = weakref.ref(array)
    storage = Storage.from_host(array, CPU)
    del array
    gc.collect()
    assert gone() is not None
    del storage
    gc.collect()
    assert gone() is None


def test_an_array_keeps_the_storage():
    storage = Storage(CPU, 80)
    gone = weakref.ref(storage)
    view = storage.as_numpy(np.float64, (10,))[2:5]
    del storage
    gc.collect()
    assert gone() is not None
    del view
    gc.collect()
    assert gone() is None


@BOTH
def test_strided_views(place):
    data = np.arange(24, dtype=np.int32)
    storage = Storage.from_host(data.copy(), place)
    np.testing.assert_array_equal(storage.as_numpy(np.int32, (4, 6), (24, 4)), data.reshape(4, 6))
    np.testing.assert_array_equal(storage.as_numpy(np.int32, (6, 4), (4, 24)), data.reshape(4, 6).T)
    np.testing.assert_array_equal(storage.as_numpy(np.int32, (5,), (-16,), 92), data[23:3:-4])
    np.testing.assert_array_equal(
        storage.as_numpy(np.int32, (3, 2), (0, 4), 8), np.broadcast_to(data[2:4], (3, 2))
    )
    assert storage.as_numpy(np.int32, ()).shape == ()
    assert storage.as_numpy(np.int32, (0, 5)).shape == (0, 5)
    for shape, strides, offset in (((25,), None, 0), ((2,), (96,), 0), ((2,), (-4,), 0), ((1,), None, 96)):
        with pytest.raises(ValueError):
            storage.as_numpy(np.int32, shape, strides, offset)


@BOTH
def test_writes_count(place):
    storage = Storage.from_host(np.zeros(4), place)
    storage.write_host(np.array([7.0, 8.0]), 8)
    np.testing.assert_array_equal(storage.as_numpy(np.float64, (4,)), [0, 7, 8, 0])
    assert storage.version == 1
    with pytest.raises(ValueError, match="16 bytes at byte 24 do not fit. Received: a storage of 32 bytes"):
        storage.write_host(np.zeros(2), 24)


def test_an_array_off_the_device_is_a_copy():
    storage = Storage.from_host(np.zeros(4), device("hostile"))
    copy = storage.as_numpy(np.float64, (4,))
    copy[:] = 1
    np.testing.assert_array_equal(storage.as_numpy(np.float64, (4,)), 0)


def test_bfloat16_and_bool():
    import ml_dtypes

    for dtype in (ml_dtypes.bfloat16, np.bool_, np.float16):
        array = np.array([1, 0, 1], dtype)
        view = Storage.from_host(array, CPU).as_numpy(dtype, (3,))
        assert view.dtype == array.dtype
        np.testing.assert_array_equal(view, array)


def test_unknown_devices_are_named():
    with pytest.raises(ValueError, match="no device is named 'GPU'. Known: CPU, hostile"):
        device("GPU")


def test_the_test_device_stands_in_for_the_cpu(monkeypatch):
    from mycelia.tensor import device as module

    monkeypatch.setattr(module, "_default", None)
    monkeypatch.setenv("MYCELIA_TEST_DEVICE", "hostile")
    assert default_device().name == "hostile"
    module.set_default_device("CPU")
    assert default_device().name == "hostile"
    monkeypatch.delenv("MYCELIA_TEST_DEVICE")
    module.set_default_device("CPU")
    assert default_device() is CPU


def test_an_allocation_that_fails_leaves_nothing_behind():
    with pytest.raises(MemoryError, match="out of memory on CPU"):
        Storage(CPU, 1 << 60)
