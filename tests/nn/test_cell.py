"""Cell: registration, names as checkpoints have them, flags, hooks, copies."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, ParameterTuple, Tensor, nn
from mycelia.nn import cell as cell_module


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(3, 4, 3, has_bias=True)
        self.bn = nn.BatchNorm2d(4)
        self.w = Parameter(Tensor([1.0]), name="custom")
        self.u = Parameter(Tensor([1.0]))
        self.ps = ParameterTuple([Parameter(Tensor([1.0]), name="pa"), Parameter(Tensor([2.0]), name="pb")])


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.b = Block()
        self.l = nn.SequentialCell([nn.Dense(2, 2), nn.ReLU(), nn.LayerNorm((2,))])
        self.cl = nn.CellList([nn.Dense(1, 1), nn.Embedding(3, 2)])
        self.own = Parameter(Tensor([1.0]), name="zz")
        self.shared = self.b.c.weight
        self.seq = nn.SequentialCell(OrderedDict([("a", nn.Dense(1, 1)), ("b", nn.Dense(1, 1))]))

    def construct(self, x):
        return x * self.own


NAMES = {
    "zz",
    "b.c.weight",
    "b.c.bias",
    "b.bn.moving_mean",
    "b.bn.moving_variance",
    "b.bn.gamma",
    "b.bn.beta",
    "b.w",
    "b.u",
    "b.pa",
    "b.pb",
    "l.0.weight",
    "l.0.bias",
    "l.2.gamma",
    "l.2.beta",
    "cl.0.weight",
    "cl.0.bias",
    "cl.1.embedding_table",
    "seq.a.weight",
    "seq.a.bias",
    "seq.b.weight",
    "seq.b.bias",
}


def test_parameters_are_named_by_their_path():
    assert set(Net().parameters_dict()) == NAMES


def test_a_top_parameter_keeps_its_own_name_but_has_its_attribute_as_path():
    paths = dict(Net().parameters_and_names())
    assert paths["own"].name == "zz" and paths["shared"].name == "b.c.weight"
    assert "b.c.weight" not in paths  # each parameter once, under the first path


def test_trainable_and_not():
    net = Net()
    assert {p.name for p in net.untrainable_params()} == {"b.bn.moving_mean", "b.bn.moving_variance"}
    assert len(net.trainable_params()) == len(NAMES) - 2


def test_cells_and_names():
    net = Net()
    assert [name for name, _ in net.cells_and_names()] == [
        "",
        "b",
        "b.c",
        "b.bn",
        "l",
        "l.0",
        "l.1",
        "l.2",
        "cl",
        "cl.0",
        "cl.1",
        "seq",
        "seq.a",
        "seq.b",
    ]
    assert list(net.name_cells()) == ["b", "l", "cl", "seq"]
    assert net.get_sub_cell("l.0") is net.l[0]
    with pytest.raises(AttributeError, match="no cell 'x'"):
        net.get_sub_cell("l.x")


def test_set_train_reaches_every_cell():
    net = Net()
    assert not net.training and not net.b.bn.training
    assert net.set_train() is net
    assert all(cell.training and cell.phase == "train" for _, cell in net.cells_and_names())
    net.set_train(False)
    assert not any(cell.training for _, cell in net.cells_and_names())


def test_attribute_epoch_rises_when_something_changes():
    net = Net().set_train()
    net.factor = 2
    before = cell_module.attribute_epoch
    net.set_train()
    net.factor = 2
    assert cell_module.attribute_epoch == before
    net.factor = 2.0
    assert cell_module.attribute_epoch == before + 1
    net.set_train(False)
    assert cell_module.attribute_epoch > before + 1


@pytest.mark.parametrize("name", ["u", "b"])
def test_parameters_and_cells_are_not_overwritten_by_others(name):
    net = Net()
    target = net.b if name == "u" else net
    with pytest.raises(TypeError, match=f"{name} is a"):
        setattr(target, name, 3)


def test_a_tensor_written_to_a_parameter_fills_it():
    net = Net()
    parameter = net.b.u
    net.b.u = Tensor([3.0])
    assert net.b.u is parameter and parameter.name == "b.u"
    assert parameter.asnumpy()[0] == 3.0


def test_insertion_refuses_what_it_cannot_hold():
    net = Net()
    with pytest.raises(ValueError, match="without a dot"):
        net.insert_param_to_cell("a.b", Parameter(Tensor([1.0])))
    with pytest.raises(KeyError, match="is a Cell"):
        net.insert_param_to_cell("b", Parameter(Tensor([1.0])))
    with pytest.raises(TypeError, match="must be a Cell"):
        net.insert_child_to_cell("new", 3)
    with pytest.raises(ValueError, match="two parameters named 'pa'"):
        net.twins = ParameterTuple([Parameter(Tensor([1.0]), name="pa"), Parameter(Tensor([1.0]), name="pa")])


def test_members_written_directly_are_attributes_too():
    net = nn.Cell()
    net._cells["x"] = nn.ReLU()
    assert isinstance(net.x, nn.ReLU)
    del net.x
    assert "x" not in net._cells
    with pytest.raises(AttributeError, match="no attribute 'x'"):
        _ = net.x


def test_construct_is_needed():
    with pytest.raises(AttributeError, match="construct is not defined"):
        nn.Cell()(1)


def test_copies_are_independent():
    net = Net()
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert set(twin.parameters_dict()) == NAMES
        assert twin.b.c is twin.b._cells["c"] and twin.own is twin._params["own"]
        twin.own.set_data(Tensor([5.0]))
        assert net.own.asnumpy()[0] == 1.0
        assert twin(Tensor([2.0])).asnumpy()[0] == 10.0


def test_hooks_run_around_construct_and_can_be_removed():
    net, seen = Net(), []
    before = net.register_forward_pre_hook(lambda cell, inputs: (inputs[0] * 10.0,))
    after = net.register_forward_hook(lambda cell, inputs, output: seen.append(output) or output + 1.0)
    assert net(Tensor([1.0])).asnumpy()[0] == 11.0 and len(seen) == 1
    before.remove()
    assert net(Tensor([1.0])).asnumpy()[0] == 2.0
    after.remove()
    assert net(Tensor([1.0])).asnumpy()[0] == 1.0 and net._plain


def test_to_float_casts_inputs():
    net = nn.ReLU().to_float(ms.float16)
    assert net(Tensor([1.0])).dtype is ms.float16
    with pytest.raises(ValueError, match="float16, float32 or bfloat16"):
        net.to_float(ms.int32)


def test_sequential_and_list_rename_by_position():
    row = nn.SequentialCell(nn.Dense(8, 2), nn.ReLU(), nn.Dense(2, 1))
    assert [p.name for p in row.get_parameters()] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert len(row) == 3 and isinstance(row[-1], nn.Dense) and len(row[0:2]) == 2
    row[1] = nn.Tanh()
    del row[0]
    assert [p.name for p in row.get_parameters()] == ["1.weight", "1.bias"]
    cells = nn.CellList([nn.Dense(8, 2), nn.ReLU()])
    cells.append(nn.Dense(2, 1))
    cells.insert(0, nn.Dense(3, 3))
    cells.extend([nn.Tanh()])
    assert [p.name for p in cells.get_parameters()] == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
        "3.weight",
        "3.bias",
    ]
    with pytest.raises(TypeError, match="items must be Cells"):
        cells.append(3)
    with pytest.raises(IndexError):
        cells[9]


def test_rows_inside_a_network_keep_the_outer_prefix():
    net = nn.Cell()
    net.blocks = nn.CellList([nn.Dense(1, 1)])
    net.blocks.append(nn.Dense(1, 1))
    assert [p.name for p in net.get_parameters()] == [
        "blocks.0.weight",
        "blocks.0.bias",
        "blocks.1.weight",
        "blocks.1.bias",
    ]


def test_the_wrapping_cells_leave_names_alone():
    net = nn.SequentialCell(nn.Dense(2, 2))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    assert {p.name for p in step.get_parameters()} == {
        "0.weight",
        "0.bias",
        "global_step",
        "learning_rate",
        "momentum",
        "moments.0.weight",
        "moments.0.bias",
    }


def test_repr_shows_the_tree():
    text = repr(nn.SequentialCell(nn.Dense(2, 3), nn.ReLU()))
    assert text == (
        "SequentialCell(\n  (0): Dense(input_channels=2, output_channels=3, has_bias=True)\n  (1): ReLU()\n)"
    )


def test_training_step_lowers_the_loss():
    ms.set_seed(0)
    net = nn.SequentialCell(nn.Dense(4, 8), nn.Tanh(), nn.Dense(8, 1))
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.Adam(net.trainable_params(), 0.05)
    ).set_train()
    rng = np.random.default_rng(0)
    x = rng.standard_normal((64, 4), dtype=np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5], [0.0]], np.float32)
    losses = [float(step(Tensor(x), Tensor(y)).asnumpy()) for _ in range(60)]
    assert losses[-1] < losses[0] / 20


def test_items_of_a_tuple_leave_their_names_to_attributes():
    class Holder(nn.Cell):
        def __init__(self):
            super().__init__()
            self.pair = ms.ParameterTuple([Parameter(Tensor([1.0]), name=n) for n in ("beta", "rate")])
            self.beta = 0.9

        def construct(self, x):
            return x * self.beta + self.pair[0]

    for holder in (Holder(), copy.deepcopy(Holder())):
        assert holder.beta == 0.9
        assert [p.name for p in holder.get_parameters()] == ["beta", "rate"]
        assert not hasattr(holder, "rate")
        assert holder(Tensor([10.0])).asnumpy().tolist() == [10.0]
    p = [Parameter(Tensor([1.0]), name=n) for n in ("beta1", "beta2", "momentum", "loss_scale", "parameters")]
    for optimizer in (nn.Adam(p, 0.1), nn.Momentum(p, 0.1, 0.9), nn.RMSProp(p, 0.1)):
        optimizer(tuple(Tensor([1.0]) for _ in p))
    assert all(q.asnumpy()[0] < 1 for q in p)


def test_a_property_that_fails_tells_its_own_error():
    class Net(nn.Cell):
        @property
        def width(self):
            return self.dense.missing

    net = Net()
    net.dense = nn.Dense(2, 3)
    with pytest.raises(AttributeError, match="'Dense' object has no attribute 'missing'; its cells and"):
        net.width  # noqa: B018
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'height'.*are dense"):
        net.height  # noqa: B018
