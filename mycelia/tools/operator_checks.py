"""What an operator must keep to, on its own samples: `mycelia op --check NAME`, and the operators' tests.

Each check takes an operator and a sample, and raises AssertionError where they disagree.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import mycelia as ms
from mycelia.autodiff.batching import Batch, BatchedTensor, move_axis
from mycelia.autodiff.tape import Tape, token_of
from mycelia.ir import dtypes
from mycelia.ir.operator import Operator
from mycelia.ops import dispatch
from mycelia.ops.samples import Sample
from mycelia.tensor.tensor import Tensor

Arrays = Sequence[np.ndarray]

# Relative to the largest expected element; a sample's own factor multiplies it.
TOLERANCE = {"float64": 2e-14, "float32": 1e-6, "float16": 2e-3, "bfloat16": 1.6e-2}
STEP = 1e-6  # of central differences
BATCH = 3

# Nothing to map over, or an extent that depends on the data.
WITHOUT_BATCH = {
    "Full", "Iota", "NonZero", "Unique", "UniqueSlices", "UniqueConsecutive", "Cond", "While"
}
DOMAIN_OF_MATRICES = {"Cholesky"}  # whose domain a permutation of elements leaves
# Of the first two inputs the gradient only says where the maxima lie.
PLACES = {"MaxPoolGrad", "MaxPoolGradGrad"}


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise AssertionError(what)


# -- engines -------------------------------------------------------------------------------------------------
class ReferenceEngine:
    """Carries out operators by their NumPy references, and compares these with the type rules."""

    def bind(self, op: Operator, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> Any:
        """Applies an operator."""
        declared = op.output_types(tuple(x.type for x in inputs), attrs)
        with np.errstate(all="ignore"):
            results = op.reference(*(x.asnumpy() for x in inputs), **attrs)  # type: ignore[misc]
        results = results if isinstance(results, tuple) else (results,)
        for kind, array in zip(declared, results, strict=True):
            said = f"{op.name}: infer says {kind}, the reference gives "
            _expect(kind.dtype.numpy == array.dtype, f"{said}{array.dtype}")
            _expect(not kind.is_static or kind.shape == array.shape, f"{said}{array.shape}")
        outputs = tuple(Tensor(np.array(array)) for array in results)
        return outputs[0] if op.num_outputs == 1 else outputs

    def write(self, target: Tensor, value: Tensor) -> None:
        """Overwrites a tensor."""
        target._storage.write_host(np.ascontiguousarray(value.asnumpy()))


REFERENCE: Any = ReferenceEngine()


def as_tuple(results: Any) -> tuple:
    """An operator's outputs as a tuple."""
    return results if isinstance(results, tuple) else (results,)


