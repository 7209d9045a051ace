"""What `jit` may be told, declared inputs, and values that a graph does not have."""
import linecache
import os

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops


def ones(*shape, dtype=np.float32):
    return Tensor(np.ones(shape, dtype))


def total(x):
    return (x * 2).sum(0)


def test_declared_sizes_are_open_from_the_first_call_on():
    compiled = ms.jit(total, input_signature=Tensor(shape=[None, 3], dtype=ms.float32))
    for n in (4, 5, 7):
        np.testing.assert_allclose(compiled(ones(n, 3)).asnumpy(), [2 * n] * 3)
    made = {id(s) for family in compiled.specialisations.values() for s in family}
    assert len(made) == 1
    np.testing.assert_allclose(compiled(ones(1, 3)).asnumpy(), [2] * 3)
    with pytest.raises(ValueError, match=r"float32\[\?, 3\]. Received: float32\[4, 2\]"):
        compiled(ones(4, 2))
    with pytest.raises(TypeError, match=r"float64\[4, 3\]"):
        compiled(ones(4, 3, dtype=np.float64))
    with pytest.raises(ValueError, match="1 inputs are declared. Received: 2"):
        compiled(ones(4, 3), ones(4, 3))


def test_symbols():
    even = ms.Symbol(divisor=2, max=8)
    compiled = ms.jit(
        lambda x, y: x + y,
        input_signature=(Tensor(shape=[even, 3], dtype=ms.float32), Tensor(shape=[even, 3],
        dtype=ms.float32)),
    )
    assert compiled(ones(4, 3), ones(4, 3)).shape == (4, 3)
    for n, m in ((5, 5), (10, 10), (4, 6)):
        with pytest.raises(ValueError, match=r"Symbol\(max=8, divisor=2\)"):
            compiled(ones(n, 3), ones(m, 3))
    assert repr(Tensor(shape=[None, 3], dtype=ms.float32)) == "Tensor(shape=[-1, 3], dtype=Float32, value=)"
    with pytest.raises(ValueError, match="no elements"):
        Tensor(shape=[None, 3], dtype=ms.float32).asnumpy()
    with pytest.raises(ValueError, match="needs dtype"):
        Tensor(shape=[None, 3])
    with pytest.raises(ValueError, match="positive"):
        ms.Symbol(divisor=0)
    with pytest.raises(TypeError, match="must be an int"):
        ms.Symbol(max="8")
    with pytest.raises(ValueError, match="at least min"):
        ms.Symbol(min=5, max=3)


def test_set_inputs():
    net = nn.Dense(3, 2)
    net.set_inputs(Tensor(shape=[None, 3], dtype=ms.float32))
    assert net.get_inputs()[0].shape == (-1, 3)
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert net(ones(4, 3)).shape == (4, 2)
        assert net(ones(6, 3)).shape == (6, 2)
        with pytest.raises(ValueError, match="declared"):
            net(ones(6, 4))
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)
    net.set_inputs(x=ones(1, 3))
    with pytest.raises(ValueError, match="has the parameters x"):
        net.set_inputs(z=ones(1, 3))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"capture_mode": "x"}, ValueError),
        ({"capture_mode": 3}, ValueError),
        ({"jit_level": "O7"}, ValueError),
        ({"dynamic": 2}, ValueError),
        ({"dynamic": "a"}, TypeError),
        ({"fullgraph": 1}, TypeError),
        ({"backend": "x"}, ValueError),
        ({"exec_order": "z"}, ValueError),
        ({"jit_config": 3}, TypeError),
        ({"input_signature": 3}, TypeError),
    ],
)
def test_wrong_options(options, error):
    with pytest.raises(error, match=next(iter(options)) if error is ValueError else "must be"):
        ms.jit(total, **options)


def test_options_that_work():
    x = ones(2, 3)
    for compiled in (
        ms.jit(total, capture_mode="trace", jit_level="O1", dynamic=1, fullgraph=True, backend="ms_backend"),
        ms.jit(capture_mode="bytecode")(total),
        ms.jit(total, jit_config=ms.JitConfig(jit_level="O1"), hash_args=(3, "a")),
        ms.ms_function(total, input_signature=Tensor(shape=[None, 3], dtype=ms.float32)),
        ms.ms_function(total),
    ):
        np.testing.assert_allclose(compiled(x).asnumpy(), [4, 4, 4])
    with pytest.warns(UserWarning, match="foo"):
        ms.jit(total, foo=1)


