"""What of a Cell is kept and loaded: buffers, which are tensors without gradients, and dicts of all state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class LoadedState(NamedTuple):
    """What `CellState.load_state_dict` found amiss."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class CellState:
    """The part of `mycelia.nn.Cell` that has to do with buffers and state dicts."""

    def register_buffer(self: Any, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that belongs to the cell's state but is no Parameter.

        Args:
            name: the attribute that holds it.
            tensor: a Tensor or None.
            persistent: whether `state_dict` holds it.

        Raises:
            KeyError: a name that is empty, has a dot, or is taken.
            TypeError: not a Tensor.
        """
        if not isinstance(name, str) or not name or "." in name:
            raise KeyError(
                f"register_buffer: name must be a non-empty string without a dot. Received: {name!r}"
            )
        if name not in self._buffers and hasattr(self, name):
            raise KeyError(f"register_buffer: {type(self).__name__} has an attribute {name!r} already")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"register_buffer: must be a Tensor or None. Received: {tensor!r:.80} (of type "
                f"{type(tensor).__name__})"
            )
        setattr(self, name, tensor)
        self.__dict__["_buffers"] = {**self._buffers, name: bool(persistent)}

    _buffers: Mapping[str, bool] = {}  # from names to whether they are persistent

    def named_buffers(
        self: Any, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers with their paths, each once unless told otherwise."""
        seen = set()
        for path, cell in self.cells_and_names(name_prefix=prefix) if recurse else [(prefix, self)]:
            for name in cell._buffers:
                buffer = getattr(cell, name)
                if buffer is None or (remove_duplicate and id(buffer) in seen):
                    continue
                seen.add(id(buffer))
                yield f"{path}.{name}" if path else name, buffer

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_buffer(self: Any, target: str) -> Tensor:
        """The buffer at a dotted path.

        Raises:
            AttributeError: there is none.
        """
        path, _, name = target.rpartition(".")
        cell = self.get_sub_cell(path)
        if name not in cell._buffers:
            raise AttributeError(f"get_buffer: {type(cell).__name__} has no buffer {name!r}")
        return getattr(cell, name)

    # -- dicts of all state --------------------------------------------------------------------------------
    def state_dict(
        self: Any, *, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Tensor]:
        """Parameters and persistent buffers by path.

        Args:
            destination: a dict to put them into.
            prefix: stands before all paths.
            keep_vars: the tensors themselves instead of copies.
        """
        state = {} if destination is None else destination
        self._run_state_hooks("_state_dict_pre_hooks", self, prefix, keep_vars)
        for path, tensor in self._named_state():
            state[prefix + path] = tensor if keep_vars else Tensor.from_numpy(tensor.asnumpy().copy())
        self._run_state_hooks("_state_dict_hooks", self, state, prefix)
        return state

    def _named_state(self: Any) -> Iterator[tuple[str, Tensor]]:
        for path, cell in self.cells_and_names():
            lead = f"{path}." if path else ""
            for name, parameter in cell._params.items():
                if parameter is not None:
                    yield lead + name, parameter
            for name, persistent in cell._buffers.items():
                if persistent and getattr(cell, name) is not None:
                    yield lead + name, getattr(cell, name)

    def load_state_dict(self: Any, state_dict: Mapping[str, Any], strict: bool = True) -> LoadedState:
        """Gives parameters and buffers the elements of a `state_dict`.

        Args:
            state_dict: tensors or arrays by path.
            strict: whether paths must agree.

        Raises:
            RuntimeError: paths do not agree.
            ValueError: a tensor of another shape.
        """
        self._run_state_hooks("_load_state_dict_pre_hooks", self, state_dict, strict)
        own = dict(self._named_state())
        found = LoadedState(
            [path for path in own if path not in state_dict], [path for path in state_dict if path not in own]
        )
        if strict and (found.missing_keys or found.unexpected_keys):
            raise RuntimeError(
                f"{type(self).__name__}.load_state_dict: paths must agree. Received: without "
                f"{found.missing_keys}, with unknown {found.unexpected_keys}; strict=False loads what fits"
            )
        for path, tensor in own.items():
            if path not in state_dict:
                continue
            value = state_dict[path]
            value = value if isinstance(value, Tensor) else Tensor(value)
            if value.shape != tensor.shape:
                raise ValueError(
                    f"{type(self).__name__}.load_state_dict: {path} must have shape {tensor.shape}. "
                    f"Received: "
                    f"{value.shape}"
                )
            value = value.astype(tensor.dtype)  # type: ignore[attr-defined]
            if isinstance(tensor, Parameter):
                tensor.set_data(value)
            else:
                tensor.copy_(value)  # type: ignore[attr-defined]
        self._run_state_hooks("_load_state_dict_post_hooks", self, found)
        return found

    # -- functions that run before and after ---------------------------------------------------------------
    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> StateHook:
        """Calls ``hook(cell, prefix, keep_vars)`` before `state_dict`."""
        return StateHook(self, "_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> StateHook:
        """Calls ``hook(cell, state_dict, prefix)`` after `state_dict`."""
        return StateHook(self, "_state_dict_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> StateHook:
        """Calls ``hook(cell, state_dict, strict)`` before `load_state_dict`."""
        return StateHook(self, "_load_state_dict_pre_hooks", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> StateHook:
        """Calls ``hook(cell, found)`` after `load_state_dict`."""
        return StateHook(self, "_load_state_dict_post_hooks", hook)

    def _run_state_hooks(self, kind: str, *arguments: Any) -> None:
        for handle in list(self.__dict__.get(kind, ())):
            handle.hook(*arguments)


class StateHook:
    """A registered hook; `remove` takes it out again."""

    def __init__(self, cell: Any, kind: str, hook: Callable[..., Any]) -> None:
        self.cell, self.kind, self.hook = cell, kind, hook
        cell.__dict__[kind] = [*cell.__dict__.get(kind, ()), self]

    def remove(self) -> None:
        self.cell.__dict__[self.kind] = [h for h in self.cell.__dict__[self.kind] if h is not self]


def _accepted(name: str, what: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.__dict__["_wishes"] = {**self.__dict__.get("_wishes", {}), name: (args, tuple(kwargs.items()))}
        return self

    method.__name__ = name
    method.__doc__ = f"Accepted, and without effect in one process on one device: {what}."
    return method


class DeviceWishes:
    """Settings of `mycelia.nn.Cell` for many devices and scarce memory, which do not change results."""

    recompute = _accepted("recompute", "whether values are computed again for gradients instead of kept")
    offload = _accepted("offload", "whether values are moved to the host's memory until gradients need them")
    set_comm_fusion = _accepted("set_comm_fusion", "which gradients are exchanged together")
    set_broadcast_flag = _accepted(
        "set_broadcast_flag", "whether parameters are sent to all devices at the start"
    )
    set_data_parallel = _accepted("set_data_parallel", "whether cells without a strategy split their batches")
    set_boost = _accepted("set_boost", "a preset of accelerations on NPUs")
    pipeline_stage: int | None = None
    """On which group of devices the cell runs."""
