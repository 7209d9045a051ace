"""Storage: a run of bytes on a device, kept alive by whoever uses it, with a version that counts its writes.

Storage(device, nbytes)              fresh memory of the device, given back when the last reference goes
Storage.from_host(array, device)     shares a NumPy array's memory where the device can, else copies it
Storage.copy_of(array, device)       memory of the device's own with the array's elements
storage.as_numpy(dtype, shape, strides, offset)    shares where the host can, else copies out
storage.write_host(array, offset)    overwrites bytes
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from mycelia.tensor.device import BINNED, Device, default_device, device

ALIAS_ALIGNMENT = 16  # bytes: what NumPy's own arrays have; kernels ask for no more than the element's
NOWHERE: deque[int] = deque(maxlen=0)  # where addresses go that are not the device's to reuse


class Storage:
    """Bytes on a device.

    Args:
        device: where.
        nbytes: how many; the memory is not initialised and starts at a multiple of 64.

    Attributes:
        address: of the first byte, on the device.
        owner: the host object whose memory this is (a NumPy array); None for memory of the device's own.
        version: counts writes; whoever saved values compares it.
    """

    __slots__ = ("device", "address", "nbytes", "owner", "version", "_home", "__weakref__")

    device: Device
    owner: Any

    def __init__(self, device: Device, nbytes: int) -> None:
        self.device = device
        self.nbytes = nbytes
        self.owner = None
        self.version = 0
        self._home = home = device.bins[(nbytes + 63) >> 6] if nbytes <= BINNED else device.home(nbytes)
        try:
            self.address = home.pop()
        except IndexError:
            self._home, self.address = NOWHERE, 0  # what __del__ finds if there is no memory
            self.address = device.allocate(nbytes)
            self._home = home

    def __del__(self) -> None:
        self._home.append(self.address)

    @staticmethod
    def alias(device: Device, address: int, nbytes: int, owner: Any) -> Storage:
        """Memory that belongs to ``owner`` (not None), which lives as long as the storage."""
        self = object.__new__(Storage)
        self.device, self.address, self.nbytes, self.owner, self.version = device, address, nbytes, owner, 0
        self._home = NOWHERE
        return self

    @staticmethod
    def from_host(array: np.ndarray, on: Device | str | None = None) -> Storage:
        """A storage with an array's elements in C order.

        Shares the array's memory if the device's memory is the host's and the array is C-contiguous,
        writeable and aligned to 16 bytes; else copies.

        Args:
            array: any NumPy array.
            on: device or its name; None: the default device.
        """
        place = default_device() if on is None else device(on)
        if place.host_addressable and array.flags.carray:
            address = array.__array_interface__["data"][0]
            if address % ALIAS_ALIGNMENT == 0:
                return Storage.alias(place, address, array.nbytes, array)
        return Storage.copy_of(array, place)

    @staticmethod
    def copy_of(array: np.ndarray, on: Device | str | None = None) -> Storage:
        """A storage of the device's own memory with an array's elements in C order.

        Unlike NumPy's memory it starts at a multiple of 64 and, if it is large, lies on huge pages: a matrix
        product on NumPy's own array takes up to a quarter longer.

        Args:
            array: any NumPy array.
            on: device or its name; None: the default device.
        """
        place = default_device() if on is None else device(on)
        dense = np.ascontiguousarray(array)
        storage = Storage(place, dense.nbytes)
        place.copy_in(storage.address, dense)
        return storage

    def as_numpy(
        self, dtype: Any, shape: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0
    ) -> np.ndarray:
        """The bytes as an array. Shares memory where the host can address it; else it is a copy of this
        moment.

        Args:
            dtype: NumPy dtype.
            shape: extents.
            strides: in bytes, may be negative or zero; None: C order.
            offset: of element 0, in bytes.

        Raises:
            ValueError: the array would reach outside the storage.
        """
        dtype, shape = np.dtype(dtype), tuple(shape)
        if 0 in shape:
            return np.empty(shape, dtype)
        if self.device.host_addressable:
            memory = np.asarray(_Memory(self, self.address, self.nbytes))
            try:
                return np.ndarray(shape, dtype, memory, offset, strides)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                pass  # outside; said below
        low, high = _extent(dtype.itemsize, shape, strides, offset)
        if low < 0 or high > self.nbytes:
            raise ValueError(
                f"as_numpy: shape {shape} with strides {strides} at byte {offset} reaches from byte {low} "
                f"to {high}. Received: a storage of {self.nbytes} bytes"
            )
        copy = np.empty(high - low, np.uint8)
        self.device.copy_out(self.address + low, copy)
        return np.ndarray(shape, dtype, copy, offset - low, strides)  # type: ignore[arg-type]

    def write_host(self, array: np.ndarray, offset: int = 0) -> None:
        """Overwrites the bytes from ``offset`` on with an array's elements in C order, and counts a write.

        Raises:
            ValueError: they do not fit.
        """
        if offset < 0 or offset + array.nbytes > self.nbytes:
            raise ValueError(
                f"write_host: {array.nbytes} bytes at byte {offset} do not fit. Received: a storage of "
                f"{self.nbytes} bytes"
            )
        self.device.copy_in(self.address + offset, np.ascontiguousarray(array))
        self.version += 1

    def __repr__(self) -> str:
        kind = "own" if self.owner is None else f"shared with {type(self.owner).__name__}"
        return f"<storage of {self.nbytes} bytes on {self.device.name}, {kind}, version {self.version}>"


class _Memory:
    """Offers a storage's bytes to NumPy, and keeps the storage alive as the array's base."""

    __slots__ = ("storage", "__array_interface__")

    def __init__(self, storage: Storage, address: int, nbytes: int) -> None:
        self.storage = storage
        self.__array_interface__ = {
            "data": (address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
            "version": 3,
        }


def _extent(
    itemsize: int, shape: tuple[int, ...], strides: Sequence[int] | None, offset: int
) -> tuple[int, int]:
    """First byte, and one past the last byte, that a strided array touches."""
    low, high = offset, offset + itemsize
    if strides is None:
        return low, offset + itemsize * int(np.prod(shape, dtype=np.int64))
    for extent, stride in zip(shape, strides):
        reach = (extent - 1) * stride
        low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high
