"""Wrong uses that programs contain: code, the type of its error, and pieces that the message must have.

Each code runs after `PRELUDE`; its last statement fails. ``{folder}`` is a folder for files.
"""

from __future__ import annotations

PRELUDE = """
import numpy as np
import mindspore as ms
import mindspore.dataset as ds
from mindspore import Parameter, Tensor, mint, nn, ops
from mindspore.dataset import transforms, vision


def f32(*shape):
    return Tensor(np.ones(shape, np.float32))


def i32(*shape):
    return Tensor(np.ones(shape, np.int32))


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(4, 8)
        self.fc2 = nn.Dense(8, 2)

    def construct(self, x):
        return self.fc2(ops.relu(self.fc1(x)))


def rows(*columns, names="abc"):
    return ds.NumpySlicesDataset(columns, list(names[:len(columns)]))


def one_cell(construct):
    return type("User", (nn.Cell,), {"construct": construct})()
"""

Case = tuple[str, str, tuple[str, ...]]

SHAPES: list[Case] = [
    (
        "f32(2, 3) + f32(2, 4)",
        "ValueError",
        ("Add", "broadcast", "float32[2, 3]", "float32[2, 4]", "Reshape"),
    ),
    ("x = f32(2, 3)\nx += f32(5)", "ValueError", ("Add", "axis -1 has 3 and 5", "Reshape or transpose")),
    ("ops.matmul(f32(2, 3), f32(4, 5))", "ValueError", ("MatMul", "3 and 4", "float32[4, 5]", "Transpose")),
    ("ops.MatMul()(f32(2, 3), f32(2, 3))", "ValueError", ("MatMul", "columns of a", "float32[2, 3]")),
    ("f32(2, 3).reshape(4, 2)", "ValueError", ("Reshape", "(4, 2)", "6", "float32[2, 3]")),
    ("ops.reshape(f32(2, 3), (-1, -1))", "ValueError", ("reshape", "at most one -1", "6 elements")),
    ("f32(2, 3).view(5)", "ValueError", ("(5,)", "float32[2, 3]", "-1")),
    ("ops.concat((f32(2, 3), f32(3, 4)), 1)", "ValueError", ("Concat", "but for axis 1", "float32[3, 4]")),
    ("ops.stack([f32(2, 3), f32(2, 4)])", "ValueError", ("stack", "one shape", "(2, 4)", "Use cat")),
    ("ops.broadcast_to(f32(2, 3), (3, 3))", "ValueError", ("BroadcastTo", "(3, 3)", "expand_dims")),
    ("ops.split(f32(4, 2), [1, 2])", "ValueError", ("split", "add up", "4", "[1, 2]")),
    (
        "ops.einsum('ij,jk->ik', f32(2, 3), f32(4, 5))",
        "ValueError",
        ("einsum", "'j' has 3 and 4", "(2, 3) and (4, 5)", "Transpose"),
    ),
    ("ops.einsum('ij->k', f32(2, 3))", "ValueError", ("einsum", "'ij->k'", "'k' is new")),
    ("ops.einsum('ij,jk', f32(2, 3))", "ValueError", ("einsum", "one term for each operand", "'ij,jk'")),
    ("ops.pad(f32(2, 3), (1, 2, 3))", "ValueError", ("pad", "a pair for each", "(1, 2, 3)")),
    ("ops.max_pool2d(f32(1, 3, 4, 4), 5)", "ValueError", ("MaxPool", "(5, 5)", "float32[1, 3, 4, 4]", "Pad")),
    ("ops.conv2d(f32(1, 3, 8, 8), f32(4, 2, 3, 3))", "ValueError", ("Conv2D", "2 input", "in_channels")),
    ("ops.cross_entropy(f32(2, 3), i32(3))", "ValueError", ("cross_entropy", "(2,)", "target int32[3]")),
    ("x = f32(2, 3)\nx[0] = f32(4)", "ValueError", ("broadcast to (3,)", "float32[4]", "expand_dims")),
    ("Tensor([[1, 2], [3]])", "TypeError", ("Tensor", "[[1, 2], [3]]", "differ in length", "pad them")),
    ("ops.zeros((2, -1), ms.float32)", "ValueError", ("negative", "(2, -1)")),
    ("ops.ones((2, 3.5))", "TypeError", ("ones", "(2, 3.5)", "float", "//")),
    (
        "nn.Dense(4, 8)(f32(2, 5))",
        "ValueError",
        ("Dense", "in_channels=4", "float32[2, 5]", "'weight'", "float32[8, 4]", "Dense(5, ...)"),
    ),
    (
        "Net()(f32(2, 6, 2))",
        "ValueError",
        ("Dense 'fc1'", "in_channels=4", "float32[2, 6, 2]", "'fc1.weight'"),
    ),
    ("nn.Dense(12, 8)(f32(2, 3, 4))", "ValueError", ("Dense", "float32[2, 3, 4]", "nn.Flatten()")),
    (
        "nn.Conv2d(3, 8, 3)(f32(1, 4, 8, 8))",
        "ValueError",
        ("Conv2d", "float32[n, 3, height, width]", "float32[1, 4, 8, 8]", "Conv2d(4, ...)"),
    ),
    ("nn.Conv2d(3, 8, 3)(f32(1, 8, 8, 3))", "ValueError", ("Conv2d", "channels last", "vision.HWC2CHW()")),
    (
        "nn.BatchNorm2d(8)(f32(2, 4, 5, 5))",
        "ValueError",
        ("BatchNorm2d", "num_features=8", "float32[2, 4, 5, 5]", "BatchNorm2d(4)"),
    ),
    ("nn.BatchNorm2d(8)(f32(2, 8))", "ValueError", ("BatchNorm2d", "4 axes", "(2, 8)")),
    ("nn.LayerNorm((8,))(f32(2, 4))", "ValueError", ("LayerNorm", "normalized_shape (8,)", "(2, 4)")),
    ("nn.LSTM(4, 8)(f32(2, 3, 5))", "ValueError", ("LSTM", "[steps, batch, 4]", "(2, 3, 5)")),
    (
        "nn.AvgPool2d(7)(f32(1, 8, 1, 1))",
        "ValueError",
        ("AvgPool2d", "kernel_size=(7, 7)", "images of 1x1", "AdaptiveAvgPool2d(1)"),
    ),
    ("f32(1, 64, 8, 8) + f32(1, 32, 8, 8)", "ValueError", ("residual", "nn.Conv2d(32, 64, 1)")),
    ("f32(1, 64, 4, 4) + f32(1, 32, 8, 8)", "ValueError", ("residual", "nn.Conv2d(32, 64, 1, stride=2)")),
    (
        "nn.SoftmaxCrossEntropyWithLogits(sparse=True)(f32(4, 10), i32(4, 1))",
        "ValueError",
        ("(4,)", "target int32[4, 1]", "squeeze(1)"),
    ),
    ("nn.SoftmaxCrossEntropyWithLogits()(f32(4, 10), i32(4))", "ValueError", ("int32[4]", "sparse=True")),
    (
        "nn.WithLossCell(Net(), nn.MSELoss())(f32(2, 4), f32(2, 3))",
        "ValueError",
        ("MSELoss", "float32[2, 2]", "float32[2, 3]"),
    ),
    ("ms.vmap(lambda x, y: x + y)(f32(2, 3), f32(4, 3))", "ValueError", ("vmap", "one size", "[2, 4]")),
    ("m = Net()\nm.fc1.weight.set_data(f32(2, 2))", "ValueError", ("'fc1.weight'", "(8, 4)", "(2, 2)")),
    (
        "net = Net()\nopt = nn.SGD(net.trainable_params(), 0.1)\nopt(tuple(f32(1) for p in opt.parameters))",
        "ValueError",
        ("SGD", "gradient of 'fc1.weight'", "(8, 4)", "(1,)"),
    ),
    (
        "opt = nn.SGD(Net().trainable_params(), 0.1)\nopt((f32(2),))",
        "ValueError",
        ("SGD", "each of its 4 parameters", "1 gradients"),
    ),
]

