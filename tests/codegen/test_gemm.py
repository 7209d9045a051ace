"""Matrix products in every dtype, with shapes around the sizes of register tiles and of cache blocks."""

from __future__ import annotations

import harness
import ml_dtypes
import numpy as np
import pytest

import mycelia.kernels.cpu.matmul  # noqa: F401
import mycelia.ops  # noqa: F401
from mycelia.codegen import gemm, pack, products
from mycelia.codegen.gemm import Contraction, Tile
from mycelia.codegen.target import ALL, Target
from mycelia.kernels import api
from mycelia.kernels.cpu import contraction
from mycelia.runtime.link import compile_object

SHAPES = [
    (1, 1, 1),
    (1, 37, 19),
    (3, 33, 50),
    (2, 1, 70),
    (65, 1, 70),
    (4, 5, 3),
    (5, 16, 8),
    (6, 16, 25),
    (7, 17, 9),
    (8, 8, 64),
    (13, 6, 31),
    (25, 10, 30),
    (32, 84, 120),
    (49, 48, 33),
    (120, 400, 32),
    (97, 130, 300),
    (31, 40, 3000),
    (1, 900, 1000),
    (1, 1100, 2000),
    (2, 700, 1500),
    (0, 4, 3),
    (4, 0, 3),
    (4, 3, 0),
    (1, 5, 0),
    (200, 96, 64),
]
TOLERANCE = {
    np.dtype(np.float32): 3e-6,
    np.dtype(np.float64): 1e-14,
    np.dtype(np.float16): 1e-3,
    np.dtype(ml_dtypes.bfloat16): 8e-3,
}


