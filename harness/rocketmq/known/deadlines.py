"""Deadlines of laws.

An event begins a deadline for a subject and another event meets it, both chosen by a law, which is called if that is
late. Time in which the node is paused or down does not count, nor does time in which a deadline is on hold (a socket
that accepts no more). If targets are named, a disturbance of one voids the deadline instead. A law checks for missed
deadlines at events of its choice and at the end; the model does so before a disturbance, and ends a node's deadlines
with the node.

A limit is the configured value and one poll of RocketMQ's HA threads, plus the lab's own time.

Left out: slow links, since times are measured where bytes leave or arrive; and stalls of the machine, which
``Law.violate`` checks.
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
"""The reason for which a law abstains from a deadline."""
Subject = TypeVar("Subject", bound=Hashable)


class Deadline:
    __slots__ = ("bound", "is_held", "node", "places", "settled", "since")

    def __init__(self, since: int, bound: int, node: str, places: tuple[str, ...], settled: int) -> None:
        self.since, self.bound = since, bound
        self.node, self.places, self.settled = node, places, settled
        self.is_held = False


class Deadlines(dict[Subject, Deadline]):
    """The deadlines of one law by subject. ``late`` handles a missed one."""

    def __init__(self, law: Law, late: Callable[[Event, Subject, Deadline], object]) -> None:
        self.law, self._known, self._late = law, law.known, late
        self._missed: list[tuple[Event, Subject, Deadline]] = []
        """Missed deadlines that the law has not handled yet."""
        law.known.deadlines.append(self)

    def begin(self, subject: Subject, since: int, bound: int, *places: str, node: str = "", settled: int = 0) -> None:
        """``node``: the responsible node, whose pauses do not count. ``places``: targets whose disturbance voids the
        deadline, even if it came up to ``settled`` ns before.
        """
        self[subject] = Deadline(since, bound, node, places, settled)

    def disturbed(self, event: Event) -> None:
        """The model is about to process a disturbance. The law is called at its next own action, so that its exceptions
        are its own.
        """
        is_end = event.kind in ("crash", "stop")
        for subject, due in list(self.items()):
            is_over = is_end and event.node in (due.node, *due.places)
            if is_over or (due.places and event.t - due.since > due.bound):
                del self[subject]
                if self._is_undisturbed(due) and self._is_late(event, due):
                    self._missed.append((event, subject, due))

    def renew(self, event: Event, subject: Subject) -> bool:
        """Meet a deadline and begin it again. Returns whether there was one."""
        if self._missed:
            self._call()
        due = self.get(subject)
        if due is None:
            return False
        # Nearly always neither condition is true.
        if due.places or event.t - due.since > due.bound:
            self._check(event, subject, due)
        due.since, due.is_held = event.t, False
        return True

    def close(self, event: Event, subject: Subject) -> bool:
        """End a deadline. Returns whether there was one, undisturbed and met in time."""
        self._call()
        due = self.pop(subject, None)
        return due is not None and self._check(event, subject, due)

    def hold(self, event: Event, subject: Subject) -> None:
        """Suspend a deadline until it is renewed."""
        due = self.get(subject)
        if due is not None:
            self._check(event, subject, due)
            due.is_held = True

    def report_missed(self, event: Event) -> None:
        self._call()
        for subject in [each for each, due in self.items() if event.t - due.since > due.bound]:
            self.close(event, subject)

    def _check(self, event: Event, subject: Subject, due: Deadline) -> bool:
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
        self.law.abstain(DISTURBED)
        return False

    def _is_late(self, event: Event, due: Deadline) -> bool:
        # Nearly always the first condition decides.
        return not due.is_held and is_late(self._known, due.node, due.since, event.t, due.bound)

    def _call(self) -> None:
        while self._missed:
            self._late(*self._missed.pop(0))


def configured_ns(known: Known, node: str, key: str) -> int:
    """A configured time, a poll, and the lab's own time."""
    return known.setting(node, key) * MS + POLL_NS + known.healthy_ns


def spent_ns(known: Known, node: str, since: int, until: int) -> int:
    """How long the node could have acted, ns."""
    return until - since - known.disturbances.unavailable_ns(node, since, until)


def is_late(known: Known, node: str, since: int, until: int, bound: int) -> bool:
    """Whether the node took more than ``bound``."""
    return until - since > bound and spent_ns(known, node, since, until) > bound


def is_far_too_late(known: Known, node: str, since: int, until: int, bound: int) -> bool:
    """Whether stalls cannot explain the delay: :data:`FAR` times as much passed without one, and that was most of the
    time.
    """
    return _punctual_ns(known, node, since, until) > max(FAR * bound, (until - since) // 2)


def is_instant(known: Known, node: str, since: int, until: int) -> bool:
    """Whether no more passed than a process needs to continue, or to read from its sockets.

    In a simulation that takes no time: only the same moment counts. Time in which the machine stalled does not count.
    """
    passed, most = until - since, known.instant_ns
    # Nearly always this condition decides.
    if passed <= most or not most:
        return passed <= most
    return _punctual_ns(known, node, since, until) <= most


def _punctual_ns(known: Known, node: str, since: int, until: int) -> int:
    """How long the node could have acted while the machine did not stall."""
    return spent_ns(known, node, since, until) - known.disturbances.stalled_ns(since, until)
