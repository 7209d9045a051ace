"""`mycelia op NAME`: an operator through its layers: Python API, definition, kernels on each device."""

from __future__ import annotations

import difflib
import inspect
import os
import sys
from collections.abc import Iterator
from typing import Any

from mycelia.ir import operator as registry
from mycelia.ir.operator import Operator
from mycelia.kernels import api


def place(thing: Any) -> str:
    """File and line of a class or function, relative to where one is when that is shorter."""
    try:
        file = inspect.getsourcefile(thing) or "?"
        line = inspect.getsourcelines(thing)[1]
    except (TypeError, OSError):
        return "?"
    return f"{min(file, os.path.relpath(file), key=len)}:{line}"


def resolve(name: str) -> Operator | None:
    """The operator of a name, as in the registry (``Tanh``) or as a function of `mycelia.ops` (``tanh``)."""
    if name in registry.REGISTRY:
        return registry.REGISTRY[name]
    folded = name.replace("_", "").lower()
    for candidate, op in registry.REGISTRY.items():
        if candidate.lower() == folded:
            return op
    return None


def python_names(op: Operator) -> list[str]:
    """The functions, primitive classes and methods of the public interface that are views of an operator."""
    from mycelia import ops
    from mycelia.tensor.tensor import Tensor

    folded = op.name.lower()
    names = [f"ops.{n}" for n in dir(ops) if n.replace("_", "").lower() == folded and not n.startswith("_")]
    names += [f"Tensor.{n}" for n in dir(Tensor) if n.strip("_").replace("_", "").lower() == folded]
    return names


def rules(op: Operator) -> Iterator[tuple[str, str]]:
    """The rules that an operator has, with their places."""
    for name in ("infer", "vjp", "batch", "body", "reference", "samples", "errors"):
        rule = getattr(op, name)
        if rule is not None:
            yield (
                name,
                place(rule)
                if inspect.isfunction(rule)
                else "given as " + (getattr(rule, "__name__", None) or type(rule).__name__),
            )


def kernels(op: Operator, device: str) -> Iterator[tuple[str, str]]:
    """Kernels in the order in which they are asked, with their places."""
    from mycelia.kernels import cpu

    cpu.register()
    asked = [*api.candidates(op.name, device)]
    if op.pointwise:
        asked += api.candidates("*pointwise", device)
    for kernel in asked:
        yield kernel.name, place(type(kernel))
    if op.reference is not None and device == "CPU":
        yield "Reference", "NumPy, through a host call (the AI CPU's part)"


def _found(name: str) -> Operator | None:
    """The operator; where there is none, says so on stderr."""
    import mycelia  # noqa: F401  (defines the operators)

    op = resolve(name)
    if op is None:
        near = difflib.get_close_matches(name, registry.REGISTRY, 5, 0.5)
        hint = f"; near: {', '.join(near)}" if near else ""
        print(f"mycelia op: no operator is named {name!r}{hint}", file=sys.stderr)
    return op


def check_operator(name: str) -> int:
    """Runs an operator's samples and prints a line for each check; the exit status is 1 if one fails, or if
    there is no operator of that name or nothing to check."""
    from mycelia.tools.operator_checks import run_checks

    op = _found(name)
    if op is None:
        return 1
    failed = total = 0
    for check, count, failures in run_checks(op):
        total += count
        failed += len(failures)
        result = "FAILED" if failures else "passed" if count else "nothing to check"
        print(f"{op.name}  {check:16} {result}" + (f", {count} cases" if count else ""))
        for failure in failures[:5]:
            print(f"    {failure}")
        if len(failures) > 5:
            print(f"    and {len(failures) - 5} more")
    if not total:
        print(f"mycelia op: {op.name} has no samples to check", file=sys.stderr)
    return 1 if failed or not total else 0


def show_operator(name: str) -> int:
    """Prints an operator's page; the exit status is 1 if there is none of that name."""
    op = _found(name)
    if op is None:
        return 1
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    definition = op.definition
    console.print(
        f"[bold]{op.name}[/bold]  {inspect.getdoc(definition) or ''}"
        if definition
        else f"[bold]{op.name}[/bold]"
    )
    if definition is not None:
        console.print(f"defined at {place(definition)}")
    console.print("Python API: " + (", ".join(python_names(op)) or "none of its own; composites use it"))
    traits = [
        t
        for t, on in (
            ("pointwise", op.pointwise),
            ("writes its operand", bool(op.effects.writes)),
            ("random", op.effects.random),
            ("visible outside", op.effects.io),
        )
        if on
    ]
    if traits:
        console.print("traits: " + ", ".join(traits))
    table = Table("rule", "where", box=None, title="rules", title_justify="left")
    for row in rules(op):
        table.add_row(*row)
    console.print(table)
    layers = Table(
        "device",
        "backend operator",
        "kernels, in the order in which they are asked",
        box=None,
        title="layers",
        title_justify="left",
    )
    listed = "\n".join(f"{kernel}  {where}" for kernel, where in kernels(op, "CPU")) or "none"
    layers.add_row("CPU", op.name, listed)
    layers.add_row("GPU", op.name, "not available in this version: no driver is used")
    layers.add_row("NPU", "Ascend" + op.name, "not available in this version")
    console.print(layers)
    return 0
