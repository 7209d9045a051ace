"""`tools/differential.py`: which names a case is about, and what became of it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.ops import method_cases

FILE = Path(__file__).parent.parent / "tools" / "differential.py"


@pytest.fixture(scope="module")
def tool():
    path = list(sys.path)
    spec = importlib.util.spec_from_file_location("differential", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path


def test_names_of_a_case(tool):
    assert tool.named("ops.sort(v)[0].searchsorted(w)") == {"ops.sort", "Tensor.searchsorted"}
    assert tool.named("mint.nn.Tanh()(v)") == {"mint.nn.Tanh"}
    assert tool.named('changed(v, "add_", w)') == {"Tensor.add_"}
    assert tool.named("F.relu(v)") == {"mint.nn.functional.relu"}


@pytest.mark.parametrize(
    ("recorded", "failed", "expected"),
    [
        ({"v.abs()": "right"}, {}, "equal"),
        ({"v.abs()": "wrong"}, {}, "differs"),
        ({}, {"v.abs()": "RuntimeError: The kernel Abs unregistered."}, "MindSpore has no CPU kernel"),
        ({}, {"v.abs()": "ValueError: no"}, "MindSpore refuses"),
    ],
)
def test_states(tool, recorded, failed, expected):
    import mycelia

    right = np.abs(method_cases.names(mycelia)["v"].asnumpy())
    recorded = {text: [right + (kind == "wrong")] for text, kind in recorded.items()}
    assert tool.state("v.abs()", method_cases, recorded, failed)[0] == expected


def test_every_needed_name_has_a_case(tool, capsys, monkeypatch):
    monkeypatch.setattr(tool, "state", lambda *_: ("equal", ""))
    assert tool.main([]) == 0
    assert "needed names without a case: 0" in capsys.readouterr().out
