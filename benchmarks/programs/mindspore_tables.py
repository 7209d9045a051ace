"""MindSpore's programs, which Mycelia runs unchanged: public interface only.

Variants: graph (GRAPH_MODE), pynative, jit (ms.jit under PyNative); with +sync operators launch blocking.
Execution may be asynchronous, so every result is read with asnumpy().
"""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import arrays
import measure
import mindspore as ms
import networks_mindspore as networks
import numpy as np
from arrays import integers, normal
from measure import BASE, FRAMEWORK, THREADS, VARIANT, bench, three_losses
from mindspore import Tensor, nn, ops
from networks_mindspore import with_weights


def attempt(setting, *values):
    """Settings that only some versions have."""
    try:
        setting()(*values)
    except Exception as error:
        print("no such setting:", error, file=sys.stderr)


ms.set_context(mode=ms.GRAPH_MODE if BASE == "graph" else ms.PYNATIVE_MODE, device_target="CPU")
attempt(lambda: ms.runtime.dispatch_threads_num, THREADS)
attempt(lambda: ms.device_context.cpu.op_tuning.threads_num, THREADS)
if "+sync" in VARIANT:
    attempt(lambda: ms.runtime.launch_blocking)


def jit(function):
    return ms.jit(function) if BASE == "jit" else function


def trainer(net, rate, labels, *inputs):
    """A training step that returns the loss as a number."""
    loss = networks.WithLoss(net)
    loss.set_train()
    optimizer = nn.Momentum(net.trainable_params(), rate, 0.9)
    if BASE == "graph":
        step = nn.TrainOneStepCell(loss, optimizer)
        step.set_train()
    else:
        gradient = ms.value_and_grad(loss, None, optimizer.parameters)

        def step(*args):
            value, gradients = gradient(*args)
            optimizer(gradients)
            return value

        step = jit(step)
    return lambda: float(step(labels, *inputs).asnumpy())


def inference(net, *inputs):
    net.set_train(False)

    def call(*inputs):
        return net(*inputs)

    function = jit(call)
    return lambda: function(*inputs).asnumpy()


def same(answer):
    return answer


def resnet_infer():
    net = with_weights(networks.ResNet50())
    for case, batch in arrays.RESNET_INFER:
        forward = inference(net, Tensor(normal(batch, 3, 224, 224)))
        bench(case, forward, flops=batch * arrays.RESNET_FLOPS, answer=same)


def resnet_train():
    for case, batch, size, classes in arrays.RESNET_TRAIN:
        net = with_weights(networks.ResNet50(classes))
        step = trainer(net, 0.01, Tensor(integers(classes, batch)), Tensor(normal(batch, 3, size, size)))
        flops = 3 * batch * arrays.RESNET_FLOPS if size == 224 else None
        bench(case, step, flops=flops, answer=same)


def bert_infer():
    ids, mask = Tensor(integers(30522, 1, 128)), Tensor(np.zeros((1, 128), "f"))
    forward = inference(with_weights(networks.Bert()), ids, mask)
    bench("bert b1 s128", forward, flops=arrays.BERT_FLOPS, answer=same)


def bert_train():
    ids, mask = Tensor(integers(30522, 4, 128)), Tensor(np.zeros((4, 128), "f"))
    step = trainer(with_weights(networks.Bert(classes=2)), 1e-3, Tensor(integers(2, 4)), ids, mask)
    bench("bert train b4 s128", step, flops=12 * arrays.BERT_FLOPS, answer=three_losses(step))


