"""Mixed precision: dtypes between layers as MindSpore's, parameters that stay float32, loss scales."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, amp, nn, ops

MODES = [ms.PYNATIVE_MODE, ms.GRAPH_MODE]


@pytest.fixture(autouse=True, params=MODES, ids=["pynative", "graph"])
def mode(request):
    ms.set_context(mode=request.param)
    yield request.param
    ms.set_context(mode=ms.PYNATIVE_MODE)


class Net(nn.Cell):
    """Notes the dtype after each layer."""

    def __init__(self, seen=None):
        super().__init__()
        self.seen = {} if seen is None else seen
        self.conv = nn.Conv2d(3, 4, 3)
        self.bn = nn.BatchNorm2d(4)
        self.fc = nn.Dense(4 * 4 * 4, 10)
        self.ln = nn.LayerNorm((10,))

    def note(self, name, x):
        self.seen[name] = x.dtype.name
        return x

    def construct(self, x):
        x = self.note("conv", self.conv(x))
        x = ops.relu(self.note("bn", self.bn(x))).reshape((x.shape[0], -1))
        x = self.note("fc", self.fc(x))
        x = self.note("ln", self.ln(x))
        x = self.note("matmul", ops.matmul(x, x.T))
        return self.note("sum", ops.log(x * x + 1).sum())


IMAGES = np.random.default_rng(0).standard_normal((2, 3, 4, 4)).astype(np.float32)

# As real MindSpore 2.10 gives them.
DTYPES = {"O0": "conv f32 bn f32 fc f32 ln f32 matmul f32 sum f32",
          "O1": "conv f32 bn f32 fc f32 ln f32 matmul f32 sum f32",
          "O2": "conv f16 bn f16 fc f16 ln f16 matmul f16 sum f16",
          "O3": "conv f16 bn f16 fc f16 ln f16 matmul f16 sum f16",
          "auto": "conv f16 bn f32 fc f32 ln f32 matmul f16 sum f32"}


@pytest.mark.parametrize("level", DTYPES)
def test_dtypes_of_each_level(level, mode):
    dtypes = {}
    net = Net(dtypes)
    assert amp.auto_mixed_precision(net, level) is net
    words = DTYPES[level].replace("f32", "float32").replace("f16", "float16").split()
    assert net(Tensor(IMAGES)).dtype is ms.float32
    if mode == ms.PYNATIVE_MODE:
        assert dtypes == dict(zip(words[::2], words[1::2]))
    assert {p.dtype for p in net.get_parameters()} == {ms.float32}


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "auto"])
@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16], ids=str)
def test_values_are_those_of_half_precision(level, dtype):
    net = Net()
    x = Tensor(IMAGES)
    exact = float(net(x).asnumpy())
    amp.auto_mixed_precision(net, level, dtype)
    near = float(net(x).asnumpy())
    assert near != exact and abs(near - exact) < (0.02 if dtype is ms.float16 else 0.2) * abs(exact)


def test_a_convolution_computes_what_it_would_of_half_operands():
    conv = nn.Conv2d(3, 4, 3, has_bias=False)
    plain = ops.conv2d(Tensor(IMAGES).astype(ms.float16), conv.weight.astype(ms.float16), pad_mode="same")
    conv.to_float(ms.float16)
    got = conv(Tensor(IMAGES))
    assert got.dtype is ms.float16 and np.array_equal(got.asnumpy(), plain.asnumpy())


def test_gradients_are_the_exact_ones_nearly_and_arrive_in_the_parameters_dtype():
    net = Net().set_train()
    gradient = ms.grad(net, None, net.trainable_params())
    exact = [g.asnumpy() for g in gradient(Tensor(IMAGES))]
    amp.auto_mixed_precision(net, "O2")
    got = ms.grad(net, None, net.trainable_params())(Tensor(IMAGES))
    assert {g.dtype for g in got} == {ms.float32}
    for near, wanted in zip(got, exact):
        assert np.linalg.norm(near.asnumpy() - wanted) < 0.05 * np.linalg.norm(wanted)
    step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 1e-3, 0.9))
    step(Tensor(IMAGES))
    assert abs(net.bn.moving_mean.asnumpy()).max() > 0  # written in float32 by a layer fed with float16


def test_branches_compute_in_the_same_precision():
    class Branching(nn.Cell):
        def construct(self, x):
            if x.sum() > 0:
                y = x / 3.0
            else:
                y = x / 7.0
            return y

    cell = Branching().to_float(ms.float16)
    for sign in (1, -1):
        got = cell(Tensor(np.float32([sign])))
        assert got.dtype is ms.float16
        assert got.asnumpy() == np.float16(sign) / np.float16(3 if sign > 0 else 7)


def test_lists_of_ones_own():
    net = Net()
    amp.custom_mixed_precision(net, white_list=[*amp.get_white_list(), nn.LayerNorm])
    assert net.ln._policy.dtype is ms.float16 and net.bn._policy is None
    net = Net()
    amp.custom_mixed_precision(net, black_list=[*amp.get_black_list(), nn.Dense], dtype=ms.bfloat16)
    assert net.fc._policy.dtype is ms.float32 and net._policy.dtype is ms.bfloat16
    assert net(Tensor(IMAGES)).dtype is ms.float32
    amp.get_white_list().clear()
    assert nn.Conv2d in amp.get_white_list() and ops.MatMul in amp.get_white_list()


WRONG = [(lambda: amp.auto_mixed_precision(3, "O1"), TypeError, "must be a Cell"),
         (lambda: amp.auto_mixed_precision(Net(), "O7"), ValueError, "O0, O1, O2, O3, auto.*O7"),
         (lambda: amp.auto_mixed_precision(Net(), "O2", ms.int32), ValueError, "float16 or bfloat16"),
         (lambda: amp.custom_mixed_precision(Net()), ValueError, "neither"),
         (lambda: amp.custom_mixed_precision(Net(), white_list=[], black_list=[]), ValueError, "both"),
         (lambda: amp.custom_mixed_precision(Net(), white_list=[3]), TypeError, "Received: 3"),
         (lambda: amp.build_train_network(Net(), None, level="O4"), ValueError, "O4"),
         (lambda: amp.build_train_network(Net(), None, foo=1), ValueError, "foo"),
         (lambda: amp.StaticLossScaler(0.5), ValueError, "at least 1.*0.5"),
         (lambda: amp.DynamicLossScaler("a", 2, 1), TypeError, "must be a number"),
         (lambda: amp.FixedLossScaleManager(0), ValueError, "at least 1"),
         (lambda: amp.DynamicLossScaleManager(4, 1), ValueError, "scale_factor"),
         (lambda: amp.all_finite([3]), TypeError, "must get tensors")]


@pytest.mark.parametrize("call, error, message", WRONG)
def test_wrong_uses(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_scale_that_the_optimizer_does_not_know_is_said():
    manager = amp.FixedLossScaleManager(1024.0, drop_overflow_update=False)
    net = Net()
    with pytest.warns(UserWarning, match=r"scaled by 1024.0, but .* by 1.0.*loss_scale=1024.0"):
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        amp.build_train_network(net, optimizer, loss_scale_manager=manager)
    fitting = nn.Momentum(net.trainable_params(), 0.1, 0.9, loss_scale=1024.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        amp.build_train_network(net, fitting, loss_scale_manager=manager)


# -- loss scales -------------------------------------------------------------------------------------------
def test_a_dynamic_scale_follows_mindspore():
    scaler = amp.DynamicLossScaler(8.0, 2, 2)
    got = []
    for finite in (True, True, True, False, False, True, False, False, False):
        assert scaler.adjust(Tensor(finite)) is True
        got.append((float(scaler.scale_value.asnumpy()), int(scaler.counter.asnumpy())))
    assert got == [(8, 1), (16, 0), (16, 1), (8, 0), (4, 0), (4, 1), (2, 0), (1, 0), (1, 0)]


def test_an_update_cell_follows_mindspore():
    update = nn.DynamicLossScaleUpdateCell(8, scale_factor=2, scale_window=2)
    scale = Parameter(Tensor(8.0), name="scale")
    got = [(bool(update(scale, Tensor(o)).asnumpy()), float(scale.asnumpy()))
           for o in (False, False, False, True, True, False)]
    assert got == [(False, 8), (False, 16), (False, 16), (True, 8), (True, 4), (False, 4)]


def test_scaling_and_unscaling_keep_dtypes():
    for scaler in (amp.StaticLossScaler(8), amp.DynamicLossScaler(8, 2, 10)):
        assert scaler.scale(Tensor(2.0)).asnumpy() == 16
        one, half = scaler.unscale((Tensor([16.0]), Tensor(np.float16([16]))))
        assert (one.dtype, half.dtype) == (ms.float32, ms.float16) and half.asnumpy() == 2
        with pytest.raises(TypeError, match="takes tensors"):
            scaler.scale(3)


def test_all_finite():
    assert not amp.all_finite([Tensor([1.0]), (Tensor([np.inf]),)]).asnumpy()
    assert not amp.all_finite(Tensor([np.nan])).asnumpy()
    assert amp.all_finite((Tensor(np.float16([1.0])), Tensor([3]))).asnumpy()
    inside = ms.jit(lambda x: amp.all_finite((x, x * 2)))
    assert inside(Tensor([1.0])).asnumpy() and not inside(Tensor([3e38])).asnumpy()


class Sum(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.ones((2, 2), np.float32)), name="w")

    def construct(self, x):
        return ops.matmul(x, self.w).sum()


def test_a_step_that_overflows_updates_nothing_and_lowers_the_scale():
    net = Sum()
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    update = nn.DynamicLossScaleUpdateCell(1024, scale_factor=2, scale_window=1)
    step = nn.TrainOneStepWithLossScaleCell(net, optimizer, scale_sense=update).set_train()
    loss, overflow, scale = step(Tensor(np.ones((2, 2), np.float32)))
    assert (float(loss.asnumpy()), bool(overflow.asnumpy()), float(scale.asnumpy())) == (8, False, 1024)
    weights, steps = net.w.asnumpy().copy(), optimizer.global_step.asnumpy().copy()
    loss, overflow, scale = step(Tensor(np.full((2, 2), 1e38, np.float32)))
    assert overflow.asnumpy() and scale.asnumpy() == 2048 and step.scale_sense.asnumpy() == 1024
    assert np.array_equal(net.w.asnumpy(), weights) and optimizer.global_step.asnumpy() == steps
    step(Tensor(np.ones((2, 2), np.float32)))
    assert not np.array_equal(net.w.asnumpy(), weights) and step.scale_sense.asnumpy() == 2048


def test_a_scale_changes_no_gradient_that_fits():
    weights = []
    for scale in (None, Tensor(65536.0)):
        net = Sum()
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        step = nn.TrainOneStepCell(net, optimizer) if scale is None else \
            nn.TrainOneStepWithLossScaleCell(net, optimizer, scale)
        for _ in range(3):
            step(Tensor(np.float32([[1, 2], [3, 4]])))
        weights.append(net.w.asnumpy().copy())
    assert np.array_equal(*weights)


def test_levels_choose_their_training_step():
    def build(**settings):
        net = Sum()
        return amp.build_train_network(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), **settings)

    assert type(build(level="O0")) is type(build(level="O3")) is nn.TrainOneStepCell
    dynamic = build(level="O2")
    assert type(dynamic) is nn.TrainOneStepWithLossScaleCell and dynamic.scale_sense.asnumpy() == 2**24
    fixed = build(level="O2", loss_scale_manager=amp.FixedLossScaleManager(128.0, drop_overflow_update=False))
    assert type(fixed) is nn.TrainOneStepCell and fixed.sens == 128
    assert type(build(level="O2", loss_scale_manager=None)) is nn.TrainOneStepCell


def test_micro_batches_add_up():
    net = Sum()
    x = Tensor(np.arange(8, dtype=np.float32).reshape(4, 2))
    pieces = nn.GradAccumulationCell(net, 2)
    assert pieces(x).asnumpy() == net(x).asnumpy()
    gradient = ms.grad(pieces, None, net.trainable_params())(x)[0]
    assert np.array_equal(gradient.asnumpy(), ms.grad(net, None, net.trainable_params())(x)[0].asnumpy())
    with pytest.raises(ValueError, match="divisible by micro_size=3"):
        nn.GradAccumulationCell(net, 3)(x)


# -- steps of one's own ------------------------------------------------------------------------------------
grad_scale = ops.MultitypeFuncGraph("grad_scale")


@grad_scale.register("Tensor", "Tensor")
def _(scale, gradient):
    return gradient * ops.cast(ops.Reciprocal()(scale), gradient.dtype)


class ClippedStep(nn.TrainOneStepWithLossScaleCell):
    """As model zoos write it."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        status, scale = self.start_overflow_check(loss, self.scale_sense)
        filled = ops.ones_like(loss) * ops.cast(scale, loss.dtype)
        gradients = self.grad(self.network, self.weights)(*inputs, filled)
        gradients = self.hyper_map(ops.partial(grad_scale, scale), gradients)
        gradients = self.grad_reducer(ops.clip_by_global_norm(gradients, 1.0))
        overflow = self.process_loss_scale(self.get_overflow_status(status, gradients))
        if not overflow:
            loss = ops.depend(loss, self.optimizer(gradients))
        return loss, overflow


def test_a_step_of_ones_own():
    net = Sum()
    update = nn.DynamicLossScaleUpdateCell(1024, scale_factor=2, scale_window=1)
    step = ClippedStep(net, nn.SGD(net.trainable_params(), 0.5), update).set_train()
    loss, overflow = step(Tensor(np.ones((2, 2), np.float32)))
    assert loss.asnumpy() == 8 and not overflow.asnumpy()
    assert np.allclose(net.w.asnumpy(), 1 - 0.5 * 2 / 4)  # four gradients of 2 have the norm 4
    assert step.scale_sense.asnumpy() == 2048
    _, overflow = step(Tensor(np.full((2, 2), 1e38, np.float32)))
    assert overflow.asnumpy() and np.allclose(net.w.asnumpy(), 0.75)
