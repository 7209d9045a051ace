"""Checks of arguments, as programs import them from ``mindspore._checkparam``.

Each returns the value, or raises an error that names the argument, what it must be, and what was received.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

EQ, NE, LT, LE, GT, GE, INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH, IN, NOT_IN = range(1, 13)


class Rel:
    """The relations by name."""

    EQ, NE, LT, LE, GT, GE = EQ, NE, LT, LE, GT, GE
    INC_NEITHER, INC_LEFT, INC_RIGHT, INC_BOTH, IN, NOT_IN = (
        INC_NEITHER,
        INC_LEFT,
        INC_RIGHT,
        INC_BOTH,
        IN,
        NOT_IN,
    )


_HOLDS: dict[int, Callable[[Any, Any], bool]] = {
    EQ: lambda a, b: a == b,
    NE: lambda a, b: a != b,
    LT: lambda a, b: a < b,
    LE: lambda a, b: a <= b,
    GT: lambda a, b: a > b,
    GE: lambda a, b: a >= b,
    IN: lambda a, b: a in b,
    NOT_IN: lambda a, b: a not in b,
}
_WORDS = {EQ: "==", NE: "!=", LT: "<", LE: "<=", GT: ">", GE: ">=", IN: "in", NOT_IN: "not in"}
_WITHIN: dict[int, Callable[[Any, Any, Any], bool]] = {
    INC_NEITHER: lambda v, low, high: low < v < high,
    INC_LEFT: lambda v, low, high: low <= v < high,
    INC_RIGHT: lambda v, low, high: low < v <= high,
    INC_BOTH: lambda v, low, high: low <= v <= high,
}
_BRACKETS = {INC_NEITHER: "()", INC_LEFT: "[)", INC_RIGHT: "(]", INC_BOTH: "[]"}


def _about(arg_name: str | None, prim_name: str | None) -> str:
    return (f"For '{prim_name}', the " if prim_name else "The ") + f"'{arg_name or 'argument'}'"


def _number(value: Any, kind: type, arg_name: str | None, prim_name: str | None) -> Any:
    if isinstance(value, bool) or not isinstance(value, kind):
        raise TypeError(
            f"{_about(arg_name, prim_name)} must be {kind.__name__}. Received: {value!r} (of type "
            f"{type(value).__name__})"
        )
    return value


def _related(
    value: Any, bound: Any, rel: int, kind: type, arg_name: str | None, prim_name: str | None
) -> Any:
    _number(value, kind, arg_name, prim_name)
    if kind is float and not np.isfinite(value) or not _HOLDS[rel](value, bound):
        raise ValueError(
            f"{_about(arg_name, prim_name)} must be {kind.__name__} and {_WORDS[rel]} {bound}. Received: "
            f"{value}"
        )
    return value


def _ranged(
    value: Any, low: Any, high: Any, rel: int, kind: type, arg_name: str | None, prim_name: str | None
) -> Any:
    _number(value, kind, arg_name, prim_name)
    if not _WITHIN[rel](value, low, high):
        opening, closing = _BRACKETS[rel]
        raise ValueError(
            f"{_about(arg_name, prim_name)} must be in range of {opening}{low}, {high}{closing}. Received: "
            f"{value}"
        )
    return value


def check(
    arg_name: str,
    arg_value: Any,
    value_name: str,
    value: Any,
    rel: int = EQ,
    prim_name: str | None = None,
    excp_cls: type[Exception] = ValueError,
) -> Any:
    """``arg_value`` must stand in a relation to ``value``."""
    if not _HOLDS[rel](arg_value, value):
        raise excp_cls(
            f"{_about(arg_name, prim_name)} must be {_WORDS[rel]} {value_name}: {value}. Received: "
            f"{arg_value}"
        )
    return arg_value


def check_int(
    arg_value: Any, value: Any, rel: int, arg_name: str | None = None, prim_name: str | None = None
) -> int:
    """An integer in a relation to a bound."""
    return _related(arg_value, value, rel, int, arg_name, prim_name)


def check_float(
    arg_value: Any, value: Any, rel: int, arg_name: str | None = None, prim_name: str | None = None
) -> float:
    """A float in a relation to a bound."""
    return _related(arg_value, value, rel, float, arg_name, prim_name)


def check_number(arg_name: str, arg_value: Any, value: Any, rel: int, prim_name: str | None) -> Any:
    """A number in a relation to a bound."""
    return check(arg_name, arg_value, "bound", value, rel, prim_name)


def check_is_int(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> int:
    """An integer."""
    return _number(arg_value, int, arg_name, prim_name)


def check_is_float(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> float:
    """A float."""
    return _number(arg_value, float, arg_name, prim_name)


def check_is_number(
    arg_value: Any, arg_type: type, arg_name: str | None = None, prim_name: str | None = None
) -> Any:
    """A number of a type."""
    return _number(arg_value, arg_type, arg_name, prim_name)


def _one_bound(kind: type, bound: Any, rel: int, doc: str) -> Callable[..., Any]:
    def checked(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
        return _related(arg_value, bound, rel, kind, arg_name, prim_name)

    checked.__doc__ = doc
    return checked


check_positive_int = _one_bound(int, 0, GT, "An integer above 0.")
check_negative_int = _one_bound(int, 0, LT, "An integer below 0.")
check_non_positive_int = _one_bound(int, 0, LE, "An integer of at most 0.")
check_non_negative_int = _one_bound(int, 0, GE, "An integer of at least 0.")
check_positive_float = _one_bound(float, 0, GT, "A float above 0.")
check_negative_float = _one_bound(float, 0, LT, "A float below 0.")
check_non_positive_float = _one_bound(float, 0, LE, "A float of at most 0.")
check_non_negative_float = _one_bound(float, 0, GE, "A float of at least 0.")


def _sequence_of(single: Callable[..., Any]) -> Callable[..., Any]:
    def checked(sequence: Any, arg_name: str | None = None, prim_name: str | None = None) -> Any:
        if not isinstance(sequence, (list, tuple)):
            raise TypeError(
                f"{_about(arg_name, prim_name)} must be a list or tuple. Received: {sequence!r} (of type "
                f"{type(sequence).__name__})"
            )
        for i, item in enumerate(sequence):
            single(item, f"{arg_name or 'argument'}[{i}]", prim_name)
        return sequence

    checked.__doc__ = f"A list or tuple whose items are each: {single.__doc__}"
    return checked


check_positive_int_sequence = _sequence_of(check_positive_int)
check_non_negative_int_sequence = _sequence_of(check_non_negative_int)
check_positive_float_sequence = _sequence_of(check_positive_float)


def check_equal_int(
    arg_value: Any, value: int, arg_name: str | None = None, prim_name: str | None = None
) -> int:
    """An integer that equals another."""
    return _related(arg_value, value, EQ, int, arg_name, prim_name)


def check_int_range(
    arg_value: Any,
    lower_limit: int,
    upper_limit: int,
    rel: int,
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> int:
    """An integer between two limits."""
    return _ranged(arg_value, lower_limit, upper_limit, rel, int, arg_name, prim_name)


def check_float_range(
    arg_value: Any,
    lower_limit: float,
    upper_limit: float,
    rel: int,
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> float:
    """A float between two limits."""
    return _ranged(arg_value, lower_limit, upper_limit, rel, float, arg_name, prim_name)


def check_number_range(
    arg_value: Any,
    lower_limit: Any,
    upper_limit: Any,
    rel: int,
    value_type: type,
    arg_name: str | None = None,
    prim_name: str | None = None,
) -> Any:
    """A number of a type between two limits."""
    return _ranged(arg_value, lower_limit, upper_limit, rel, value_type, arg_name, prim_name)


def check_bool(arg_value: Any, arg_name: str | None = None, prim_name: str | None = None) -> bool:
    """True or False."""
    if not isinstance(arg_value, bool):
        raise TypeError(
            f"{_about(arg_name, prim_name)} must be a bool. Received: {arg_value!r} (of type "
            f"{type(arg_value).__name__})"
        )
    return arg_value


def check_string(
    arg_value: Any, valid_values: Iterable[str], arg_name: str | None = None, prim_name: str | None = None
) -> str:
    """One of some strings."""
    allowed = list(valid_values)
    if not isinstance(arg_value, str) or arg_value not in allowed:
        raise ValueError(f"{_about(arg_name, prim_name)} must be one of {allowed}. Received: {arg_value!r}")
    return arg_value


def check_str_by_regular(
    target: str, reg: str | None = None, flag: int = re.ASCII, prim_name: str | None = None
) -> bool:
    """A string that matches a pattern; default: letters, digits and ``_ . - /``."""
    pattern = reg or r"[A-Za-z0-9_./\\:-]+"
    if re.fullmatch(pattern, target, flag) is None:
        raise ValueError(f"{_about('string', prim_name)} must match {pattern}. Received: {target!r}")
    return True


def check_isinstance(arg_name: str, arg_value: Any, classes: Any) -> Any:
    """An instance of a class or of one of several."""
    if not isinstance(arg_value, classes):
        raise ValueError(
            f"The '{arg_name}' must be an instance of {classes}. Received: {arg_value!r:.80} (of type "
            f"{type(arg_value).__name__})"
        )
    return arg_value


def check_value_type(arg_name: str, arg_value: Any, valid_types: Any, prim_name: str | None = None) -> Any:
    """A value of one of some types; True and False are integers only where bool is among them."""
    allowed = tuple(valid_types) if isinstance(valid_types, Iterable) else (valid_types,)
    if isinstance(arg_value, bool) and bool not in allowed or not isinstance(arg_value, allowed):
        names = " or ".join(kind.__name__ for kind in allowed)
        raise TypeError(
            f"{_about(arg_name, prim_name)} must be of type {names}. Received: {arg_value!r:.80} (of type "
            f"{type(arg_value).__name__})"
        )
    return arg_value


def check_type_name(arg_name: str, arg_type: Any, valid_types: Any, prim_name: str | None) -> Any:
    """A dtype or type that is one of some."""
    allowed = tuple(valid_types) if isinstance(valid_types, Iterable) else (valid_types,)
    if arg_type not in allowed:
        names = ", ".join(getattr(kind, "__name__", str(kind)) for kind in allowed)
        raise TypeError(f"{_about(arg_name, prim_name)} must be one of {names}. Received: {arg_type}")
    return arg_type


def check_subclass(
    arg_name: str,
    type_: Any,
    template_types: Any,
    prim_name: str | None,
    addition_error_info: str | None = None,
) -> None:
    """A class that is below one of some, or a dtype that is one of them."""
    allowed = tuple(template_types) if isinstance(template_types, Iterable) else (template_types,)
    classes = tuple(kind for kind in allowed if isinstance(kind, type))
    if type_ not in allowed and not (isinstance(type_, type) and issubclass(type_, classes)):
        raise TypeError(
            f"{_about(arg_name, prim_name)} must be one of {', '.join(map(str, allowed))}. Received: {type_}"
            + (f" {addition_error_info}" if addition_error_info else "")
        )


def check_element_type_of_iterable(
    arg_name: str, arg_value: Any, valid_types: Any, prim_name: str | None = None
) -> None:
    """Items of one of some types."""
    for i, item in enumerate(arg_value):
        check_value_type(f"{arg_name}[{i}]", item, valid_types, prim_name)


def check_element_type_of_dict(
    arg_name: str, arg_value: Any, key_types: Any, value_types: Any, prim_name: str | None = None
) -> None:
    """Keys and values each of one of some types."""
    check_value_type(arg_name, arg_value, [dict], prim_name)
    for key, value in arg_value.items():
        check_value_type(f"a key of {arg_name}", key, key_types, prim_name)
        check_value_type(f"{arg_name}[{key!r}]", value, value_types, prim_name)


def args_type_check(*type_args: Any, **type_kwargs: Any) -> Callable[..., Any]:
    """A decorator that checks the types of a function's arguments, given by position or name."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(function)
        wanted = signature.bind_partial(*type_args, **type_kwargs).arguments

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            given = signature.bind(*args, **kwargs).arguments
            for name, value in given.items():
                kinds = wanted.get(name)
                if kinds is not None and value is not None and not isinstance(value, kinds):
                    kind = kinds if isinstance(kinds, tuple) else (kinds,)
                    raise TypeError(
                        f"The parameter '{name}' must be {' or '.join(k.__name__ for k in kind)}. Received: "
                        f"{value!r:.80} (of type {type(value).__name__})"
                    )
            return function(*args, **kwargs)

        return checked

    return decorate