def test_marks():
    @ms.jit_class
    class Scale:
        def __init__(self, factor):
            self.factor = factor

        def __call__(self, x):
            return x * self.factor

    scale = Scale(3)
    np.testing.assert_allclose(ms.jit(lambda x: scale(x))(ones(2)).asnumpy(), [3, 3])
    with pytest.raises(TypeError, match="class"):
        ms.jit_class(3)
    with pytest.raises(TypeError, match="is a Cell"):
        ms.jit_class(nn.Dense)
    assert ms.mutable([1, ones(2)])[0] == 1
    for wrong, dynamic in ((None, False), ("a", False), (3, True)):
        with pytest.raises(TypeError, match="mutable"):
            ms.mutable(wrong, dynamic)


def wants_asnumpy(x):
    return x.asnumpy()


def wants_int(x):
    return int(x.sum())


def wants_float(x):
    return float(x.sum())


def wants_item(x):
    return x.sum().item()


def wants_an_index(x):
    return [0, 1][x.sum()]


def wants_numpy(x):
    return np.sin(x)


def wants_a_bool(x):
    return [y for y in (1, 2) if x.sum() > y]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (wants_asnumpy, "read it outside"),
        (wants_int, "Compute with the tensor itself"),
        (wants_float, "Compute with the tensor itself"),
        (wants_item, "read it outside"),
        (wants_an_index, "Compute with the tensor itself"),
        (wants_numpy, "use ops instead of NumPy"),
        (wants_a_bool, "comprehension"),
        (lambda x: x if x.sum() > 0 else -x, "lambda"),
    ],
)
def test_values_that_a_graph_does_not_have(function, message):
    code = function.__code__
    with pytest.raises(RuntimeError, match="inside a graph a tensor has no elements yet") as raised:
        ms.jit(function)(ones(2))
    assert message in str(raised.value)
    line = code.co_firstlineno + (code.co_name != "<lambda>")
    assert f"{__file__}:{line}" in str(raised.value)


SOURCE = """
def positive(x):
    if x.sum() > 0:
        return x
    return -x
"""


def test_source_from_a_notebook_and_from_exec():
    name = "<ipython-input-1-0123456789ab>"
    linecache.cache[name] = (len(SOURCE), None, SOURCE.splitlines(True), name)
    space = {}
    exec(compile(SOURCE, name, "exec"), space)
    np.testing.assert_allclose(ms.jit(space["positive"])(-ones(2)).asnumpy(), [1, 1])

    space = {}
    exec(SOURCE, space)
    with pytest.raises(RuntimeError, match="The source of positive is not to be had"):
        ms.jit(space["positive"])(ones(2))
    space = {}
    exec("def plain(x):\n    return x * 2 if x.ndim else x", space)
    np.testing.assert_allclose(ms.jit(space["plain"])(ones(2)).asnumpy(), [2, 2])


def test_branches_that_disagree_are_shown_side_by_side():
    def shapes(x):
        if x.sum() > 0:
            y = x.reshape((2, 3))
        else:
            y = x
        return y

    def dtypes(x):
        if x.sum() > 0:
            y = x.astype(ms.float16)
        else:
            y = x
        return y

    with pytest.raises(ValueError) as raised:
        ms.jit(shapes)(ones(6))
    row = next(line for line in str(raised.value).splitlines() if line.strip().startswith("y "))
    assert "float32[2, 3]" in row and "float32[6]" in row and "differ" in row
    with pytest.raises(TypeError) as raised:
        ms.jit(dtypes)(ones(6))
    row = next(line for line in str(raised.value).splitlines() if line.strip().startswith("y "))
    assert "float16[6]" in row and "float32[6]" in row


def test_the_engine_is_named():
    from mycelia import ge

    @ms.jit
    def named_for_the_engine(x):
        return ops.tanh(x) * 2 + 1

    named_for_the_engine(ones(4))
    graph = next(g for g in ge.graphs() if g.name == "named_for_the_engine")
    assert graph.operators["Tanh"] == 1
    (form,) = graph.forms
    assert form.operators == {"Fused": 1}
    assert len(form.kernels) == 1 and form.host_calls == 0
    # one IR: the traced nodes hold the very records that `ops` calls
    assert next(n for n in graph.graph.nodes if n.op.name == "Tanh").op is ms.ops.trigonometric.Tanh
    with ge.clock() as measured:
        named_for_the_engine(ones(4)).asnumpy()
    assert measured.launches == 1
    if os.environ.get("MYCELIA_TEST_DEVICE") != "hostile":  # which tells no times
        assert 0 < measured.inside < measured.seconds
        assert 0 < measured.outside < 1
