"""Findings on a terminal: the first finding of a cause in full, later ones only with the laws that are new."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import registry
from ..errors import PairproofError
from ..judging import deviations
from ..runs.writer import replay_line
from ..search.known_bugs import NAME
from ..system import System
from ..texts import folding, invocation
from ..texts.wording import counted, search
from ..trials.trial import Finding
from .output import COLOURS, say

AROUND = (
    "before these operations the pair comes up and replicates one message; after them the faults end, messages are "
    "sent as probes, and every store is read"
)
"""Steps of each trial that are not part of its program; often a law is broken there."""


class Findings:
    def __init__(self, system: System) -> None:
        self.system = system
        self.laws: dict[str, list[str]] = {}
        self.of_bugs = 0
        """Findings of the programs of known bugs."""
        self.number = 0
        self.first: Path | None = None
        self.replayed: dict[tuple[str, int], bool] = {}
        """By law and trial: whether the finding showed again when it was executed once from its file."""
        self.is_over: Callable[[], bool] = lambda: False
        """Whether no time is left to execute a finding from its file."""
        self.not_shrunk = 0

    def say(self, found: Sequence[tuple[Finding, Path]]) -> None:
        self.number += len(found)
        self.of_bugs += sum(each.search == NAME for each, _ in found)
        self.not_shrunk += sum(not each.is_shrunk for each, _ in found)
        first, path = found[0]
        self.first = self.first or path
        printed = self.laws.setdefault(first.cause or "; ".join(first.schedule.program()), [])
        new = [(each, where) for each, where in found if each.law not in printed]
        if not printed:
            say_finding(first, path, [each.law for each, _ in new[1:]])
            if not self.is_over():
                self.replayed[first.law, first.trial] = say_replayed(first, path)
            say_commands(self.system, path, first.target, first.law)
        else:
            for each, where in new:
                say(f"  violated too, from the same cause: {each.law}: {each.text} ({invocation.shown(where)})")
        printed += [each.law for each, _ in new]

    def sentence(self) -> str:
        """The number of findings and causes; empty if there are none."""
        if not self.number:
            return ""
        causes = len(self.laws)
        bugs = f"; {self.of_bugs} with programs of known bugs" if self.of_bugs else ""
        bugs += f", {self.number - self.of_bugs} without" if self.of_bugs else ""
        bugs += f"; {self.not_shrunk} not shrunk, a longer --time may" if self.not_shrunk and self.is_over() else ""
        return (
            f"{counted(self.number, 'finding')} of {counted(causes, 'cause')} (what broke first): "
            f"{'; '.join(self.laws)}{bugs}"
        )


def say_deviations(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print the known deviations of a run (its fact ``deviations``)."""
    for row in rows:
        say(deviations.describe(row), COLOURS["known-deviation"])


def say_finding(finding: Finding, path: Path, also: Sequence[str] = ()) -> None:
    """Print a violation, the other laws that the program violates (``also``), the program, and the search that found
    it.
    """
    say(f"violated: {finding.law}: {finding.text}", COLOURS["violated"])
    if also:
        say(f"  the same program violates: {', '.join(also)}")
    for line in folding.shown(finding.schedule.program()) or ["(nothing: starting the pair shows it)"]:
        say(f"    {line}")
    settings = ", ".join(f"{key}={value}" for key, value in finding.schedule.settings.items())
    say(f"  with {settings or 'the default settings'} ({finding.size})")
    if finding.search:
        by = f"{search(finding.search)}: {finding.source}" if finding.source else search(finding.search)
        say(f"  found by: {by}, trial {finding.trial}")
    say(f"  {AROUND}")


def say_replayed(finding: Finding, path: Path) -> bool:
    """Execute the finding once from its file, as a replay does. Returns whether it shows again; prints it if not."""
    from ..runs.reader import named_finding, to_finding
    from . import replay

    failed: PairproofError | None
    try:
        known = replay.asked(to_finding(named_finding(path)), finding.target, None)
        trials, failed = replay.execute(known, *replay.resolved(known), times=1)
    except PairproofError as why:
        failed = why
    if failed is not None:
        say(f"  NOT REPLAYED from its file: {failed}", COLOURS["unknown"])
        return False
    if not (shows := replay.reproduced(known, trials[0])):
        say(f"  NOT REPRODUCED by one execution from its file: {finding.law} was not violated", COLOURS["unknown"])
    return shows


def say_commands(system: System, path: Path, target: str, law: str) -> None:
    """Print the next commands for the finding at ``path``: of ``target``, with the broken ``law``."""
    say(f"  replay: {replay_line(path, target)}")
    if system.has_autopsy:
        say(f"  autopsy: {invocation.line('autopsy', path)}")
    if law in registry.names("laws"):
        say(f"  why: {invocation.program()} laws {law}")
