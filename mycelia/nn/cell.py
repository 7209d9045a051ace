"""Cell: the building block of networks. It owns parameters and other cells, and computes in
`Cell.construct`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mycelia.autodiff.recording import enable_grad, parameters_take_part
from mycelia.engine import mode as _mode
from mycelia.ir.dtypes import DType
from mycelia.nn.cell_state import CellState, DeviceWishes
from mycelia.nn.explanations import explain, require_known
from mycelia.nn.hooks import (
    HookHandle,
    refresh_plainness,
    run_backward_hooks,
    run_forward_hooks,
    run_pre_hooks,
    with_own_gradient,
)
from mycelia.ops import dispatch
from mycelia.ops.precision import Policy
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor
from mycelia.trace.control_flow import stage
from mycelia.trace.tracer import current_trace

UNNAMED = "Parameter"  # the name of a parameter that was given none
attribute_epoch = 0
"""Rises with every attribute of any Cell that is set to something new: compiled graphs look at it before they
check one by one whether what they read is unchanged."""


class Members(dict):
    """The parameters or child cells of a Cell by name, each also an ordinary attribute of it, so that reading
    one is cheap."""

    def __init__(self, attributes: dict[str, Any]) -> None:
        super().__init__()
        self.attributes = attributes

    def __setitem__(self, name: str, value: Any) -> None:
        global attribute_epoch
        attribute_epoch += 1
        super().__setitem__(name, value)
        self.attributes[name] = value

    def __delitem__(self, name: str) -> None:
        global attribute_epoch
        attribute_epoch += 1
        if self.shows(name):
            del self.attributes[name]
        super().__delitem__(name)

    def hide(self, name: str, value: Any) -> None:
        """Takes in a member that is no attribute, so that its name stays free for one."""
        global attribute_epoch
        attribute_epoch += 1
        super().__setitem__(name, value)

    def shows(self, name: str) -> bool:
        """Whether a name's member is the attribute of that name."""
        return name in self and self.attributes.get(name, self) is self[name]

    def update(self, *others: Any, **named: Any) -> None:
        for name, value in dict(*others, **named).items():
            self[name] = value

    def pop(self, name: str, *default: Any) -> Any:
        if name not in self and default:
            return default[0]
        value = self[name]
        del self[name]
        return value

    def clear(self) -> None:
        for name in list(self):
            del self[name]

    def replace(self, members: dict[str, Any]) -> None:
        """Takes over members in a new order."""
        self.clear()
        self.update(members)


