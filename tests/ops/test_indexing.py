"""``x[key]`` and ``x[key] = value`` against NumPy."""
from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor

ARRAY = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
INDEX = np.array([1, 0])
MASK = np.array([[True, False, True], [False, False, True]])

KEYS = {
    "int": 0,
    "negative": -1,
    "two ints": (0, 1),
    "all ints": (1, 2, 3),
    "slice": slice(1, None),
    "steps": (slice(None), slice(None, None, 2)),
    "reversed": (slice(None), slice(None, None, -1)),
    "reversed part": (..., slice(3, 0, -1)),
    "empty": (slice(None), slice(1, 0)),
    "beyond": slice(-9, 99),
    "ellipsis": ...,
    "ellipsis int": (..., 1),
    "int ellipsis int": (0, ..., -1),
    "new": None,
    "new within": (slice(None), None, 1),
    "new last": (..., None),
    "array": INDEX,
    "list": [0, 1, 0],
    "array on axis 1": (slice(None), [2, 0]),
    "matrix of indices": np.array([[0, 1], [1, 0]]),
    "two arrays": (INDEX, INDEX),
    "int and array": (0, slice(None), INDEX),
    "adjacent arrays": (slice(None), [0, 1], [3, 2]),
    "apart": (INDEX, slice(None), INDEX),
    "broadcast": (np.array([[0], [1]]), [0, 2]),
    "negative indices": (slice(None), [-1, -3]),
    "mask": ARRAY > 10,
    "mask of rows": np.array([True, False]),
    "mask of two axes": MASK,
    "mask then slice": (MASK, slice(1, 3)),
    "mask on axis 1": (slice(None), np.array([True, False, True])),
    "true": True,
    "false": False,
    "slice then array": (slice(0, 1), [1, 2]),
    "new then array": (None, INDEX),
    "empty list": np.zeros((0,), np.int64),
}


def _as_tensors(key):
    if isinstance(key, np.ndarray):
        return Tensor(key)
    return tuple(map(_as_tensors, key)) if isinstance(key, tuple) else key


@pytest.mark.parametrize("name", KEYS)
def test_get(name):
    key = KEYS[name]
    expected = ARRAY[key]
    found = Tensor(ARRAY)[_as_tensors(key)]
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found.asnumpy(), expected)


def test_a_mask_that_a_graph_computes():
    found = ms.jit(lambda x: x[x > 10] * 2)(Tensor(ARRAY))
    np.testing.assert_array_equal(found.asnumpy(), ARRAY[ARRAY > 10] * 2)


@pytest.mark.parametrize("name", [n for n in KEYS if "mask" not in n])
def test_get_in_a_graph(name):
    key = KEYS[name]
    if key is True or key is False:
        pytest.skip("a 0-d mask in a graph is a Python bool, and so decided while tracing")
    found = ms.jit(lambda x: x[_as_tensors(key)] + 0)(Tensor(ARRAY))
    np.testing.assert_array_equal(found.asnumpy(), ARRAY[key])


@pytest.mark.parametrize("kind", ["number", "tensor"])
@pytest.mark.parametrize("name", [n for n in KEYS if n not in ("true", "false")])
def test_set(name, kind):
    key = KEYS[name]
    expected, x = ARRAY.copy(), Tensor(ARRAY.copy())
    picked = ARRAY[key]
    value = -1.5 if kind == "number" else -np.arange(picked.size, dtype=np.float32).reshape(picked.shape) - 1
    if name == "list" and kind == "tensor":
        pytest.skip("an index that repeats: the last write wins in NumPy too, by accident of order")
    expected[key] = value
    x[_as_tensors(key)] = value if kind == "number" else Tensor(value)
    np.testing.assert_array_equal(x.asnumpy(), expected)


def test_set_broadcasts_and_converts():
    expected, x = ARRAY.copy(), Tensor(ARRAY.copy())
    expected[:, 1] = [1, 2, 3, 4]
    x[:, 1] = Tensor([1, 2, 3, 4])
    np.testing.assert_array_equal(x.asnumpy(), expected)
    assert x.dtype is ms.float32


def test_basic_keys_give_views():
    x = Tensor(ARRAY.copy())
    row = x[0]
    x[0, 0, 0] = 99.0
    assert float(row[0, 0]) == 99.0
    row[1] = 7.0
    assert float(x[0, 1, 3]) == 7.0


