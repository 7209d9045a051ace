"""Parameters of the search for a parallel strategy; kept, and without meaning while there is one process."""

from __future__ import annotations

from typing import Any

_DEFAULTS: dict[str, Any] = {
    "fully_use_devices": True,
    "elementwise_op_strategy_follow": False,
    "enable_algo_approxi": False,
    "algo_approxi_epsilon": 0.1,
    "tensor_slice_align_enable": False,
    "tensor_slice_align_size": 16,
}
_values = dict(_DEFAULTS)


def set_algo_parameters(**kwargs: Any) -> None:
    """Sets parameters of the search.

    Raises:
        ValueError: an unknown one.
    """
    for key in kwargs:
        _require_known("set_algo_parameters", key)
    _values.update(kwargs)


def get_algo_parameters(attr_key: str) -> Any:
    """The value of a parameter.

    Raises:
        ValueError: an unknown one.
    """
    _require_known("get_algo_parameters", attr_key)
    return _values[attr_key]


def reset_algo_parameters() -> None:
    """Gives every parameter its value from the start."""
    _values.update(_DEFAULTS)


def _require_known(function: str, key: str) -> None:
    if key not in _DEFAULTS:
        raise ValueError(f"{function}: unknown key {key!r}. Known keys: {', '.join(_DEFAULTS)}")
