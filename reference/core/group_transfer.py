"""Sends that wait for slaves: GroupTransferService of RocketMQ, sans-IO, for the waits of all version lines.

Every send is answered exactly once: PUT_OK as soon as enough slaves have reported its last byte, FLUSH_SLAVE_TIMEOUT
when its patience is over. Only the first in the queue is ever looked at for that, since ends and deadlines both grow
along it. What patience is, :class:`~pairproof.reference.core.versions.AckWait` says.

Left out: the 10 ms rounds in which RocketMQ takes requests over, a wake-up left over from an earlier send, and that up
to 4.5.2 the thread goes on with a send whose client has been answered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import NamedTuple

from pairproof.reference.core.versions import AckWait
from pairproof.reference.ports import Effects

MAX_WAITING_SENDS = 10_000
WAKE_UP_NS = 1_000_000_000
"""The transfer thread never sleeps longer between two looks."""


class Waiting(NamedTuple):
    """A send that waits for slaves: GroupCommitRequest."""

    end: int
    deadline: int
    answer: Callable[[str], None]
    without: set[Hashable]
    """Slaves whose log begins behind it: whatever they report, they do not hold it."""


class GroupTransfer:
    """The queue. ``enough`` says whether enough slaves hold a send's bytes by their last reports."""

    def __init__(self, wait: AckWait, timeout_ns: int, io: Effects, enough: Callable[[Waiting], bool]) -> None:
        self.wait = wait
        self.timeout_ns = timeout_ns
        self.io = io
        self.enough = enough
        self.waiting: deque[Waiting] = deque()
        self.reached = 0
        self.wake_ups = 0
        self.woken_at = 0

    def add(self, end: int, answer: Callable[[str], None]) -> None:
        """Wait for ``end``; ``answer`` is called once, with PUT_OK or FLUSH_SLAVE_TIMEOUT."""
        if len(self.waiting) >= MAX_WAITING_SENDS:
            answer("FLUSH_SLAVE_TIMEOUT")
            return
        self.waiting.append(Waiting(end, self.io.now() + self.timeout_ns, answer, set()))
        if len(self.waiting) == 1:
            self._begin_turn()
            self._arm()

    def covered(self, offset: int) -> None:
        """Enough slaves have reported ``offset``, by the newest word of each."""
        self.reached = offset
        if not self._release() and self.waiting and self.wait.wake_ups:
            self._wake_up()

    def abandon(self, below: int, slave: Hashable) -> None:
        """This slave's copy starts at ``below``: what ends before it is in older files, which it never gets."""
        for each in self.waiting:
            if each.end > below:
                return
            each.without.add(slave)

    def on_timer(self) -> None:
        """Give up on sends whose patience is over."""
        while self.waiting and self.waiting[0].deadline <= self.io.now():
            self.waiting.popleft().answer("FLUSH_SLAVE_TIMEOUT")
            self._begin_turn()
            self._release()
        if self.waiting:
            self._arm()

    def _release(self) -> bool:
        """Answer what enough slaves hold; whether the first send's turn is over with that."""
        kept = []
        first = self.waiting[0] if self.waiting else None
        while self.waiting and self.waiting[0].end <= self.reached:
            each = self.waiting.popleft()
            if self.enough(each):
                each.answer("PUT_OK")
            else:
                kept.append(each)
                if self.wait.in_turn:
                    break
        self.waiting.extendleft(reversed(kept))
        if first is None or (self.waiting and self.waiting[0] is first):
            return False
        self._begin_turn()
        return True

    def _begin_turn(self) -> None:
        """The thread has come to the first send."""
        if not self.waiting:
            return
        now = self.io.now()
        first = self.waiting[0]
        if self.wait.in_turn:
            self.waiting[0] = first._replace(deadline=now + self.timeout_ns)
        elif self.wait.wake_ups:
            self.wake_ups, self.woken_at = self.wait.wake_ups, now
            self._sleep_on()

    def _wake_up(self) -> None:
        """A report that did not reach the first send costs it a wake-up, beside those that time has cost it."""
        now = self.io.now()
        self.wake_ups -= 1 + (now - self.woken_at) // WAKE_UP_NS
        self.woken_at = now
        self._sleep_on()
        self.on_timer()

    def _sleep_on(self) -> None:
        first = self.waiting[0]
        patience = self.woken_at + max(0, self.wake_ups) * WAKE_UP_NS
        self.waiting[0] = first._replace(deadline=min(first.deadline, patience))
        self._arm()

    def _arm(self) -> None:
        self.io.timer(("ha-transfer", None), self.waiting[0].deadline)
