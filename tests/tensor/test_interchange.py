"""Memory shared with other libraries, and copies: who sees whose writes."""
from __future__ import annotations

import copy
import gc
import pickle
import sys

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, ops
from mycelia.ir import dtypes
from mycelia.tensor.dlpack import from_dlpack

pytestmark = pytest.mark.aliasing


def aligned(shape, dtype=np.float32):
    """An array that begins at a multiple of 64."""
    dtype = np.dtype(dtype)
    nbytes = int(np.prod(shape)) * dtype.itemsize
    memory = np.zeros(nbytes + 64, np.uint8)
    start = -memory.__array_interface__["data"][0] % 64
    return memory[start:start + nbytes].view(dtype).reshape(shape)


# -- NumPy -------------------------------------------------------------------------------------------------
def test_from_numpy_shares_dense_writeable_memory():
    array = aligned((2, 3))
    tensor = ms.from_numpy(array)
    array[1, 2] = 7
    assert tensor.asnumpy()[1, 2] == 7
    tensor[0, 0] = 5
    assert array[0, 0] == 5


@pytest.mark.parametrize("make", [lambda a: a.T, lambda a: a[:, ::2], lambda a: a[::-1], lambda a: a[0, 1:]])
def test_from_numpy_copies_other_layouts(make):
    array = aligned((4, 6))
    array[:] = np.arange(24).reshape(4, 6)
    view = make(array)
    tensor = ms.from_numpy(view)
    before = view.copy()
    array += 100
    assert np.array_equal(tensor.asnumpy(), before)


def test_from_numpy_copies_what_may_not_be_written():
    array = aligned((3,))
    array.flags.writeable = False
    tensor = ms.from_numpy(array)
    tensor[0] = 1
    assert array[0] == 0
    with pytest.raises(TypeError, match="must be a numpy.ndarray"):
        ms.from_numpy([1, 2])


def test_the_constructor_copies():
    array = aligned((3,))
    tensor, parameter = Tensor(array), Parameter(array, name="w")
    array[0] = 1
    assert tensor.asnumpy()[0] == 0 and parameter.asnumpy()[0] == 0
    other = Tensor(tensor)
    tensor[1] = 2
    assert other.asnumpy()[1] == 0


def test_asnumpy_shares_and_keeps_the_memory():
    tensor = Tensor(np.arange(1000, dtype=np.float32))
    array = tensor.asnumpy()
    tensor[0] = 5
    assert array[0] == 5
    view = tensor[10:20].asnumpy()
    del tensor
    gc.collect()
    for _ in range(20):
        Tensor(np.full(1000, -1, np.float32))  # would land in memory that was given back
    assert view[0] == 10 and array[999] == 999


def test_numpy_takes_tensors():
    tensor = Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert np.add(tensor.asnumpy(), 1).tolist() == [[2, 3], [4, 5]]
    assert np.asarray(tensor).tolist() == [[1, 2], [3, 4]]
    assert np.asarray(tensor, np.int64).dtype == np.int64
    assert np.array(tensor).base is None or not np.shares_memory(np.array(tensor), tensor.asnumpy())
    assert np.asarray(tensor.T).tolist() == [[1, 3], [2, 4]]
    assert np.asarray(Tensor([1.0], ms.bfloat16)).dtype == dtypes.bfloat16.numpy


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes in Python offer buffers from Python 3.12 on")
def test_the_buffer_protocol():
    tensor = Tensor(np.arange(6, dtype=np.int32).reshape(2, 3))
    view = memoryview(tensor)
    assert view.shape == (2, 3) and view.format == "i"
    tensor[0, 0] = 9
    assert view[0, 0] == 9


