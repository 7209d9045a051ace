from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from mycelia.runtime import threads

HERE = Path(__file__).parent


@pytest.fixture
def two_threads():
    """Two threads that really share the work: the affinity mask may hold one CPU only."""
    before = threads.get_num_threads()
    threads.set_num_threads(2)
    yield
    threads.set_num_threads(before)


@pytest.fixture
def script(tmp_path):
    """Starts a Python program in a process of its own, with this folder's modules at hand."""

    def start(source: str, *args: str, env: dict[str, str] | None = None, **options) -> subprocess.Popen:
        import os

        path = tmp_path / f"script{len(list(tmp_path.glob('script*')))}.py"
        path.write_text(textwrap.dedent(source))
        places = os.pathsep.join([str(HERE), str(HERE.parent.parent)])
        return subprocess.Popen(
            [sys.executable, str(path), *args],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": places, **(env or {})},
            **options,
        )

    return start
