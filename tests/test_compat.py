"""The module `mindspore` is Mycelia's, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def run(code: str, *options: str, tmp_path) -> subprocess.CompletedProcess:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(code))
    return subprocess.run(
        [sys.executable, "-m", "mycelia.run", *options, str(script), "--x", "3"],
        capture_output=True,
        text=True,
    )


def test_names_and_modules_are_the_same_objects(tmp_path):
    done = run(
        """
        import sys
        import mindspore as ms, mindspore.nn, mindspore.ops.operations as P, mycelia
        import mindspore.dataset.vision, mindspore.common.dtype
        from mindspore import Tensor, context, nn, ops
        from mindspore.common.initializer import initializer
        from mindspore.ops import functional as F
        assert ms.__version__ == "2.10.0" and ms is not mycelia
        assert mindspore.nn is mycelia.nn is nn and ops is mycelia.ops and P is ops and F is ops
        assert mycelia.nn.__name__ == "mycelia.nn" and mycelia.nn.__spec__.name == "mycelia.nn"
        assert sys.argv[1:] == ["--x", "3"] and __name__ == "__main__"
        assert context.GRAPH_MODE == ms.GRAPH_MODE == 0
        assert ms.tensor([1, 2], ms.float16).dtype is ms.float16
        assert ms.tensor(shape=2, dtype=ms.int8).shape == (2,)
        assert ms.jit(lambda x: x + ms.tensor([1.0, 2.0]))(ms.tensor([1.0])).asnumpy().tolist() == [2.0, 3.0]
        assert [ms.bool, ms.int, ms.float, ms.dtype.float] == [ms.bool_, ms.int32, ms.float32, ms.float32]
        assert [ms.half, ms.double, ms.long, ms.cfloat] == [ms.float16, ms.float64, ms.int64, ms.complex64]
        from mindspore.common import mutable
        from mindspore.common.api import jit
        from mindspore.dataset.core.config import set_seed
        from mindspore.dataset.text.utils import Vocab
        from mindspore.nn.layer.basic import Dense, Dropout
        assert mutable is ms.mutable and jit is ms.jit and Dense is nn.Dense
        print(Tensor([1.0]) + 1)
        """,
        tmp_path=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[2.]\n"


def test_options_before_the_script_win_and_say_so_once(tmp_path):
    code = """
        import mindspore as ms
        for _ in range(2):
            ms.set_context(mode=ms.PYNATIVE_MODE)
        print(ms.get_context("mode"))
        """
    done = run(code, "--mode", "GRAPH", "--device_target=CPU", tmp_path=tmp_path)
    assert done.stdout == "0\n"
    assert done.stderr.count("wins over the script") == 1


@pytest.mark.parametrize(
    "option, words",
    [("--device=Ascend", "not available"), ("--mode=FAST", "GRAPH or PYNATIVE"), ("--no", "unknown option")],
)
def test_bad_options(option, words, tmp_path):
    done = run("print(1)", option, tmp_path=tmp_path)
    assert done.returncode == 2 and words in done.stderr and "Traceback" not in done.stderr


def test_a_traceback_shows_the_script_only(tmp_path):
    done = run("def f():\n    return 1 / 0\n\nf()\n", tmp_path=tmp_path)
    assert done.returncode == 1
    assert "script.py" in done.stderr and "run.py" not in done.stderr and "ZeroDivisionError" in done.stderr


def test_exit_status(tmp_path):
    assert run("raise SystemExit(7)", tmp_path=tmp_path).returncode == 7
    assert run("import sys\nsys.exit('bye')", tmp_path=tmp_path).stderr == "bye\n"


def test_a_module_that_is_not_there(tmp_path):
    done = run("import mindspore.rewrite", tmp_path=tmp_path)
    assert "no module named 'mindspore.rewrite' in Mycelia" in done.stderr
