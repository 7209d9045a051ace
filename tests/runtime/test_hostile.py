"""The hostile device: what it must catch, and that correct programs run on it."""

from __future__ import annotations

import numpy as np
import pytest
from native_kernels import ADD, FAIL, adder, address

from mycelia.runtime.executable import Executable, Instruction, PlanError
from mycelia.runtime.hostile import POISON, DeviceFault, HostileDevice
from mycelia.tensor.storage import Storage


@pytest.fixture
def device():
    return HostileDevice()


def test_a_plan_runs_later_but_as_asked(device):
    x = np.arange(8, dtype=np.float32)
    a, b, c = Storage.from_host(x, device), Storage.from_host(x, device), Storage(device, 32)
    device.launch(adder(1, slot_bytes=(32, 32, 32)), [a.address, b.address, c.address])
    assert device.queued > device.carried_out
    x[:] = 0  # the device took a copy
    np.testing.assert_array_equal(c.as_numpy("f4", (8,)), 2 * np.arange(8))
    assert device.queued == device.carried_out


def test_memory_freed_while_work_waits_stays_until_it_is_done(device):
    x = np.arange(8, dtype=np.float32)
    a, c = Storage.from_host(x, device), Storage(device, 32)
    device.launch(adder(1, slot_bytes=(32, 32, 32)), [a.address, a.address, c.address])
    del a
    np.testing.assert_array_equal(c.as_numpy("f4", (8,)), 2 * x)


def test_new_memory_is_poisoned(device):
    storage = Storage(device, 16)
    assert (storage.as_numpy(np.uint8, (16,)) == POISON).all()


def test_use_after_free_is_caught(device):
    storage = Storage(device, 32)
    stale = storage.address
    del storage
    with pytest.raises(DeviceFault, match="slot 0 of plan: 32 bytes .* do not lie in a live allocation"):
        device.launch(adder(1, slot_bytes=(32, 32, 32)), [stale] * 3)


def test_an_address_is_never_used_twice(device):
    seen = {Storage(device, 64).address for _ in range(100)}
    assert len(seen) == 100


def test_a_slot_must_hold_what_the_plan_touches(device):
    small, large = Storage(device, 16), Storage(device, 32)
    executable = adder(1, slot_bytes=(32, 32, 32))
    with pytest.raises(DeviceFault, match="slot 2"):
        device.launch(executable, [large.address, large.address, small.address])
    with pytest.raises(DeviceFault):
        device.launch(executable, [large.address + 4, large.address, large.address])
    with pytest.raises(TypeError, match="takes 3"):
        device.launch(executable, [large.address])


def test_a_kernel_that_writes_beyond_its_memory_is_caught(device):
    small = Storage.from_host(np.zeros(4, np.float32), device)
    device.launch(adder(1), [small.address] * 3)  # declares nothing, writes 32 bytes
    with pytest.raises(DeviceFault, match="wrote behind the end of an allocation of 16 bytes"):
        device.synchronize()
    device.synchronize()


def test_errors_of_deferred_work_are_raised_when_it_is_waited_for(device):
    failing = Executable([Instruction(address(FAIL), 0, 1, node=5)], np.array([0, 3]), [], slots=0)
    device.launch(failing, [])
    with pytest.raises(PlanError, match="node 5"):
        device.synchronize()


def test_copies_are_checked_and_ordered(device):
    a, b = Storage.from_host(np.arange(4.0), device), Storage(device, 32)
    device.copy(b.address, a.address, 32)
    a.write_host(np.zeros(4))
    np.testing.assert_array_equal(b.as_numpy("f8", (4,)), np.arange(4.0))
    np.testing.assert_array_equal(a.as_numpy("f8", (4,)), np.zeros(4))
    assert a.version == 1
    with pytest.raises(DeviceFault, match="copy source"):
        device.copy(b.address, a.address + 8, 32)


def test_events_happen_when_the_work_before_them_is_done(device):
    a = Storage.from_host(np.zeros(4), device)
    event = device.stream().record()
    assert not event.query()
    event.synchronize()
    assert event.query()
    del a


def test_reading_a_device_address_faults(script):
    process = script("""
        import ctypes
        from mycelia.tensor.device import device
        import mycelia.runtime
        from mycelia.tensor.storage import Storage
        s = Storage(device("hostile"), 64)
        ctypes.string_at(s.address, 1)
    """)
    process.communicate(timeout=60)
    assert process.returncode == -11


def test_a_long_queue_is_worked_off(device):
    a, b, c = (Storage.from_host(np.ones(8, np.float32), device) for _ in range(3))
    executable = Executable(
        [Instruction(address(ADD), 0)], np.zeros(3), [(0, 0, 0), (1, 1, 0), (2, 2, 0)], slots=3
    )
    for _ in range(500):
        device.launch(executable, [c.address, b.address, c.address])
    assert device.carried_out > 300
    np.testing.assert_array_equal(c.as_numpy("f4", (8,)), 501)
    before = device.live_bytes
    del a
    assert device.live_bytes == before - 32
