"""``ack-timeout-honest``: a send gets FLUSH_SLAVE_TIMEOUT only after the configured wait from its append (slaveTimeout;
before 4.9.3 syncFlushTimeout, counted from the send's turn since 4.7.1), and the master has stored the message.

Checks:
- The wait of the version line (:data:`pairproof.harness.rocketmq.settings.LINES`) has passed since the append, or since
  the send if no append was recorded.
- Up to 4.5.2, each report above all earlier ones may end one of five one-second wake-ups, also one from just before. In
  later versions, only a report that covers the message shortens the wait.
- From 4.7.1 to 4.9.2 the wait starts at the send's turn (``turns``).
- The message's append was recorded, or a store reader finds its record.
Abstains when:
- For the record: something that may have removed it happened to the stores.
- An earlier send has no known answer: its turn is unknown.
Source: HAService.GroupTransferService, CommitLog.submitReplicaRequest.
"""

from ....event_types.client import Ok
from ....history import MS, Event
from ....judging.law import only
from ....texts.content import is_followed
from ...known.deadlines import is_instant
from ...known.stores import SURVIVED
from ...law import Law
from ...settings import VERSION, line
from ...topology import MASTER
from .turns import Turns

WAKE_UP_MS = 1_000
"""The longest sleep of RocketMQ's transfer thread between two checks."""


class AckTimeoutHonest(Law):
    needs = frozenset({"config", "invoke", "ok"})
    timed = True

    def begin(self) -> None:
        self.turns = Turns()
        self.unproven: dict[str | None, tuple[Ok, int]] = {}
        """Answers to sends without a recorded append, and the number of store events before."""

    @only("send", node=MASTER)
    def on_ok(self, event: Ok) -> None:
        begun = self.known.calls.begun(event)
        if begun is not None and is_followed(begun.call):
            return
        known = line(self.known.config.get(MASTER, {}))
        if known.least_from_turn:
            self.turns.stored(self.known)
        if event.status == "FLUSH_SLAVE_TIMEOUT":
            self._timed_out(event, None if begun is None else begun.call)
        self.turns.answered(event.message, event.status)

    def _timed_out(self, event: Ok, call: Event | None) -> None:
        self.judged += 1
        known = line(self.known.config.get(MASTER, {}))
        put = self.known.logs.put(event.message)
        if put is None:
            self.unproven[event.message] = event, self.known.calls.happened_before(event)
        began = max((each for each in (call, put) if each is not None), default=None)
        least_ms, why = self._least_ms(0 if began is None else self._reports(began))
        began_ns = 0 if began is None else began.t
        if known.least_from_turn:
            turn_ns = self.turns.begin_ns(event.message, least_ms * MS, began_ns)
            why += "" if turn_ns == began_ns else f" from its turn, {(turn_ns - began_ns) / MS:.3f} ms later"
            began_ns = turn_ns
        waited_ms = (event.t - began_ns) / MS
        if waited_ms < least_ms:
            self.violate(event, f"{event.message} timed out after {waited_ms:.3f} ms, {why}", since=began_ns)

    def _reports(self, began: Event) -> int:
        """How many reports the transfer thread may have handled since, also those in flight at that moment."""
        known, found = self.known, 0
        for seq, t in reversed(self.known.advances):
            if seq < began.seq and not (known.instant_ns and is_instant(known, MASTER, t, began.t)):
                break
            found += 1
        return found

    def _least_ms(self, reports: int) -> tuple[int, str]:
        settings = self.known.config.get(MASTER, {})
        known = line(settings)
        whole_ms = self.known.setting(MASTER, known.wait)
        asleep_ms = max(0, known.wake_ups - 1 - reports) * WAKE_UP_MS
        if known.wake_ups and asleep_ms < whole_ms:
            version = settings.get("rocketmqVersion", VERSION)
            return asleep_ms, f"{version} wakes {known.wake_ups} times, {reports} reports came"
        return whole_ms, f"{known.wait} is {whole_ms} ms"

    def end(self, last: Event) -> None:
        """The final audit lists every message, unless the log is broken."""
        final = self.known.audits.final.get(MASTER)
        if final is None or final.read is None or final.read.status != "whole":
            return
        held = self.known.audits.held(MASTER)
        for message, (answer, before) in self.unproven.items():
            if message not in held and self.known.stores.of_master(before, answer.lo) <= SURVIVED:
                self.violate(answer, f"{message} was answered as stored, the master's log does not hold it", since=None)
