"""From a static graph to a plan: kernels chosen, nodes lowered to calls, every value given its memory."""
from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.codegen.target import Target
from mycelia.ir.graph import Graph, Node, Value
from mycelia.kernels import api, cpu
from mycelia.kernels.api import Call, HostCall, In, NoKernel, Out, Table, Work
from mycelia.kernels.reference import reference_kernel
from mycelia.plan.control import ControlFlow
from mycelia.plan.copying import COPY, copy_chunks
from mycelia.plan.memory import Lifetime, assign_offsets, peak
from mycelia.plan.plan import Address, Buffer, Instruction, Plan


def build(graph: Graph, device: str = "CPU", target: Any = None) -> Plan:
    """The plan of a graph.

    Args:
        graph: static shapes, functionalised (no `Assign`); node order is execution order.
        device: whose kernels to use.
        target: the processor to emit code for; None for this machine.

    Raises:
        NoKernel: nothing takes a node; the message holds each refusal and the user's line.
        ValueError: a shape is symbolic (bind it first, see `passes.specialise`), or an `Assign` is left.

    Example:
        >>> print(build(parse("graph(%x: float32[2]) { %y = Add(%x, %x)  return %y }")))
    """
    cpu.register()
    if target is None:
        target = Target.host()
    return _Builder(graph, device, target).build()


class Choice:
    """The kernel of a node, and what was asked before it."""

    __slots__ = ("kernel", "refusals")

    def __init__(self, kernel: Any, refusals: list[tuple[str, str]]) -> None:
        self.kernel, self.refusals = kernel, refusals


def choose(node: Node, device: str, target: Any) -> Choice:
    """The first kernel that accepts a node: the operator's own, the generic pointwise one, the NumPy
    reference.

    Raises:
        NoKernel: none does.
    """
    refusals: list[tuple[str, str]] = []
    op = node.op
    asked = api.candidates(op.name, device)
    if op.pointwise:
        asked = [*asked, *api.candidates("*pointwise", device)]
    if any(v.dtype.kind == "c" for v in (*node.inputs, *node.outputs)):
        asked = []  # complex numbers have no native kernels
    for kernel in (*asked, reference_kernel(op)):
        refusal = kernel.accepts(node, target)
        if refusal is None:
            return Choice(kernel, refusals)
        refusals.append((kernel.name, refusal.reason))
    types = ", ".join(str(v.type) for v in node.inputs)
    where = f"\n  at {node.loc}" if node.loc else ""
    reasons = "".join(f"\n  {name}: {reason}" for name, reason in refusals)
    raise NoKernel(f"Operator {op.name} not supported on {device} for ({types}):{reasons}{where}")


class _Root:
    """The memory of a value and of all that alias it (reshapes, and results computed in place)."""

    __slots__ = ("value", "nbytes", "address", "start", "end", "index", "note")

    def __init__(self, value: Value, start: int) -> None:
        self.value, self.nbytes = value, value.type.nbytes
        self.address: Address | None = None
        self.start = self.end = start
        self.index = -1  # of its lifetime in the arena
        self.note = ""

    @property
    def place(self) -> Address:
        """The address, once it is assigned."""
        assert self.address is not None, f"{self.value!r} has no memory yet"
        return self.address