DTYPES: list[Case] = [
    ("f32(2, 3) @ i32(3, 2)", "TypeError", ("matmul", "one dtype", "float32[2, 3]", "int32[3, 2]", "astype")),
    ("ops.relu(np.ones((2, 3)))", "TypeError", ("relu", "must be a Tensor", "ndarray", "mindspore.Tensor")),
    ("ops.softmax(i32(2, 3))", "TypeError", ("Softmax", "float32", "int32[2, 3]", "astype")),
    ("-Tensor([True])", "TypeError", ("Neg", "bool[1]", "astype")),
    ("f32(2, 3) + 'a'", "TypeError", ("add", "'a'", "Tensor, a number")),
    ("f32(2, 3) * None", "TypeError", ("mul", "None")),
    ("f32(2).astype('strange')", "TypeError", ("astype", "mindspore.float32", "'strange'")),
    ("Tensor([1.0], dtype='float33')", "TypeError", ("'float33'", "mindspore.float32", "bfloat16")),
    ("Tensor(np.array(['a', 'b']))", "TypeError", ("<U1", "supported", "float32")),
    ("Tensor([1, 'a'])", "TypeError", ("Tensor", "numbers", "[1, 'a']")),
    ("ops.one_hot(f32(3), 4)", "TypeError", ("OneHot", "integers", "float32[3]", "astype(mindspore.int32)")),
    ("ops.gather(f32(3, 2), f32(2), 0)", "TypeError", ("Gather", "integers", "astype(mindspore.int32)")),
    ("nn.Embedding(10, 4)(f32(2))", "TypeError", ("Gather", "integers", "Embedding", "float32[2]")),
    ("ops.cross_entropy(f32(2, 3), f32(2))", "TypeError", ("cross_entropy", "class indices", "float32[2]")),
    ("nn.Dense(4, 8)(i32(2, 4))", "TypeError", ("Dense", "int32[2, 4]", "astype(mindspore.float32)")),
    ("nn.Dense(4, 8)(Tensor(np.ones((2, 4))))", "TypeError", ("float64[2, 4]", "NumPy makes float64")),
    ("nn.Dense(4, 8)([1.0, 2.0])", "TypeError", ("dense", "must be a Tensor", "list")),
    (
        "nn.Conv2d(3, 8, 3)(Tensor(np.ones((8, 8, 3), np.uint8)))",
        "TypeError",
        ("Conv2d", "uint8[8, 8, 3]", "vision.Rescale(1/255, 0)", "vision.HWC2CHW()", "batch"),
    ),
    ("ms.grad(lambda x: x * 2)(i32(2))", "TypeError", ("argument 0 of", "floating", "int32[2]", "astype")),
    ("ms.grad(lambda x: x * 2)(3.0)", "TypeError", ("argument 0 of", "Tensor", "3.0", "mindspore.Tensor")),
    ("Net().to_float('float16')", "ValueError", ("to_float", "float16, float32 or bfloat16", "'float16'")),
    (
        "from mindspore.common.initializer import initializer\ninitializer('normal', (2, 3), 'float3')",
        "TypeError",
        ("'float3'", "mindspore.float32"),
    ),
    ("ops.concat(f32(2, 3))", "TypeError", ("cat", "list or tuple of tensors")),
    ("ops.reshape(f32(2, 3), 2.5)", "TypeError", ("reshape", "int or a tuple of ints", "2.5")),
    ("f32(2, 3).mean('0')", "TypeError", ("mean", "axis", "'0'")),
    ("f32(2).type_as(3)", "TypeError", ("type_as", "Tensor", "3")),
    ("np.sum(f32(3))", "TypeError", ("numpy.sum", "float32[3]", "ops.sum(x)", "asnumpy()")),
]

