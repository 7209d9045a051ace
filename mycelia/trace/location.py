"""Where the user's program is: the innermost frame outside the package."""

from __future__ import annotations

import linecache
import os
import sys
import warnings
from types import CodeType, FrameType

from mycelia.ir.graph import Location

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_inside: dict[str, bool] = {}  # by file


def is_own_code(code: CodeType) -> bool:
    """Whether code belongs to the package (or to the import system)."""
    name = code.co_filename
    known = _inside.get(name)
    if known is None:
        known = _inside[name] = name.startswith((_PACKAGE, "<frozen"))
    return known


def has_source(code: CodeType) -> bool:
    """Whether the lines of some code can be read: from its file, or from what a notebook remembers."""
    return bool(linecache.getlines(code.co_filename))


def user_frame(depth: int = 1) -> FrameType | None:
    """The innermost frame of the caller's stack that is not the package's own."""
    frame: FrameType | None = sys._getframe(depth + 1)
    inside = _inside
    while frame is not None:
        code = frame.f_code
        own = inside.get(code.co_filename)
        if not (is_own_code(code) if own is None else own):
            return frame
        frame = frame.f_back
    return None


def user_location(depth: int = 1) -> Location | None:
    """File, line and function of `user_frame`."""
    frame = user_frame(depth + 1)
    if frame is None:
        return None
    code = frame.f_code
    return Location(code.co_filename, frame.f_lineno, code.co_name)


def warn_user(message: str) -> None:
    """A UserWarning at the line of the user's program, however deep in the package the call is."""
    place = user_location()
    file, line = (place.file, place.line) if place else ("<unknown>", 1)
    warnings.warn_explicit(message, UserWarning, file, line)