def gpt2():
    net = with_weights(networks.GPT2())
    net.set_train(False)
    context, prompt_length = arrays.CONTEXT, arrays.PROMPT
    empty = (1, arrays.HEADS, context, arrays.WIDTH // arrays.HEADS)
    zeros = tuple(Tensor(np.zeros(empty, "f")) for _ in range(arrays.LAYERS))
    mask = np.triu(np.full((context, context), -1e9, "f"), 1)
    steps = []
    for i in range(context):
        row = Tensor((np.arange(context) == i)[None, None, :, None])
        steps.append((Tensor(np.array([[i]], "i4")), Tensor(mask[i : i + 1]), row))
    prompt = Tensor(integers(arrays.VOCABULARY, 1, prompt_length))
    places, prompt_mask = Tensor(np.arange(prompt_length, dtype="i4")[None]), Tensor(mask[:prompt_length])

    def generate():
        token, keys, values = net(
            prompt, places, prompt_mask, steps[0][2], ms.mutable(zeros), ms.mutable(zeros)
        )
        tokens = [token]
        for i in range(prompt_length, prompt_length + arrays.NEW - 1):
            ids = token.astype(ms.int32)
            token, keys, values = net(ids, *steps[i], ms.mutable(keys), ms.mutable(values))
            tokens.append(token)
        return np.concatenate([t.asnumpy() for t in tokens], 1)

    bench("gpt2 32+64", generate, "static", answer=same)


def small_train():
    x, labels = Tensor(normal(32, 1, 28, 28)), Tensor(integers(10, 32))
    for name, make in (("lenet", networks.LeNet), ("mlp", networks.Perceptron)):
        step = trainer(with_weights(make()), 0.01, labels, x)
        bench(f"{name} b32 train", step, unit="us", answer=three_losses(step))
        bench(f"{name} b32 infer", inference(with_weights(make()), x), unit="us", answer=same)


def eager():
    a, b = Tensor(normal(2, 3)), Tensor(normal(2, 3, seed=1))

    def adds():
        c = a
        for _ in range(1000):
            c = c + b
        return c.asnumpy()

    bench("add (2,3)", adds, unit="us", per=1000, answer=same)

    def chain(x):
        for _ in range(100):
            x = x + b
        return x.sum()

    gradient = ms.grad(chain)
    bench("chain100 fwd+grad", lambda: gradient(a).asnumpy(), unit="us", answer=same)


def gelu(x):
    return ops.gelu(x, approximate="tanh")


def pointwise():
    scale, shift = Tensor(np.ones(1024, "f")), Tensor(np.zeros(1024, "f"))
    layer_norm = ops.LayerNorm(-1, -1, 1e-5)  # ops.layer_norm has no CPU kernel in MindSpore 2.10

    def softmax(x):
        return ops.softmax(x, -1)

    def norm(x, w, b):
        return layer_norm(x, w, b)[0]

    for (case, shape), function in zip(arrays.POINTWISE, (gelu, softmax, norm)):
        x, g = Tensor(normal(*shape)), Tensor(normal(*shape, seed=1))
        inputs = (x, scale, shift) if "norm" in case else (x,)
        forward = jit(function)
        bench(case, lambda f=forward, i=inputs: f(*i).asnumpy(), answer=same)

        def both(g, *inputs, function=function):
            y, pull = ms.vjp(function, *inputs)
            return y, pull(g)

        forward_and_back = jit(both)

        def step(function=forward_and_back, g=g, inputs=inputs):
            y, gradients = function(g, *inputs)
            parts = gradients if isinstance(gradients, tuple) else (gradients,)
            read = [part.asnumpy() for part in (*parts, y)]
            return read[0]

        bench(case + " fwd+bwd", step, answer=same)


def gelu_fresh():
    x, function = Tensor(normal(16 << 20)), jit(gelu)

    def complete():
        y = function(x)
        y.asnumpy()
        return y

    measure.bench_fresh("gelu 16M fresh", complete)
    bench("gelu 16M warm", complete, answer=lambda y: y.asnumpy())


def gemm():
    def matmul(a, b):
        return ops.matmul(a, b)

    function = jit(matmul)
    for case, a, b, flops, bytes_ in arrays.matrices():
        left, right = Tensor(a), Tensor(b)
        bench(case, lambda a=left, b=right: function(a, b).asnumpy(), flops=flops, bytes_=bytes_, answer=same)


def resnet_image():
    return inference(with_weights(networks.ResNet50()), Tensor(normal(1, 3, 224, 224)))


def first_call():
    measure.bench_first("r50 b1 first call", resnet_image(), same)


def shared_core():
    measure.bench_mean("r50 b1, a core busy", resnet_image(), same)


def modes():
    inside = None
    if FRAMEWORK == "mycelia":  # which can tell
        from kernel_clock import seconds_in_kernels as inside
    x, labels = Tensor(normal(32, 1, 28, 28)), Tensor(integers(10, 32))
    step = trainer(with_weights(networks.LeNet()), 0.01, labels, x)
    bench("lenet b32 train", step, unit="us", inside=inside)
    images, classes = Tensor(normal(4, 3, 64, 64)), Tensor(integers(10, 4))
    step = trainer(with_weights(networks.ResNet50(10)), 0.01, classes, images)
    bench("r50 train b4 64x64", step, inside=inside)
    forward = inference(with_weights(networks.ResNet50(10)), Tensor(normal(1, 3, 64, 64)))
    bench("r50 infer b1 64x64", forward, inside=inside)


def dataset():
    import mindspore.dataset as ds
    from mindspore.dataset import vision

    images, labels = arrays.photographs()
    steps = [
        vision.RandomCrop((32, 32), (4, 4, 4, 4)),
        vision.RandomHorizontalFlip(),
        vision.Normalize(list(arrays.MEAN), list(arrays.DEVIATION)),
        vision.HWC2CHW(),
    ]
    data = ds.NumpySlicesDataset({"image": images, "label": labels}, shuffle=True)
    data = data.map(steps, "image", num_parallel_workers=THREADS).batch(128, drop_remainder=True)

    def epoch():
        for x, _ in data.create_tuple_iterator(num_epochs=1, output_numpy=True):  # noqa: B007 (the last batch is looked at)
            pass
        assert x.shape == (128, 3, 32, 32) and x.dtype == np.float32

    bench("augment 32x32", epoch, unit="us/image", per=len(labels) // 128 * 128)


if __name__ == "__main__":
    measure.run(globals())
