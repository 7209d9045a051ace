"""Checks of the arguments that layers are made with."""

from __future__ import annotations

from typing import Any


def positive_int(owner: str, **numbers: Any) -> None:
    """Raises TypeError unless each is an int, ValueError unless it is greater than 0."""
    for name, value in numbers.items():
        if type(value) is not int or value <= 0:
            raise (ValueError if type(value) is int else TypeError)(
                f"{owner}: {name} must be a positive int. Received: {name}={value!r} (of type "
                f"{type(value).__name__})"
            )


def several(owner: str, name: str, value: Any, count: int, least: int = 1) -> tuple[int, ...]:
    """As many ints as there are axes, from one or from all of them.

    Raises:
        TypeError: neither an int nor that many.
        ValueError: one is below ``least``.
    """
    numbers = (
        (value,) * count if type(value) is int else tuple(value) if isinstance(value, (tuple, list)) else ()
    )
    if len(numbers) != count or any(type(n) is not int for n in numbers):
        many = {1: "one", 2: "two", 3: "three"}[count]
        raise TypeError(
            f"{owner}: {name} must be an int or a tuple of {many}. Received: {name}={value!r} (of type "
            f"{type(value).__name__})"
        )
    if min(numbers) < least:
        raise ValueError(f"{owner}: {name} must be at least {least}. Received: {name}={value!r}")
    return numbers


def pair(owner: str, name: str, value: Any, least: int = 1) -> tuple[int, ...]:
    """`several` for two axes."""
    return several(owner, name, value, 2, least)


def paddings(owner: str, value: Any, lengths: tuple[int, ...]) -> Any:
    """Padding as given: an int, or a tuple of one of the lengths, none negative."""
    numbers = (value,) if type(value) is int else tuple(value) if isinstance(value, (tuple, list)) else ()
    if (
        not numbers
        or any(type(n) is not int for n in numbers)
        or (type(value) is not int and len(numbers) not in lengths)
    ):
        raise TypeError(
            f"{owner}: padding must be an int"
            f"{' or a tuple of ' + ' or '.join(map(str, lengths)) + ' ints' if lengths else ''}. Received: "
            f"padding={value!r} (of type {type(value).__name__})"
        )
    if min(numbers) < 0:
        raise ValueError(f"{owner}: padding must be at least 0. Received: padding={value!r}")
    return value if type(value) is int else numbers


def pad_mode(owner: str, mode: Any, padding: Any) -> str:
    """The mode in lower case.

    Raises:
        ValueError: an unknown mode, or padding where the mode leaves no room for it.
    """
    known = mode.lower() if isinstance(mode, str) else mode
    if known not in ("same", "valid", "pad"):
        raise ValueError(f"{owner}: pad_mode must be 'same', 'valid' or 'pad'. Received: pad_mode={mode!r}")
    if known != "pad" and any(padding if isinstance(padding, tuple) else (padding,)):
        raise ValueError(
            f"{owner}: padding counts only with pad_mode='pad'. Received: padding={padding}, "
            f"pad_mode={mode!r}. Write "
            f"{owner}(..., pad_mode='pad', padding={padding})"
        )
    return known


def nchw(owner: str, data_format: str) -> None:
    """Raises ValueError unless the format is NCHW (inside a graph images run channels-last anyway)."""
    if data_format != "NCHW":
        raise ValueError(
            f"{owner}: data_format must be 'NCHW'; graphs choose the fast layout themselves. Received: "
            f"{data_format!r}"
        )
