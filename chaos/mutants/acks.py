"""Mutants of the time and honesty of acks: the answered sends, and the effects of a refusal."""

from collections.abc import Callable
from typing import Any

from ...reference.core.flushing import Flusher
from ...reference.core.group_transfer import WAKE_UP_NS, GroupTransfer
from ...reference.core.processors.sending import Sending
from ...reference.core.puts import Puts
from ...reference.core.requests import Request
from ...reference.core.versions import AckWait
from ...reference.wire import remoting
from .mutant import Mutant, seeded, with_parts


@seeded("master", "ack-flushed", "answers PUT_OK after a flush that began before the message arrived")
class AnyFlushWillDo(Flusher):
    def on_flushed(self, upto: int) -> None:
        super().on_flushed(upto)
        while self.waiting:
            self.waiting.popleft()[2]("PUT_OK")


@seeded("master", "ack-bounded", "waits for a stalled disk without a timeout")
class WaitsForDisk(Flusher):
    def on_timer(self, what: str) -> None:
        if what != "flush-timeout":
            super().on_timer(what)


@seeded("master", "ack-flush-timeout", "answers FLUSH_DISK_TIMEOUT at once during another flush")
class ImpatientWithDisk(Flusher):
    def wait(self, end: int, answer: Callable[[str], None]) -> None:
        if self.running:
            answer("FLUSH_DISK_TIMEOUT")
        else:
            super().wait(end, answer)


@seeded("master", "ack-flush-timeout", "gives up a flush only after twice the syncFlushTimeout")
class WaitsForDiskTwice(Flusher):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.timeout_ns *= 2


@seeded("master", "ack-flush-timeout", "times out all waiting flushes with the first one")
class GivesUpTogether(Flusher):
    def on_timer(self, what: str) -> None:
        if what == "flush-timeout" and self.waiting and self.waiting[0][1] <= self.io.now():
            while self.waiting:
                self.waiting.popleft()[2]("FLUSH_DISK_TIMEOUT")
        super().on_timer(what)


@seeded("master", "ack-prompt", "answers one send for each report, even if it covers several")
class OneSendPerReport(GroupTransfer):
    def covered(self, offset: int) -> None:
        self.reached = offset
        if self.waiting and self.waiting[0].end <= offset and self.enough(self.waiting[0]):
            self.waiting.popleft().answer("PUT_OK")
            self._begin_turn()


@seeded("master", "ack-bounded", "never times out for a silent slave, because it checks the clock at reports only")
class GivesUpOnReport(GroupTransfer):
    def covered(self, offset: int) -> None:
        super().covered(offset)
        super().on_timer()

    def on_timer(self) -> None:
        """Not now."""


@seeded("master", "ack-timeout-honest", "up to 4.5.2 times a send out after three wake-ups instead of five")
class CountsToThree(GroupTransfer):
    def _begin_turn(self) -> None:
        super()._begin_turn()
        if self.wait.wake_ups:
            self.wake_ups -= 2
            self._sleep_on()


class SendersWaitForTheirTurn(GroupTransfer):
    def __init__(self, wait: AckWait, *given: Any) -> None:
        super().__init__(wait._replace(sender_gives_up=False), *given)


@seeded(
    "master",
    "ack-timeout-honest",
    "from 4.7.1 to 4.9.2 times a send out by its age, not by the time since its turn began",
)
class CountsFromAppend(GroupTransfer):
    def __init__(self, wait: AckWait, *given: Any) -> None:
        super().__init__(wait._replace(in_turn=wait.in_turn and wait.sender_gives_up), *given)


@seeded("master", "ack-bounded", "up to 4.9.2 waits for a send twice as long as syncFlushTimeout")
class TakesTwoTurns(GroupTransfer):
    def _begin_turn(self) -> None:
        super()._begin_turn()
        if self.wait.in_turn and not self.wait.wake_ups:
            self.turn_ends += self.timeout_ns


@seeded(
    "master", "ack-prompt", "answers covered sends only at the next poll of a thread that no report wakes, up to 4.9.2"
)
class LooksOnceASecond(GroupTransfer):
    def covered(self, offset: int) -> None:
        if not self.wait.in_turn:
            super().covered(offset)
            return
        self.reached = offset
        self.io.timer(("ha-transfer", None), self.io.now() + WAKE_UP_NS)


@seeded("master", "ack-no-wait", "makes sends wait for a slave although they requested no wait")
class IgnoresWait(Puts):
    def waits_for_slave(self, wait: bool) -> bool:
        return super().waits_for_slave(True)


@seeded(
    "master",
    "ack-refused-is-absent",
    "stores a message, finds no slave, and answers that it stored nothing (5.x answers before it stores)",
)
class RefusesWhatItStored(Sending):
    def answer(self, request: Request, ids: list[str], queue_id: int, queue_offset: int, status: str) -> None:
        if status == "SLAVE_NOT_AVAILABLE":
            request.refuse(remoting.SERVICE_NOT_AVAILABLE, "in-sync replicas are not enough")
        else:
            super().answer(request, ids, queue_id, queue_offset, status)


SENDERS_WAIT = Mutant(
    "senders_wait_for_their_turn", "master", with_parts(transfer_class=SendersWaitForTheirTurn), "ack-bounded",
    "up to 4.5.2 makes a sender wait for its turn beyond syncFlushTimeout",
)  # fmt: skip
"""Not in the catalogue: in few schedules several sends of 4.4 wait for a silent slave."""
