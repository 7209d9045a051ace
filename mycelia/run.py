"""Runs a MindSpore script unchanged: ``mycelia run SCRIPT`` or ``python -m mycelia.run [--mode=GRAPH]
[--device=CPU] SCRIPT``."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from types import CodeType, ModuleType

USAGE = "usage: python -m mycelia.run [--mode GRAPH|PYNATIVE] [--device CPU] SCRIPT [ARGS...]"


def run_script(
    path: str, arguments: Sequence[str] = (), mode: str | None = None, device: str | None = None
) -> int:
    """Carries out a script as Python would, with `mindspore` meaning Mycelia.

    Args:
        path: the script's file.
        arguments: what it finds in ``sys.argv[1:]``.
        mode: ``"GRAPH"`` or ``"PYNATIVE"``; wins over the script's own `set_context`.
        device: a device target; wins likewise.

    Returns:
        The exit status: 0, what the script gave `sys.exit`, or 1 after an exception, whose traceback is
            printed without
        the runner's own frames.
    """
    from mycelia import compat

    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        print(f"mycelia run: cannot read {path!r}: {error.strerror}", file=sys.stderr)
        return 2
    compat.install()
    _fix_settings(mode, device)
    sys.argv = [path, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    module = ModuleType("__main__")
    module.__file__ = path
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    try:
        code = compile(source, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        traceback.print_exc(limit=0)
        return 1
    return _execute(code, module)


def _execute(code: CodeType, module: ModuleType) -> int:
    try:
        exec(code, module.__dict__)
    except SystemExit as leaving:
        if leaving.code is None or isinstance(leaving.code, int):
            return leaving.code or 0
        print(leaving.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("KeyboardInterrupt", file=sys.stderr)
        return 130
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not code:
            trace = trace.tb_next
        traceback.print_exception(type(error), error, trace)
        return 1
    return 0


def _fix_settings(mode: str | None, device: str | None) -> None:
    from mycelia.common import context

    if mode is not None:
        context.fix(
            "mode", {"GRAPH": context.GRAPH_MODE, "PYNATIVE": context.PYNATIVE_MODE}[mode], f"--mode {mode}"
        )
    if device is not None:
        context.fix("device_target", device, f"--device {device}")


def parse(argv: Sequence[str]) -> tuple[str | None, str | None, list[str]]:
    """The options before the script, and the script with its arguments.

    Raises:
        ValueError: an unknown option, or a bad value.
    """
    mode = device = None
    rest = list(argv)
    while rest and rest[0].startswith("-"):
        option, has_value, value = rest.pop(0).partition("=")
        if option not in ("--mode", "--device", "--device_target"):
            raise ValueError(f"unknown option {option}; options for the script stand after its name")
        if not has_value:
            if not rest:
                raise ValueError(f"{option} needs a value")
            value = rest.pop(0)
        if option == "--mode":
            mode = value.upper().removesuffix("_MODE")
            if mode not in ("GRAPH", "PYNATIVE"):
                raise ValueError(f"--mode must be GRAPH or PYNATIVE. Received: {value!r}")
        else:
            device = value
    if not rest:
        raise ValueError("name a script")
    return mode, device, rest


def main(argv: Sequence[str] | None = None) -> int:
    """The command ``python -m mycelia.run``."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given and given[0] in ("-h", "--help"):
        print(USAGE)
        return 0
    try:
        mode, device, rest = parse(given)
    except ValueError as error:
        print(f"mycelia run: {error}\n{USAGE}", file=sys.stderr)
        return 2
    try:
        return run_script(rest[0], rest[1:], mode, device)
    except ValueError as error:  # a device that is not there
        print(f"mycelia run: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
