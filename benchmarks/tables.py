"""What is compared: the tables, and for each the frameworks with the variants that they may run in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

OWN = "mycelia"
FRAMEWORKS = ("torch", "mindspore", "ort", "openvino", "jax", "numpy", OWN)
PROGRAMS = {
    "torch": "torch_tables.py",
    "mindspore": "mindspore_tables.py",
    "ort": "exported_tables.py",
    "openvino": "exported_tables.py",
    "jax": "jax_tables.py",
    "numpy": "numpy_tables.py",
    OWN: "mindspore_tables.py",  # MindSpore's program, run unchanged by `mycelia run`
}
MODULES = {"ort": "onnxruntime"}  # the package that a framework is imported as, where the name differs

_MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": str(1 << 40),
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(64 << 20),
}
SUFFIXES = {  # what stands behind a variant's name, and the environment that it means
    "+malloc": _MALLOC,  # glibc keeps freed memory instead of giving it back, which saves page faults
    "+avx2": {"ONEDNN_MAX_CPU_ISA": "AVX2"},  # MindSpore's convolutions are slow where AVX-512 exists
    "+sync": {},  # the program asks MindSpore to launch each operator blocking
}


def has_avx512() -> bool:
    try:
        return "avx512f" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


@dataclass(frozen=True)
class Table:
    """One comparison.

    Attributes:
        text: what is measured.
        variants: framework -> variants, separated by blanks.
        program: a program of its own for all frameworks, instead of each framework's.
        suffixes: whether variants run with the suffixes of `SUFFIXES` too.
        exported: whether runtimes read a model that PyTorch's program exports first.
        protocol: how it is measured, see `benchmarks.protocols`.
        tolerance: largest difference from the reference's answer, as a share of the answer's largest element;
            None where there is no answer to compare.
        apart: whether each variant is a case of its own, instead of the best one counting.
    """

    text: str
    variants: dict[str, str]
    program: str = ""
    suffixes: bool = True
    exported: bool = False
    protocol: str = "interleaved"
    tolerance: float | None = 1e-4
    apart: bool = False


_MODES = "graph pynative"
TABLES = {
    "resnet_infer": Table(
        "ResNet-50 inference at 224x224, batches of 1 and 8",
        {
            "torch": "eager compile",
            "mindspore": _MODES,
            "ort": "default",
            "openvino": "latency",
            "jax": "jit",
            OWN: _MODES,
        },
        exported=True,
    ),
    "resnet_train": Table(
        "ResNet-50 training steps: 8 images at 224x224, 32 at 32x32",
        {"torch": "eager compile", "mindspore": _MODES, "jax": "jit", OWN: _MODES},
        tolerance=1e-3,  # of the first loss: later ones amplify rounding, whoever computes them
    ),
    "bert_infer": Table(
        "BERT-Base encoder, one sequence of 128 tokens",
        {
            "torch": "eager compile",
            "mindspore": _MODES,
            "ort": "default optimized",
            "openvino": "latency",
            OWN: _MODES,
        },
        exported=True,
        tolerance=1e-3,
    ),
    "bert_train": Table(
        "BERT-Base training step, four sequences of 128 tokens",
        {"torch": "eager compile", "mindspore": _MODES, OWN: _MODES},
        tolerance=1e-3,
    ),
    "gpt2": Table(
        "GPT-2 small: a prompt of 32 tokens, then 64 tokens greedily",
        {
            "torch": "eager compile",
            "mindspore": _MODES,
            "ort": "past-kv",
            "openvino": "past-kv",
            "jax": "jit",
            OWN: _MODES,
        },
        exported=True,
        tolerance=0.0,  # the same tokens
    ),
    "small_train": Table(
        "LeNet-5 and an MLP, batch 32: training steps and inference",
        {
            "torch": "eager compile",
            "mindspore": "graph jit pynative",
            "jax": "jit",
            OWN: "graph jit pynative",
        },
        tolerance=1e-3,
    ),
    "eager": Table(
        "operator by operator: additions of six floats, and the gradient of a chain of 100",
        {"torch": "eager", "mindspore": "pynative", "jax": "eager", "numpy": "eager", OWN: "pynative"},
    ),
    "pointwise": Table(
        "GELU, softmax and layer norm on 4 to 16 million floats, forward and backward",
        {"torch": "eager compile", "mindspore": "jit pynative", "jax": "jit", OWN: "jit pynative"},
    ),
    "gemm": Table(
        "matrix products",
        {"torch": "eager", "mindspore": "jit pynative", "jax": "jit", "numpy": "eager", OWN: "jit pynative"},
    ),
    "dataset": Table(
        "crop, flip, normalise and batch 50,000 images of 32x32",
        {"torch": "sample batch", "mindspore": "pipeline", OWN: "pipeline"},
        suffixes=False,
        tolerance=None,
    ),
    "import": Table(
        "import in a fresh process, and the megabytes of the installed packages",
        dict.fromkeys(FRAMEWORKS, "fresh"),
        program="importing.py",
        suffixes=False,
        tolerance=None,
    ),
    "first_call": Table(
        "the first call of ResNet-50 inference on all cores, imports left out: cold cache, then warm",
        {
            "torch": "eager compile",
            "mindspore": "graph",
            "ort": "default",
            "openvino": "latency",
            "jax": "jit",
            OWN: "graph",
        },
        suffixes=False,
        exported=True,
        protocol="cold then warm",
    ),
    "shared_core": Table(
        "ResNet-50 inference while another process keeps one core busy: two threads against one",
        {"torch": "eager", "ort": "default", "openvino": "latency", OWN: "graph"},
        suffixes=False,
        exported=True,
        protocol="beside a busy process",
    ),
    "modes": Table(
        "PyNative against Graph mode: training steps and inference, and the time outside kernels",
        {"mindspore": _MODES, OWN: _MODES},
        suffixes=False,
        tolerance=None,
        apart=True,
    ),
    "gelu_fresh": Table(
        "tanh-GELU on 16 million floats: into memory never used before, and into memory used before",
        {"torch": "eager compile", "jax": "jit", OWN: "jit"},
    ),
}


def variants_of(table: str, framework: str) -> list[str]:
    """The variants to run, suffixes included."""
    base = TABLES[table].variants.get(framework, "").split()
    if not TABLES[table].suffixes:
        return base
    kinds = {"torch": ["", "+malloc"], "ort": ["", "+malloc"], "openvino": ["", "+malloc"]}
    if framework == "mindspore":
        kinds["mindspore"] = ["", "+sync"]
        if has_avx512():
            narrow = ["+avx2", "+sync+avx2"]
            kinds["mindspore"] = narrow if "resnet" in table else [*kinds["mindspore"], *narrow]
    return [name + suffix for name in base for suffix in kinds.get(framework, [""])]
