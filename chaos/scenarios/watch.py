"""A live view of a running scenario: links, nodes, active faults, answers to sends, and the laws so far.

On a terminal it is a table that a separate thread redraws four times a second from the trial's events; elsewhere a line
per finished trial. The laws so far are those of finished trials: a running trial has no verdict. The view affects no
result.
"""

import contextlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from time import monotonic
from typing import Any

from ...harness.commands import output
from ...harness.history import Event
from ...harness.judging.verdict import Verdict, over_trials
from ...harness.ports import Session
from ...harness.ports.links import CanCutLink
from ...harness.rocketmq import topology
from ...harness.texts.plain import plain
from ...harness.trials import resolve
from . import meeting
from .jobs import Watch
from .play import Played
from .scenario import Scenario

REDRAWS_A_SECOND = 4
MAX_LOOK = 50_000
"""Events that one redraw processes; the next one continues."""
NODE_STATES = {"start": "up", "crash": "down", "abort": "down", "stop": "down", "pause": "paused", "resume": "up"}


class Sight:
    """The view of one trial from its events so far, each processed once."""

    def __init__(self) -> None:
        self.nodes: dict[str, str] = {}
        self.faults: dict[int, tuple[str, str | None]] = {}
        """Active ones by number: their description, and their link."""
        self.answers: Counter[str] = Counter()
        self.received: Counter[str] = Counter()
        """Bytes of the log that reached a slave, by HA link."""
        self.now_ns = 0
        self._next = 0
        self._links: dict[str, str] = {}
        self._print = {"fault": self._fault, "connect": self._connect, "frame": self._frame}

    def look(self, events: list[Event]) -> None:
        for event in islice(events, self._next, self._next + MAX_LOOK):
            self._next += 1
            self.now_ns = event.t
            if event.kind in NODE_STATES and event.node is not None:
                self.nodes[event.node] = NODE_STATES[event.kind]
            elif event.f == "send" and event.kind in meeting.ENDS:
                self.answers[str(event.status)] += 1
            elif event.kind in self._print:
                self._print[event.kind](event)

    def links(self) -> dict[str, str]:
        """State and traffic of every used HA link, and of links with a fault: up, or the fault."""
        states = dict.fromkeys(sorted(self.received), "up")
        faults = resolve.faults()
        for name, link in self.faults.values():
            if link is not None:
                fault = faults.get(name.partition("(")[0])
                states[link] = "cut" if fault is not None and fault.needs is CanCutLink else f"shaped: {name}"
        return {link: f"{state}, {self.received[link]:,} bytes" for link, state in states.items()}

    def _fault(self, event: Event) -> None:
        number = event.op if event.op is not None else -1
        if event.status != "on":
            self.faults.pop(number, None)
            return
        args = json.loads(event.detail or "{}")
        self.faults[number] = f"{event.f}({', '.join(map(str, args.values()))})", event.link

    def _connect(self, event: Event) -> None:
        if event.link is not None and event.node in topology.SLAVES:
            self._links[event.link] = topology.HA_LINKS[topology.SLAVES.index(event.node)]
            self.received[self._links[event.link]] += 0

    def _frame(self, event: Event) -> None:
        link = self._links.get(event.link or "")
        if event.side == "s" and link is not None:
            self.received[link] += (event.hi or 0) - (event.lo or 0)


class Tally:
    def __init__(self) -> None:
        self.laws: dict[str, set[Verdict]] = {}

    def count(self, played: Played) -> None:
        for each in played.trial.judgements:
            self.laws.setdefault(each.law, set()).add(each.verdict)

    def __str__(self) -> str:
        found = Counter(over_trials(seen).value for seen in self.laws.values())
        return ", ".join(f"{count} {verdict}" for verdict, count in sorted(found.items())) or "no trial is over yet"


class Lines:
    def began(self, scenario: Scenario, number: int, total: int) -> None:
        """No output yet."""

    def opened(self, session: Session) -> None:
        """No output yet."""

    def ended(self, scenario: Scenario, played: Played) -> None:
        # The terminal may be closed; the work continues.
        with contextlib.suppress(OSError):
            print(plain(line(scenario, played)), file=sys.stderr, flush=True)


class Live:
    """A table on a terminal. ``running``: active scenarios, with the trial's number and the total."""

    def __init__(self) -> None:
        self.running: dict[str, tuple[int, int, float]] = {}
        self.last = ""
        self.tally = Tally()
        self._seen: tuple[Session, Sight] | None = None

    def began(self, scenario: Scenario, number: int, total: int) -> None:
        self.running[scenario.name] = (number, total, monotonic())

    def opened(self, session: Session) -> None:
        self._seen = (session, Sight())

    def ended(self, scenario: Scenario, played: Played) -> None:
        self._seen = None
        self.tally.count(played)
        self.running.pop(scenario.name, None)
        self.last = line(scenario, played)

    def render(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        made = Table(box=None, show_header=False, pad_edge=False)
        for name, (number, total, since) in list(self.running.items()):
            made.add_row(name, Text(f"trial {number} of {total}, {monotonic() - since:.0f} s", style="bold"))
        for name, told in self.rows():
            made.add_row(f"  {name}", Text(told, style="yellow" if name == "faults" else ""))
        made.add_row("laws so far", str(self.tally))
        made.add_row("last", Text(self.last or "-"))
        return made

    def rows(self) -> list[tuple[str, str]]:
        if self._seen is None:
            return []
        session, sight = self._seen
        sight.look(session.recorder.events)
        return [
            ("time", f"{sight.now_ns / 1e9:.1f} s"),
            ("nodes", _pairs(sight.nodes)),
            *((f"link {name}", state) for name, state in sight.links().items()),
            ("faults", ", ".join(name for name, _ in sight.faults.values()) or "none"),
            ("sends", _pairs(sight.answers)),
        ]


def line(scenario: Scenario, played: Played) -> str:
    """A finished trial in a line."""
    label = f" [{played.case.label}]" if played.case.label else ""
    sends = _pairs(meeting.answers(played.trial.events))
    effects = [f"{each.name} {'took' if each.bit else 'had no'} effect" for each in played.trial.faults] or [
        "no faults"
    ]
    return f"{scenario.name}{label}: {played.verdict}; sends: {sends}; {', '.join(effects)}; {played.seconds:.1f} s"


def _pairs(found: Any) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(found.items())) or "none"


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    """A view on standard error for the ``with`` block."""
    console = output.console(sys.stderr)
    if not console.is_terminal:
        yield Lines()
        return
    from rich.live import Live as Drawn

    live = Live()
    carried = sys.stdout.isatty()
    with Drawn(
        get_renderable=live.render, console=console, refresh_per_second=REDRAWS_A_SECOND, transient=True,
        redirect_stdout=carried, redirect_stderr=carried,
    ):  # fmt: skip
        yield live
