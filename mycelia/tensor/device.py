"""The device protocol: what a place for tensors offers, and the registry of devices by name.

A device hands out addresses and runs executables over them. An address is a number: only where
``host_addressable`` holds may the host read it directly. Work may be deferred: `Device.synchronize`,
`Device.copy_out` and an event wait for it, and raise what went wrong in it.

    device("CPU")                  the device of that name
    default_device()               where tensors go that name none; set_default_device(name) chooses it
    register_device(name, make)    called by the layer that implements it
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np


class Stream:
    """A queue of work on a device; work of one stream runs in order."""

    def __init__(self, device: Device) -> None:
        self.device = device

    def synchronize(self) -> None:
        self.device.synchronize()

    def record(self) -> Event:
        """An event that happens once all work queued so far is done."""
        event = self.device.event()
        event.record(self)
        return event

    def wait(self, event: Event) -> None:
        """Makes later work wait for the event."""
        event.synchronize()


class Event:
    """A point in a stream's work."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self._recorded = False

    def record(self, stream: Stream | None = None) -> None:
        self._recorded = True

    def query(self) -> bool:
        """Whether it has happened (True as well when it was never recorded)."""
        return True

    def synchronize(self) -> None:
        if self._recorded:
            self.device.synchronize()


BINNED = 16384  # bytes up to which a device has bins


class Home(Protocol):
    """Free blocks of one size. A list will do."""

    def pop(self) -> int:
        """The address of a free block.

        Raises:
            IndexError: none is at hand; `Device.allocate` gets one.
        """
        ...

    def append(self, address: int, /) -> None:
        """Takes a block back. Called by finalisers, so at any moment."""
        ...


class Device(ABC):
    """A place where tensors live and plans run.

    Attributes:
        name: e.g. ``"CPU"``.
        kernels: name under which its kernels are registered; devices may share them.
        host_addressable: whether the host may read and write its addresses.
        bins: free memory that `mycelia.tensor.storage` takes and gives back without a call: entry i is the
            `Home` of blocks of 64 * i bytes.
    """

    name: str
    kernels: str
    host_addressable: bool
    bins: Sequence[Home]

    def home(self, nbytes: int) -> Home:
        """Where blocks of that size are taken from and given back to."""
        return self.bins[0]

    @abstractmethod
    def allocate(self, nbytes: int) -> int:
        """Address of uninitialised memory, aligned to 64 bytes.

        Raises:
            MemoryError: none is left; says how much is in use and what the limit is.
        """

    @abstractmethod
    def free(self, address: int, nbytes: int) -> None:
        """Gives memory back, once the work queued so far no longer needs it. Never raises for memory in use
        by queued work."""

    @abstractmethod
    def copy_in(self, address: int, data: np.ndarray) -> None:
        """Copies a C-contiguous host array to the device. The host may change it as soon as this returns."""

    @abstractmethod
    def copy_out(self, address: int, out: np.ndarray) -> None:
        """Waits for queued work, then fills a C-contiguous host array."""

    @abstractmethod
    def copy(self, target: int, source: int, nbytes: int) -> None:
        """Copies within the device; the ranges may overlap."""

    @abstractmethod
    def load(self, plan: Any) -> Any:
        """Makes a plan executable: compiles or finds its kernels and links its tables."""

    @abstractmethod
    def launch(self, executable: Any, addresses: Sequence[int], stream: Stream | None = None) -> None:
        """Runs an executable over the given slot addresses, now or later."""

    def synchronize(self) -> None:  # noqa: B027  (a device that defers nothing has nothing to wait for)
        """Waits until all queued work is done.

        Raises:
            Exception: whatever went wrong in deferred work.
        """

    def stream(self) -> Stream:
        return Stream(self)

    def event(self) -> Event:
        return Event(self)

    def __repr__(self) -> str:
        return f"<device {self.name}>"


_factories: dict[str, Callable[[], Device]] = {}
_devices: dict[str, Device] = {}
_lock = threading.Lock()
_default: Device | None = None


def register_device(name: str, make: Callable[[], Device]) -> None:
    """Makes a device known; it is created when first asked for."""
    _factories[name] = make


def device(name: str | Device) -> Device:
    """The device of that name.

    Raises:
        ValueError: there is none; lists those that are known.
    """
    found = _devices.get(name)  # type: ignore[arg-type]
    if found is not None:
        return found
    if isinstance(name, Device):
        return name
    with _lock:
        if name not in _devices:
            if name not in _factories:
                known = ", ".join(sorted(_factories)) or "none; import mycelia, not a part of it"
                raise ValueError(f"device: no device is named {name!r}. Known: {known}")
            _devices[name] = _factories[name]()
        return _devices[name]


def default_device() -> Device:
    """Where tensors go that name no device: the CPU unless `set_default_device` said otherwise."""
    global _default
    if _default is None:
        _default = device(_stand_in("CPU"))
    return _default


def set_default_device(name: str) -> None:
    """Chooses the default device.

    Raises:
        ValueError: there is no such device.
    """
    global _default
    _default = device(_stand_in(name))


def _stand_in(name: str) -> str:
    """Under ``MYCELIA_TEST_DEVICE`` the suite runs on the device named there wherever it would by default be
    on the CPU."""
    return os.environ.get("MYCELIA_TEST_DEVICE", name) if name == "CPU" else name