# -- DLPack ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if d is not dtypes.bfloat16], ids=str)
def test_numpy_and_tensors_share_memory(dtype):
    tensor = Tensor(np.ones((2, 3), dtype.numpy))
    array = np.from_dlpack(tensor)
    assert array.dtype == dtype.numpy and np.shares_memory(array, tensor.asnumpy())
    tensor[0, 0] = 0
    assert array[0, 0] == 0
    back = from_dlpack(aligned((2, 3), dtype.numpy))
    assert back.dtype is dtype and back.shape == (2, 3)


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)], ids=str)
def test_a_tensor_from_a_tensor_is_a_view_of_it(dtype, shape):
    tensor = Tensor(np.ones(shape, dtype.numpy))
    other = from_dlpack(tensor)
    assert (other.dtype, other.shape) == (dtype, shape)
    if 0 not in shape:
        array = tensor.asnumpy()
        array[...] = 0
        assert not other.asnumpy().astype(bool).any()


def test_imported_memory_lives_as_long_as_the_tensor():
    freed = []

    class Owner(np.ndarray):
        def __del__(self):
            freed.append(True)

    array = aligned((1000,)).view(Owner)
    tensor = from_dlpack(array)
    del array
    gc.collect()
    tensor[5] = 3
    assert not freed and tensor.asnumpy()[5] == 3
    del tensor
    gc.collect()
    assert freed


def test_memory_that_may_not_be_written_is_copied():
    array = aligned((3,))
    array.flags.writeable = False
    tensor = from_dlpack(array)
    tensor[0] = 1
    assert array[0] == 0


def test_other_layouts_arrive_right():
    array = np.arange(24, dtype=np.float32).reshape(4, 6)
    for view in (array.T, array[:, ::2], array[::-1], array[1:3, 5]):
        assert np.array_equal(from_dlpack(view).asnumpy(), view)
    tensor = Tensor(array)
    assert np.array_equal(np.from_dlpack(tensor.T[::2]), array.T[::2])


def test_a_capsule_is_used_once():
    capsule = Tensor([1.0, 2.0]).__dlpack__()
    assert from_dlpack(capsule).tolist() == [1, 2]
    with pytest.raises(ValueError, match="used before"):
        from_dlpack(capsule)


def test_what_dlpack_refuses():
    with pytest.raises(TypeError, match="must offer __dlpack__.*list"):
        from_dlpack([1, 2])

    class OnAccelerator:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, **arguments):
            raise AssertionError("must not be asked")

    with pytest.raises(ValueError, match=r"host's memory.*\(2, 0\)"):
        from_dlpack(OnAccelerator())


def test_a_traced_tensor_has_no_memory():
    @ms.jit
    def leaks(x):
        return Tensor(np.from_dlpack(x))

    with pytest.raises(RuntimeError, match="traced tensor"):
        leaks(Tensor([1.0]))


# -- copies ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t)), copy.copy],
                         ids=["deepcopy", "pickle", "copy"])
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_copies_own_their_memory(duplicate, dtype):
    tensor = Tensor(np.ones((2, 3), dtype.numpy))
    for original in (tensor, tensor.T, tensor[0]):
        made = duplicate(original)
        assert (type(made), made.dtype, made.shape) == (Tensor, dtype, original.shape)
        assert np.array_equal(made.asnumpy(), original.asnumpy())
        assert not np.shares_memory(made.asnumpy(), original.asnumpy())


def test_a_copied_parameter_keeps_what_it_is():
    parameter = Parameter(Tensor([1.0, 2.0]), name="w", requires_grad=False, layerwise_parallel=True)
    parameter.note = "mine"
    for made in (copy.deepcopy(parameter), pickle.loads(pickle.dumps(parameter))):
        kept = (made.name, made.requires_grad, made.layerwise_parallel, made.note)
        assert kept == ("w", False, True, "mine")
        made.set_data(Tensor([3.0, 4.0]))
        assert parameter.asnumpy().tolist() == [1, 2]


def test_deepcopy_keeps_what_is_shared_within():
    tensor = Tensor([1.0])
    first, second = copy.deepcopy([tensor, tensor])
    assert first is second and first is not tensor


def test_a_shared_array_is_seen_by_compiled_code():
    array = aligned((4,))
    tensor = ms.from_numpy(array)
    double = ms.jit(lambda x: ops.add(x, x))
    double(tensor)
    array[:] = 3
    assert double(tensor).asnumpy().tolist() == [6] * 4
