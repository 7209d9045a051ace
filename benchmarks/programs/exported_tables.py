"""ONNX Runtime and OpenVINO, on the models that `torch_tables.py` exported."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import arrays
import measure
import numpy as np
from arrays import integers, normal
from measure import BASE, FRAMEWORK, TABLE, THREADS, bench

Feed = dict[str, np.ndarray]


class OnnxRuntime:
    def __init__(self) -> None:
        import onnxruntime

        path = TABLE + ".onnx"
        if BASE == "optimized":
            from onnxruntime.transformers import optimizer

            model = optimizer.optimize_model(
                path, model_type="bert", num_heads=12, hidden_size=768, opt_level=0, use_gpu=False
            )
            path = "optimized.onnx"
            model.save_model_to_file(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.value = onnxruntime.OrtValue.ortvalue_from_numpy

    def infer(self, feed: Feed) -> np.ndarray:
        return self.session.run(None, feed)[0]

    def generate(self, prompt: np.ndarray, empty: np.ndarray) -> np.ndarray:
        token, past = self.value(prompt), self.value(empty)
        tokens = []
        for _ in range(arrays.NEW):
            token, past = self.session.run_with_ort_values(["token", "kept"], {"ids": token, "past": past})
            tokens.append(token.numpy())
        return np.concatenate(tokens, 1)


class OpenVino:
    """One compiled model for each batch size."""

    def __init__(self) -> None:
        import openvino

        self.openvino, self.core = openvino, openvino.Core()
        self.hints = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": THREADS,
            "INFERENCE_PRECISION_HINT": "f32",
        }
        if TABLE == "gpt2":
            self.hints["KV_CACHE_PRECISION"] = "f32"
        self.requests: dict[Any, Any] = {}

    def request(self, shape: tuple[int, ...] | None = None) -> Any:
        if shape not in self.requests:
            model = self.core.read_model(TABLE + ".onnx")
            if shape:
                model.reshape(list(shape))
            self.requests[shape] = self.core.compile_model(model, "CPU", self.hints).create_infer_request()
        return self.requests[shape]

    def infer(self, feed: Feed) -> np.ndarray:
        request = self.request(feed["x"].shape if "x" in feed else None)
        for name, array in feed.items():
            request.set_tensor(name, self.openvino.Tensor(array, shared_memory=True))
        request.infer()
        return request.get_output_tensor(0).data

    def generate(self, prompt: np.ndarray, empty: np.ndarray) -> np.ndarray:
        request, token, past = self.request(), prompt, empty
        tokens = []
        for _ in range(arrays.NEW):
            request.infer({"ids": token, "past": past})
            token, past = request.get_output_tensor(0).data.copy(), request.get_output_tensor(1).data.copy()
            tokens.append(token)
        return np.concatenate(tokens, 1)


def opened() -> tuple[float, Any]:
    return measure.timed({"ort": OnnxRuntime, "openvino": OpenVino}[FRAMEWORK])


def resnet_infer() -> None:
    load, engine = opened()
    for case, batch in arrays.RESNET_INFER:
        feed = {"x": normal(batch, 3, 224, 224)}
        bench(
            case,
            lambda feed=feed: engine.infer(feed),
            load=load,
            flops=batch * arrays.RESNET_FLOPS,
            answer=np.array,
        )


def bert_infer() -> None:
    load, engine = opened()
    feed = {"ids": integers(30522, 1, 128), "mask": np.zeros((1, 128), np.float32)}
    bench("bert b1 s128", lambda: engine.infer(feed), load=load, flops=arrays.BERT_FLOPS, answer=np.array)


def gpt2() -> None:
    load, engine = opened()
    prompt = integers(arrays.VOCABULARY, 1, arrays.PROMPT).astype(np.int64)
    empty = np.zeros((2 * arrays.LAYERS, 1, arrays.HEADS, 0, arrays.WIDTH // arrays.HEADS), np.float32)
    bench("gpt2 32+64", lambda: engine.generate(prompt, empty), load=load, answer=np.array)


def first_call() -> None:
    load, engine = opened()
    feed = {"x": normal(1, 3, 224, 224)}
    measure.bench_first("r50 b1 first call", lambda: engine.infer(feed), np.array, load)


def shared_core() -> None:
    _, engine = opened()
    feed = {"x": normal(1, 3, 224, 224)}
    measure.bench_mean("r50 b1, a core busy", lambda: engine.infer(feed), np.array)


TABLES: dict[str, Callable[[], None]] = {
    "resnet_infer": resnet_infer,
    "bert_infer": bert_infer,
    "gpt2": gpt2,
    "first_call": first_call,
    "shared_core": shared_core,
}

if __name__ == "__main__":
    measure.run(TABLES)
