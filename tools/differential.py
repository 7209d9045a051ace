"""MindSpore's results against Mycelia's: ``python tools/differential.py --mindspore PYTHON [--save]``.

PYTHON is an interpreter with MindSpore 2.10, which evaluates every case; without it the records in
tests/ops/data are compared. ``--save`` writes what was recorded there. Prints a line for each name of
`ops`, `mint`, `nn`, Tensor's methods and the rest that has a case: how many of its cases are equal, differ
on purpose, have no CPU kernel in MindSpore, are refused by MindSpore for another reason, or differ (with
the first difference); then the needed names without a case, and a summary. The exit status is 1 when a case
differs that is not said to.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

import names  # noqa: E402

from tests.ops import mindspore_cases  # noqa: E402
from tests.ops.record_mindspore import DATA, RECORDS, compare, load  # noqa: E402

STATES = ("equal", "differs on purpose", "MindSpore has no CPU kernel", "MindSpore refuses", "differs")
_NO_KERNEL = re.compile(
    r"unregistered|kernelmod|Not found op|Ascend only|only supports Ascend|not supported on this device"
    r"|no branch|should not come here|: -{20}"
)
_PLACES = {
    "ops": "ops", "mint": "mint", "mnp": "numpy", "F": "mint.nn.functional", "mint.nn": "mint.nn", "nn": "nn",
    "mint.nn.functional": "mint.nn.functional", "train": "train", "init": "common.initializer",
    "eo": "experimental.optim", "ms": "",
}


_CALL = r"\b(ops|mint\.nn\.functional|mint\.nn|mint|mnp|F|nn|train|init|eo|ms)\.(\w+)"

# Bases, what has no value of its own or is called through a helper, and what MindSpore 2.10 no longer has.
_WITHOUT_VALUE = """
    nn.Cell nn.cell nn.LossBase nn.Metric nn.DistributedGradReducer ops.FloatStatus ops.ResizeBilinear
    nn.ResizeBilinear ops.MultitypeFuncGraph ops._get_cache_prim ops._primitive_cache._get_cache_prim
    ops.auto_generate.AddExt ops.ScalarSummary ops.function.nn_func.multi_head_attention_forward"""
NO_VALUE = frozenset(f"mindspore.{name}" for name in _WITHOUT_VALUE.split())


def named(text: str) -> set[str]:
    """The names that an expression calls: of modules, and of Tensor's methods."""
    found, rest = set(), text
    for match in re.finditer(_CALL, text):
        place = _PLACES[match[1]]
        found.add(f"{place}.{match[2]}" if place else match[2])
        rest = rest.replace(match[0], "")
    found |= {f"Tensor.{method}" for method in re.findall(r"[\w)\]]\.([a-z]\w*)", rest) if method != "ms"}
    found |= {f"Tensor.{method}" for method in re.findall(r'changed\(\w+, "(\w+)"', text)}
    return found


def state(text: str, cases: Any, recorded: dict[str, Any], failed: dict[str, str]) -> tuple[str, str]:
    """What became of one case, and why."""
    import mycelia

    if text in failed:
        return STATES[2 if _NO_KERNEL.search(failed[text]) else 3], failed[text]
    try:
        compare(text, cases.names(mycelia), recorded[text])
    except Exception as error:
        why = getattr(cases, "DIFFERS", {}).get(text)
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return (STATES[1], why) if why else (STATES[4], said[:200])
    return STATES[0], ""


def record(interpreter: str, folder: Path) -> None:
    """Runs all cases in MindSpore."""
    done = subprocess.run(
        [interpreter, "record_mindspore.py", "--into", str(folder.resolve())],
        cwd=ROOT / "tests" / "ops",
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"recording with {interpreter} failed:\n{done.stderr[-2000:]}")


def without_case(covered: set[str]) -> list[str]:
    """The needed names of `ops`, `mint`, `nn` and `numpy` that no case calls."""
    places = ("ops", "mint", "mint.nn", "mint.nn.functional", "nn", "numpy")
    missing = []
    for name, _ in names.needed():
        place, _, last = name.removeprefix("mindspore.").rpartition(".")
        place = "ops" if place.startswith("ops.") else place
        if name in NO_VALUE:
            continue
        if place in places and f"{place}.{last}" not in covered and not names.reason(name):
            missing.append(f"{place}.{last}")
    return sorted(set(missing))


def main(arguments: list[str] | None = None) -> int:
    """Records, compares and prints; see the module's text."""
    parser = argparse.ArgumentParser(description="MindSpore's results against Mycelia's.")
    parser.add_argument("--mindspore", metavar="PYTHON", help="an interpreter with MindSpore 2.10")
    parser.add_argument("--save", action="store_true", help="keep what was recorded in tests/ops/data")
    options = parser.parse_args(arguments)
    if options.save and not options.mindspore:
        parser.error("--save needs --mindspore PYTHON: without it nothing is recorded")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) if options.mindspore else DATA
        if options.mindspore:
            record(options.mindspore, folder)
        if options.save:
            for _, file in RECORDS.values():
                shutil.copyfile(folder / file, DATA / file)
        records = {which: load(folder / file) for which, (_, file) in RECORDS.items()}
    by_name: dict[str, Counter[str]] = defaultdict(Counter)
    reasons: dict[str, str] = {}
    total: Counter[str] = Counter()
    for which, (cases, _) in RECORDS.items():
        for text in mindspore_cases.expressions(cases.EXPRESSIONS):
            if text not in records[which][0] and text not in records[which][1]:
                continue  # an older record
            became, why = state(text, cases, *records[which])
            total[became] += 1
            for name in named(text):
                by_name[name][became] += 1
                if became in (STATES[1], STATES[4]):
                    reasons.setdefault(name, f"{text}: {why}")
    for name, counts in sorted(by_name.items()):
        print(f"{name:40} " + ", ".join(f"{counts[s]} {s}" for s in STATES if counts[s])
              + (f"  ({reasons[name]})" if name in reasons else ""))
    missing = without_case(set(by_name))
    print(f"needed names without a case: {len(missing)}: {' '.join(missing)}")
    counts = ", ".join(f"{total[s]} {s}" for s in STATES)
    print(f"{len(by_name)} names, {sum(total.values())} cases: {counts}")
    return 1 if total["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
