"""Help of commands: lists in groups, whole sentences, an example for each command, and values for shell completion.

A registered command in no group of :data:`GROUPS` is a plug-in's, and is listed last. Completion reads only registered
names and data files, since a shell waits for it.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
from collections.abc import Callable, Iterable
from importlib.metadata import entry_points

import click
from click.shell_completion import CompletionItem

from .. import registry

GROUPS = {
    "Try": ("check", "replay", "autopsy", "show", "report"),
    "Your brokers": ("advise", "labs", "doctor", "capture", "judge", "deviations"),
    "Your build": ("cases", "campaign"),
    "Extend": ("laws", "chaos", "mutants", "reference"),
}
OTHERS = "Plug-ins"

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def grouped(commands: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Commands by group, those of plug-ins last; without empty groups."""
    left = list(commands)
    found = [(title, [name for name in members if name in left]) for title, members in GROUPS.items()]
    known = {name for _, members in found for name in members}
    return [(title, names) for title, names in [*found, (OTHERS, [x for x in left if x not in known])] if names]


def example(line: str) -> str:
    """The end of a command's help: a command line, given without ``pairproof``, that is not wrapped."""
    return f"\b\nExample:\n  pairproof {line}"


def sentence(text: str | None) -> str:
    """The first sentence of a docstring, without markup and its full stop."""
    return " ".join((text or "").split("\n\n")[0].split()).replace("``", "").partition(". ")[0].rstrip(".")


def summary(command: str) -> str:
    """The first sentence of a command's module docstring; empty if that cannot be read."""
    module = next((each.module for each in entry_points(group="pairproof.commands") if each.name == command), "")
    with contextlib.suppress(Exception):
        spec = importlib.util.find_spec(module)
        source = spec.loader.get_source(module)  # type: ignore[union-attr]
        first = ast.get_docstring(ast.parse(source)) or ""
        return sentence(first.partition("``: ")[2] or first)
    return ""


class Group(click.Group):
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Click truncates a long sentence."""
        rows = [(name, sentence(each.help)) for name, each in sorted(self.commands.items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def completes(group: str = "", names: Callable[[], Iterable[str]] | None = None, files: bool = False) -> Complete:
    """Completion by the registered names of ``group``, or by ``names``.

    ``files``: complete files if no name matches; bash shows either names or files.
    """

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        known = registry.names(group) if names is None else names()
        found = [CompletionItem(each) for each in known if each.startswith(incomplete)]
        return found or ([CompletionItem(incomplete, type="file")] if files else [])

    return complete


def complete_targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Targets, ``family@`` for releases, and after ``base+`` the known bugs of its system."""
    from ..trials import resolve

    base, plus, _ = incomplete.partition("+")
    known = [*registry.names("targets"), *(f"{each}@" for each in registry.names("families"))]
    if plus and base in known:
        system = resolve.system_of(resolve.target(base))
        known = [f"{base}+{each.name}" for each in system.known_bugs()]
    return [CompletionItem(each) for each in known if each.startswith(incomplete)]
