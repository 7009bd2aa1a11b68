"""What the lab, its machine and its faults did, and a trial's milestones."""

from __future__ import annotations

from typing import Literal

from pairproof.harness.history import Event


class Lab(Event):
    """Where the trial runs, once, first of all."""

    __slots__ = ()
    f: str
    """The lab's name."""
    value: int
    """How long a healthy client's call may be under way, and what else the lab adds, ns."""
    detail: str
    """JSON: the lab's own settings; instantNs: what lies between two things that a node does at once, absent in virtual
    time; stalls: counted, or seen where the kernel does not count how long a process waited for a CPU."""


class Pause(Event):
    """A node was stopped in its tracks, as by SIGSTOP."""

    __slots__ = ()
    node: str
    incarnation: int


class Resume(Event):
    """It goes on."""

    __slots__ = ()
    node: str
    incarnation: int


class Stall(Event):
    """A process was late by this machine's fault, not by the target's or the lab's. It is dated when it began, so it is
    known before laws judge."""

    __slots__ = ()
    node: str | None
    """If it was a node's."""
    f: Literal["harness", "keeper", "proxy", "tap", "node"]
    """Whose process it was."""
    value: int
    """How long it lasted, ns."""
    detail: str
    """How: a signal stopped it, it waited for a CPU or a disk, its loop did not turn."""


class Clock(Event):
    """A node's wall clock was set."""

    __slots__ = ()
    node: str
    value: int
    """How far it is ahead of the true time, ms."""


class Fault(Event):
    """A fault began or ended."""

    __slots__ = ()
    node: str | None
    link: str | None
    op: int
    """The fault's number in the trial."""
    f: str
    """Its name."""
    status: Literal["on", "off"]
    value: int | None
    """At its end: how often it took effect."""
    detail: str
    """JSON: its arguments; at its end what it did."""


class Mark(Event):
    """A milestone of the trial."""

    __slots__ = ()
    f: Literal["warm", "heal", "converged", "unsettled", "end", "probe"]
    """probe: ``op`` is a send that must show that the pair is alive."""
    op: int | None
