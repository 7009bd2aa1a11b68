"""What commands say of themselves: lists in groups and whole sentences, an example for each, values for completion.

A command that is registered and stands in no group of :data:`GROUPS` is a plug-in's, and is listed behind them.
Completion reads registered names, files of data and nothing else: a shell waits for it.
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
"""Commands by what users want, in the order in which they come to want it."""
OTHERS = "Plug-ins"

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def grouped(commands: Iterable[str]) -> list[tuple[str, list[str]]]:
    """Commands by group, those of plug-ins last; groups without any are left out."""
    left = list(commands)
    found = [(title, [name for name in members if name in left]) for title, members in GROUPS.items()]
    known = {name for _, members in found for name in members}
    return [(title, names) for title, names in [*found, (OTHERS, [x for x in left if x not in known])] if names]


def example(line: str) -> str:
    """The end of a command's help: a command line, without ``pairproof`` before it, that is not wrapped."""
    return f"\b\nExample:\n  pairproof {line}"


def sentence(text: str | None) -> str:
    """The first sentence of a docstring, without marks and its full stop."""
    return " ".join((text or "").split("\n\n")[0].split()).replace("``", "").partition(". ")[0].rstrip(".")


def summary(command: str) -> str:
    """What a command does, in the words of its module's first sentence; empty where that cannot be read."""
    module = next((each.module for each in entry_points(group="pairproof.commands") if each.name == command), "")
    with contextlib.suppress(Exception):
        spec = importlib.util.find_spec(module)
        source = spec.loader.get_source(module)  # type: ignore[union-attr]
        first = ast.get_docstring(ast.parse(source)) or ""
        return sentence(first.partition("``: ")[2] or first)
    return ""


class Group(click.Group):
    """Commands below a command, listed with whole sentences."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Click would end a long sentence with dots."""
        rows = [(name, sentence(each.help)) for name, each in sorted(self.commands.items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def completes(group: str = "", names: Callable[[], Iterable[str]] | None = None, files: bool = False) -> Complete:
    """Completion by the names that are registered in ``group``, or by ``names``.

    With ``files`` what no name begins with is a file: bash shows either names or files.
    """

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        known = registry.names(group) if names is None else names()
        found = [CompletionItem(each) for each in known if each.startswith(incomplete)]
        return found or ([CompletionItem(incomplete, type="file")] if files else [])

    return complete


def complete_targets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Targets, ``family@`` for releases, and behind ``base+`` the known bugs of its system."""
    from ..trials import resolve

    base, plus, _ = incomplete.partition("+")
    known = [*registry.names("targets"), *(f"{each}@" for each in registry.names("families"))]
    if plus and base in known:
        system = resolve.system_of(resolve.target(base))
        known = [f"{base}+{each.name}" for each in system.known_bugs()]
    return [CompletionItem(each) for each in known if each.startswith(incomplete)]
