"""How findings are told on a terminal: a cause in full when it first shows, later only what is new about it."""

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
"""What a trial has that its program does not: often it is there that a law is broken."""


class Findings:
    """Tells findings as they come, and counts them by cause."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.laws: dict[str, list[str]] = {}
        """By cause, the laws told so far."""
        self.of_bugs = 0
        """Found with programs of known bugs."""
        self.number = 0
        self.first: Path | None = None
        """The file of the first."""
        self.replayed: dict[tuple[str, int], bool] = {}
        """By law and trial of each that was executed once from its file, whether it showed again."""
        self.is_over: Callable[[], bool] = lambda: False
        """Whether there is no time left to execute one."""
        self.whole = 0
        """Those that were not shrunk."""

    def say(self, found: Sequence[tuple[Finding, Path]]) -> None:
        """Print the laws that one program violates, each with the file of its finding."""
        self.number += len(found)
        self.of_bugs += sum(each.search == NAME for each, _ in found)
        self.whole += sum(not each.is_shrunk for each, _ in found)
        first, path = found[0]
        self.first = self.first or path
        told = self.laws.setdefault(first.cause or "; ".join(first.schedule.program()), [])
        new = [(each, where) for each, where in found if each.law not in told]
        if not told:
            say_finding(first, path, [each.law for each, _ in new[1:]])
            if not self.is_over():
                self.replayed[first.law, first.trial] = say_replayed(first, path)
            say_commands(self.system, path, first.target, first.law)
        else:
            for each, where in new:
                say(f"  violated too, from the same cause: {each.law}: {each.text} ({invocation.shown(where)})")
        told += [each.law for each, _ in new]

    def sentence(self) -> str:
        """How many there are, of how many causes; empty where there is none."""
        if not self.number:
            return ""
        causes = len(self.laws)
        bugs = f"; {self.of_bugs} with programs of known bugs" if self.of_bugs else ""
        bugs += f", {self.number - self.of_bugs} without" if self.of_bugs else ""
        bugs += f"; {self.whole} not shrunk, a longer --time may" if self.whole and self.is_over() else ""
        return (
            f"{counted(self.number, 'finding')} of {counted(causes, 'cause')} (what broke first): "
            f"{'; '.join(self.laws)}{bugs}"
        )


def say_deviations(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print the known deviations of a run (its fact ``deviations``)."""
    for row in rows:
        say(deviations.told(row), COLOURS["known-deviation"])


def say_finding(finding: Finding, path: Path, also: Sequence[str] = ()) -> None:
    """Print a violation, the laws that the program violates ``also``, the program, and how it was found."""
    say(f"violated: {finding.law}: {finding.text}", COLOURS["violated"])
    if also:
        say(f"  the same program violates: {', '.join(also)}")
    for line in folding.shown(finding.schedule.program()) or ["(nothing: bringing the pair up shows it)"]:
        say(f"    {line}")
    settings = ", ".join(f"{key}={value}" for key, value in finding.schedule.settings.items())
    say(f"  with {settings or 'the default settings'} ({finding.size})")
    if finding.search:
        by = f"{search(finding.search)}: {finding.source}" if finding.source else search(finding.search)
        say(f"  found by: {by}, trial {finding.trial}")
    say(f"  {AROUND}")


def say_replayed(finding: Finding, path: Path) -> bool:
    """Execute the finding once from its file, as a replay will: whether it shows again; print it if it does not."""
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
    """Print the commands that go on from the finding at ``path``, which is of ``target`` and says ``law`` is broken."""
    say(f"  replay: {replay_line(path, target)}")
    if system.has_autopsy:
        say(f"  autopsy: {invocation.line('autopsy', path)}")
    if law in registry.names("laws"):
        say(f"  why: {invocation.program()} laws {law}")
