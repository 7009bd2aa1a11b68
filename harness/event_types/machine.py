"""Lab, machine, faults, and milestones of the trial."""

from __future__ import annotations

import json
from typing import Literal

from ..history import MS, Event, column
from .base import OfNode
from .text import The, plain


class Lab(Event):
    """The lab of the trial; the first event, once."""

    f: str
    """The lab's name."""
    healthy_ns: int = column("value")
    """The longest time in flight of a healthy client's call, plus the lab's own."""
    detail: str
    """JSON: the lab's own settings; beganMs: the wall clock at time 0, Unix time in ms, absent in virtual time;
    instantNs: the time between two immediate actions of a node, also absent there; stalls: counted, or seen if the
    kernel does not count a process's waits for a CPU.
    """

    @property
    def in_real_time(self) -> bool:
        return "instantNs" in json.loads(self.detail or "{}")

    def words(self, the: The) -> str:
        return f"the trial begins in lab {self.f}"


class Pause(OfNode):
    """A node was paused, as by SIGSTOP."""

    def words(self, the: The) -> str:
        return f"{self.node} is paused, as by SIGSTOP"


class Resume(OfNode):
    """A paused node continues."""

    def words(self, the: The) -> str:
        return f"{self.node} continues"


class Stall(Event):
    """A process was late because of this machine, not of the target or the lab. The event has the time of its
    beginning, so it precedes its effects.
    """

    node: str | None
    """The late node, if it was one."""
    f: Literal["harness", "supervisor", "proxy", "tap", "node"]
    """The owner of the process."""
    lasted_ns: int = column("value")
    """Its duration."""
    detail: str
    """The reason: a signal stopped it, it waited for a CPU or a disk, its loop did not turn."""

    def words(self, the: The) -> str:
        return f"the machine is late: {self.describe()}"

    def describe(self) -> str:
        """Who was late, how, and for how long."""
        who = self.node or f"the lab's {self.f}"
        return f"{who} {self.detail or 'stood still'}, {(self.lasted_ns or 0) // MS} ms"


class Clock(Event):
    """A node's wall clock was set."""

    node: str
    ahead_ms: int = column("value")
    """Its difference to the true time."""

    def words(self, the: The) -> str:
        ahead = self.ahead_ms or 0
        way = "behind" if ahead < 0 else "ahead of"
        return f"the clock of {self.node} is set {abs(ahead):,} ms {way} the true time"


class Fault(Event):
    """A fault began or ended."""

    node: str | None
    link: str | None
    number: int = column("op")
    """In the trial."""
    f: str
    """Its name."""
    status: Literal["on", "off"]
    effects: int | None = column("value")
    """At its end: how often it took effect."""
    detail: str
    """JSON: its arguments; at its end its effects."""

    def words(self, the: The) -> str:
        if self.status == "on":
            return f"fault {self.f} begins: {plain(self.detail)}".rstrip(": ")
        return f"fault {self.f} ends: {plain(self.detail) if self.effects else 'it had no effect'}"


class Mark(Event):
    """A milestone of the trial."""

    f: Literal["warm", "heal", "converged", "unsettled", "end", "probe", "stopped"]
    """probe: ``op`` is a send that checks whether the pair is alive."""
    op: int | None

    def words(self, the: The) -> str:
        return _MARKS.get(self.f, str(self.f))


_MARKS = {
    "warm": "the pair is up and one message is replicated",
    "heal": "every fault has ended",
    "converged": "both logs end alike",
    "unsettled": "the logs did not come to agree in time",
    "end": "the trial ends",
    "stopped": "the trial is stopped, and judged so far",
    "probe": "a send that shows whether the pair is alive",
}