INDICES: list[Case] = [
    ("f32(2, 3)[5]", "IndexError", ("index 5", "size 2", "axis 0")),
    ("f32(2, 3)[0, 0, 0]", "IndexError", ("at most 2", "(2, 3)")),
    ("f32(2, 3)[1.5]", "TypeError", ("Tensor index", "1.5", "float")),
    ("x = f32(2, 3)\nx[5] = 1", "IndexError", ("index 5", "size 2")),
    ("x = f32(2, 3)\nx[[True, False, True]]", "IndexError", ("mask", "(3,)", "(2,)")),
    ("ops.gather(f32(3, 2), Tensor([5]), 0).asnumpy()", "IndexError", ("Gather", "index 5", "-3 to 2")),
    ("ops.cross_entropy(f32(2, 3), Tensor([0, 7])).asnumpy()", "IndexError", ("index 7", "0 to 2")),
    ("ops.softmax(f32(2, 3), axis=2)", "ValueError", ("softmax", "[-2, 2)", "axis=2")),
    ("f32(2, 3).sum(axis=3)", "ValueError", ("sum", "[-2, 2)", "2-D", "axis=3")),
    ("ops.transpose(f32(2, 3), (0, 1, 2))", "ValueError", ("transpose", "2 axes", "(0, 1, 2)", "swapaxes")),
    ("ops.expand_dims(f32(2, 3), 7)", "ValueError", ("expand_dims", "axis=7")),
    ("ops.topk(f32(3), 5)", "ValueError", ("TopK", "5", "float32[3]")),
    ("nn.CellList([nn.Dense(2, 3)])[4]", "IndexError", ("CellList", "index 4", "1 cells")),
    ("float(f32(2, 3))", "ValueError", ("one element", "(2, 3)")),
    (
        "ms.grad(lambda x: x.sum(), grad_position=1)(f32(2))",
        "ValueError",
        ("grad_position 1", "1 positional"),
    ),
    ("ms.vmap(lambda x: x + 1, in_axes=3)(f32(2, 3))", "ValueError", ("vmap", "axis 3", "(2, 3)")),
]

