"""Names of parallel training, logging and argument checks, as scripts use them in one process."""
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, _checkparam, boost, communication, nn, ops
from mycelia.parallel import _utils


@pytest.fixture(autouse=True)
def fresh():
    yield
    ms.reset_auto_parallel_context()
    communication.release()


def test_the_parallel_context_keeps_what_one_process_can_do():
    assert ms.get_auto_parallel_context("parallel_mode") == ms.ParallelMode.STAND_ALONE == "stand_alone"
    ms.set_auto_parallel_context(parallel_mode="stand_alone", gradients_mean=True, device_num=1)
    assert ms.get_auto_parallel_context("gradients_mean") is True
    assert ms.context.get_auto_parallel_context("gradients_mean") is True
    assert ms.context.ParallelMode is ms.ParallelMode
    assert _utils._get_parallel_mode() == "stand_alone" and _utils._get_device_num() == 1
    ms.reset_auto_parallel_context()
    assert ms.get_auto_parallel_context("gradients_mean") is False


@pytest.mark.parametrize("settings, error, message", [
    (dict(parallel_mode="data_parallel"), NotImplementedError, "not built yet.*data_parallel"),
    (dict(parallel_mode="x"), ValueError, "stand_alone.*Received: parallel_mode='x'"),
    (dict(device_num=8), NotImplementedError, "device_num=8"),
    (dict(device_num=0), ValueError, "must be positive"),
    (dict(gradients_mean=3), TypeError, "must be bool"),
    (dict(global_rank=-1), ValueError, "from 0 to 4095"),
    (dict(gradient_mean=True), ValueError, "did you mean 'gradients_mean'")])
def test_wrong_settings_change_nothing(settings, error, message):
    with pytest.raises(error, match=message):
        ms.set_auto_parallel_context(gradient_fp32_sync=False, **settings)
    assert ms.get_auto_parallel_context("gradient_fp32_sync") is True


def test_one_process_is_rank_0_of_1():
    communication.init()
    communication.init("hccl")
    assert communication.GlobalComm.WORLD_COMM_GROUP == "hccl_world_group"
    assert (communication.get_rank(), communication.get_group_size(), communication.get_local_rank()) == (0,
    1, 0)
    communication.create_group("mine", [0])
    assert communication.get_group_size("mine") == 1
    communication.destroy_group("mine")
    with pytest.raises(ValueError, match="no group 'mine'"):
        communication.get_rank("mine")
    with pytest.raises(ValueError, match="Unsupported backend: 'tcp'"):
        communication.init(backend="tcp")
    gradients = (Tensor([1.0]),)
    assert nn.DistributedGradReducer([])(gradients) is gradients


def test_an_environment_of_several_processes_is_an_error(monkeypatch):
    monkeypatch.setenv("RANK_SIZE", "8")
    with pytest.raises(NotImplementedError, match="RANK_SIZE=8"):
        communication.init()


def run(code, **environment):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                          env={"PATH": "/usr/bin", **environment})


def test_the_log_goes_to_stderr_with_the_callers_line():
    code = ("from mycelia import log as logger\nlogger.info('no')\n"
            "logger.warning('loss %s', 3)\nprint(logger.get_level())")
    done = run(code)
    assert done.stdout == "2\n" and "no" not in done.stderr.replace("<string>", "")
    assert done.stderr.startswith("[WARNING] ME(") and done.stderr.endswith("[<string>:3] loss 3\n")
    assert "[INFO]" in run(code, GLOG_v="1").stderr


def test_the_log_goes_to_a_file(tmp_path):
    run("from mycelia import log\nlog.error('broken')", GLOG_logtostderr="0", GLOG_log_dir=str(tmp_path))
    assert "broken" in (tmp_path / "rank_0" / "logs" / "mindspore.log").read_text()


@pytest.mark.parametrize("call, error, message", [
    (lambda v: v.check_positive_int(0, "n", "Cls"), ValueError,
     "For 'Cls', the 'n' must be int and > 0. Received: 0"),
    (lambda v: v.check_positive_int(2.0, "n"), TypeError, "The 'n' must be int.*2.0"),
    (lambda v: v.check_positive_int(True, "n"), TypeError, "bool"),
    (lambda v: v.check_value_type("a", 3, [str], "Net"), TypeError, "For 'Net', the 'a' must be of type str"),
    (lambda v: v.check_value_type("a", True, [int]), TypeError, "must be of type int"),
    (lambda v: v.check_bool(1, "b"), TypeError, "must be a bool"),
    (lambda v: v.check_int_range(5, 0, 4, v.INC_BOTH, "k"), ValueError, r"in range of \[0, 4\]"),
    (lambda v: v.check_float_range(1.0, 0.0, 1.0, v.Rel.INC_LEFT, "k"), ValueError, r"\[0.0, 1.0\)"),
    (lambda v: v.check_non_negative_float(float("nan"), "k"), ValueError, "nan"),
    (lambda v: v.check_string("a", ["b", "c"], "s"), ValueError, "one of"),
    (lambda v: v.check_positive_int_sequence([1, 0], "s"), ValueError, r"s\[1\]"),
    (lambda v: v.check_subclass("t", float, [int], "P"), TypeError, "float"),
    (lambda v: v.args_type_check(a=int)(lambda a, b=None: a)("x"), TypeError, "'a' must be int")])
def test_checks_of_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call(_checkparam)


def test_checks_return_what_is_right():
    v = _checkparam
    assert v.check_positive_int(3) == 3 and v.check_bool(False) is False
    assert v.check_value_type("a", True, [int, bool]) is True
    assert v.args_type_check(a=int)(lambda a, b=None: (a, b))(1, b="x") == (1, "x")


class Sum(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.ones((2, 2), np.float32)), name="w")

    def construct(self, x):
        return ops.matmul(x, self.w).sum()


@pytest.mark.parametrize("compiled", [False, True], ids=["pynative", "jit"])
def test_gradients_accumulate_as_in_mindspore(compiled):
    net = Sum()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    accumulate = boost.GradientAccumulation(2, optimizer)
    gradient = ms.value_and_grad(net, None, optimizer.parameters)

    def step(x):
        loss, gradients = gradient(x)
        return accumulate(loss, gradients)

    if compiled:
        step = ms.jit(step)
    weights = []
    for i in range(4):
        step(Tensor(np.full((2, 2), i + 1, np.float32)))
        weights.append(float(net.w.asnumpy()[0, 0]))
    assert np.allclose(weights, [1.0, 0.7, 0.7, 0.0], atol=1e-6)  # of real MindSpore 2.10
    with pytest.raises(ValueError, match="at least 1"):
        boost.GradientAccumulation(0, optimizer)


def test_settings_of_compilation():
    assert ms.JitConfig(jit_level="O1", foo=3).jit_config_dict["foo"] == 3
    with pytest.raises(ValueError, match="jit_level must be one of.*O9"):
        ms.JitConfig(jit_level="O9")
    rows = ms.RowTensor(Tensor([0]), Tensor([[1.0, 2.0]]), (3, 2))
    assert rows.dense_shape == (3, 2) and rows.dtype is ms.float32
    with pytest.raises(ValueError, match="values of shape"):
        ms.RowTensor(Tensor([0, 1]), Tensor([[1.0, 2.0]]), (3, 2))