def numbers(shape, dtype, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def check(op, batch, m, n, k, dtype, transpose_a, transpose_b):
    a = numbers((*batch, k, m) if transpose_a else (*batch, m, k), dtype, 1)
    b = numbers((*batch, n, k) if transpose_b else (*batch, k, n), dtype, 2)
    got = harness.apply(op, [a, b], transpose_a=transpose_a, transpose_b=transpose_b)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    expected = np.matmul(
        wide_a.swapaxes(-1, -2) if transpose_a else wide_a, wide_b.swapaxes(-1, -2) if transpose_b else wide_b
    )
    assert got.shape == expected.shape and got.dtype == dtype
    if got.size:
        bound = np.sqrt(max(k, 1)) * 3
        assert np.abs(got.astype(np.float64) - expected).max() <= TOLERANCE[np.dtype(dtype)] * bound


@pytest.mark.parametrize("m,n,k", SHAPES)
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_matmul(m, n, k, transpose_a, transpose_b, dtype):
    check("MatMul", (), m, n, k, dtype, transpose_a, transpose_b)


@pytest.mark.parametrize(
    "m,n,k", [(1, 37, 19), (3, 33, 50), (65, 1, 70), (7, 17, 9), (32, 84, 120), (4, 3, 0)]
)
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision(m, n, k, transpose_a, transpose_b, dtype):
    check("MatMul", (), m, n, k, dtype, transpose_a, transpose_b)


@pytest.mark.parametrize("batch", [(3,), (2, 2), (0,)])
@pytest.mark.parametrize("m,n,k", [(1, 7, 9), (9, 1, 20), (7, 17, 9), (25, 33, 40)])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_batches(batch, m, n, k, transpose_a, transpose_b):
    for dtype in (np.float32, np.float16):
        check("BatchMatMul", batch, m, n, k, dtype, transpose_a, transpose_b)


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_integers_wrap(dtype, transpose_a, transpose_b):
    rng = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    a = rng.integers(limits.min, limits.max, (5, 7) if transpose_a else (7, 5), dtype)
    b = rng.integers(limits.min, limits.max, (3, 5) if transpose_b else (5, 3), dtype)
    got = harness.apply("MatMul", [a, b], transpose_a=transpose_a, transpose_b=transpose_b)
    np.testing.assert_array_equal(got, (a.T if transpose_a else a) @ (b.T if transpose_b else b))


def test_order_of_chunks_does_not_matter():
    a, b = numbers((301, 700), np.float32, 1), numbers((700, 200), np.float32, 2)
    bound = harness.bind("MatMul", [a, b], transpose_a=False, transpose_b=False)
    assert max(call.chunks for call in bound.calls) > 1
    bound.run()
    forwards = bound.outputs[0].copy()
    bound.run(reverse=True)
    np.testing.assert_array_equal(forwards, bound.outputs[0])


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9, 15])
def test_narrow_chunks_stay_apart(n, monkeypatch):
    monkeypatch.setattr(contraction, "CHUNK_WORK", 400)
    tile = Tile.of(Target.host(), "float")
    a = numbers((301, 4), np.float32, 1)
    panels = numbers((4 * tile.width,), np.float32, 2)
    shape = contraction.Shape(rows=301, n=n, run=4, a_row=16, c_row=4 * n)
    call = contraction.contract(Contraction(tile), shape, api.In(0), api.In(1), api.Out(0))
    assert call.chunks > 1
    result = harness.aligned((301, n), np.float32)
    expected = a @ panels.reshape(4, tile.width)[:, :n]
    for reverse in (False, True):
        result[...] = np.nan
        harness.run([call], [a, panels], [result], reverse)
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_nothing_outside_the_result_is_written():
    tile = Tile.of(Target.host(), "float")
    for m, n in ((1, 1), (6, 6), (13, 1), (25, 2), (13, 5), (7, 17), (8, 30)):
        a, b = numbers((m, 20), np.float32, 1), numbers((20, n), np.float32, 2)
        panels = harness.aligned((20 * -(-n // tile.width) * tile.width,), np.float32, 0)
        panels.reshape(-1, 20, tile.width).transpose(0, 2, 1).reshape(-1, 20)[:n] = 0
        for column in range(n):
            panels.reshape(-1, 20, tile.width)[column // tile.width, :, column % tile.width] = b[:, column]
        guarded = harness.aligned((m * n + 64,), np.float32, 7.0)
        call = contraction.contract(
            Contraction(tile),
            contraction.Shape(rows=m, n=n, run=20, a_row=80, c_row=4 * n),
            api.In(0),
            api.In(1),
            api.Out(0),
        )
        harness.run([call], [a, panels], [guarded])
        np.testing.assert_allclose(guarded[: m * n].reshape(m, n), a @ b, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(guarded[m * n :], 7.0)


@pytest.mark.parametrize("target", ALL, ids=lambda t: t.cpu)
@pytest.mark.parametrize("element", ["float", "double"])
def test_text_compiles_for_every_target(target, element):
    tile = Tile.of(target, element)
    texts = [
        gemm.contraction(spec, "k")
        for spec in (
            Contraction(tile),
            Contraction(
                tile, table=True, bias=True, residual=True, relu=True, columns="whole", shortest=tile.rows - 1
            ),
            Contraction(tile, table=True, scatter=True, columns="narrow", shortest=1),
        )
    ]
    stored = ["double"] if element == "double" else ["float", "half", "bfloat"]
    for kind in stored:
        texts += [
            pack.pack(tile, kind, order, "k") for order in ("rows", "columns", "taps", "images", "strided")
        ]
        texts += [
            pack.transpose(tile, kind, element, "k"),
            pack.transpose(tile, element, kind, "k"),
            pack.convert(kind, element, tile.lanes, "k"),
            pack.convert(element, kind, tile.lanes, "k"),
            products.dot_products(tile, kind, 3, "k"),
            products.scaled_rows(tile, kind, 2, "k"),
        ]
    if element == "float":
        texts += [products.integer_product(bits, "k") for bits in (8, 16, 32, 64)]
    for text in texts:
        assert harness.undefined_symbols(compile_object(text, target)) <= {"memcpy", "memset", "memmove"}