AT_THE_CALL: list[Case] = [
    ("nn.Embedding(10, 4)(Tensor([12])).asnumpy()", "IndexError", ("index 12", "-10 to 9", "Embedding")),
]
"""What only a device without a queue says: elsewhere the layer's call has returned when its work fails."""

TRACING: list[Case] = [
    (
        "f = ms.jit(lambda x: x.asnumpy() + 1)\nf(f32(2))",
        "RuntimeError",
        ("asnumpy()", "float32[2]", "Return the tensor", "case.py:"),
    ),
    ("f = ms.jit(lambda x: float(x.sum()))\nf(f32(2))", "RuntimeError", ("float()", "float32[]", "case.py:")),
    (
        "@ms.jit\ndef f(x):\n    return ops.zeros((int(x.sum()),))\nf(f32(2))",
        "RuntimeError",
        ("int()", "Python number", "case.py:"),
    ),
    (
        "@ms.jit\ndef f(x):\n    return [1, 2][x.sum().astype(ms.int32)]\nf(f32(2))",
        "RuntimeError",
        ("index", "ops.gather", "case.py:"),
    ),
    ("@ms.jit\ndef f(x):\n    return np.sum(x)\nf(f32(2))", "TypeError", ("numpy.sum", "ops.sum(x)")),
    (
        "@ms.jit\ndef f(x):\n    if x.sum() > 0:\n        y = x\n    return y\nf(f32(2))",
        "UnboundLocalError",
        ("'y'", "branch", "may not run"),
    ),
    (
        "@ms.jit\ndef f(x):\n    if x.sum() > 0:\n        y = x\n    else:\n        y = ops.concat((x, x))\n"
        "    return y\nf(f32(2))",
        "ValueError",
        ("both branches", "float32[2]", "float32[4]", "case.py:6", "reshape"),
    ),
    (
        "@ms.jit\ndef f(x):\n    if x.sum() > 0:\n        y = x\n    else:\n        y = 'a'\n"
        "    return y\nf(f32(2))",
        "TypeError",
        ("both branches", "'a'", "case.py:"),
    ),
    (
        "@ms.jit\ndef f(x):\n    while x.sum() > 0:\n        x = ops.concat((x, -x))\n    return x\n"
        "f(f32(2))",
        "ValueError",
        ("while", "float32[2]", "float32[4]", "case.py:"),
    ),
    (
        "@ms.jit\ndef f(x):\n    assert x.sum() > 100\n    return x\nf(f32(2))",
        "RuntimeError",
        ("bool()", "case.py:"),
    ),
    ("f = ms.jit(lambda x, y: x)\nf(f32(2))", "TypeError", ("missing 1 required positional argument: 'y'",)),
    ("ms.jit(lambda x: x, mode='fast')", "ValueError", ("jit", "'PSJit'", "'fast'")),
    ("def loss(x):\n    x.sum()\nms.grad(loss)(f32(2))", "TypeError", ("result of loss", "None", "return")),
    ("ms.value_and_grad(lambda x: 5)(f32(2))", "TypeError", ("result of", "Tensor", "5")),
    (
        "net = Net()\nms.value_and_grad(lambda x: net(x).sum(), None, net)(f32(2, 4))",
        "TypeError",
        ("weights", "Net", "net.trainable_params()"),
    ),
    (
        "ms.value_and_grad(lambda x: x.sum(), None, None)(f32(2))",
        "ValueError",
        ("value_and_grad", "both None"),
    ),
    ("f32(2).backward()", "RuntimeError", ("backward()", "float32[2]", "set_train()")),
    ("ms.vmap(lambda x: 3)(f32(2, 3))", "TypeError", ("vmap", "tensors", "3")),
    (
        "class M(nn.Cell):\n    def __init__(self):\n        self.fc = nn.Dense(2, 3)\nM()",
        "AttributeError",
        ("M: Cell.__init__", "super().__init__()"),
    ),
    (
        "class M(nn.Cell):\n    def forward(self, x):\n        return x\nM()(f32(2))",
        "AttributeError",
        ("M.construct", "rename forward to construct"),
    ),
    ("one_cell(lambda self, x: x)(f32(2), f32(2))", "TypeError", ("takes 2 positional arguments but 3",)),
    (
        "class M(nn.Cell):\n    def construct(self, x, y):\n        return x\nM()(f32(2))",
        "TypeError",
        ("M.construct()", "'y'", "construct(x, y)"),
    ),
    (
        "class M(Net):\n    def construct(self, x):\n        return self.fc3(x)\nM()(f32(2, 4))",
        "AttributeError",
        ("'M'", "'fc3'", "fc1, fc2"),
    ),
    ("Net().backward()", "AttributeError", ("'Net'", "'backward'", "value_and_grad")),
]

