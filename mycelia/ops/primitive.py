"""MindSpore's primitive classes, ``ops.MatMul(transpose_b=True)(x, y)``: made from functions, not written one
by one.

A function becomes a class whose constructor takes the function's keyword-only parameters, by position too,
and whose instances take the others.
"""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


class Primitive:
    """An operator with its settings, to be applied to tensors."""

    function: Function
    _known_settings: inspect.Signature | None = None

    _inputs: frozenset[str] | None = None  # the parameters that instances take; None: all but keyword-only
    _defaults: dict[str, Any] = {}

    @classmethod
    def _settings(cls) -> inspect.Signature:
        """What the constructor takes; looked up when first asked for, which keeps the import short."""
        if cls._known_settings is None:
            cls._known_settings = inspect.Signature(
                [
                    p.replace(kind=p.POSITIONAL_OR_KEYWORD, default=cls._defaults.get(key, p.default))
                    for key, p in inspect.signature(cls.function).parameters.items()
                    if (p.kind is p.KEYWORD_ONLY if cls._inputs is None else key not in cls._inputs)
                ]
            )
        return cls._known_settings

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            bound = self._settings().bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"{type(self).__name__}: must be constructed with {self._settings()}. Received: {args} "
                f"{kwargs or ''} "
                f"({error})"
            ) from None
        bound.apply_defaults()
        self.settings: dict[str, Any] = dict(bound.arguments)
        self.attrs: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return type(self).__name__

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        try:
            return type(self).function(*inputs, **named, **self.settings)
        except TypeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is None:  # never got into it
                takes = ", ".join(
                    name for name in inspect.signature(type(self).function).parameters
                    if name not in self.settings
                )
                raise TypeError(
                    f"{self.name}: must be called with ({takes}). Received: {len(inputs)} inputs"
                    f"{' and ' + ', '.join(named) if named else ''} ({error})"
                ) from None
            raise

    def add_prim_attr(self, name: str, value: Any) -> Primitive:
        """Attaches a value that tools may read; it changes nothing that is computed."""
        self.attrs[name] = value
        return self

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v!r}' for k, v in self.settings.items())})"


PRIMITIVES: dict[str, type[Primitive]] = {}
_NONE = inspect.Signature()


def primitive_class(function: Function, name: str | None = None) -> type[Primitive]:
    """The class of a function; see the module's text. One with a name of its own has no settings."""
    made = _class(function, name or function.__name__)
    if name is not None:
        made._known_settings = _NONE
    return made


def _class(function: Function, name: str) -> type[Primitive]:
    namespace = {"function": staticmethod(function), "__doc__": function.__doc__, "__module__": __name__}
    return type(name, (Primitive,), namespace)


def primitive(function: Function, name: str | None = None) -> type[Primitive]:
    """Puts the class of a function among MindSpore's names. Usable as decorator."""
    made = PRIMITIVES[name or function.__name__] = primitive_class(function, name)
    return made


def primitive_of_inputs(name: str, function: Function, inputs: str, **defaults: Any) -> None:
    """Puts a class among MindSpore's names whose instances take the parameters named in ``inputs``, and whose
    constructor takes the function's others, with the defaults given."""
    made = PRIMITIVES[name] = _class(function, name)
    made._inputs, made._defaults = frozenset(inputs.split()), defaults


def constexpr(
    fn: Callable[..., Any] | None = None,
    get_instance: bool = True,
    name: str | None = None,
    reuse_result: bool = True,
    check: bool = True,
) -> Callable[..., Any]:
    """Marks a function that is evaluated in Python while a graph is made; every function of plain values
    is."""
    return fn if fn is not None else lambda function: function
