"""JitConfig: settings of compilation, for `jit` and `Cell.set_jit_config`."""

from __future__ import annotations

from typing import Any

_ALLOWED = {
    "jit_level": ("", "O0", "O1", "O2"),
    "exc_mode": ("auto", "sink", "no_sink"),
    "jit_syntax_level": ("", "STRICT", "LAX"),
    "debug_level": ("RELEASE", "DEBUG"),
    "infer_boost": ("off", "on"),
}


class JitConfig:
    """Settings of compilation; one compiler serves all levels.

    Args:
        jit_level: ``"O0"`` to ``"O2"``, or empty.
        exc_mode: ``"auto"``, ``"sink"`` or ``"no_sink"``.
        jit_syntax_level: ``"STRICT"``, ``"LAX"``, or empty.
        debug_level: ``"RELEASE"`` or ``"DEBUG"``.
        infer_boost: ``"off"`` or ``"on"``.
        **kwargs: further settings, kept.

    Attributes:
        jit_config_dict: all of them by name.

    Raises:
        ValueError: another value.
    """

    def __init__(
        self,
        jit_level: str = "",
        exc_mode: str = "auto",
        jit_syntax_level: str = "",
        debug_level: str = "RELEASE",
        infer_boost: str = "off",
        **kwargs: Any,
    ) -> None:
        given = {
            "jit_level": jit_level,
            "exc_mode": exc_mode,
            "jit_syntax_level": jit_syntax_level,
            "debug_level": debug_level,
            "infer_boost": infer_boost,
        }
        for name, value in given.items():
            if value not in _ALLOWED[name]:
                raise ValueError(
                    f"JitConfig: {name} must be one of {', '.join(map(repr, _ALLOWED[name]))}. Received: "
                    f"{name}={value!r}"
                )
        self.jit_config_dict: dict[str, Any] = {**kwargs, **given}

    def __repr__(self) -> str:
        return f"JitConfig({', '.join(f'{name}={value!r}' for name, value in self.jit_config_dict.items())})"