ARGUMENTS: list[Case] = [
    ("nn.Dense(4)", "TypeError", ("Dense", "'out_channels'")),
    ("nn.Dense(4, -8)", "ValueError", ("Dense", "out_channels", "positive", "-8")),
    ("nn.Dense('4', 8)", "TypeError", ("Dense", "in_channels", "'4'")),
    ("nn.Dense(4, 8, bias=True)", "TypeError", ("Dense", "'bias'", "called has_bias")),
    ("nn.Conv2d(3, 8, 3, groups=1)", "TypeError", ("Conv2d", "'groups'", "called group")),
    ("nn.Conv2d(3, 8, 3, pad_mode='full')", "ValueError", ("Conv2d", "'same', 'valid' or 'pad'", "'full'")),
    ("nn.Conv2d(3, 8, 3, padding=1)", "ValueError", ("padding=1", "pad_mode='pad', padding=1")),
    ("nn.Conv2d(3, 8, (3, 3, 3))", "TypeError", ("Conv2d", "kernel_size", "(3, 3, 3)")),
    ("nn.Conv2d(3, 8, 0)", "ValueError", ("Conv2d", "kernel_size", "at least 1")),
    ("nn.Dense(4, 8, activation='rellu')", "KeyError", ("'rellu'", "relu")),
    ("nn.Dense(4, 8, weight_init='xavier')", "ValueError", ("'xavier'", "xavier_normal")),
    ("nn.LayerNorm(8)", "TypeError", ("LayerNorm", "(8,)")),
    ("nn.Dropout(p=2.0)", "ValueError", ("Dropout", "[0, 1)", "2.0")),
    ("nn.SequentialCell(nn.Dense(2, 3), ops.relu)", "TypeError", ("SequentialCell", "Cells", "relu")),
    ("nn.MSELoss(reduction='avg')", "ValueError", ("MSELoss", "'mean', 'sum', 'none'", "'avg'")),
    ("nn.Adam(Net().trainable_params(), lr=0.1)", "TypeError", ("Adam", "'lr'", "called learning_rate")),
    ("nn.Adam(Net().trainable_params(), betas=(0.9, 0.99))", "TypeError", ("'betas'", "beta1 and beta2")),
    ("nn.Adam(Net().trainable_params(), learning_rate=-0.1)", "ValueError", ("learning_rate", "-0.1")),
    ("nn.Adam(Net().trainable_params(), learning_rate='0.1')", "TypeError", ("learning_rate", "'0.1'")),
    ("nn.Adam(Net(), learning_rate=0.1)", "TypeError", ("Adam", "list of Parameters", "Net")),
    ("nn.Adam([], learning_rate=0.1)", "ValueError", ("Adam", "empty", "trainable_params()")),
    ("nn.Momentum(Net().trainable_params(), 0.1)", "TypeError", ("Momentum", "'momentum'")),
    ("nn.SGD([{'params': Net().trainable_params(), 'rate': 0.1}], 0.1)", "KeyError", ("SGD", "lr", "'rate'")),
    (
        "nn.SGD([Parameter(f32(2), name='a'), Parameter(f32(2), name='a')], 0.1)",
        "ValueError",
        ("two parameters named 'a'", "name="),
    ),
    (
        "nn.TrainOneStepCell(Net(), 'sgd')",
        "TypeError",
        ("TrainOneStepCell", "optimizer", "'sgd'", "nn.Adam("),
    ),
    ("ms.Model('net')", "TypeError", ("Model", "Cell", "'net'")),
    ("ms.Model(Net)", "TypeError", ("Model", "class", "make one")),
    ("ms.Model(Net(), nn.MSELoss(), None, metrics={'foo'})", "KeyError", ("'foo'", "accuracy")),
    ("Parameter(f32(2), requires_grad='yes')", "TypeError", ("Parameter", "requires_grad", "'yes'")),
    ("m = Net()\nm.fc1 = 3", "TypeError", ("Net.fc1", "Cell", "3")),
    ("m = Net()\nm.fc1.weight = 'x'", "TypeError", ("Dense.weight", "Parameter", "'x'")),
    ("ms.ParameterTuple([1, 2])", "TypeError", ("ParameterTuple", "Parameter", "int")),
    ("ops.ReduceSum(keepdim=True)", "TypeError", ("ReduceSum", "keep_dims", "'keepdim'")),
    ("ops.Softmax()(f32(2, 3), 1, 2)", "TypeError", ("Softmax", "(x)", "3 inputs")),
    ("ops.dropout(f32(3), p=1.5)", "ValueError", ("dropout", "[0, 1]", "1.5")),
    ("ops.mse_loss(f32(2), f32(2), reduction='average')", "ValueError", ("mse_loss", "'average'", "'mean'")),
    ("ops.interpolate(f32(1, 3, 4, 4), size=(8, 8), mode='cubic')", "ValueError", ("'cubic'", "'bicubic'")),
    ("ops.pad(f32(2, 3), [1, 1], mode='mirror')", "ValueError", ("'mirror'", "'reflect'")),
    ("ops.softmax(f32(2, 3), dim=1)", "TypeError", ("softmax:", "'dim'", "axis")),
    ("ops.add(f32(2))", "TypeError", ("add()", "'other'")),
    ("ops.arange(0, 10, 0)", "ValueError", ("arange", "step=0")),
]