@pytest.mark.parametrize(
    ("key", "error", "match"),
    [
        ((0, 0, 0, 0), IndexError, "at most 3 indices"),
        (2, IndexError, "index 2 is out of bounds for dimension with size 2"),
        ((..., 0, ...), IndexError, "at most one"),
        ("x", TypeError, "must be ints"),
        (slice(None, None, 0), ValueError, "must not be 0"),
    ],
)
def test_refuses(key, error, match):
    with pytest.raises(error, match=match):
        Tensor(ARRAY)[key]


def test_an_index_out_of_range_is_an_error():
    with pytest.raises(Exception, match=r"(?i)range|indices"):
        Tensor(ARRAY)[Tensor([0, 5])].asnumpy()


def test_nonzero():
    found = Tensor(MASK).nonzero()
    np.testing.assert_array_equal(found.asnumpy(), np.argwhere(MASK))
    rows, columns = ms.ops.nonzero(Tensor(MASK), as_tuple=True)
    assert (rows.tolist(), columns.tolist()) == ([0, 0, 1], [0, 2, 2])


def test_gradient_of_an_index():
    def loss(x):
        return (x[Tensor([0, 1, 1]), Tensor([2, 0, 0])] * x[0, 0] + x[:, 1:, ::2].sum()).sum()
    x = Tensor(ARRAY.astype(np.float64))
    g = ms.grad(loss)(x).asnumpy()
    step, direction = 1e-6, np.random.default_rng(0).uniform(-1, 1, ARRAY.shape)
    difference = float(loss(x + Tensor(step * direction))) - float(loss(x - Tensor(step * direction)))
    np.testing.assert_allclose((g * direction).sum(), difference / (2 * step), rtol=1e-6)


def test_slices_of_strided_slice():
    x = Tensor(ARRAY)
    np.testing.assert_array_equal(
        ms.ops.strided_slice(x, (0, 1, 0), (2, 3, 4), (1, 1, 2)).asnumpy(), ARRAY[0:2, 1:3, 0:4:2]
    )
    np.testing.assert_array_equal(
        ms.ops.strided_slice(x, (1, 1), (2, 3), (1, 1), begin_mask=1, shrink_axis_mask=2).asnumpy(),
        ARRAY[:2, 1],
    )


def _drawn_key(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple:
    """A key of integers, slices, lists, arrays, masks, None and an ellipsis; not always a valid one."""
    def bound(extent):
        return None if rng.random() < 0.3 else int(rng.integers(-extent - 1, extent + 2))

    def item(extent):
        return {
            "int": lambda: int(rng.integers(-extent, extent)),
            "slice": lambda: slice(bound(extent), bound(extent), [None, 1, 2, -1, -2, 3][rng.integers(6)]),
            "list": lambda: [int(v) for v in rng.integers(-extent, extent, 2)],
            "array": lambda: rng.integers(-extent, extent, (2,) if rng.random() < 0.6 else (2, 2)),
            "mask": lambda: rng.random(extent) < 0.5,
        }[rng.choice(["int", "slice", "list", "array", "mask"])]()

    key = [item(extent) for extent in shape[: rng.integers(1, len(shape) + 1)]]
    for extra in (None, Ellipsis):
        if rng.random() < 0.3:
            key.insert(int(rng.integers(0, len(key) + 1)), extra)
    return tuple(key)


@pytest.mark.parametrize("mode", ["get", "graph", "set", "gradient"])
def test_drawn_keys(mode):
    rng = np.random.default_rng(["get", "graph", "set", "gradient"].index(mode))
    for _ in range(25 if mode == "graph" else 100):
        shape = tuple(int(d) for d in rng.integers(2, 5, rng.integers(1, 4)))
        x, key = rng.standard_normal(shape).astype(np.float32), _drawn_key(rng, shape)
        ours = tuple(ms.Tensor(k) if isinstance(k, np.ndarray) else k for k in key)
        try:
            expected = x[key]
        except IndexError:
            with pytest.raises((IndexError, ValueError)):
                ms.Tensor(x)[ours].asnumpy()
            continue
        if mode == "get":
            got = ms.Tensor(x)[ours]
        elif mode == "graph":
            got = ms.jit(lambda t, ours=ours: t[ours])(ms.Tensor(x))
        else:
            value = rng.standard_normal(expected.shape).astype(np.float32)
            if mode == "set":
                got, expected = ms.Tensor(x), x.copy()
                got[ours], expected[key] = ms.Tensor(value), value
            else:
                weights = ms.Tensor(value)
                loss = lambda t, ours=ours, weights=weights: (t[ours] * weights).sum()
                got = ms.grad(loss)(ms.Tensor(x))
                expected = np.zeros_like(x)
                np.add.at(expected, key, value)
        assert got.shape == expected.shape, (shape, key)
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-6, err_msg=str((shape, key)))