class Cell(CellState, DeviceWishes):
    """A network or a part of one.

    A subclass makes its parameters and cells in ``__init__`` and computes in ``construct``; calling the cell
    runs ``construct``, in GRAPH_MODE as one compiled graph when it is the outermost call.

    Args:
        auto_prefix: whether parameters of child cells are named after the attribute that holds the child
            (``conv1.weight``).
        flags: attributes to set on the cell.

    Example:
        >>> class Net(Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.dense = Dense(4, 2)
        ...     def construct(self, x):
        ...         return self.dense(x).tanh()
        >>> [p.name for p in Net().get_parameters()]
        ['dense.weight', 'dense.bias']
    """

    _params: Members
    _cells: Members
    _plain = True  # nothing but construct to run: no hooks, no dtype to compute in
    _policy: Policy | None  # in which dtypes it computes
    training = False
    requires_grad = False
    phase = ""

    def __new__(cls, *args: Any, **kwargs: Any) -> Cell:
        if kwargs:
            require_known(cls, kwargs)
        self = object.__new__(cls)
        attributes = self.__dict__
        attributes["_params"] = Members(attributes)
        attributes["_cells"] = Members(attributes)
        attributes["_policy"] = None
        if hasattr(cls, "bprop"):
            attributes["_plain"] = False
        return self

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None) -> None:
        self.__dict__["_auto_prefix"] = auto_prefix
        self.__dict__["_flags"] = {}
        if flags:
            self.add_flags(**flags)

    # -- calling -------------------------------------------------------------------------------------------
    def construct(self, *args: Any, **kwargs: Any) -> Any:
        cure = "; rename forward to construct" if hasattr(type(self), "forward") else ""
        raise AttributeError(
            f"{type(self).__name__}.construct is not defined; a Cell computes in `def construct(self, ...)`"
            + cure
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._plain and _mode.current and not dispatch.is_tracing():  # PYNATIVE_MODE
                if self.training and not parameters_take_part():
                    with enable_grad():  # so that `backward` can be called on the result
                        return self.construct(*args, **kwargs)
                return self.construct(*args, **kwargs)
            return self._outermost_call(args, kwargs)
        except (TypeError, ValueError, IndexError) as error:
            explain(self, args, error)
            raise

    def refusal(self, *inputs: Any) -> str | None:
        """What a layer says of inputs that its operators refused; None where it knows no better than they."""
        return None

    def _outermost_call(self, args: tuple, kwargs: dict[str, Any]) -> Any:
        if not _mode.current and not dispatch.is_tracing():
            from mycelia.engine import jit

            return jit.call_cell(self, args, kwargs)
        if self.training and not dispatch.is_tracing() and not parameters_take_part():
            with enable_grad():
                return self._run_construct(*args, **kwargs)
        return self._run_construct(*args, **kwargs)

    def _run_construct(self, *args: Any, **kwargs: Any) -> Any:
        """`construct` with hooks and mixed precision around it."""
        construct = stage(self.construct) if current_trace() is not None else self.construct
        if self._plain:
            return construct(*args, **kwargs)
        args, kwargs = run_pre_hooks(self, args, kwargs)
        result = run_backward_hooks(self, args, lambda *xs: self._under_policy(construct, xs, kwargs))
        return run_forward_hooks(self, args, kwargs, result)

    def _under_policy(self, construct: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        run = with_own_gradient(self, construct, kwargs)
        if run is not construct:
            kwargs = {}
        return run(*args, **kwargs) if self._policy is None else self._policy.run(run, args, kwargs)

    # -- attributes ----------------------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        if hasattr(type(self), name):  # a property that failed: its own error tells more
            return object.__getattribute__(self, name)
        kind, held = type(self).__name__, self.__dict__
        if name == "_auto_prefix":
            raise AttributeError(
                f"{kind}: Cell.__init__ has not run. Call super().__init__() first in {kind}.__init__, "
                "before parameters and cells are assigned"
            )
        text = f"{kind!r} object has no attribute {name!r}"
        if not name.startswith("_"):
            members = [*held.get("_cells", ()), *held.get("_params", ())]
            if members:
                text += f"; its cells and parameters are {', '.join(members[:12])}"
                text += ", ..." if len(members) > 12 else ""
            if name == "backward":
                text += ". Gradients come from mindspore.value_and_grad, or from loss.backward() of a tensor"
        raise AttributeError(text)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            self.insert_param_to_cell(name, value)
        elif isinstance(value, Cell):
            if self._auto_prefix:
                value.update_parameters_name(name + ".")
            self.insert_child_to_cell(name, value)
        elif isinstance(value, ParameterTuple):
            _insert_parameters(self, value)
            object.__setattr__(self, name, value)
        else:
            self._set_plain(name, value)

    def _set_plain(self, name: str, value: Any) -> None:
        global attribute_epoch
        attributes = self.__dict__
        if self._params.shows(name):
            self._overwrite_parameter(name, value)
            return
        if name in self._cells:
            if value is not None:
                raise TypeError(
                    f"{type(self).__name__}.{name} is a Cell and can only be replaced by a Cell or None. "
                    "Received: "
                    f"{value!r:.80} (of type {type(value).__name__})"
                )
            self._cells[name] = None
            return
        old = attributes.get(name, attributes)  # the dict itself stands for "not set"
        if old is not value and not (type(old) is type(value) and type(value) in _COMPARED and old == value):
            attribute_epoch += 1
        object.__setattr__(self, name, value)

    def _overwrite_parameter(self, name: str, value: Any) -> None:
        old = self._params[name]
        if value is None:
            self._params[name] = None
        elif isinstance(value, Tensor) and old is not None:
            old.set_data(value)
        else:
            raise TypeError(
                f"{type(self).__name__}.{name} is a Parameter and can only be set to a Parameter, a Tensor "
                "or None. "
                f"Received: {value!r:.80} (of type {type(value).__name__})"
            )

    def __delattr__(self, name: str) -> None:
        global attribute_epoch
        if self._params.shows(name):
            del self._params[name]
        elif name in self._cells:
            del self._cells[name]
        else:
            object.__delattr__(self, name)
            attribute_epoch += 1

    def insert_param_to_cell(
        self, param_name: str, param: Parameter | None, check_name_contain_dot: bool = True
    ) -> None:
        """Adds a parameter under a name; a parameter without a name of its own takes it.

        Raises:
            ValueError: the name is empty or contains a dot.
            KeyError: an attribute of that name exists and is no parameter.
            TypeError: not a Parameter.
        """
        if (
            not isinstance(param_name, str)
            or not param_name
            or (check_name_contain_dot and "." in param_name)
        ):
            raise ValueError(
                "insert_param_to_cell: param_name must be a non-empty string without a dot. Received: "
                f"{param_name!r}"
            )
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"insert_param_to_cell: param must be a Parameter. Received: {param!r:.80} (of type "
                f"{type(param).__name__})"
            )
        if param_name in self._cells:
            raise KeyError(
                f"insert_param_to_cell: {type(self).__name__}.{param_name} exists and is a Cell, not a "
                "Parameter"
            )
        if param is not None and param.name == UNNAMED:
            param.name = param_name
        self._params[param_name] = param

    def insert_child_to_cell(self, child_name: str, child_cell: Cell | None) -> None:
        """Adds a child cell under a name, leaving the names of its parameters as they are.

        Raises:
            ValueError: the name is empty or contains a dot.
            KeyError: an attribute of that name exists and is no cell.
            TypeError: not a Cell.
        """
        if not isinstance(child_name, str) or not child_name or "." in child_name:
            raise ValueError(
                "insert_child_to_cell: child_name must be a non-empty string without a dot. Received: "
                f"{child_name!r}"
            )
        if self._params.shows(child_name):
            raise KeyError(
                f"insert_child_to_cell: {type(self).__name__}.{child_name} exists and is a Parameter, not a "
                "Cell"
            )
        if child_cell is not None and not isinstance(child_cell, Cell):
            raise TypeError(
                f"insert_child_to_cell: child_cell must be a Cell. Received: {child_cell!r:.80} (of type "
                f"{type(child_cell).__name__})"
            )
        self._cells[child_name] = child_cell

    # -- what it consists of -------------------------------------------------------------------------------
    def cells_and_names(
        self, cells: set[Cell] | None = None, name_prefix: str = ""
    ) -> Iterator[tuple[str, Cell]]:
        """This cell and all below it, each once, with their paths; this cell's is ``name_prefix``."""
        seen = set() if cells is None else cells
        if self in seen:
            return
        seen.add(self)
        yield name_prefix, self
        for name, cell in self._cells.items():
            if cell is not None:
                yield from cell.cells_and_names(seen, f"{name_prefix}.{name}" if name_prefix else name)

    def parameters_and_names(
        self, name_prefix: str = "", expand: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters, each once, with the path of the attribute that holds them (not the parameter's own
        name).

        Args:
            expand: whether those of the cells below come too.
        """
        seen = set()
        for path, cell in self.cells_and_names(name_prefix=name_prefix) if expand else [(name_prefix, self)]:
            for name, parameter in cell._params.items():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield f"{path}.{name}" if path else name, parameter

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.parameters_and_names(expand=expand):
            yield parameter

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The parameters with ``requires_grad``."""
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> dict[str, Parameter]:
        """Parameters by their own names, which checkpoints use."""
        return {p.name: p for p in self.get_parameters(recurse)}

    def name_cells(self) -> dict[str, Cell]:
        """The direct children by name, each once."""
        found: dict[Cell, str] = {}
        for name, cell in self._cells.items():
            if cell is not None:
                found.setdefault(cell, name)
        return {name: cell for cell, name in found.items()}

    def cells(self) -> Any:
        """The direct children."""
        return self.name_cells().values()

    def get_sub_cell(self, target: str) -> Cell:
        """The cell at a dotted path.

        Raises:
            AttributeError: there is no such cell.
        """
        cell: Cell = self
        for step in target.split(".") if target else ():
            child = cell._cells.get(step)
            if child is None:
                raise AttributeError(
                    f"get_sub_cell: {type(cell).__name__} has no cell {step!r} (looking for {target!r})"
                )
            cell = child
        return cell

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Names every parameter after its path below this cell, with a prefix."""
        for path, parameter in self.parameters_and_names(expand=recurse):
            parameter.name = prefix + path

    def check_names(self) -> None:
        """Raises ValueError when two parameters have one name."""
        seen: dict[str, Parameter] = {}
        for parameter in self.get_parameters():
            if seen.setdefault(parameter.name, parameter) is not parameter:
                raise ValueError(
                    f"{type(self).__name__} has two parameters named {parameter.name!r}; give one of them "
                    "another name, "
                    f"or hold their cells in attributes of a Cell with auto_prefix=True"
                )

    def check_names_and_refresh_name(self) -> None:
        self.check_names()

    def update_cell_prefix(self) -> None:
        """`param_prefix` follows the parameters' names by itself; there is nothing to be done."""

    def update_cell_type(self, cell_type: str) -> None:
        """Says what kind of cell this is, e.g. for an optimizer's filter."""
        self.cell_type = cell_type

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Parameters have their data from the start; returns each mapped to itself."""
        return {p: p for p in self.get_parameters()}

    def apply(self, fn: Callable[[Cell], Any]) -> Cell:
        """Calls ``fn`` with every cell below, children first, then with this one."""
        for cell in self.cells():
            cell.apply(fn)
        fn(self)
        return self

    # -- how it runs ---------------------------------------------------------------------------------------
    def set_train(self, mode: bool = True) -> Cell:
        """Training or inference, for this cell and all below (Dropout, batch norm)."""
        for _, cell in self.cells_and_names():
            cell.training = mode
            cell.phase = "train" if mode else "predict"
        return self

    def set_grad(self, requires_grad: bool = True) -> Cell:
        for _, cell in self.cells_and_names():
            cell.requires_grad = requires_grad
        return self

    def to_float(self, dst_type: DType) -> Cell:
        """This cell and all below compute in a dtype: inputs, parameters and whatever is made of them are
        cast to it, operator by operator. Parameters themselves keep theirs.

        Raises:
            ValueError: not float16, float32 or bfloat16.
        """
        if getattr(dst_type, "name", None) not in ("float16", "float32", "bfloat16"):
            raise ValueError(
                f"to_float: dst_type must be float16, float32 or bfloat16. Received: {dst_type!r}"
            )
        for _, cell in self.cells_and_names():
            cell.set_policy(Policy(dst_type))
        return self

    def set_policy(self, policy: Policy | None) -> Cell:
        """Decides in which dtypes this cell computes, and cells below that have no policy of their own; None
        for those of its inputs and parameters."""
        self._policy = policy
        refresh_plainness(self)
        return self

    def add_flags(self, **flags: Any) -> Cell:
        self._flags.update(flags)
        for name, value in flags.items():
            setattr(self, name, value)
        return self

    def add_flags_recursive(self, **flags: Any) -> Cell:
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        return dict(self._flags)

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Declares the arguments of ``construct`` for GRAPH_MODE: sizes that change are None.

        Args:
            *inputs: one for each argument, e.g. ``Tensor(shape=[None, 3], dtype=ms.float32)``.
            **kwargs: the same by parameter name.

        Raises:
            ValueError: both forms at once, or a name that ``construct`` does not have.
        """
        from mycelia.engine.signature import bound_inputs

        self.__dict__["_inputs"] = bound_inputs(self.construct, inputs, kwargs)
        self.__dict__.pop("_compiled_construct", None)

    def get_inputs(self) -> tuple | None:
        """What `set_inputs` declared."""
        return self.__dict__.get("_inputs")

    def set_jit_config(self, jit_config: Any) -> None:
        """Accepted as MindSpore has it; one compiler serves all levels."""
        self._jit_config = jit_config

    def register_forward_pre_hook(
        self, hook_fn: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Calls ``hook_fn(cell, inputs)`` before ``construct``; what it returns, unless None, replaces the
        inputs."""
        return HookHandle(self, "_forward_pre_hooks", hook_fn, prepend, with_kwargs)

    def register_forward_hook(
        self, hook_fn: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> HookHandle:
        """Calls ``hook_fn(cell, inputs, output)`` after ``construct``; what it returns, unless None, replaces
        the output."""
        return HookHandle(self, "_forward_hooks", hook_fn, prepend, with_kwargs)

    def register_backward_pre_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Calls ``hook_fn(cell, grad_output)`` when gradients come back to this cell's outputs; what it
        returns,
        unless None, replaces them."""
        return HookHandle(self, "_backward_pre_hooks", hook_fn, False, False)

    def register_backward_hook(self, hook_fn: Callable[..., Any]) -> HookHandle:
        """Calls ``hook_fn(cell, grad_input, grad_output)`` when gradients leave through this cell's inputs;
        what
        it returns, unless None, replaces ``grad_input``."""
        return HookHandle(self, "_backward_hooks", hook_fn, False, False)

    # -- description ---------------------------------------------------------------------------------------
    @property
    def cls_name(self) -> str:
        return type(self).__name__

    @property
    def param_prefix(self) -> str:
        """The path that this cell's parameters have in their names, empty for a cell without parameters."""
        for path, parameter in self.parameters_and_names():
            return parameter.name[: -len(path)].rstrip(".") if parameter.name.endswith(path) else ""
        return ""

    def extend_repr(self) -> str:
        """What `repr` prints of the cell besides its children."""
        return ""

    def __repr__(self) -> str:
        children = [f"({name}): {cell!r}" for name, cell in self._cells.items()]
        extra = self.extend_repr()
        if not children:
            return f"{type(self).__name__}({extra})"
        lines = [line for text in ([extra] if extra else []) + children for line in text.split("\n")]
        return f"{type(self).__name__}(\n" + "".join(f"  {line}\n" for line in lines) + ")"

    def __bool__(self) -> bool:
        return True

    # -- copies --------------------------------------------------------------------------------------------
    def __getstate__(self) -> dict[str, Any]:
        kinds = {"_params": self._params, "_cells": self._cells}
        shown = {name for members in kinds.values() for name in members if members.shows(name)}
        state = {k: v for k, v in self.__dict__.items() if k not in shown and k != "_compiled_construct"}
        state.update({kind: dict(members) for kind, members in kinds.items()}, _shown=shown)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        attributes = self.__dict__
        kinds = {kind: state[kind] for kind in ("_params", "_cells")}
        shown = state["_shown"]
        attributes.update({k: v for k, v in state.items() if k not in kinds and k != "_shown"})
        for kind, held in kinds.items():
            members = attributes[kind] = Members(attributes)
            for name, value in held.items():
                (members.__setitem__ if name in shown else members.hide)(name, value)


_COMPARED = (bool, int, float, str, type(None))


def _insert_parameters(cell: Cell, parameters: ParameterTuple) -> None:
    """Registers the items of a ParameterTuple under their own names.

    Raises:
        ValueError: two of them have one name.
    """
    seen: dict[str, Parameter] = {}
    for index, parameter in enumerate(parameters):
        if parameter.name == UNNAMED:
            parameter.name = f"{UNNAMED}${index}"
        if seen.setdefault(parameter.name, parameter) is not parameter:
            raise ValueError(
                f"{type(cell).__name__}: a ParameterTuple holds two parameters named {parameter.name!r}; "
                "give each a name "
                f"of its own with Parameter(..., name=...)"
            )
        if not cell._params.shows(parameter.name):
            cell._params.hide(parameter.name, parameter)