class _Builder:
    def __init__(self, graph: Graph, device: str, target: Any) -> None:
        self.graph, self.device, self.target = graph, device, target
        self.roots: dict[Value, _Root] = {}
        self.data: list[np.ndarray] = []
        self.first_data = len(graph.inputs) + len(graph.outputs) + 1
        self.arena = self.first_data - 1
        self.steps: list[tuple[Node, Choice, list[Call | HostCall]]] = []
        self.spares: list[_Root] = []

    def refuse_impossible_sizes(self) -> None:
        """A value of more bytes than addresses would not fit the words of a plan."""
        for node in self.graph.nodes:
            for value in node.outputs:
                if value.type.nbytes >= 1 << 62:  # type: ignore[operator]
                    raise MemoryError(
                        f"{node.op.name}: its result would be {value.type}, of {value.type.nbytes} bytes, "
                        f"which is more than any memory"
                    )

    def build(self) -> Plan:
        graph = self.graph
        self.refuse_impossible_sizes()
        self.trace_memory()
        self.place_results()
        self.share_in_place()
        lifetimes = self.lifetimes()
        layout = assign_offsets(lifetimes)
        for root in self.temporaries:
            root.address = Address(self.arena, layout.offsets[root.index])
        instructions: list[Instruction] = []
        for position, (node, choice, calls) in enumerate(self.steps):
            work = {key: Address(self.arena, layout.offsets[i]) for key, i in self.works[position].items()} \
                if self.works[position] else {}
            for call in calls:
                instruction = self.instruction(node, choice, call, work)
                if instruction is not None:
                    instructions.append(instruction)
        instructions += self.final_copies()
        return Plan(
            graph.name,
            [v.type for v in graph.inputs],
            [v.type for v in graph.outputs],
            tuple(graph.writes),
            instructions,
            layout.nbytes,
            peak(lifetimes),
            self.data,
            self.buffers,
        )

    # -- values and their memory ---------------------------------------------------------------------------
    def trace_memory(self) -> None:
        """Chooses kernels, lowers nodes, finds each value's root and how long it is needed."""
        roots, steps = self.roots, self.steps
        for index, value in enumerate(self.graph.inputs):
            root = roots[value] = _Root(value, -1)
            root.address = Address(index, 0)
        for node in self.graph.nodes:
            name = node.op.name
            if name == "Constant":
                root = roots[node.outputs[0]] = _Root(node.outputs[0], -1)
                root.address = self.add_data(node.attrs["value"])
                continue
            if name == "Reshape":
                roots[node.outputs[0]] = roots[node.inputs[0]]
                continue
            if node.op.effects.writes:
                raise ValueError(
                    f"build: {name} is left in graph {self.graph.name}; run passes.functionalise first"
                )
            position = len(steps)
            for value in node.inputs:
                roots[value].end = position
            for value in node.outputs:
                if not value.type.is_static:
                    raise ValueError(
                        f"build: {value.type} in graph {self.graph.name} is symbolic; bind the graph first"
                    )
                roots[value] = _Root(value, position)
            if name in ("Cond", "While", "WhileGrad"):
                choice = Choice(ControlFlow(lambda g: build(g, self.device, self.target)), [])
            else:
                choice = choose(node, self.device, self.target)
            idle = node.outputs and not node.op.effects and all(0 in v.type.shape for v in node.outputs)
            steps.append((node, choice, [] if idle else choice.kernel.lower(node, self.target)))

    def add_data(self, array: np.ndarray) -> Address:
        self.data.append(np.ascontiguousarray(array))
        return Address(self.first_data + len(self.data) - 1, 0)

    def place_results(self) -> None:
        """Outputs are computed in the caller's memory, written inputs in the input's own, where that is
        safe.
        """
        graph, roots, last = self.graph, self.roots, len(self.steps)
        count = len(graph.inputs)
        copies: list[tuple[_Root, _Root, int]] = []  # (from, to, bytes), in order, after all steps
        for index, value in enumerate(graph.outputs):
            root = roots[value]
            if root.address is None:
                root.address = Address(count + index, 0)
            else:
                copies.append((root, self.external(value, count + index), value.type.nbytes))
            root.end = last
        updates = [(index, value, roots[value]) for index, value in graph.writes.items()
                   if roots[value] is not roots[graph.inputs[index]]]
        for _, _, root in updates:
            root.end = last
        overwritten: set[int] = set()
        saved: list[tuple[_Root, _Root, int]] = []
        for index, value, root in updates:
            if root.address is None and self.may_overwrite(roots[graph.inputs[index]], root):
                root.address, root.note = Address(index, 0), f"written into input {index}"
                continue
            saved.append((root, self.external(value, index), value.type.nbytes))
            overwritten.add(index)
        for position, (root, target, nbytes) in enumerate(saved):
            if (
                root.address is not None and root.address.slot in overwritten
            ):  # inputs that exchange their values
                spare = _Root(root.value, last)
                self.spares.append(spare)
                copies.append((root, spare, nbytes))
                saved[position] = (spare, target, nbytes)
        self.copies = copies + saved

    @staticmethod
    def external(value: Value, slot: int) -> _Root:
        root = _Root(value, -1)
        root.address = Address(slot, 0)
        return root

    def may_overwrite(self, old: _Root, new: _Root) -> bool:
        """Whether the producer of ``new`` may write where ``old`` is: everybody has read it, or reads in
        step.
        """
        if old.end < new.start:
            return True
        if old.end > new.start:
            return False
        node, choice, _ = self.steps[new.start]
        return self.reads_in_step(node, choice, new.value, old)

    def reads_in_step(self, node: Node, choice: Choice, output: Value, old: _Root) -> bool:
        """Whether a node reads a root's memory only as operands that its kernel lets ``output`` share."""
        allowed = {source for result, source in choice.kernel.alias(node) if node.outputs[result] is output}
        reading = {i for i, value in enumerate(node.inputs) if self.roots[value] is old}
        return bool(reading) and reading <= allowed

    def share_in_place(self) -> None:
        """Lets a result take over the memory of an operand that dies at its node, where the kernel allows
        it.
        """
        roots = self.roots
        merged: dict[_Root, _Root] = {}
        for position, (node, choice, _) in enumerate(self.steps):
            pairs = choice.kernel.alias(node)
            taken: set[_Root] = set()
            for result, source in pairs:
                new = roots[node.outputs[result]]
                old = roots[node.inputs[source]]
                while old in merged:
                    old = merged[old]
                if (new.address is not None or new in merged or old.address is not None or old.end != position
                        or old.nbytes != new.nbytes or old in taken):
                    continue
                reading = {i for i, v in enumerate(node.inputs) if self.final(roots[v], merged) is old}
                if reading <= {s for r, s in pairs if r == result}:
                    merged[new] = old
                    old.end = new.end
                    taken.add(old)
        if merged:
            for value, root in roots.items():
                if root in merged:
                    roots[value] = self.final(root, merged)
            self.copies = [
                (self.final(source, merged), target, nbytes) for source, target, nbytes in self.copies
            ]

    @staticmethod
    def final(root: _Root, merged: dict[_Root, _Root]) -> _Root:
        while root in merged:
            root = merged[root]
        return root

    def lifetimes(self) -> list[Lifetime]:
        """Of temporaries, and of the scratch memory that calls ask for."""
        found: list[Lifetime] = []
        self.temporaries: list[_Root] = []
        for root in dict.fromkeys([*self.roots.values(), *self.spares]):
            if root.address is None:
                root.index = len(found)
                found.append(Lifetime(root.nbytes, root.start, root.end))
                self.temporaries.append(root)
        self.works: list[dict[str, int]] = []
        for position, (_, _, calls) in enumerate(self.steps):
            sizes: dict[str, int] = {}
            for call in calls:
                if isinstance(call, Call):
                    for arg in call.args:
                        if isinstance(arg, Work):
                            sizes[arg.key] = max(sizes.get(arg.key, 0), arg.nbytes)
            self.works.append({key: len(found) + i for i, key in enumerate(sizes)})
            found += [Lifetime(nbytes, position, position) for nbytes in sizes.values()]
        return found

    # -- instructions --------------------------------------------------------------------------------------
    def instruction(self, node: Node, choice: Choice, call: Call | HostCall,
                    work: dict[str, Address]) -> Instruction | None:
        roots = self.roots
        if isinstance(call, Call) and not call.chunks:
            return None
        step = Instruction(node, choice.kernel.name, refusals=choice.refusals,
                           operands=[(roots[v].address, v.type) for v in node.inputs],  # type: ignore[misc]
                           results=[(roots[v].address, v.type) for v in node.outputs])  # type: ignore[misc]
        if isinstance(call, HostCall):
            step.host = call
            return step
        step.code, step.chunks, words = call.code, call.chunks, step.words
        for arg in call.args:
            if isinstance(arg, int):
                words.append(arg)
            elif isinstance(arg, (In, Out)):
                values = node.inputs if isinstance(arg, In) else node.outputs
                slot, offset = roots[values[arg.index]].address  # type: ignore[misc]
                words.append(Address(slot, offset + arg.offset))
            elif isinstance(arg, Work):
                slot, offset = work[arg.key]
                words.append(Address(slot, offset + arg.offset))
            elif isinstance(arg, Table):
                words.append(self.add_data(arg.array))
            else:
                raise TypeError(
                    f"kernel {choice.kernel.name} of {node.op.name}: an argument must be In, Out, Work, "
                    f"Table or int. Received: {arg!r} (of type {type(arg).__name__})"
                )
        return step

    def final_copies(self) -> list[Instruction]:
        """Values that are wanted in a second place."""
        return [Instruction(None, "Copy", COPY, [target.address, source.address, nbytes],  # type: ignore[list-item]
                            copy_chunks(nbytes)) for source, target, nbytes in self.copies if nbytes]

    # -- the report ----------------------------------------------------------------------------------------
    def buffers(self) -> list[Buffer]:
        lines = []
        named = {v: f"%{v.name or i}" for i, v in enumerate(self.roots)}
        for root in dict.fromkeys(self.roots.values()):
            aliases = [named[v] for v, r in self.roots.items() if r is root and v is not root.value]
            note = ", ".join(filter(None, [root.note, "also " + " ".join(aliases) if aliases else ""]))
            lines.append(Buffer(named[root.value], str(root.value.type), root.nbytes, root.place, root.start,
                                root.end, note))
        lines.sort(key=lambda b: (b.address.slot, b.address.offset, b.start))
        return lines


__all__ = ["Choice", "build", "choose"]