CHECKPOINTS: list[Case] = [
    (
        "ms.load_checkpoint('{folder}/nowhere.ckpt')",
        "ValueError",
        ("load_checkpoint", "nowhere.ckpt", "not exist"),
    ),
    (
        "open('{folder}/bad.ckpt', 'wb').write(b'hello world')\nms.load_checkpoint('{folder}/bad.ckpt')",
        "DamagedCheckpoint",
        ("bad.ckpt", "not a whole checkpoint", "damaged"),
    ),
    (
        "open('{folder}/empty.ckpt', 'wb').close()\nms.load_checkpoint('{folder}/empty.ckpt')",
        "DamagedCheckpoint",
        ("empty.ckpt", "0 bytes"),
    ),
    (
        "other = nn.SequentialCell(nn.Dense(4, 16))\nfile = '{folder}/net.ckpt'\n"
        "other[0].weight.name = 'fc1.weight'\nms.save_checkpoint(Net(), file)\n"
        "ms.load_param_into_net(other, ms.load_checkpoint(file))",
        "RuntimeError",
        ("'fc1.weight'", "(16, 4)", "(8, 4)"),
    ),
    ("ms.load_param_into_net(Net(), 'net.ckpt')", "TypeError", ("load_param_into_net", "dict", "'net.ckpt'")),
    ("ms.load_param_into_net(Net(), {'fc1.weight': np.ones(3)})", "TypeError", ("Parameters", "ndarray")),
    ("ms.save_checkpoint(3, '{folder}/x.ckpt')", "TypeError", ("save_checkpoint", "Cell", "3")),
    ("ms.load_checkpoint('{folder}/x.ckpt', format='pt')", "ValueError", ("'ckpt' or 'safetensors'", "'pt'")),
]

