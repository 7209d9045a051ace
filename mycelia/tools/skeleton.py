"""`mycelia op --new NAME`: the skeleton of an operator of one's own."""

from __future__ import annotations

import keyword
import re
import sys
from pathlib import Path

from mycelia.ir import operator as registry

_SKELETON = '''"""The operator {name}, for each element of a tensor of floats.

Import this module and call `{name}(x)`: it runs in both modes, has a gradient, can be mapped by `vmap`, and
fuses with its neighbours into one native loop. As it stands it computes x * x * x; put your own function into
the four rules, and run this file to check them against one another.
"""

import numpy as np

from mycelia.ir.dtypes import FLOATS, int32
from mycelia.ops.definition import operator
from mycelia.ops.inference import same_type
from mycelia.ops.reference import widened
from mycelia.ops.samples import unary, unary_errors


@operator("{name}", pointwise=True)
class {name}:
    """x * x * x."""

    infer = same_type(FLOATS)  # the output's dtype and shape: those of the input

    def vjp(g, x, y):  # the gradient: of tensors, from that of the result; y is the result
        return g * (3.0 * x * x)

    def body(m, x):  # the code for one element: m has const, exp, log, sqrt, tanh, abs, select and others
        return x * x * x

    reference = widened(lambda x: x * x * x)  # the same in NumPy, which the check compares with
    samples = unary(FLOATS, -2.0, 2.0)  # inputs of the check, between these bounds
    errors = unary_errors(int32)  # a dtype that it must refuse


def check():
    """Compares the compiled code with the reference, and the gradient with finite differences."""
    import mycelia as ms

    x = np.linspace(-1.9, 1.9, 37).astype(np.float64)
    step = 1e-6
    slope = ({name}.reference(x + step) - {name}.reference(x - step)) / (2 * step)
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        compute = ms.jit({name}) if mode == ms.GRAPH_MODE else {name}
        np.testing.assert_allclose(compute(ms.Tensor(x)).asnumpy(), {name}.reference(x), rtol=1e-6, atol=1e-6)
        gradient = ms.grad(lambda t: {name}(t).sum())(ms.Tensor(x))
        np.testing.assert_allclose(gradient.asnumpy(), slope, rtol=1e-4, atol=1e-4)
    print("{name}: the compiled code and the gradient agree with the reference")


if __name__ == "__main__":
    check()
'''


def write_skeleton(name: str, folder: str | Path = ".") -> int:
    """Writes ``name.py`` with the definition of an operator that runs; its exit status."""
    import mycelia  # noqa: F401  (defines the operators)

    file = Path(folder) / (re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower() + ".py")
    trouble = None
    if not name.isidentifier() or not name[0].isupper() or keyword.iskeyword(name):
        trouble = f"NAME must be a Python name that begins with a capital letter, such as Cubic, not {name!r}"
    elif name in registry.REGISTRY:
        trouble = f"an operator is named {name!r} already; `mycelia op {name}` shows it"
    elif file.exists():
        trouble = f"{file} exists; move it away, or choose another name"
    if trouble:
        print(f"mycelia op --new: {trouble}", file=sys.stderr)
        return 1
    file.write_text(_SKELETON.replace("{name}", name))
    print(f"{file} is written. `python {file}` checks it; `from {file.stem} import {name}` uses it.")
    return 0
