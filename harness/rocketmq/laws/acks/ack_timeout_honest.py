"""``ack-timeout-honest``: FLUSH_SLAVE_TIMEOUT comes only after the whole wait, and the message is stored.

The wait is the one of the master's version line (:data:`pairproof.harness.rocketmq.settings.LINES`), counted from the
append (from the send where no append was seen); reports that do not reach the message never shorten it, except up to
4.5.2, where each that says more than all before may use up one of five wake-ups, as may one that came just before. From
4.7.1 to 4.9.2 it is counted from the send's turn: each send stored before it that was told FLUSH_SLAVE_TIMEOUT had a
whole wait of its own (``turns``). Stored: its append was seen, or a store reader
finds its record, unless something has happened since that may take it.

Left out: answers that come too late, see ``ack-bounded``; turns of sends whose answer nobody has heard.
Source: HAService.GroupTransferService.
"""

from collections import deque

from ....history import MS, Event
from ....judging.law import only
from ....kinds.client import Invoke, Ok
from ....kinds.node import Crash, Stop
from ....texts.content import is_followed
from ...kinds.ha import Report
from ...kinds.log import Append, Record
from ...known.deadlines import is_instant
from ...known.stores import SURVIVED
from ...law import Law
from ...places import MASTER
from ...settings import VERSION, line
from .turns import Turns

WAKE_UP_MS = 1_000
"""RocketMQ's transfer thread sleeps no longer than that between two looks."""


class AckTimeoutHonest(Law):
    id = "ack-timeout-honest"
    promise = (
        "A send gets FLUSH_SLAVE_TIMEOUT only after the configured wait from its append (slaveTimeout; before 4.9.3 "
        "syncFlushTimeout, from 4.7.1 on counted from the send's turn), and the master has stored the message."
    )
    source = "HAService.GroupTransferService, CommitLog.submitReplicaRequest"
    needs = frozenset({"config", "invoke", "ok"})
    timed = True

    def begin(self) -> None:
        self.began: dict[str | None, tuple[int, int]] = {}
        """Per send: when its wait began at the earliest, and the reports that the master had surely heard by then."""
        self.reports = 0
        self.fresh: deque[int] = deque()
        """When the last of them came: what is seen on its way to the master it may hear a moment later."""
        self.appended: set[str | None] = set()
        self.followed: set[str | None] = set()
        """Messages of batches, but for the last of each, for which the batch waits."""
        self.turns = Turns()
        self.unproven: dict[str | None, tuple[Ok, int]] = {}
        """Answers to sends whose append was not seen, and how much had happened to stores before."""

    def on_invoke(self, event: Invoke) -> None:
        if event.f == "send" and is_followed(event):
            self.followed.add(event.message)
        elif event.f == "send":
            self.began[event.message] = (event.t, self._heard(event.t))

    def on_report(self, event: Report) -> None:
        """It may wake the thread that counts."""
        # In a real-time lab two slaves' reports may have reached the master in the other order.
        if event.side == "m" and (self.known.instant_ns or event.offset > self.known.pushed):
            self.reports += 1
            if self.known.instant_ns:
                self.fresh.append(event.t)

    def _heard(self, now: int) -> int:
        while self.fresh and not is_instant(self.known, MASTER, self.fresh[0], now):
            self.fresh.popleft()
        return self.reports - len(self.fresh)

    def on_append(self, event: Append) -> None:
        # A delayed message is put once more when its time has come.
        if event.message in self.followed:
            return
        if event.message is not None and event.message not in self.appended:
            self.began[event.message] = (event.t, self._heard(event.t))
            self.appended.add(event.message)
            if event.node == MASTER and line(self.known.config.get(MASTER, {})).least_from_turn:
                self.turns.stored(event.message, event.t)

    @only("send", node=MASTER)
    def on_ok(self, event: Ok) -> None:
        if event.message in self.followed:
            return
        if event.status == "FLUSH_SLAVE_TIMEOUT":
            self._timed_out(event)
        self.turns.answered(event.message, event.status)

    def _timed_out(self, event: Ok) -> None:
        self.judged += 1
        began_ns, reports = self.began.get(event.message, (0, 0))
        if event.message not in self.appended:
            self.unproven[event.message] = event, self.known.calls.happened_before(event)
        least_ms, why = self._least_ms(self.reports - reports)
        known = line(self.known.config.get(MASTER, {}))
        if known.least_from_turn:
            turn_ns = self.turns.begin_ns(event.message, least_ms * MS, began_ns)
            why += "" if turn_ns == began_ns else f" from its turn, {(turn_ns - began_ns) / MS:.3f} ms later"
            began_ns = turn_ns
        waited_ms = (event.t - began_ns) / MS
        if waited_ms < least_ms:
            self.violate(event, f"{event.message} timed out after {waited_ms:.3f} ms, {why}", since=began_ns)

    def _least_ms(self, reports: int) -> tuple[int, str]:
        """How long a send must have waited during which so many reports were heard, and why."""
        settings = self.known.config.get(MASTER, {})
        known = line(settings)
        whole_ms = self.known.setting(MASTER, known.wait)
        asleep_ms = max(0, known.wake_ups - 1 - reports) * WAKE_UP_MS
        if known.wake_ups and asleep_ms < whole_ms:
            version = settings.get("rocketmqVersion", VERSION)
            return asleep_ms, f"{version} wakes {known.wake_ups} times, {reports} reports came"
        return whole_ms, f"{known.wait} is {whole_ms} ms"

    @only(node=MASTER)
    def on_crash(self, event: Crash | Stop) -> None:
        self.turns.clear()

    on_stop = on_crash

    @only(node=MASTER)
    def on_record(self, event: Record) -> None:
        if self.unproven:
            self.unproven.pop(event.message, None)

    def end(self, last: Event) -> None:
        """The final audit has seen every message of a whole log; of a broken one the rest cannot be read."""
        final = self.known.audits.final.get(MASTER)
        if final is None or final.read is None or final.read.status != "whole":
            return
        for message, (answer, before) in self.unproven.items():
            if self.known.stores.of_master(before, answer.lo) <= SURVIVED:
                self.violate(answer, f"{message} was answered as stored, the master's log does not hold it", since=None)
