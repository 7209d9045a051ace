"""What operators refuse, and what they say: each error names the operator, what it wants, and what it got."""
from __future__ import annotations

import pytest

from mycelia.ir.operator import REGISTRY
from mycelia.tools.operator_checks import check_error


def _cases():
    for op in sorted(REGISTRY.values(), key=lambda op: op.name):
        for i, case in enumerate(op.errors or ()):
            yield pytest.param(op, case, id=f"{op.name}-{case.error.__name__}-{i}")


@pytest.mark.parametrize(("op", "case"), list(_cases()))
def test_refuses(op, case):
    check_error(op, case)
