"""What is due, and who let it pass: the deadlines of laws.

An event of a law's choice begins a deadline for a subject; another one meets it, and the law is called if that came
late. Time in which the node stood still does not count, nor does time in which a deadline is on hold, as where a socket
takes no more. Where places are named, a disturbance of one of them voids the deadline instead. A law looks for what is
overdue at events that it chooses, and when the history ends; the model does before a disturbance, and ends what a node
owes, or what depends on it, with the node.

A bound is the configured value and one poll of RocketMQ's HA threads, plus what the lab itself adds.

Left out: links that a fault slows down, since all is measured where it is done: when bytes leave, when bytes arrive;
whether the machine stalled meanwhile, which ``Law.violate`` asks.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, TypeVar

from ...history import MS, Event

if TYPE_CHECKING:
    from ..law import Law
    from .model import Known

POLL_NS = 1_000 * MS
"""One select of RocketMQ's HA threads."""
FAR = 3
DISTURBED = "disturbed"
"""Why a law abstains from what was due."""
Subject = TypeVar("Subject", bound=Hashable)


class Deadline:
    """Something is due within ``bound`` of ``since`` (ns)."""

    __slots__ = ("bound", "is_held", "node", "places", "settled", "since")

    def __init__(self, since: int, bound: int, node: str, places: tuple[str, ...], settled: int) -> None:
        self.since, self.bound = since, bound
        self.node, self.places, self.settled = node, places, settled
        self.is_held = False


class Deadlines(dict[Subject, Deadline]):
    """The deadlines of one law by subject. ``late``: what the law makes of one that was missed."""

    def __init__(self, law: Law, late: Callable[[Event, Subject, Deadline], object]) -> None:
        self._law, self._known, self._late = law, law.known, late
        self._missed: list[tuple[Event, Subject, Deadline]] = []
        """What the law has not been called for."""
        law.known.deadlines.append(self)

    def begin(self, subject: Subject, since: int, bound: int, *places: str, node: str = "", settled: int = 0) -> None:
        """``node``: who owes it; while that stands still no time passes. ``places``: whose disturbance voids it, also
        in the time ``settled`` (ns) before."""
        self[subject] = Deadline(since, bound, node, places, settled)

    def disturbed(self, event: Event) -> None:
        """The model is about to take in a disturbance. The law is called as soon as it does something itself, so that
        what it raises is its own."""
        is_end = event.kind in ("crash", "stop")
        for subject, due in list(self.items()):
            is_over = is_end and event.node in (due.node, *due.places)
            if is_over or (due.places and event.t - due.since > due.bound):
                del self[subject]
                if self._is_undisturbed(due) and self._is_late(event, due):
                    self._missed.append((event, subject, due))

    def renew(self, event: Event, subject: Subject) -> bool:
        """What was due has come, and is due again. Whether there was a deadline."""
        self._call()
        due = self.get(subject)
        if due is None:
            return False
        self._check(event, subject, due)
        due.since, due.is_held = event.t, False
        return True

    def close(self, event: Event, subject: Subject) -> bool:
        """What was due has come, or will not. Whether there was a deadline, undisturbed and in time."""
        self._call()
        due = self.pop(subject, None)
        return due is not None and self._check(event, subject, due)

    def close_all(self, event: Event, node: str | None = None) -> None:
        """A node has ended, or the history."""
        self._call()
        for subject in [each for each, due in self.items() if node in (None, due.node)]:
            self.close(event, subject)

    def hold(self, event: Event, subject: Subject) -> None:
        """Nothing is due until it is renewed."""
        due = self.get(subject)
        if due is not None:
            self._check(event, subject, due)
            due.is_held = True

    def look(self, event: Event) -> None:
        """What is overdue is over."""
        self._call()
        for subject in [each for each, due in self.items() if event.t - due.since > due.bound]:
            self.close(event, subject)

    def _check(self, event: Event, subject: Subject, due: Deadline) -> bool:
        """Whether it is undisturbed and in time."""
        if not self._is_undisturbed(due):
            return False
        if not self._is_late(event, due):
            return True
        self._late(event, subject, due)
        return False

    def _is_undisturbed(self, due: Deadline) -> bool:
        since = max(0, due.since - due.settled)
        if not due.places or self._known.disturbances.is_undisturbed(since, *due.places):
            return True
        self._law.abstain(DISTURBED)
        return False

    def _is_late(self, event: Event, due: Deadline) -> bool:
        # Nearly always the first question is the last.
        return not due.is_held and is_late(self._known, due.node, due.since, event.t, due.bound)

    def _call(self) -> None:
        while self._missed:
            self._late(*self._missed.pop(0))


def configured_ns(known: Known, node: str, key: str) -> int:
    """A configured time, a poll, and what the lab adds."""
    return known.setting(node, key) * MS + POLL_NS + known.healthy_ns


def spent_ns(known: Known, node: str, since: int, until: int) -> int:
    """For how long the node could have acted."""
    return until - since - known.disturbances.still_ns(node, since, until)


def is_late(known: Known, node: str, since: int, until: int, bound: int) -> bool:
    """Whether the node let more than ``bound`` pass."""
    return until - since > bound and spent_ns(known, node, since, until) > bound


def is_far_too_late(known: Known, node: str, since: int, until: int, bound: int) -> bool:
    """Whether no stall explains it: :data:`FAR` times as much passed without one, and that was most of the time."""
    return _punctual_ns(known, node, since, until) > max(FAR * bound, (until - since) // 2)


def is_instant(known: Known, node: str, since: int, until: int) -> bool:
    """Whether no more passed than a process may need to go on, or to read what lies in its sockets.

    In a simulation that takes no time at all: there it is so for one and the same moment only. Time in which the
    machine stalled does not count.
    """
    passed, most = until - since, known.instant_ns
    # Nearly always there is no instant, and nothing to measure.
    if passed <= most or not most:
        return passed <= most
    return _punctual_ns(known, node, since, until) <= most


def _punctual_ns(known: Known, node: str, since: int, until: int) -> int:
    """For how long the node could have acted while the machine did not stall."""
    return spent_ns(known, node, since, until) - known.disturbances.stalled_ns(since, until)
