"""Settings of the process: `set_context`, `get_context`, `set_device`.

Every key of MindSpore 2.10 is known and its value checked. Keys that steer an accelerator that is not there
(``ascend_config``, ``op_timeout``...) are kept and given back, and change nothing on the CPU.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mycelia.engine import mode as _mode
from mycelia.tensor.device import set_default_device

GRAPH_MODE = _mode.GRAPH_MODE
PYNATIVE_MODE = _mode.PYNATIVE_MODE
STRICT, COMPATIBLE, LAX = 0, 1, 2

_MODE_NAMES = {GRAPH_MODE: "GRAPH", PYNATIVE_MODE: "PYNATIVE"}
_DEVICES = {
    "cpu": "CPU",
    "hostile": "hostile",
    "ascend": "Ascend",
    "davinci": "Ascend",
    "npu": "Ascend",
    "gpu": "GPU",
}
_RUNNABLE = ("CPU", "hostile")


@dataclass(frozen=True)
class _Key:
    """A setting: the types that it takes, its value at the start, and a check that may also normalise."""

    types: tuple[type, ...]
    default: Any
    check: Callable[[str, Any], Any] | None = None


def _one_of(*allowed: Any) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> Any:
        if value not in allowed:
            raise ValueError(
                f"set_context: {name} must be one of {', '.join(map(repr, allowed))}. Received: "
                f"{name}={value!r}"
            )
        return value

    return check


def _at_least(low: int, high: int | None = None) -> Callable[[str, Any], Any]:
    def check(name: str, value: int) -> int:
        if value < low or (high is not None and value > high):
            span = f"at least {low}" if high is None else f"from {low} to {high}"
            raise ValueError(f"set_context: {name} must be {span}. Received: {name}={value}")
        return value

    return check


def _mode_number(name: str, value: int) -> int:
    if value not in _MODE_NAMES:
        raise ValueError(
            f"set_context: mode must be GRAPH_MODE (0) or PYNATIVE_MODE (1). Received: mode={value!r}"
        )
    return int(value)


def _graph_level(name: str, value: int) -> int:
    level = 2 if value is True else int(value)
    return _at_least(0, 3)(name, level)


def _gigabytes(name: str, value: str) -> float:
    if not re.fullmatch(r"(0\.|[1-9])[0-9]*\.?[0-9]*GB", value):
        raise ValueError(
            f"set_context: {name} must be a size such as '2GB' or '0.5GB'. Received: {name}={value!r}"
        )
    return float(value[:-2])


def device_name(name: str, device: str) -> str:
    """The canonical name of a device target: ``"NPU"`` and ``"npu"`` are ``"Ascend"``.

    Raises:
        ValueError: no such device, or one that this version cannot run on; the message says what works.
    """
    known = _DEVICES.get(device.lower())
    if known is None:
        near = difflib.get_close_matches(device.lower(), _DEVICES, 1, 0.7)
        hint = f"; did you mean {_DEVICES[near[0]]!r}?" if near else ""
        raise ValueError(
            f"{name} must be 'CPU', 'GPU' or 'Ascend' (also written 'NPU'). Received: {name}={device!r}{hint}"
        )
    if known not in _RUNNABLE:
        raise ValueError(
            f"{name}={device!r} is not available: this version of Mycelia runs on 'CPU' only. The same "
            "script "
            f"runs there with {name}='CPU', or with `mycelia run --device CPU SCRIPT` without being changed"
        )
    return known


_BOOL = (bool,)
_KEYS: dict[str, _Key] = {
    "mode": _Key((int,), PYNATIVE_MODE, _mode_number),
    "device_target": _Key((str,), "CPU", device_name),
    "device_id": _Key((int,), 0, _at_least(0, 4095)),
    "save_graphs": _Key((bool, int), 0, _graph_level),
    "save_graphs_path": _Key((str,), "."),
    "enable_compile_cache": _Key(_BOOL, None),
    "compile_cache_path": _Key((str,), ""),
    "deterministic": _Key((str,), "OFF", _one_of("ON", "OFF")),
    "max_call_depth": _Key((int,), 1000, _at_least(1)),
    "runtime_num_threads": _Key((int,), 0, _at_least(0)),
    "inter_op_parallel_num": _Key((int,), 0, _at_least(0)),
    "enable_graph_kernel": _Key(_BOOL, False),
    "graph_kernel_flags": _Key((str,), ""),
    "jit_syntax_level": _Key((int,), LAX, _one_of(STRICT, COMPATIBLE, LAX)),
    "jit_config": _Key((dict,), {}),
    "jit_enable_inplace_ops": _Key(_BOOL, True),
    "memory_optimize_level": _Key((str,), "O0", _one_of("O0", "O1", "O2")),
    "max_device_memory": _Key((str,), 1024.0, _gigabytes),
    "variable_memory_max_size": _Key((str,), "0"),
    "mempool_block_size": _Key((str,), 1.0, _gigabytes),
    "pynative_synchronize": _Key(_BOOL, False),
    "print_file_path": _Key((str,), ""),
    "check_bprop": _Key(_BOOL, False),
    "reserve_class_name_in_scope": _Key(_BOOL, True),
    "enable_reduce_precision": _Key(_BOOL, True),
    "enable_auto_mixed_precision": _Key(_BOOL, False),
    "save_compile_cache": _Key(_BOOL, False),
    "load_compile_cache": _Key(_BOOL, False),
    "disable_format_transform": _Key(_BOOL, False),
    "debug_level": _Key((int,), 0, _one_of(0, 1)),
    "exec_order": _Key((str,), "bfs", _one_of("bfs", "dfs", "gpto")),
    "op_timeout": _Key((int,), 900, _at_least(0)),
    "aoe_tune_mode": _Key((str,), "", _one_of("online", "offline", "")),
    "aoe_config": _Key((dict,), {}),
    "ascend_config": _Key((dict,), {}),
    "gpu_config": _Key((dict,), {}),
    "env_config_path": _Key((str,), ""),
    "enable_profiling": _Key(_BOOL, False),
    "profiling_options": _Key((str,), "training_trace"),
    "jit_level": _Key((str,), "", _one_of("", "O0", "O1", "O2")),
    "infer_boost": _Key((str,), "off", _one_of("on", "off")),
    # spellings beyond MindSpore's
    "enable_cpu_fallback": _Key(_BOOL, False),
    "enable_debug": _Key(_BOOL, False),
    "enable_auto_tune": _Key(_BOOL, False),
    "auto_tune_mode": _Key((str,), ""),
}

_values: dict[str, Any] = {key: spec.default for key, spec in _KEYS.items()}
_locked: dict[str, str] = {}  # key -> who fixed it, e.g. "--mode GRAPH"
_told: set[str] = set()
_listeners: dict[str, list[Callable[[Any], None]]] = {}


def on_change(key: str, listener: Callable[[Any], None]) -> None:
    """Calls ``listener(value)`` whenever the key is set; at once too, if its value is no longer the
    default."""
    _listeners.setdefault(key, []).append(listener)
    if _values[key] != _KEYS[key].default:
        listener(_values[key])


def _require_known(function: str, key: str) -> _Key:
    spec = _KEYS.get(key)
    if spec is None:
        near = difflib.get_close_matches(key, _KEYS, 1)
        raise ValueError(
            f"{function}: unknown key {key!r}"
            + (f"; did you mean {near[0]!r}?" if near else f". Known keys: {', '.join(sorted(_KEYS))}")
        )
    return spec


def set_context(**kwargs: Any) -> None:
    """Sets one or more settings of the process.

    Args:
        **kwargs: by key. Those that matter here: ``mode`` (`GRAPH_MODE` compiles an outermost Cell call as
            one graph, `PYNATIVE_MODE`, the default, runs operator by operator), ``device_target``,
            ``save_graphs`` (True or 1-3: each stage of compilation as text under ``save_graphs_path``),
            ``runtime_num_threads``, ``enable_compile_cache`` with ``compile_cache_path``.

    Raises:
        ValueError: an unknown key (the nearest known one is named), or a value out of range.
        TypeError: a value of another type.

    Example:
        >>> set_context(mode=GRAPH_MODE, device_target="CPU")
        >>> get_context("mode")
        0
    """
    checked = {}
    for key, value in kwargs.items():
        spec = _require_known("set_context", key)
        if not isinstance(value, spec.types):
            raise TypeError(
                f"set_context: {key} must be {' or '.join(t.__name__ for t in spec.types)}. Received: "
                f"{key}={value!r} (of type {type(value).__name__})"
            )
        checked[key] = value
    for key, value in checked.items():
        if key in _locked:
            _say_locked(key, value)
            continue
        check = _KEYS[key].check
        _store(key, value if check is None else check(key, value))


def get_context(attr_key: str) -> Any:
    """The value of a setting.

    Raises:
        ValueError: an unknown key.
    """
    _require_known("get_context", attr_key)
    return _mode.current if attr_key == "mode" else _values[attr_key]


def set_device(device_target: str, device_id: int | None = None) -> None:
    """Chooses the device that tensors and graphs live on.

    Args:
        device_target: ``"CPU"``; ``"Ascend"`` (= ``"NPU"``) and ``"GPU"`` raise until they are there.
        device_id: number of the device among those of its kind.
    """
    if not isinstance(device_target, str):
        raise TypeError(
            f"set_device: device_target must be str. Received: {device_target!r} (of type "
            f"{type(device_target).__name__})"
        )
    set_context(device_target=device_target)
    if device_id is not None:
        set_context(device_id=device_id)


def get_current_device() -> tuple[str, int]:
    """Kind and number of the device that `set_device` chose."""
    return _values["device_target"], _values["device_id"]


def set_deterministic(deterministic: bool) -> None:
    """Accepted as MindSpore has it; results have the same bits from run to run in any case.

    Raises:
        TypeError: not a bool.
    """
    if not isinstance(deterministic, bool):
        raise TypeError(f"set_deterministic: must be a bool. Received: {deterministic!r}")
    set_context(deterministic="ON" if deterministic else "OFF")


def fix(key: str, value: Any, source: str) -> None:
    """Sets a key so that later `set_context` calls of the script do not change it (options of the command
    line).

    Args:
        source: what the note on stderr names, e.g. ``"--mode GRAPH"``.
    """
    _locked.pop(key, None)
    set_context(**{key: value})
    _locked[key] = source


def _say_locked(key: str, value: Any) -> None:
    shown = _MODE_NAMES.get(value, value) if key == "mode" else value
    current = get_context(key)
    if value == current or key in _told:
        return
    _told.add(key)
    print(
        f"mycelia: {_locked[key]} on the command line wins over the script's set_context({key}={shown})",
        file=sys.stderr,
    )


def _store(key: str, value: Any) -> None:
    _values[key] = value
    if key == "mode":
        _mode.current = value
    for listener in _listeners.get(key, ()):
        listener(value)


def _set_threads(count: int) -> None:
    if count:
        from mycelia.runtime.threads import set_num_threads

        set_num_threads(count)


def _set_synchronous(value: bool) -> None:
    from mycelia.engine.eager import ENGINE

    ENGINE.synchronous = value


def _save_graphs(_: Any) -> None:
    from mycelia.engine import graph_files

    graph_files.folder = Path(_values["save_graphs_path"]) if _values["save_graphs"] else None


def _move_cache(_: Any) -> None:
    """The compile cache is on in any case; a path of the script's own moves it there."""
    enabled, path = _values["enable_compile_cache"], _values["compile_cache_path"]
    if enabled and not path:
        path = os.environ.get("MS_COMPILER_CACHE_PATH", "")
    from mycelia.runtime import cache, compile

    if enabled is False:
        compile.set_object_cache(cache.ObjectCache(None))
    else:
        compile.set_object_cache(cache.ObjectCache(Path(path)) if enabled and path else None)


on_change("enable_compile_cache", _move_cache)
on_change("compile_cache_path", _move_cache)
on_change("runtime_num_threads", _set_threads)
on_change("pynative_synchronize", _set_synchronous)
on_change("save_graphs", _save_graphs)
on_change("save_graphs_path", _save_graphs)
on_change("device_target", set_default_device)


_PARALLEL = (
    "ParallelMode",
    "get_auto_parallel_context",
    "reset_auto_parallel_context",
    "set_auto_parallel_context",
)


def __getattr__(name: str) -> Any:
    if name == "mode":
        return _mode.current
    if name in _PARALLEL:
        from mycelia.common import parallel_context

        return getattr(parallel_context, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
