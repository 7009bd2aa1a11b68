"""The sites at which an operator can change a module, and the changes: generic mutants.

An operator makes one small mistake: the other boundary of a comparison, a negated condition, a dropped call. The sites
of a tree come in the order of its source, the same for the same source, so a number identifies a site.

Left out, since a change there is no behaviour or cannot run: annotations, docstrings, ``__all__``, ``__repr__``, code
for type checkers, log and error texts, keywords of caches and the like, operands that are visibly texts, patterns of
``match``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import NamedTuple

BOUNDARIES: dict[type, type] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
NEGATED: dict[type, type] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
}  # fmt: skip
TWINS = {"min": "max", "max": "min"}
LOG_LEVELS = {"debug", "info", "warning", "warn", "error", "exception", "critical", "log"}
ASIDE = {"lru_cache", "dataclass", "zip"}
"""Calls whose keywords set cache sizes, object layout, or a comparison of lengths."""
SILENT = {"__repr__", "__str__"}
"""Functions that only describe."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Tests = (ast.If, ast.While, ast.IfExp)


class Site(NamedTuple):
    """A site: ``made`` replaces ``node``; None removes it."""

    operator: str
    node: ast.AST
    made: ast.AST | None
    function: str
    """Its qualified name; empty in a module's own code."""
    always: bool
    """Executed by an import: every trial of a fresh process has reached it."""
    entered: ast.AST
    """Executing this node means that the site was reached."""
    users: tuple[ast.AST, ...] = ()
    """For a constant or default that an import executes: the starts of the module's functions that read it."""

    @property
    def line(self) -> int:
        return int(getattr(self.node, "lineno", 0))

    def before(self) -> str:
        return _text(self.node)

    def after(self) -> str:
        return "pass" if self.made is None else _text(self.made)


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.If):
        # A dropped branch: the rest of it is irrelevant.
        body = f"if {ast.unparse(node.test)}: {' '.join(ast.unparse(node.body[0]).split())}"
        return body + (" ..." if len(node.body) > 1 else "") + (" else: ..." if node.orelse else "")
    return " ".join(ast.unparse(node).split())


def sites(tree: ast.Module) -> list[Site]:
    """All sites of a module, in the order of its source."""
    users = _users(tree)
    return [
        each._replace(users=tuple(users.get(id(each.node), ()))) if each.always else each
        for each in _Walk().of(tree, (), True)
    ]


def _users(tree: ast.Module) -> dict[int, list[ast.stmt]]:
    """By the node ids of each constant's value and each default: starts of the functions that read it."""
    readers: dict[str, list[ast.stmt]] = {}
    found: dict[int, list[ast.stmt]] = {}
    for function in (each for each in ast.walk(tree) if isinstance(each, Function)):
        begins: list[ast.stmt] = [each for each in function.body if not _is_docstring(each)][:1]
        for name in {_read(each) for each in ast.walk(function)} - {""}:
            readers.setdefault(name, []).extend(begins)
        for default in (*function.args.defaults, *filter(None, function.args.kw_defaults)):
            found |= {id(each): begins for each in ast.walk(default)}
    for scope in (each for each in ast.walk(tree) if isinstance(each, (ast.Module, ast.ClassDef))):
        for statement in (each for each in scope.body if isinstance(each, (ast.Assign, ast.AnnAssign))):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            names = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
            begins = [begin for name in sorted(names) for begin in readers.get(name, ())]
            found |= {id(each): begins for each in ast.walk(statement)}
    return found


