"""Loads modules from changed syntax trees: a finder before all others. Files and their bytecode are not touched.

A change is a function of a module's tree. There are two: the mutant, which replaces one site, and probes, by which
every sampled site reports that it was reached. Both use the source that ``import`` finds.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

from ...harness.errors import PairproofError
from .operators import sites

PROBE = "__pairproof_reached__"
"""The probe's name in changed modules. It ends with underscores: classes would mangle it otherwise."""
Change = Callable[[ast.Module], ast.Module]


class ChangedLoader(SourceFileLoader):
    def __init__(self, name: str, path: str, change: Change, given: Mapping[str, object]) -> None:
        super().__init__(name, path)
        self._change = change
        self._given = given

    def get_code(self, fullname: str) -> CodeType:
        """Compiled each time: neither read from a cache nor stored in one."""
        tree = ast.parse(self.get_data(self.path), self.path)
        return compile(self._change(tree), self.path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._given)
        super().exec_module(module)


class Finder(MetaPathFinder):
    def __init__(self, changes: Mapping[str, Change], given: Mapping[str, object]) -> None:
        self._changes = changes
        self._given = given

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As the usual finder of files, with another loader."""
        if fullname not in self._changes:
            return None
        # Installers also add finders, for editable installs.
        others = (each for each in list(sys.meta_path) if each is not self and hasattr(each, "find_spec"))
        spec = next(filter(None, (each.find_spec(fullname, path, target) for each in others)), None)
        if spec is None or spec.origin is None:
            return None
        spec.loader = loader = ChangedLoader(fullname, spec.origin, self._changes[fullname], self._given)
        assert isinstance(loader, Loader)
        return spec


def install(changes: Mapping[str, Change], given: Mapping[str, object]) -> None:
    """Change modules that are imported from now on. PairproofError for one that is imported already."""
    loaded = sorted(set(changes) & set(sys.modules))
    if loaded:
        raise PairproofError(
            f"{loaded[0]} cannot be mutated: pairproof needs it to load mutants; name packages without it"
        )
    sys.meta_path.insert(0, Finder(changes, given))


def mutant(number: int) -> Change:
    """Replaces the site with this number."""

    def change(tree: ast.Module) -> ast.Module:
        site = sites(tree)[number]
        return _replaced(tree, {id(site.node): lambda node: site.made or ast.Pass()})

    return change


def probes(numbers: Mapping[int, int]) -> Change:
    """Has sites, by number, call :data:`PROBE` with their identities."""

    def change(tree: ast.Module) -> ast.Module:
        found = sites(tree)
        probe: dict[int, list[int]] = {}
        for number, identity in numbers.items():
            for entered in (found[number].entered, *found[number].users):
                probe.setdefault(id(entered), []).append(identity)
        return _replaced(tree, {at: _probed(each) for at, each in probe.items()})

    return change


Replacement = Callable[[ast.AST], ast.AST | list[ast.stmt]]


def _probed(identities: Iterable[int]) -> Replacement:
    """A statement behind calls of the probe; an expression as their last operand: ``probe(1) or probe(2) or x``."""
    calls: list[ast.expr] = [
        ast.Call(ast.Name(PROBE, ast.Load()), [ast.Constant(each)], []) for each in identities
    ]  # fmt: skip

    def probe(node: ast.AST) -> ast.AST | list[ast.stmt]:
        if isinstance(node, ast.stmt):
            return [*(ast.Expr(each) for each in calls), node]
        assert isinstance(node, ast.expr)
        return ast.BoolOp(ast.Or(), [*calls, node])

    return probe


def _replaced(tree: ast.Module, replacements: Mapping[int, Replacement]) -> ast.Module:
    changed = _Replacing(replacements).visit(tree)
    assert isinstance(changed, ast.Module)
    return ast.fix_missing_locations(changed)


class _Replacing(ast.NodeTransformer):
    def __init__(self, replacements: Mapping[int, Replacement]) -> None:
        self._replacements = replacements

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        # Inner nodes first: a replacement may contain them.
        self.generic_visit(node)
        replace = self._replacements.get(id(node))
        if replace is None:
            return node
        made = replace(node)
        for each in made if isinstance(made, list) else [made]:
            ast.copy_location(each, node)
        return made
