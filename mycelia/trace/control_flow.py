"""Rewrites the user's functions so that control flow on traced tensors can be staged.

``if``, ``while``, ``for i in range(...)``, ``and``, ``or``, ``not`` and conditional expressions hand their
tests to
`mycelia.trace.branches`, which stages those that are traced tensors and runs the others as Python would.
Only the user's own functions are
rewritten, never a library's; a function whose source is not to be had runs as it is. Lines stay those of
the user's file.

Left as Python, so that a traced test in them is an error with a cure: loops with ``break``, ``continue`` or
``return``,
branches with ``yield``, ``del``, ``global`` or ``nonlocal``, and comprehensions' conditions.
"""

from __future__ import annotations

import ast
import functools
import inspect
import sysconfig
import textwrap
import types
from collections.abc import Callable, Sequence
from typing import Any

from mycelia.trace import branches
from mycelia.trace.location import is_own_code

_LIBRARIES = tuple({sysconfig.get_paths()[k] for k in ("stdlib", "platstdlib", "purelib", "platlib")})
_HELPERS = "__mycelia__"
# By code and file: code objects of equal text are equal, whatever file they came from.
_rewritten: dict[tuple[types.CodeType, str], types.CodeType | None] = {}


def stage(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its control flow rewritten; the function itself where there is nothing to do or no
    source."""
    if isinstance(fn, types.MethodType):
        function = stage(fn.__func__)
        return fn if function is fn.__func__ else types.MethodType(function, fn.__self__)
    if isinstance(fn, functools.partial):
        return functools.partial(stage(fn.func), *fn.args, **fn.keywords)
    if not isinstance(fn, types.FunctionType) or not is_users(fn):
        return fn
    code = fn.__code__
    key = (code, code.co_filename)
    if key not in _rewritten:
        _rewritten[key] = _rewrite(fn)
    new = _rewritten[key]
    if new is None:
        return fn
    cells = dict(zip(code.co_freevars, fn.__closure__ or ()))
    cells[_HELPERS] = types.CellType(_Helpers)
    if not set(new.co_freevars) <= cells.keys():
        return fn
    staged = types.FunctionType(
        new, fn.__globals__, fn.__name__, fn.__defaults__, tuple(cells[n] for n in new.co_freevars)
    )
    staged.__kwdefaults__ = fn.__kwdefaults__
    staged.__qualname__ = fn.__qualname__
    return staged


def is_users(fn: types.FunctionType) -> bool:
    """Whether a function is the user's own: no library's, not the package's, with a name and a source
    file."""
    code = fn.__code__
    return not (
        is_own_code(code)
        or code.co_filename.startswith(_LIBRARIES)
        or code.co_name == "<lambda>"
        or code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR)
    )


class _Helpers:
    """What rewritten code calls."""

    if_ = staticmethod(branches.if_)
    if_value = staticmethod(branches.if_value)
    while_ = staticmethod(branches.while_)
    for_range = staticmethod(branches.for_range)
    and_ = staticmethod(branches.and_)
    or_ = staticmethod(branches.or_)
    not_ = staticmethod(branches.not_)
    read = staticmethod(branches.read)

    @staticmethod
    def callee(fn: Any) -> Any:
        """A function that the user's code is about to call, staged if it is the user's."""
        return stage(fn) if type(fn) in (types.FunctionType, types.MethodType) else fn


def _rewrite(fn: types.FunctionType) -> types.CodeType | None:
    """The code of the rewritten function, None without source."""
    try:
        lines, first = inspect.getsourcelines(fn)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, IndentationError):
        return None
    definition = tree.body[0]
    if not isinstance(definition, ast.FunctionDef) or definition.name != fn.__code__.co_name:
        return None
    if not any(
        isinstance(n, (ast.If, ast.While, ast.For, ast.BoolOp, ast.IfExp, ast.Not, ast.Call))
        for n in ast.walk(definition)
    ):
        return None
    definition.decorator_list = []
    definition.returns = None
    for argument in ast.walk(definition.args):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    defaults = definition.args
    defaults.defaults = [ast.Constant(None) for _ in defaults.defaults]
    defaults.kw_defaults = [None if d is None else ast.Constant(None) for d in defaults.kw_defaults]
    definition.body = _Rewriter().function_body(definition.body)
    free = [*fn.__code__.co_freevars, _HELPERS]
    factory = ast.FunctionDef(
        "factory",
        ast.arguments([], [ast.arg(n) for n in free], None, [], [], None, []),
        [definition, ast.Return(ast.Name(definition.name, ast.Load()))],
        [],
    )
    _no_type_parameters(factory)
    module = ast.fix_missing_locations(ast.Module([factory], []))
    ast.increment_lineno(module, first - 1)
    try:
        outer = compile(module, fn.__code__.co_filename, "exec", dont_inherit=True).co_consts
    except (SyntaxError, ValueError):
        return None
    factory_code = next(c for c in outer if isinstance(c, types.CodeType))
    return next(
        c
        for c in factory_code.co_consts
        if isinstance(c, types.CodeType) and c.co_name == fn.__code__.co_name
    )


# -- looking at statements
# -------------------------------------------------------------------------------------
class _Finder(ast.NodeVisitor):
    """What statements assign and contain, not counting nested functions and classes."""

    def __init__(self, statements: Sequence[ast.AST]) -> None:
        self.assigned: dict[str, None] = {}
        self.kinds: set[type] = set()
        self.loops = 0
        for statement in statements:
            self.visit(statement)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.Break, ast.Continue)) and self.loops:
            return
        self.kinds.add(type(node))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            self.assigned[node.id] = None
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            self.assigned[node.name] = None
            return
        if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            return
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                self.assigned[alias.asname or alias.name.split(".")[0]] = None
        inside = isinstance(node, (ast.For, ast.While))
        self.loops += inside
        self.generic_visit(node)
        self.loops -= inside

    def contains(self, *kinds: type) -> bool:
        return any(kind in self.kinds for kind in kinds)


_UNSTAGEABLE = (
    ast.Yield,
    ast.YieldFrom,
    ast.Await,
    ast.Delete,
    ast.Global,
    ast.Nonlocal,
    ast.Break,
    ast.Continue,
    ast.NamedExpr,
)


def _always_returns(statements: Sequence[ast.stmt]) -> bool:
    last = statements[-1] if statements else None
    if isinstance(last, (ast.Return, ast.Raise)):
        return True
    return isinstance(last, ast.If) and _always_returns(last.body) and _always_returns(last.orelse)


def _has_return(statements: Sequence[ast.stmt]) -> bool:
    return _Finder(statements).contains(ast.Return)


def _returns_in_loops(statements: Sequence[ast.stmt]) -> bool:
    return any(
        isinstance(n, (ast.For, ast.While, ast.With, ast.Try)) and _has_return([n])
        for s in statements
        for n in ast.walk(s)
    )


class _Rewriter(ast.NodeTransformer):
    def __init__(self) -> None:
        self.count = 0

    # -- statements ----------------------------------------------------------------------------------------
    def function_body(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """A function's or branch's statements; an ``if`` that returns takes what follows it into its
        branches."""
        result: list[ast.stmt] = []
        for index, statement in enumerate(statements):
            rest = statements[index + 1 :]
            if (
                isinstance(statement, ast.If)
                and _has_return([statement])
                and not _returns_in_loops([statement])
            ):
                found = _Finder([statement, *rest])
                if not found.contains(*_UNSTAGEABLE):
                    result += self.returning_if(statement, rest)
                    return result
            visited = self.visit(statement)
            result += visited if isinstance(visited, list) else [visited]
        return result

    def returning_if(self, node: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
        parts = []
        for body in (node.body, node.orelse):
            whole = list(body) if _always_returns(body) else [*body, *rest]
            parts.append(whole if _always_returns(whole) else [*whole, ast.Return(ast.Constant(None))])
        assigned = list(_Finder([s for part in parts for s in part]).assigned)
        names = [self.fresh("then"), self.fresh("orelse")]
        functions = [
            self.branch(name, assigned, self.function_body(part), node) for name, part in zip(names, parts)
        ]
        calls = [
            ast.Lambda(
                ast.arguments([], [], None, [], [], None, []), ast.Call(_name(n), self.current(assigned), [])
            )
            for n in names
        ]
        value = self.helper("if_value", self.visit(node.test), *calls)
        return [*functions, _at(ast.Return(value), node)]

    def visit_If(self, node: ast.If) -> Any:
        found = _Finder([*node.body, *node.orelse])
        if found.contains(ast.Return, *_UNSTAGEABLE):
            return self.generic_visit(node)
        assigned = list(found.assigned)
        names = [self.fresh("then"), self.fresh("orelse")]
        functions = [
            self.branch(name, assigned, [*self.statements(body), self.give(assigned)], node)
            for name, body in zip(names, (node.body, node.orelse))
        ]
        call = self.helper(
            "if_",
            self.visit(node.test),
            *map(_name, names),
            _strings(assigned),
            ast.Tuple(self.current(assigned), ast.Load()),
        )
        return [*functions, self.store(assigned, call, node)]

    def visit_While(self, node: ast.While) -> Any:
        found = _Finder(node.body)
        if node.orelse or found.contains(ast.Return, *_UNSTAGEABLE):
            return self.generic_visit(node)
        assigned = list(found.assigned)
        cond, body = self.fresh("cond"), self.fresh("body")
        functions = [
            self.branch(cond, assigned, [ast.Return(self.visit(node.test))], node),
            self.branch(body, assigned, [*self.statements(node.body), self.give(assigned)], node),
        ]
        call = self.helper(
            "while_",
            _name(cond),
            _name(body),
            _strings(assigned),
            ast.Tuple(self.current(assigned), ast.Load()),
        )
        return [*functions, self.store(assigned, call, node)]

    def visit_For(self, node: ast.For) -> Any:
        over_range = (
            isinstance(node.iter, ast.Call)
            and isinstance(node.iter.func, ast.Name)
            and node.iter.func.id == "range"
            and not node.iter.keywords
            and not any(isinstance(a, ast.Starred) for a in node.iter.args)
        )
        found = _Finder(node.body)
        if (
            not over_range
            or not isinstance(node.target, ast.Name)
            or node.orelse
            or found.contains(ast.Return, *_UNSTAGEABLE)
        ):
            node.iter = self.visit(node.iter)
            node.body = self.statements(node.body)
            node.orelse = self.statements(node.orelse)
            return node
        target = node.target.id
        assigned = [n for n in found.assigned if n != target]
        body = self.fresh("body")
        inner = [*self.statements(node.body), self.give([*assigned, target])]
        function = self.branch(body, [*assigned, target], inner, node, [f"{target}__index"])
        function.body.insert(
            0, _at(ast.Assign([ast.Name(target, ast.Store())], _name(f"{target}__index")), node)
        )
        names = [*assigned, target]
        bounds = ast.Tuple([self.visit(a) for a in node.iter.args], ast.Load())  # type: ignore[attr-defined]
        call = self.helper(
            "for_range", bounds, _name(body), _strings(names), ast.Tuple(self.current(names), ast.Load())
        )
        return [function, self.store(names, call, node)]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        node.body = self.function_body(node.body)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in body:
            visited = self.visit(statement)
            result += visited if isinstance(visited, list) else [visited]
        return result

    # -- expressions ---------------------------------------------------------------------------------------
    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        if _Finder([node]).contains(ast.NamedExpr, ast.Await, ast.Yield):
            return self.generic_visit(node)
        parts = [_thunk(self.visit(v)) for v in node.values]
        return _at(self.helper("and_" if isinstance(node.op, ast.And) else "or_", *parts), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        if isinstance(node.op, ast.Not):
            return _at(self.helper("not_", self.visit(node.operand)), node)
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        if _Finder([node]).contains(ast.NamedExpr, ast.Await, ast.Yield):
            return self.generic_visit(node)
        return _at(
            self.helper(
                "if_value",
                self.visit(node.test),
                _thunk(self.visit(node.body)),
                _thunk(self.visit(node.orelse)),
            ),
            node,
        )

    def visit_Call(self, node: ast.Call) -> Any:
        plain = isinstance(node.func, ast.Name) and node.func.id in (
            "super",
            "range",
            "isinstance",
            "len",
            "locals",
            "globals",
            "vars",
            "eval",
        )
        self.generic_visit(node)
        if not plain and isinstance(node.func, (ast.Name, ast.Attribute)):
            node.func = _at(self.helper("callee", node.func), node)
        return node

    # -- pieces --------------------------------------------------------------------------------------------
    def fresh(self, stem: str) -> str:
        self.count += 1
        return f"__{stem}_{self.count}"

    def helper(self, name: str, *arguments: ast.expr) -> ast.Call:
        return ast.Call(ast.Attribute(_name(_HELPERS), name, ast.Load()), list(arguments), [])

    def branch(
        self, name: str, assigned: list[str], body: list[ast.stmt], at: ast.stmt, before: Sequence[str] = ()
    ) -> ast.FunctionDef:
        arguments = ast.arguments([], [ast.arg(n) for n in (*before, *assigned)], None, [], [], None, [])
        function = ast.FunctionDef(name, arguments, body, [])
        _no_type_parameters(function)
        return _at(function, at)

    def current(self, names: Sequence[str]) -> list[ast.expr]:
        return [self.helper("read", ast.Constant(n), _thunk(_name(n))) for n in names]

    def give(self, names: Sequence[str]) -> ast.Return:
        return ast.Return(ast.Tuple([_name(n) for n in names], ast.Load()))

    def store(self, names: Sequence[str], call: ast.expr, at: ast.stmt) -> ast.stmt:
        if not names:
            return _at(ast.Expr(call), at)
        return _at(ast.Assign([ast.Tuple([ast.Name(n, ast.Store()) for n in names], ast.Store())], call), at)


def _no_type_parameters(function: Any) -> None:
    """Python 3.12 wants the field to be there."""
    if "type_params" in ast.FunctionDef._fields:
        function.type_params = []


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _strings(names: Sequence[str]) -> ast.Tuple:
    return ast.Tuple([ast.Constant(n) for n in names], ast.Load())


def _thunk(value: ast.expr) -> ast.Lambda:
    return ast.Lambda(ast.arguments([], [], None, [], [], None, []), value)


def _at(node: Any, place: Any) -> Any:
    """Gives a new node, and what is new below it, a place in the user's file."""
    ast.copy_location(node, place)
    for child in ast.walk(node):
        if not hasattr(child, "lineno") and hasattr(child, "_attributes") and "lineno" in child._attributes:
            ast.copy_location(child, place)
    return node
