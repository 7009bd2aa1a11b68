"""Sends that wait for slaves: GroupTransferService of RocketMQ, sans-IO, for the waits of all version lines.

Every send is answered exactly once: PUT_OK as soon as enough slaves have reported its last byte, FLUSH_SLAVE_TIMEOUT
when the transfer thread gives it up or its sender stops waiting. The thread judges one send after the other; how long
it stays with one, :class:`~pairproof.reference.core.versions.AckWait` says. Where the sender may stop waiting first,
the thread does not notice: it spends the rest of its patience on a send that is answered already, and those behind it
wait for their turn. A report that comes while no send waits is a wake-up, too: the next send loses one of its own.
Where the list is full RocketMQ's grows on; here sends that are answered already make room, and lose their turns.

Left out: the 10 ms rounds in which RocketMQ takes requests over, and that from 4.6.0 on the thread, which looks at the
clock once a second, may give a send up to a second more than it is due.
"""

from collections import deque
from collections.abc import Callable, Hashable

from ..ports import Effects
from .versions import AckWait

MAX_WAITING_SENDS = 10_000
"""Whose senders wait, where there is no room for more: those that are answered already hold nobody off."""
WAKE_UP_NS = 1_000_000_000
"""The transfer thread never sleeps longer between two looks."""


class Waiting:
    """A send that waits for slaves: GroupCommitRequest. ``deadline``: the setting's time after its append."""

    __slots__ = ("_answer", "deadline", "end", "without")

    def __init__(self, end: int, deadline: int, answer: Callable[[str], None]) -> None:
        self.end = end
        self.deadline = deadline
        self._answer: Callable[[str], None] | None = answer
        self.without: set[Hashable] = set()
        """Slaves whose log begins behind it: whatever they report, they do not hold it."""

    @property
    def is_answered(self) -> bool:
        """Whether its sender waits no more."""
        return self._answer is None

    def answer(self, status: str) -> None:
        """Answer it, if that has not been done."""
        answer, self._answer = self._answer, None
        if answer is not None:
            answer(status)


class GroupTransfer:
    """The queue. ``enough`` says whether enough slaves hold a send's bytes by their last reports."""

    def __init__(self, wait: AckWait, timeout_ns: int, io: Effects, enough: Callable[[Waiting], bool]) -> None:
        self.wait = wait
        self.timeout_ns = timeout_ns
        self.io = io
        self.enough = enough
        self.waiting: deque[Waiting] = deque()
        """In the order in which the thread comes to them; it is at the first."""
        self.senders: deque[Waiting] = deque()
        """Those whose senders may stop waiting first, in the same order."""
        self.reached = 0
        self.turn_ends = 0
        """When the thread gives up the first send."""
        self.wake_ups = 0
        """How many the first send has left, as of ``woken_at``."""
        self.woken_at = 0
        self.notified = False
        """Whether a report has come since the thread last slept."""

    def add(self, end: int, answer: Callable[[str], None]) -> None:
        """Wait for ``end``; ``answer`` is called once, with PUT_OK or FLUSH_SLAVE_TIMEOUT."""
        if len(self.waiting) >= MAX_WAITING_SENDS and not self._make_room():
            answer("FLUSH_SLAVE_TIMEOUT")
            return
        send = Waiting(end, self.io.now() + self.timeout_ns, answer)
        self.waiting.append(send)
        if self.wait.sender_gives_up:
            self.senders.append(send)
        if len(self.waiting) == 1:
            self._begin_turn()
        if len(self.waiting) == 1 or (self.senders and self.senders[0] is send):
            self._arm()

    def _make_room(self) -> bool:
        """Forget the first send that is answered already, if there is one; not that with which the thread is now."""
        # Senders stop waiting in the order of their appends, so the answered sends are the first ones.
        if len(self.waiting) < 2 or not self.waiting[1].is_answered:
            return False
        del self.waiting[1]
        return True

    def covered(self, offset: int) -> None:
        """Enough slaves have reported ``offset``, by the newest word of each."""
        is_news, self.reached = offset > self.reached, offset
        if self._release() or not is_news:
            return
        if not self.waiting:
            self.notified = True
        elif self.wait.wake_ups:
            self._wake_up()

    def abandon(self, below: int, slave: Hashable) -> None:
        """This slave's copy starts at ``below``: what ends before it is in older files, which it never gets."""
        for each in self.waiting:
            if each.end > below:
                return
            each.without.add(slave)

    def on_timer(self) -> None:
        """Time has passed: senders stop waiting, and the thread gives up on sends whose turn is over."""
        now = self.io.now()
        while self.senders and self.senders[0].deadline <= now:
            self.senders.popleft().answer("FLUSH_SLAVE_TIMEOUT")
        # A send that is not waited for any more holds nothing up that a report has passed.
        self._release()
        while self.waiting and self.turn_ends <= now:
            self.waiting.popleft().answer("FLUSH_SLAVE_TIMEOUT")
            self._begin_turn()
            self._release()
        self._arm()

    def _release(self) -> bool:
        """Answer what enough slaves hold; whether the first send's turn is over with that."""
        kept = []
        first = self.waiting[0] if self.waiting else None
        while self.waiting and self.waiting[0].end <= self.reached:
            each = self.waiting.popleft()
            if each.is_answered or self.enough(each):
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
        if self.wait.wake_ups:
            self.wake_ups, self.woken_at = self.wait.wake_ups - self.notified, now
            self.notified = False
            self._sleep_on()
        else:
            self.turn_ends = now + self.timeout_ns if self.wait.in_turn else self.waiting[0].deadline

    def _wake_up(self) -> None:
        """A report that did not reach the first send costs it a wake-up, beside those that time has cost it."""
        now = self.io.now()
        self.wake_ups -= 1 + (now - self.woken_at) // WAKE_UP_NS
        self.woken_at = now
        self._sleep_on()
        self.on_timer()

    def _sleep_on(self) -> None:
        self.turn_ends = self.woken_at + max(0, self.wake_ups) * WAKE_UP_NS

    def _arm(self) -> None:
        """The one timer, for what ends first. Where that is later than it was, the timer just comes early once."""
        while self.senders and self.senders[0].is_answered:
            self.senders.popleft()
        if not self.waiting:
            return
        sender_stops = self.senders[0].deadline if self.senders else self.turn_ends
        self.io.timer(("ha-transfer", None), min(self.turn_ends, sender_stops))