def by_reference(op: Operator, arrays: Arrays, attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """The outputs by the NumPy reference."""
    with dispatch.interpreting(REFERENCE):
        return tuple(y.asnumpy() for y in as_tuple(op(*(Tensor(np.array(a)) for a in arrays), **attrs)))


def shown(array: np.ndarray) -> Tensor:
    """A tensor with the array's elements; a view of a larger one where the array is not contiguous."""
    if array.flags.c_contiguous:
        return Tensor(np.array(array))
    wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
    wide[..., ::2] = array
    return Tensor(wide)[..., ::2]  # type: ignore[index]


def eagerly(op: Operator, arrays: Arrays, attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """The outputs in PyNative mode."""
    return tuple(y.asnumpy() for y in as_tuple(op(*map(shown, arrays), **attrs)))


def in_a_graph(op: Operator, arrays: Arrays, attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
    """The outputs in Graph mode."""

    @ms.jit
    def function(*xs: Tensor) -> Any:
        return op(*xs, **attrs)

    return tuple(y.asnumpy() for y in as_tuple(function(*map(shown, arrays))))


def assert_close(found: np.ndarray, expected: np.ndarray, factor: float = 1.0, what: str = "") -> None:
    """Equal dtype and shape, and elements within the dtype's tolerance."""
    _expect(found.dtype == expected.dtype, f"{what}: dtype {found.dtype}, expected {expected.dtype}")
    _expect(found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}")
    name = str(expected.dtype)
    if name not in TOLERANCE:
        np.testing.assert_array_equal(found, expected, err_msg=what)
        return
    a, b = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(b)
    np.testing.assert_array_equal(np.where(finite, 0, a), np.where(finite, 0, b), err_msg=what)
    if finite.any():
        scale = np.abs(b[finite]).max()
        relative = TOLERANCE[name] * factor
        np.testing.assert_allclose(
            np.where(finite, a, 0),
            np.where(finite, b, 0),
            rtol=relative,
            atol=relative * min(scale, 1.0) + 1e-300,
            err_msg=what,
        )


def is_float(array: np.ndarray) -> bool:
    """Whether the elements are floats."""
    return dtypes.from_numpy_dtype(array.dtype).is_float


def in_float64(sample: Sample) -> tuple[np.ndarray, ...]:
    """The sample's inputs with every float as float64."""
    return tuple(a.astype(np.float64) if is_float(a) else np.array(a) for a in sample.inputs)


def attrs_in_float64(sample: Sample) -> dict[str, Any]:
    """The sample's attributes; a cast's gradient is tested between float64 and itself."""
    attrs = dict(sample.attrs)
    if isinstance(attrs.get("dtype"), dtypes.DType) and attrs["dtype"].is_float:
        attrs["dtype"] = dtypes.float64
    return attrs


def pullback(
    function: Callable[..., Any], inputs: Sequence[Any], cotangents: Sequence[Tensor | None]
) -> list[Tensor | None]:
    """The cotangents of the inputs, under whatever interpreter is current."""
    tape = Tape()
    tokens = [token_of(x) for x in inputs]
    with dispatch.interpreting(tape):
        outputs = as_tuple(function(*inputs))
    return tape.backward(outputs, cotangents, tokens)


def noise(array: np.ndarray, seed: int) -> np.ndarray:
    """Reproducible numbers in [-1, 1] of the array's shape."""
    return np.asarray(np.random.default_rng(seed).uniform(-1, 1, array.shape))


# -- checks --------------------------------------------------------------------------------------------------
def check_types(op: Operator, sample: Sample) -> None:
    """The type rule agrees with the reference; the engine compares them."""
    by_reference(op, sample.inputs, sample.attrs)


def check_mode(run: Callable[..., tuple[np.ndarray, ...]], op: Operator, sample: Sample) -> None:
    """`eagerly` or `in_a_graph` agrees with the reference."""
    expected = by_reference(op, sample.inputs, sample.attrs)
    found = run(op, sample.inputs, sample.attrs)
    for i, (y, want) in enumerate(zip(found, expected, strict=True)):
        assert_close(y, want, sample.tolerance * 2, f"output {i}")


def has_gradient(op: Operator, sample: Sample) -> bool:
    """Whether the operator is smooth there, in float inputs; half precision would only repeat what float64
    says."""
    smooth = any(a.dtype in (np.float32, np.float64) for a in sample.inputs)
    return sample.gradient and op.vjp is not None and smooth


def random_cotangents(op: Operator, inputs: Arrays, attrs: dict[str, Any]) -> list[np.ndarray | None]:
    """Cotangents of the float outputs."""
    outputs = by_reference(op, inputs, attrs)
    return [noise(y, 7 + i) if is_float(y) else None for i, y in enumerate(outputs)]


def tensors(arrays: Sequence[np.ndarray | None]) -> list[Any]:
    """Tensors of copies."""
    return [None if a is None else Tensor(np.array(a)) for a in arrays]


def _along(
    op: Operator, inputs: Arrays, attrs: dict[str, Any], directions: Sequence[Any], cotangents: Sequence[Any]
) -> float:
    """The derivative of <cotangents, op(inputs)> along directions, by central differences."""
    total = 0.0
    for sign in (1, -1):
        moved = [x if d is None else x + sign * STEP * d for x, d in zip(inputs, directions, strict=True)]
        outputs = by_reference(op, moved, attrs)
        total += sign * sum(
            float((c * y).sum()) for c, y in zip(cotangents, outputs, strict=True) if c is not None
        )
    return total / (2 * STEP)


def check_gradient(op: Operator, sample: Sample) -> bool:
    """The gradient rule agrees with central differences; False where no output is a float."""
    inputs, attrs = in_float64(sample), attrs_in_float64(sample)
    cotangents = random_cotangents(op, inputs, attrs)
    if all(c is None for c in cotangents):
        return False
    with dispatch.interpreting(REFERENCE):
        found = pullback(lambda *xs: op(*xs, **attrs), tensors(inputs), tensors(cotangents))
    for i, (x, g) in enumerate(zip(inputs, found, strict=True)):
        if not is_float(x) or op.name in PLACES and i < 2:
            continue
        direction = noise(x, 3 + i)
        directions = [direction if j == i else None for j in range(len(inputs))]
        expected = _along(op, inputs, attrs, directions, cotangents)
        if g is None:
            _expect(abs(expected) < 1e-6, f"input {i} has a gradient, but the rule gives none")
            continue
        _expect(g.shape == x.shape, f"input {i}: its gradient has shape {g.shape}, it has {x.shape}")
        np.testing.assert_allclose(
            float((g.asnumpy() * direction).sum()),
            expected,
            rtol=2e-6,
            atol=2e-7 * max(1.0, np.abs(direction).sum()),
            err_msg=f"input {i}",
        )
    return True


def mappable(op: Operator, sample: Sample) -> bool:
    """Whether `vmap` is meant to take the operator."""
    return (
        bool(sample.inputs)
        and op.name not in WITHOUT_BATCH
        and not op.name.startswith("Random")
        and not op.effects
    )


def _items(array: np.ndarray, seed: int, scaled: bool) -> np.ndarray:
    """Different items like the array, within its domain: permuted copies, or scaled ones."""
    if scaled:
        return np.stack([array * (i + 1) for i in range(BATCH)])
    rng = np.random.default_rng(seed)
    return np.stack(
        [array if i == 0 else rng.permutation(array.ravel()).reshape(array.shape) for i in range(BATCH)]
    )


def check_batch(op: Operator, sample: Sample) -> None:
    """The batch rule agrees with a loop over the items, whichever inputs are mapped."""
    count = len(sample.inputs)
    patterns = [p for p in itertools.product((False, True), repeat=min(count, 3)) if any(p)]
    for pattern in patterns:
        mapped = [pattern[min(i, 2)] for i in range(count)]
        batches = [
            _items(np.array(a), i, op.name in DOMAIN_OF_MATRICES) if on else np.array(a)
            for i, (a, on) in enumerate(zip(sample.inputs, mapped, strict=True))
        ]
        expected = [
            by_reference(op, [b[k] if on else b for b, on in zip(batches, mapped, strict=True)], sample.attrs)
            for k in range(BATCH)
        ]
        with dispatch.interpreting(REFERENCE):
            level = Batch(BATCH)
            given = []
            for i, (b, on) in enumerate(zip(batches, mapped, strict=True)):
                axis = i % b.ndim if on else None  # also an axis that is not the first
                given.append(
                    BatchedTensor(Tensor(np.ascontiguousarray(np.moveaxis(b, 0, axis))), axis, level)
                    if axis is not None
                    else Tensor(b)
                )
            with dispatch.interpreting(level):
                outputs = as_tuple(op(*given, **sample.attrs))
            found = [
                move_axis(y.inner, y.axis, 0).asnumpy()
                if isinstance(y, BatchedTensor)
                else np.stack([y.asnumpy()] * BATCH)
                for y in outputs
            ]
        for k, y in enumerate(found):
            wanted = np.stack([e[k] for e in expected])
            assert_close(y, wanted, 8.0 * sample.tolerance, f"output {k}, mapped {mapped}")


def check_error(op: Operator, case: Any) -> None:
    """The operator refuses what it must, and says what it wants and what it got."""
    try:
        op.output_types(case.types, case.attrs)
    except case.error as error:
        import re

        said = str(error)
        _expect(re.search(case.match, said) is not None, f"says {said!r}, expected {case.match!r}")
        _expect(said.startswith(op.name) and "Received" in said, f"names not what was received: {said!r}")
        return
    raise AssertionError(f"takes {', '.join(map(str, case.types))}; expected a {case.error.__name__}")


# -- all of them ---------------------------------------------------------------------------------------------
def _kinds(sample: Sample) -> Iterator[str]:
    if any(a.size == 0 for a in sample.inputs):
        yield "empty"
    if any(a.ndim == 0 for a in sample.inputs):
        yield "0-d"
    if not all(a.flags.c_contiguous for a in sample.inputs):
        yield "not contiguous"
    yield from dict.fromkeys(str(a.dtype) for a in sample.inputs)


def run_checks(op: Operator) -> Iterator[tuple[str, int, list[str]]]:
    """By check: its name, on how many samples it ran, and what failed."""
    samples = list(op.samples()) if op.samples is not None and op.reference is not None else []
    if op.effects.writes:
        samples = []  # a sample's outputs are its inputs afterwards: tests of effects

    def over(chosen: list[Any], check: Callable[..., Any]) -> tuple[int, list[str]]:
        failures, ran = [], 0
        for sample in chosen:
            try:
                ran += check(op, sample) is not False
            except Exception as error:
                ran += 1
                label = getattr(sample, "label", "") or " ".join(map(str, getattr(sample, "types", ())))
                failures.append(f"{label}: {' '.join(f'{type(error).__name__}: {error}'.split())[:200]}")
        return ran, failures

    def modes(op: Operator, sample: Sample) -> None:
        check_mode(eagerly, op, sample)
        check_mode(in_a_graph, op, sample)

    yield ("types", *over(samples, check_types))
    yield ("PyNative mode", *over(samples, lambda op, s: check_mode(eagerly, op, s)))
    yield ("Graph mode", *over(samples, lambda op, s: check_mode(in_a_graph, op, s)))
    yield ("gradient", *over([s for s in samples if has_gradient(op, s)], check_gradient))
    yield ("vmap", *over([s for s in samples if mappable(op, s)][:12], check_batch))
    for kind in dict.fromkeys(kind for sample in samples for kind in _kinds(sample)):
        yield (kind, *over([s for s in samples if kind in _kinds(s)], modes))
    yield ("errors", *over(list(op.errors or ()), check_error))