DATASETS: list[Case] = [
    ("rows(np.ones((4, 2))).batch(0)", "ValueError", ("batch", "batch_size", "at least 1")),
    ("rows(np.ones((4, 2))).batch('2')", "TypeError", ("batch", "batch_size", "'2'")),
    ("rows(np.ones((4, 2)), np.ones(3))", "ValueError", ("one length", "a: 4, b: 3")),
    ("ds.NumpySlicesDataset(np.ones((4, 2)), ['a', 'b'])", "ValueError", ("name for each column", "2", "1")),
    (
        "list(ds.GeneratorDataset([(np.ones(i + 1),) for i in range(4)], ['a']).batch(2))",
        "RuntimeError",
        ("batch", "column 'a'", "float64[1]", "float64[2]", "padded_batch"),
    ),
    ("list(ds.GeneratorDataset([(np.ones(2), 1)], ['a']))", "RuntimeError", ("column_names", "1 (a)", "2")),
    ("ds.GeneratorDataset(3, ['a'])", "TypeError", ("GeneratorDataset", "source", "3")),
    (
        "def source():\n    yield np.ones(2),\n    raise RuntimeError('broken file')\n"
        "list(ds.GeneratorDataset(source, ['a']))",
        "RuntimeError",
        ("row 1", "broken file", "case.py:3"),
    ),
    ("list(rows(np.ones((4, 2))).map(lambda x: x + 1, 'b'))", "ValueError", ("map", "'b'", "columns are: a")),
    (
        "list(rows(np.ones((4, 2))).map(lambda x: x.foo, 'a'))",
        "RuntimeError",
        ("map", "row 0", "column 'a'", "'foo'", "case.py:1"),
    ),
    ("list(rows(np.ones((4, 2))).map(lambda x: None, 'a'))", "RuntimeError", ("map", "None")),
    (
        "list(rows(np.ones((4, 2))).map(vision.Resize(4), 'a'))",
        "RuntimeError",
        ("Resize", "[H, W, C]", "float64[2]"),
    ),
    ("rows(np.ones((4, 2))).project(['x'])", "ValueError", ("project", "'x'", "columns are: a")),
    ("rows(np.ones((4, 2))).take(-3)", "ValueError", ("take", "-3")),
    ("ds.zip((rows(np.ones(4)), rows(np.ones(4))))", "ValueError", ("zip", "'a'", "rename")),
    ("vision.Normalize([0.1, 0.2], [0.3])", "ValueError", ("Normalize", "mean and std", "[0.3]")),
    ("transforms.TypeCast('int99')", "TypeError", ("'int99'", "mindspore.float32")),
    (
        "net = Net()\nmodel = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))\n"
        "model.train(1, rows(np.ones((4, 4), np.float32)).batch(2))",
        "ValueError",
        ("Model.train", "two columns", "Received: a"),
    ),
    (
        "net = Net()\nmodel = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))\n"
        "model.train(1, rows(np.ones((4, 4)), np.ones((4, 2))).batch(2))",
        "TypeError",
        ("Dense 'fc1'", "float64[2, 4]", "NumPy makes float64"),
    ),
    (
        "ms.Model(Net(), nn.MSELoss()).train(1, 3)",
        "TypeError",
        ("Model.train", "dataset", "3", "NumpySlicesDataset"),
    ),
    (
        "net = Net()\nmodel = ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.1))\n"
        "model.train(1, rows(np.ones((4, 4)), np.ones((4, 2))).batch(2), callbacks=[...])",
        "TypeError",
        ("callbacks", "Ellipsis", "LossMonitor()"),
    ),
]

