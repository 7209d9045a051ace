"""Writes LLVM IR as text: typed names, arithmetic that folds, structured loops with carried values, and
branches.

A generator makes a `Module`, opens functions in it, and reads the whole as ``str(module)``. Values are
strings (so that they can be
put into any line of IR by hand) that know their type; Python integers stand for ``i64`` constants wherever
a value is expected.

Example:
    >>> module = Module()
    >>> f = module.kernel("double")
    >>> x, y, n = f.words("ptr", "ptr", "i64")
    >>> with f.loop(0, n) as loop:
    ...     v = f.load("float", f.at("float", x, loop.index))
    ...     f.store(f.fadd(v, v), f.at("float", y, loop.index))
    >>> f.ret(0)
    >>> text = str(module)
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Union

BYTES = {
    "i1": 1,
    "i8": 1,
    "i16": 2,
    "i32": 4,
    "i64": 8,
    "i128": 16,
    "half": 2,
    "bfloat": 2,
    "float": 4,
    "double": 8,
    "ptr": 8,
}


class Value(str):
    """The name of an SSA value, or a literal, with its LLVM type."""

    __slots__ = ("type",)
    type: str

    def __new__(cls, name: str, type: str) -> Value:
        self = super().__new__(cls, name)
        self.type = type
        return self

    @property
    def typed(self) -> str:
        """``"i64 %n"``, as an operand is written."""
        return f"{self.type} {self}"


Operand = Union[Value, int]


def vector(lanes: int, element: str) -> str:
    """The type of a vector; of one lane: the element itself."""
    return element if lanes == 1 else f"<{lanes} x {element}>"


def element(type: str) -> str:
    """The element type of a vector type; a scalar type itself."""
    return type[1:-1].split(" x ")[1] if type.startswith("<") else type


def lanes(type: str) -> int:
    return int(type[1:].split(" x ")[0]) if type.startswith("<") else 1


def suffix(type: str) -> str:
    """How intrinsics spell a type: ``"v8f32"``, ``"i64"``."""
    scalar = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "ptr": "p0"}
    name = element(type)
    return (f"v{lanes(type)}" if type.startswith("<") else "") + scalar.get(name, name)


def literal(number: int | float | bool, type: str) -> str:
    """A scalar constant as LLVM writes it; floats by their bits, so that nothing is rounded twice."""
    if type == "float":
        number = struct.unpack("<f", struct.pack("<f", number))[0]
    if type in ("float", "double"):
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    if type == "half":
        return f"0xH{struct.unpack('<H', struct.pack('<e', number))[0]:04X}"
    if type == "i1":
        return "true" if number else "false"
    return str(int(number))


def constant(number: int | float | bool, type: str) -> Value:
    """A constant of a scalar type, or of a vector type with all lanes equal."""
    if type.startswith("<"):
        one = f"{element(type)} {literal(number, element(type))}"
        return Value(f"splat ({one})", type)
    return Value(literal(number, type), type)


class Module:
    """A text of several functions; declarations are collected as they are used."""

    def __init__(self) -> None:
        self.functions: list[Function] = []
        self.globals: dict[str, str] = {}
        self._declared: dict[str, str] = {}

    def function(
        self,
        name: str,
        returns: str = "void",
        params: Sequence[tuple[str, str]] = (),
        *,
        internal: bool = False,
        attributes: str = "nounwind",
    ) -> Function:
        """Opens a function; ``params`` are (type with attributes, name) pairs."""
        f = Function(self, name, returns, params, internal, attributes)
        self.functions.append(f)
        return f

    def kernel(self, name: str) -> Function:
        """Opens a kernel: ``i32 @name(ptr %args, i64 %chunk)``."""
        return self.function(name, "i32", [("ptr noalias readonly", "args"), ("i64", "chunk")])

    def declare(self, name: str, returns: str, params: Sequence[str]) -> None:
        self._declared[name] = f"declare {returns} @{name}({', '.join(params)})"

    def data(self, name: str, type: str, initializer: str, align: int = 64) -> Value:
        """A private constant; returns its address."""
        self.globals[name] = f"@{name} = private unnamed_addr constant {type} {initializer}, align {align}"
        return Value(f"@{name}", "ptr")

    def __str__(self) -> str:
        own = {f.name for f in self.functions}
        declared = [line for name, line in self._declared.items() if name not in own]
        return "\n".join([*self.globals.values(), *declared, *map(str, self.functions)]) + "\n"


class Loop:
    """What `Function.loop` yields: the index, the carried values of this turn, and where the next ones go.

    The body may set ``step`` to a value of its own.
    """

    def __init__(self, index: Value, step: Operand, carried: list[Value]) -> None:
        self.index = index
        self.step = step
        self.carried = carried
        self._next: list[Value] | None = None

    def next(self, values: Sequence[Value]) -> None:
        """Gives the carried values of the next turn; call once, before the body ends."""
        self._next = list(values)

    @property
    def results(self) -> list[Value]:
        """The carried values after the loop (the initial ones if it took no turn)."""
        return self.carried


class Function:
    """A function under construction, in basic blocks from top to bottom."""

    def __init__(
        self,
        module: Module,
        name: str,
        returns: str,
        params: Sequence[tuple[str, str]],
        internal: bool,
        attributes: str,
    ) -> None:
        self.module, self.name, self.returns = module, name, returns
        self.params = [
            Value(f"%{p}", type.split()[0] if not type.startswith("<") else type) for type, p in params
        ]
        linkage = "internal " if internal else ""
        signature = ", ".join(f"{type} %{p}" for type, p in params)
        self._head = f"define {linkage}{returns} @{name}({signature}) {attributes} {{"
        self._lines: list[str] = ["entry:"]
        self._count = 0
        self.block = "entry"

    # -- names, lines, blocks ------------------------------------------------------------------------------
    def fresh(self, hint: str = "v") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def line(self, text: str) -> None:
        self._lines.append("  " + text)

    def op(self, type: str, text: str, hint: str = "v") -> Value:
        """Appends ``%name = text``, whose result has this type."""
        value = Value(f"%{self.fresh(hint)}", type)
        self.line(f"{value} = {text}")
        return value

    def start(self, label: str) -> None:
        """Opens the basic block of that label; the one before must have ended."""
        self._lines.append(f"{label}:")
        self.block = label

    def branch(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch_if(self, condition: Value, then: str, otherwise: str) -> None:
        self.line(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def phi(self, type: str, *incoming: tuple[Operand, str]) -> Value:
        pairs = ", ".join(f"[ {value}, %{label} ]" for value, label in incoming)
        return self.op(type, f"phi {type} {pairs}")

    def ret(self, value: Operand | None = None) -> None:
        self.line("ret void" if value is None else f"ret {self.returns} {value}")

    # -- arithmetic ----------------------------------------------------------------------------------------
    def value(self, x: Operand, type: str = "i64") -> Value:
        return x if isinstance(x, Value) else constant(x, type)

    def _integer(self, instruction: str, a: Operand, b: Operand) -> Value:
        type = a.type if isinstance(a, Value) else b.type if isinstance(b, Value) else "i64"
        return self.op(type, f"{instruction} {type} {self.value(a, type)}, {self.value(b, type)}")

    def add(self, *terms: Operand) -> Operand:
        """The sum of any number of terms; constants are folded."""
        fixed = sum(t for t in terms if not isinstance(t, Value))
        total: Operand | None = None
        for t in terms:
            if isinstance(t, Value):
                total = t if total is None else self._integer("add nsw", total, t)
        if total is None:
            return fixed
        return total if fixed == 0 else self._integer("add nsw", total, fixed)

    def sub(self, a: Operand, b: Operand) -> Operand:
        if not isinstance(b, Value):
            return self.add(a, -b)
        return self._integer("sub nsw", a, b)

    def mul(self, a: Operand, b: Operand) -> Operand:
        if not isinstance(a, Value):
            a, b = b, a
        if not isinstance(a, Value):
            return a * b  # type: ignore[operator]
        if not isinstance(b, Value) and b in (0, 1):
            return 0 if b == 0 else a
        return self._integer("mul nsw", a, b)

    def div(self, a: Operand, b: Operand) -> Operand:
        """Quotient of non-negative integers."""
        if not isinstance(b, Value) and b == 1:
            return a
        if not isinstance(a, Value) and not isinstance(b, Value):
            return a // b
        return self._integer("udiv", a, b)

    def rem(self, a: Operand, b: Operand) -> Operand:
        """Remainder of non-negative integers."""
        if not isinstance(b, Value) and b == 1:
            return 0
        if not isinstance(a, Value) and not isinstance(b, Value):
            return a % b
        return self._integer("urem", a, b)

    def minimum(self, a: Operand, b: Operand) -> Operand:
        """The smaller of two signed integers."""
        if not isinstance(a, Value) and not isinstance(b, Value):
            return min(a, b)
        return self.select(self.icmp("slt", a, b), a, b)

    def maximum(self, a: Operand, b: Operand) -> Operand:
        if not isinstance(a, Value) and not isinstance(b, Value):
            return max(a, b)
        return self.select(self.icmp("sgt", a, b), a, b)

    def icmp(self, predicate: str, a: Operand, b: Operand) -> Value:
        type = a.type if isinstance(a, Value) else b.type if isinstance(b, Value) else "i64"
        result = vector(lanes(type), "i1")
        return self.op(result, f"icmp {predicate} {type} {self.value(a, type)}, {self.value(b, type)}", "c")

    def fcmp(self, predicate: str, a: Value, b: Value) -> Value:
        return self.op(vector(lanes(a.type), "i1"), f"fcmp {predicate} {a.type} {a}, {b}", "c")

    def select(self, condition: Value, a: Operand, b: Operand) -> Value:
        type = a.type if isinstance(a, Value) else b.type if isinstance(b, Value) else "i64"
        a, b = self.value(a, type), self.value(b, type)
        return self.op(type, f"select {condition.typed}, {a.typed}, {b.typed}")

    def binary(self, instruction: str, a: Value, b: Value) -> Value:
        """``instruction`` with its flags, e.g. ``"fadd contract"``, on two values of one type."""
        return self.op(a.type, f"{instruction} {a.type} {a}, {b}")

    def fadd(self, a: Value, b: Value) -> Value:
        return self.binary("fadd contract", a, b)

    def fsub(self, a: Value, b: Value) -> Value:
        return self.binary("fsub contract", a, b)

    def fmul(self, a: Value, b: Value) -> Value:
        return self.binary("fmul contract", a, b)

    def fdiv(self, a: Value, b: Value) -> Value:
        return self.binary("fdiv contract", a, b)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return self.intrinsic("fma", a.type, a, b, c)

    def cast(self, instruction: str, a: Value, type: str) -> Value:
        """``instruction`` is ``sext``, ``fptrunc``, ``bitcast``...; to the same type it is nothing."""
        return a if a.type == type else self.op(type, f"{instruction} {a.typed} to {type}")

    def call(self, name: str, returns: str, *args: Value) -> Value:
        """Calls a function; it is declared unless the module defines it."""
        self.module.declare(name, returns, [a.type for a in args])
        text = f"call {returns} @{name}({', '.join(a.typed for a in args)})"
        if returns == "void":
            self.line(text)
            return Value("", "void")
        return self.op(returns, text)

    def intrinsic(self, name: str, type: str, *args: Value) -> Value:
        """Calls an LLVM intrinsic overloaded on ``type``, which it also returns."""
        return self.call(f"llvm.{name}.{suffix(type)}", type, *args)

    def splat(self, x: Value, count: int) -> Value:
        """A vector with ``x`` in each lane."""
        if count == 1:
            return x
        type = vector(count, x.type)
        first = self.op(type, f"insertelement {type} poison, {x.typed}, i64 0")
        return self.shuffle(first, first, [0] * count)

    def shuffle(self, a: Value, b: Value, indices: Sequence[int]) -> Value:
        mask = ", ".join(f"i32 {i}" if i >= 0 else "i32 poison" for i in indices)
        type = vector(len(indices), element(a.type)) if len(indices) > 1 else f"<1 x {element(a.type)}>"
        return self.op(type, f"shufflevector {a.typed}, {b.typed}, <{len(indices)} x i32> <{mask}>")

    def extract(self, a: Value, lane: Operand) -> Value:
        return self.op(element(a.type), f"extractelement {a.typed}, i64 {lane}")

    def insert(self, a: Value, x: Value, lane: Operand) -> Value:
        return self.op(a.type, f"insertelement {a.typed}, {x.typed}, i64 {lane}")

    # -- memory --------------------------------------------------------------------------------------------
    def words(self, *types: str, first: int = 0) -> list[Value]:
        """Reads the kernel's argument words: ``"ptr"``, ``"i64"``, or a float kept in the low bits of its
        word."""
        return [self.load(type, self.at("i64", self.params[0], first + i), 8) for i, type in enumerate(types)]

    def at(self, type: str, base: Value, index: Operand) -> Value:
        """Address of element ``index``."""
        if not isinstance(index, Value) and index == 0:
            return base
        return self.op("ptr", f"getelementptr inbounds {type}, ptr {base}, i64 {index}", "p")

    def byte(self, base: Value, offset: Operand) -> Value:
        """Address ``offset`` bytes on."""
        return self.at("i8", base, offset)

    def load(self, type: str, address: Value, align: int | None = None) -> Value:
        return self.op(type, f"load {type}, ptr {address}, align {align or BYTES[element(type)]}")

    def store(self, x: Value, address: Value, align: int | None = None) -> None:
        self.line(f"store {x.typed}, ptr {address}, align {align or BYTES[element(x.type)]}")

    def stack(self, type: str, count: int = 1, align: int = 64) -> Value:
        """Room for ``count`` elements in the frame. Call outside loops."""
        return self.op("ptr", f"alloca {type}, i64 {count}, align {align}", "frame")

    def mask(self, count: Operand, width: int) -> Value:
        """``<width x i1>``: true in the lanes below ``count``."""
        steps = ", ".join(f"i64 {i}" for i in range(width))
        steps = Value(f"<{steps}>", f"<{width} x i64>")
        return self.icmp("slt", steps, self.splat(self.value(count), width))

    def masked_load(self, type: str, address: Value, mask: Value, otherwise: Value | None = None) -> Value:
        """Lanes that the mask leaves out are not touched in memory and read as ``otherwise`` (zero)."""
        otherwise = otherwise or Value("zeroinitializer", type)
        align = BYTES[element(type)]
        name = f"llvm.masked.load.{suffix(type)}.p0"
        self.module.declare(name, type, ["ptr", "i32", mask.type, type])
        return self.op(
            type, f"call {type} @{name}(ptr {address}, i32 {align}, {mask.typed}, {otherwise.typed})"
        )

    def masked_store(self, x: Value, address: Value, mask: Value) -> None:
        align = BYTES[element(x.type)]
        name = f"llvm.masked.store.{suffix(x.type)}.p0"
        self.module.declare(name, "void", [x.type, "ptr", "i32", mask.type])
        self.line(f"call void @{name}({x.typed}, ptr {address}, i32 {align}, {mask.typed})")

    # -- control -------------------------------------------------------------------------------------------
    @contextmanager
    def loop(
        self, lo: Operand, hi: Operand, step: Operand = 1, carried: Sequence[Value] = ()
    ) -> Iterator[Loop]:
        """``for index in range(lo, hi, step)`` with a positive step; carried values go from turn to turn
        through `Loop.next`."""
        head, body, after = (self.fresh(hint) for hint in ("head", "body", "after"))
        before = self.block
        self.branch(head)
        self.start(head)
        index = Value(f"%{self.fresh('i')}", "i64")
        phis = [Value(f"%{self.fresh('x')}", v.type) for v in carried]
        place = len(self._lines)
        loop = Loop(index, step, phis)
        self.branch_if(self.icmp("slt", index, hi), body, after)
        self.start(body)
        yield loop
        following = self.add(index, loop.step)
        latch = self.block
        self.branch(head)
        updated = loop._next if loop._next is not None else phis
        assert len(updated) == len(phis), "each carried value needs its next value"
        self._lines[place:place] = [f"  {index} = phi i64 [ {lo}, %{before} ], [ {following}, %{latch} ]"] + [
            f"  {p} = phi {p.type} [ {a}, %{before} ], [ {b}, %{latch} ]"
            for p, a, b in zip(phis, carried, updated)
        ]
        self.start(after)

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Runs its body only if the condition holds."""
        then, after = self.fresh("then"), self.fresh("after")
        self.branch_if(condition, then, after)
        self.start(then)
        yield
        self.branch(after)
        self.start(after)

    def choose(self, condition: Value, then, otherwise) -> list[Value]:
        """Runs one of two callables, each giving a list of values of equal types, and returns what it
        gave."""
        yes, no, after = self.fresh("then"), self.fresh("else"), self.fresh("after")
        self.branch_if(condition, yes, no)
        self.start(yes)
        first = list(then())
        first_end = self.block
        self.branch(after)
        self.start(no)
        second = list(otherwise())
        second_end = self.block
        self.branch(after)
        self.start(after)
        return [self.phi(a.type, (a, first_end), (b, second_end)) for a, b in zip(first, second)]

    def __str__(self) -> str:
        return "\n".join([self._head, *self._lines, "}"])