def _read(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


class _Walk:
    """Walks a tree. ``names``: the enclosing functions and classes; ``always``: whether an import executes it."""

    def of(self, node: ast.AST, names: tuple[str, ...], always: bool) -> Iterator[Site]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from self._function(node, names, always)
            return
        for operator, old, made, entered in changes(node, names):
            yield Site(operator, old, made, ".".join(names), always, entered)
        inner = (*names, node.name) if isinstance(node, ast.ClassDef) else names
        outside = always and not isinstance(node, ast.Lambda)
        for child in _children(node):
            yield from self.of(child, inner, outside)

    def _function(self, node: Function, names: tuple[str, ...], always: bool) -> Iterator[Site]:
        for each in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            yield from self.of(each, names, always)
        if node.name in SILENT:
            return
        inner = (*names, node.name)
        typed = node.returns is not None and ast.unparse(node.returns).strip("'\"") in ("None", "NoReturn", "Never")
        for statement in node.body:
            for site in self.of(statement, inner, False):
                own = isinstance(site.node, ast.Return) and site.function == ".".join(inner)
                if not (own and typed):
                    yield site


def _children(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.If) and _is_aside(node.test):
        # The branch that is not for type checkers runs.
        yield from node.body if isinstance(node.test, ast.UnaryOp) else node.orelse
    elif isinstance(node, ast.AnnAssign):
        yield from filter(None, (node.value,))
    elif isinstance(node, ast.Assert):
        yield node.test
    elif isinstance(node, ast.match_case):
        yield from (*filter(None, (node.guard,)), *node.body)
    elif isinstance(node, ast.Raise):
        if isinstance(node.exc, ast.Call):
            yield from _error_values(node.exc)
    elif isinstance(node, ast.Call) and _is_error(node.func):
        # An error that is raised elsewhere.
        yield from _error_values(node)
    elif isinstance(node, ast.Call) and _read(node.func) in ASIDE:
        yield from node.args
    elif not (is_log(node) or _is_listing(node)):
        yield from ast.iter_child_nodes(node)


def _error_values(error: ast.Call) -> Iterator[ast.AST]:
    """An error's arguments other than its text."""
    given = [*error.args, *(each.value for each in error.keywords)]
    yield from (each for each in given if not is_text(each))


def _is_error(called: ast.expr) -> bool:
    """Whether this is an exception's class, by its name."""
    return _read(called).endswith(("Error", "Exception"))


def _is_listing(node: ast.AST) -> bool:
    """``__all__`` and type aliases: ``Answer = int | None``."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return False
    name = node.targets[0].id
    alias = name[:1].isupper() and not name.isupper() and isinstance(node.value, (ast.BinOp, ast.Subscript))
    return name == "__all__" or alias


def is_log(node: ast.AST) -> bool:
    """Whether a statement only logs."""
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    called = node.value.func
    if isinstance(called, ast.Attribute):
        return called.attr in LOG_LEVELS and "log" in ast.unparse(called.value).lower()
    return isinstance(called, ast.Name) and called.id == "print"


def is_text(node: ast.AST) -> bool:
    """Whether it is visibly a text, bytes, list or tuple: arithmetic that it does not support is not a mistake."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (str, bytes))
    if isinstance(node, ast.BinOp):
        return is_text(node.left) or is_text(node.right)
    return isinstance(node, (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp))


Change = tuple[str, ast.AST, ast.AST | None, ast.AST]
"""The operator, the replaced node, its replacement, and the node that marks it as reached."""


def changes(node: ast.AST, names: Sequence[str] = ()) -> Iterator[Change]:
    """Possible changes of one node itself, and of its dependent parts (the test of an ``if``)."""
    if isinstance(node, ast.Compare):
        yield from _compared(node)
    elif isinstance(node, ast.BoolOp):
        other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield "and-or", node, ast.BoolOp(other, node.values), node
    elif isinstance(node, ast.BinOp):
        if type(node.op) in ARITHMETIC and not is_text(node):
            yield "arithmetic", node, ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right), node
    elif isinstance(node, ast.Constant):
        if type(node.value) is bool:
            yield "true-false", node, ast.Constant(not node.value), node
        elif type(node.value) is int:
            yield "number", node, ast.Constant(node.value + 1), node
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in TWINS:
            yield "min-max", node.func, ast.Name(TWINS[node.func.id], ast.Load()), node.func
    elif isinstance(node, ast.Slice):
        yield from _bounds(node)
    elif isinstance(node, (*Tests, ast.comprehension)):
        yield from _tested(node)
    elif isinstance(node, ast.stmt):
        yield from _statement(node)


def _compared(node: ast.Compare) -> Iterator[Change]:
    for at, op in enumerate(node.ops):
        for name, others in (("border", BOUNDARIES), ("compare", NEGATED)):
            if type(op) in others:
                ops = [*node.ops[:at], others[type(op)](), *node.ops[at + 1 :]]
                yield name, node, ast.Compare(node.left, ops, node.comparators), node


def _bounds(node: ast.Slice) -> Iterator[Change]:
    for bound in filter(None, (node.lower, node.upper)):
        # A constant has its own change.
        if not isinstance(bound, ast.Constant):
            for op in (ast.Add(), ast.Sub()):
                yield "slice", bound, ast.BinOp(bound, op, ast.Constant(1)), bound


def _tested(node: ast.If | ast.While | ast.IfExp | ast.comprehension) -> Iterator[Change]:
    for test in node.ifs if isinstance(node, ast.comprehension) else (node.test,):
        if _is_aside(test):
            return
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            yield "condition", test, test.operand, test
        elif not isinstance(test, (ast.Compare, ast.Constant)):
            # A comparison has its own negation, and so has True.
            yield "condition", test, ast.UnaryOp(ast.Not(), test), test
    if isinstance(node, ast.If):
        if not _is_dropped(node.body):
            yield "branch", node, ast.If(node.test, [ast.Pass()], node.orelse), node.body[0]
        if node.orelse and not isinstance(node.orelse[0], ast.If) and not _is_dropped(node.orelse):
            yield "branch", node, ast.If(node.test, node.body, []), node.orelse[0]


def _is_aside(test: ast.expr) -> bool:
    """Whether a condition is for type checkers, or for a module that is run as a program."""
    text = ast.unparse(test)
    return "TYPE_CHECKING" in text or text == "__name__ == '__main__'"


def _is_dropped(body: Sequence[ast.stmt]) -> bool:
    """Whether another operator drops this body, or it is empty."""
    if len(body) > 1:
        return False
    only: ast.stmt = body[0]
    if isinstance(only, ast.Expr):
        return isinstance(only.value, (ast.Call, ast.Await, ast.Constant))
    return isinstance(only, (ast.AugAssign, ast.Pass))


def _statement(node: ast.stmt) -> Iterator[Change]:
    if isinstance(node, ast.Expr) and not is_log(node):
        called = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(called, ast.Call):
            yield "call", node, None, node
    elif isinstance(node, ast.AugAssign):
        yield "update", node, None, node
    elif isinstance(node, ast.Break):
        yield "break-continue", node, ast.Continue(), node
    elif isinstance(node, ast.Continue):
        yield "break-continue", node, ast.Break(), node
    elif isinstance(node, ast.Return) and not _is_plain(node.value):
        yield "return", node, ast.Return(ast.Constant(None)), node


def _is_plain(value: ast.expr | None) -> bool:
    """None, False and True: equivalent for most callers, and the last two have their own change."""
    return value is None or (isinstance(value, ast.Constant) and (value.value is None or type(value.value) is bool))