DEVICES: list[Case] = [
    ("ms.set_context(device_target='GPU')", "ValueError", ("device_target='GPU'", "'CPU'", "--device CPU")),
    ("ms.set_context(device_target='Ascend')", "ValueError", ("'Ascend'", "'CPU'", "--device CPU")),
    ("ms.set_context(device_target='TPU')", "ValueError", ("'TPU'", "'CPU', 'GPU' or 'Ascend'")),
    ("ms.set_device('GPU')", "ValueError", ("'GPU'", "'CPU'")),
    ("ms.set_context(mode='GRAPH')", "TypeError", ("mode", "int", "'GRAPH'")),
    ("ms.set_context(mode=5)", "ValueError", ("GRAPH_MODE (0)", "mode=5")),
    ("ms.set_context(device='CPU')", "ValueError", ("unknown key 'device'", "device_id")),
    ("ms.get_context('modee')", "ValueError", ("unknown key 'modee'", "'mode'")),
    ("ms.set_context(max_device_memory='4G')", "ValueError", ("max_device_memory", "'2GB'", "'4G'")),
    ("f32(2).to('cuda')", "ValueError", ("'cuda'", "the tensor is on", "set_device")),
    ("ms.set_auto_parallel_context(device_num=8)", "NotImplementedError", ("device_num=8", "one process")),
    ("ms.set_seed(-1)", "ValueError", ("set_seed", "seed=-1")),
]

MEMORY: list[Case] = [
    (
        "ops.zeros((10 ** 7, 10 ** 6), ms.float32)",
        "OutOfMemory",
        ("out of memory on CPU", "38146972.7 MB", "In use"),
    ),
    ("ops.arange(10 ** 16)", "OutOfMemory", ("out of memory on CPU", "peak")),
]

NAMES: list[Case] = [
    ("ops.foo(f32(2))", "AttributeError", ("'mycelia.ops'", "'foo'")),
    ("ops.concatenate((f32(2), f32(2)))", "AttributeError", ("'concatenate'", "ops.cat((x, y), 0)")),
    ("nn.Linear2d(2, 3)", "AttributeError", ("'Linear2d'", "did you mean Linear")),
    ("nn.ModuleList([])", "AttributeError", ("'ModuleList'", "nn.CellList(")),
    ("f32(2).cuda()", "AttributeError", ("'Tensor'", "'cuda'", "here it is written x")),
    ("ms.manual_seed(1)", "AttributeError", ("'mindspore'", "'manual_seed'", "mindspore.set_seed(1)")),
    ("ms.set_contxt(mode=0)", "AttributeError", ("'set_contxt'", "set_context")),
]

CLASSES = {
    "shapes": SHAPES,
    "dtypes": DTYPES,
    "indices": INDICES,
    "at the call": AT_THE_CALL,
    "tracing": TRACING,
    "arguments": ARGUMENTS,
    "checkpoints": CHECKPOINTS,
    "datasets": DATASETS,
    "devices": DEVICES,
    "memory": MEMORY,
    "names": NAMES,
}
