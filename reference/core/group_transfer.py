"""Sends that wait for slaves: GroupTransferService of RocketMQ, sans-IO, for all version lines.

Every send is answered exactly once: PUT_OK as soon as enough slaves have reported its last byte, FLUSH_SLAVE_TIMEOUT
when the transfer thread gives up or the sender stops waiting. The thread serves one send after the other, each for as
long as :class:`~pairproof.reference.core.versions.AckWait` allows. If the sender stops waiting first, the thread does
not notice: it spends its remaining time on an answered send, and later sends wait for their turn. A report without a
waiting send counts as a wake-up: it costs the next send one. RocketMQ's list is unbounded; here answered sends make
room and lose their turns.

Left out: RocketMQ's 10 ms batching of requests, and that since 4.6.0 its thread, which checks the clock once a second,
may give a send up to a second too much.
"""

from collections import deque
from collections.abc import Callable, Hashable

from ..ports import Effects
from .versions import AckWait

MAX_WAITING_SENDS = 10_000
"""Limit for unanswered sends; answered ones make room."""
WAKE_UP_NS = 1_000_000_000


class Waiting:
    """A waiting send: GroupCommitRequest. ``deadline``: its append plus the configured timeout."""

    __slots__ = ("_answer", "deadline", "end", "without")

    def __init__(self, end: int, deadline: int, answer: Callable[[str], None]) -> None:
        self.end = end
        self.deadline = deadline
        self._answer: Callable[[str], None] | None = answer
        self.without: set[Hashable] = set()
        """Slaves whose log begins after it, and which therefore never hold it."""

    @property
    def is_answered(self) -> bool:
        return self._answer is None

    def answer(self, status: str) -> None:
        answer, self._answer = self._answer, None
        if answer is not None:
            answer(status)


class GroupTransfer:
    """The queue. ``enough`` checks whether enough slaves have reported a send's end."""

    def __init__(self, wait: AckWait, timeout_ns: int, io: Effects, enough: Callable[[Waiting], bool]) -> None:
        self.wait = wait
        self.timeout_ns = timeout_ns
        self.io = io
        self.enough = enough
        self.waiting: deque[Waiting] = deque()
        """In the thread's order; the first is being served."""
        self.senders: deque[Waiting] = deque()
        """Sends whose senders may stop waiting first, in the same order."""
        self.reached = 0
        self.turn_ends = 0
        self.wake_ups = 0
        """Wake-ups left for the first send, as of ``woken_at``."""
        self.woken_at = 0
        self.notified = False
        """Whether a report has arrived since the thread last slept."""

    def add(self, end: int, answer: Callable[[str], None]) -> None:
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
        """Remove the first answered send, except the one being served; False without one."""
        # Senders stop waiting in append order, so the answered sends come first.
        if len(self.waiting) < 2 or not self.waiting[1].is_answered:
            return False
        del self.waiting[1]
        return True

    def covered(self, offset: int) -> None:
        is_news, self.reached = offset > self.reached, offset
        if self._release() or not is_news:
            return
        if not self.waiting:
            self.notified = True
        elif self.wait.wake_ups:
            self._wake_up()

    def abandon(self, below: int, slave: Hashable) -> None:
        """This slave's copy starts at ``below``: it never holds earlier sends."""
        for each in self.waiting:
            if each.end > below:
                return
            each.without.add(slave)

    def on_timer(self) -> None:
        """Senders stop waiting, and the thread gives up on sends whose turn has ended."""
        now = self.io.now()
        while self.senders and self.senders[0].deadline <= now:
            self.senders.popleft().answer("FLUSH_SLAVE_TIMEOUT")
        # An answered send that a report has passed must not block the others.
        self._release()
        while self.waiting and self.turn_ends <= now:
            self.waiting.popleft().answer("FLUSH_SLAVE_TIMEOUT")
            self._begin_turn()
            self._release()
        self._arm()

    def _release(self) -> bool:
        """Answer the sends that enough slaves hold; whether that ends the first send's turn."""
        remaining = []
        first = self.waiting[0] if self.waiting else None
        while self.waiting and self.waiting[0].end <= self.reached:
            each = self.waiting.popleft()
            if each.is_answered or self.enough(each):
                each.answer("PUT_OK")
            else:
                remaining.append(each)
                if self.wait.in_turn:
                    break
        self.waiting.extendleft(reversed(remaining))
        if first is None or (self.waiting and self.waiting[0] is first):
            return False
        self._begin_turn()
        return True

    def _begin_turn(self) -> None:
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
        """A report short of the first send costs it one wake-up, besides those spent on time."""
        now = self.io.now()
        self.wake_ups -= 1 + (now - self.woken_at) // WAKE_UP_NS
        self.woken_at = now
        self._sleep_on()
        self.on_timer()

    def _sleep_on(self) -> None:
        self.turn_ends = self.woken_at + max(0, self.wake_ups) * WAKE_UP_NS

    def _arm(self) -> None:
        """Set the timer for the earliest end. If that end moves back, the timer fires early once."""
        while self.senders and self.senders[0].is_answered:
            self.senders.popleft()
        if not self.waiting:
            return
        sender_stops = self.senders[0].deadline if self.senders else self.turn_ends
        self.io.timer(("ha-transfer", None), min(self.turn_ends, sender_stops))
