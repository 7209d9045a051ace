"""Element types."""
from __future__ import annotations

import subprocess
import sys

import ml_dtypes
import pytest

from mycelia.ir.dtypes import BY_NAME, bfloat16, from_numpy_dtype


def test_numpy_dtypes_there_and_back():
    for dtype in BY_NAME.values():
        assert from_numpy_dtype(dtype.numpy) is dtype
        assert dtype.numpy.itemsize == dtype.itemsize
    assert from_numpy_dtype("bfloat16") is from_numpy_dtype(ml_dtypes.bfloat16) is bfloat16
    for other in ("U3", object, ml_dtypes.float8_e4m3fn):
        with pytest.raises(TypeError, match="no tensor element type"):
            from_numpy_dtype(other)


@pytest.mark.parametrize("statement", [
    "import ml_dtypes; from mycelia.ir.dtypes import from_numpy_dtype as f; d = f(ml_dtypes.bfloat16)",
    "import mycelia as ms, numpy, ml_dtypes; d = ms.Tensor(numpy.ones(2, ml_dtypes.bfloat16)).dtype",
    "import mycelia as ms; d = ms.Tensor([1.5], ms.bfloat16).dtype",
])
def test_bfloat16_first(statement):
    program = f"{statement}; assert d.name == 'bfloat16' and d.numpy.itemsize == 2"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_import_does_without_what_is_seldom_needed():
    """To import ml_dtypes takes up to a second."""
    program = (
        "import sys; from mycelia import Tensor, nn, ops; nn.Dense(3, 2)(ops.tanh(Tensor([[1.0, 2, 3]])));"
        "assert not sys.modules.keys() & {'ml_dtypes', 'PIL', 'scipy'}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
