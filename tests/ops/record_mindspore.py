"""Records what MindSpore gives for the calls of the case files beside this one: ``python
tests/ops/record_mindspore.py [--into FOLDER] [all] [networks] [methods] [programs]``, with MindSpore.

What MindSpore itself refuses on the CPU is named on the output, and kept in the record with the reason.
"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

try:
    from tests.ops import method_cases, mindspore_cases, network_cases, program_cases
except ImportError:  # run by MindSpore, without the project
    import method_cases  # type: ignore[no-redef]
    import mindspore_cases  # type: ignore[no-redef]
    import network_cases  # type: ignore[no-redef]
    import program_cases  # type: ignore[no-redef]

DATA = Path(__file__).parent / "data"
RECORDS = {
    "all": (mindspore_cases, "mindspore_2_10.npz"),
    "networks": (network_cases, "mindspore_2_10_networks.npz"),
    "methods": (method_cases, "mindspore_2_10_methods.npz"),
    "programs": (program_cases, "mindspore_2_10_programs.npz"),
}


def record(ms: Any, cases: Any, file: Path) -> None:
    """Evaluates the expressions of a case file, and writes their arrays and what failed."""
    results, failed = {}, {}
    for text in mindspore_cases.expressions(cases.EXPRESSIONS):
        try:
            found = mindspore_cases.flat(eval(text, cases.names(ms)))
        except Exception as error:
            failed[text] = f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:150]}"
            print(f"{text}\n    {failed[text]}")
            continue
        for number, array in enumerate(found):
            results[f"{text}#{number}"] = array
    arrays = {f"a{i}": a for i, a in enumerate(results.values())}
    np.savez_compressed(
        file,
        **arrays,
        keys=np.array(list(results)),
        failed=np.array(list(failed), str),
        reasons=np.array(list(failed.values()), str),
    )


def load(file: Path) -> tuple[dict[str, list[np.ndarray]], dict[str, str]]:
    """A record: the arrays of each expression, and why others have none."""
    results: dict[str, dict[int, np.ndarray]] = {}
    with np.load(file) as data:
        for i, key in enumerate(data["keys"]):
            text, _, number = str(key).rpartition("#")
            results.setdefault(text, {})[int(number)] = data[f"a{i}"]
        failed = {str(t): str(r) for t, r in zip(data["failed"], data["reasons"])} if "failed" in data else {}
    return {text: [parts[i] for i in range(len(parts))] for text, parts in results.items()}, failed


# MindSpore keeps float32 in its vector functions to about 1e-5, float16 to a unit in the last place.
TOLERANCE = {"float32": 2e-5, "float16": 2e-3, "float64": 1e-6}


def compare(text: str, names: dict[str, Any], expected: list[np.ndarray]) -> None:
    """Evaluates an expression and compares.

    Raises:
        AssertionError: which says what differs from what was recorded.
    """
    found = mindspore_cases.flat(eval(text, names))
    assert len(found) == len(expected), f"{len(found)} results, recorded were {len(expected)}"
    for y, want in zip(found, expected):
        if want.dtype.kind == "U":
            assert str(y) == str(want), f"{y}, recorded was {want}"
            continue
        kinds = f"{y.dtype}{y.shape}", f"{want.dtype}{want.shape}"
        assert kinds[0] == kinds[1], f"{kinds[0]}, recorded was {kinds[1]}"
        if want.dtype.kind == "f":
            scale = max(1.0, float(np.abs(want).max(initial=0.0)))
            tolerance = TOLERANCE[str(want.dtype)]
            np.testing.assert_allclose(y, want, rtol=tolerance, atol=tolerance * scale)
        else:
            np.testing.assert_array_equal(y, want)


def main() -> None:
    """See the module's text."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--into", type=Path, default=DATA)
    parser.add_argument("which", nargs="*", choices=[*RECORDS, []])
    options = parser.parse_args()
    try:
        import mindspore
    except ImportError:
        sys.exit("MindSpore is not installed for this interpreter; run this with one that has it")
    mindspore.runtime.launch_blocking()  # else the kind of an error depends on which thread meets it first
    for which in options.which or RECORDS:
        cases, file = RECORDS[which]
        record(mindspore, cases, options.into / file)


if __name__ == "__main__":
    main()
