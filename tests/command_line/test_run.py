"""`mycelia run`: scripts run as Python runs them, with `mindspore` meaning Mycelia."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest


def run(tmp_path, source, *before, after=(), module="mycelia.cli", command=("run",)):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(source))
    arguments = [sys.executable, "-m", module, *command, *before, str(script), *after]
    return subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path)


def test_the_name_mindspore(tmp_path):
    done = run(
        tmp_path,
        """
        import mindspore, mindspore as ms, mycelia, sys
        import mindspore.nn as nn
        import mindspore.dataset.vision as vision
        import mindspore.ops.functional as F
        from mindspore.common.initializer import Normal
        from mindspore.train import Model
        from mindspore import Tensor, context, dtype as mstype, ops
        assert mindspore.__version__ == "2.10.0" and mindspore is not mycelia
        assert nn is mycelia.nn and ms.nn is mycelia.nn and ops is mycelia.ops and Tensor is mycelia.Tensor
        assert sys.modules["mindspore.nn"] is sys.modules["mycelia.nn"]
        assert nn.__name__ == "mycelia.nn" and F.tanh is mycelia.ops.tanh
        assert context.set_context is ms.set_context and mstype.float32 is ms.float32
        assert Normal.__module__ == "mycelia.common.initializer" and vision.Normalize
        print(Tensor([1.0]) + 1)
        """,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[2.]"), done.stderr


def test_a_missing_name_says_whose_it_is(tmp_path):
    done = run(tmp_path, "import mindspore as ms\nms.no_such_thing\n")
    assert done.returncode == 1 and "no attribute 'no_such_thing'" in done.stderr and "Mycelia" in done.stderr
    done = run(tmp_path, "import mindspore.no_such_module\n")
    assert done.returncode == 1 and "no module named 'mindspore.no_such_module'" in done.stderr


def test_an_installed_mindspore_stays_out_of_it(tmp_path):
    package = tmp_path / "mindspore"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('the installed one was imported')")
    done = run(tmp_path, "import mindspore\nprint(mindspore.__version__)\n")
    assert done.stdout.strip() == "2.10.0", done.stderr


def test_arguments_main_and_path(tmp_path):
    (tmp_path / "neighbour.py").write_text("value = 3")
    done = run(
        tmp_path,
        """
        import sys, neighbour, pickle
        class Local: pass
        assert __name__ == "__main__" and __file__ == sys.argv[0]
        assert type(pickle.loads(pickle.dumps(Local()))) is Local
        print(sys.argv[1:], neighbour.value)
        """,
        after=["--mode", "x", "--device=y", "-h"],
    )
    assert done.stdout.strip() == "['--mode', 'x', '--device=y', '-h'] 3", done.stderr


@pytest.mark.parametrize(
    ("statement", "status"),
    [
        ("sys.exit(3)", 3),
        ("sys.exit()", 0),
        ("sys.exit('why')", 1),
        ("raise SystemExit(4)", 4),
        ("1 / 0", 1),
    ],
)
def test_exit_status(tmp_path, statement, status):
    assert run(tmp_path, f"import sys\n{statement}\n").returncode == status


def test_an_error_shows_the_scripts_own_traceback(tmp_path):
    done = run(tmp_path, "def f():\n    return 1 / 0\nf()\n")
    lines = done.stderr.strip().splitlines()
    assert lines[0].startswith("Traceback") and lines[-1] == "ZeroDivisionError: division by zero"
    assert sum("File " in line for line in lines) == 2 and "mycelia/" not in done.stderr


def test_a_syntax_error_names_the_line(tmp_path):
    done = run(tmp_path, "x = (\n")
    assert done.returncode == 1 and "script.py" in done.stderr and "SyntaxError" in done.stderr


def test_a_script_that_is_not_there(tmp_path):
    arguments = [sys.executable, "-m", "mycelia.cli", "run", "absent.py"]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "absent.py" in done.stderr


SETTER = """
import mindspore as ms
for _ in range(2):
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
print(ms.get_context("mode"), ms.get_context("device_target"))
"""


@pytest.mark.parametrize(
    ("module", "command", "options"),
    [
        ("mycelia.cli", ("run",), ["--mode", "GRAPH", "--device", "CPU"]),
        ("mycelia.cli", ("run",), ["--mode=graph", "--device_target=CPU"]),
        ("mycelia.run", (), ["--mode=GRAPH", "--device_target=CPU"]),
        ("mycelia.run", (), ["--mode", "graph", "--device", "cpu"]),
    ],
)
def test_options_before_the_script_win_and_say_so_once(tmp_path, module, command, options):
    done = run(tmp_path, SETTER, *options, module=module, command=command)
    assert done.stdout.strip() == "0 CPU", done.stderr
    assert done.stderr.count("wins over the script's set_context(mode=") == 1
    assert done.stderr.count("wins over the script's set_context(device_target=") == 1


@pytest.mark.parametrize("options", [["--mode", "FAST"], ["--no_such_option"], ["--device", "Ascend"]])
@pytest.mark.parametrize(("module", "command"), [("mycelia.cli", ("run",)), ("mycelia.run", ())])
def test_wrong_options_are_usage_errors(tmp_path, module, command, options):
    done = run(tmp_path, "print('ran')\n", *options, module=module, command=command)
    assert done.returncode == 2 and "ran" not in done.stdout and "Traceback" not in done.stderr


def test_rich_and_llvm_are_loaded_only_when_needed(tmp_path):
    done = run(
        tmp_path,
        "import sys, mindspore\nprint(*[m for m in ('rich', 'llvmlite', 'scipy') if m in sys.modules])\n",
    )
    assert (done.returncode, done.stdout.strip()) == (0, "")
