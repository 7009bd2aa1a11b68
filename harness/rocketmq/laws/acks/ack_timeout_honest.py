"""``ack-timeout-honest``: a send gets FLUSH_SLAVE_TIMEOUT only after the configured wait from its append (slaveTimeout;
before 4.9.3 syncFlushTimeout, counted from the send's turn since 4.7.1), and the master has stored the message.

Checks:
- The wait of the version line (:data:`pairproof.harness.rocketmq.settings.LINES`) has passed since the append, or since
  the send if no append was recorded.
- Up to 4.5.2, each report above all earlier ones may end one of five one-second wake-ups, also one from just before. In
  later versions, only a report that covers the message shortens the wait.
- From 4.7.1 to 4.9.2 the wait starts at the send's turn .
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
from ...event_types.log import Append
from ...known.deadlines import is_instant
from ...known.stores import SURVIVED
from ...law import Law
from ...settings import VERSION, line
from ...topology import MASTER

TIMEOUT = "FLUSH_SLAVE_TIMEOUT"
WAKE_UP_MS = 1_000
"""The longest sleep of RocketMQ's transfer thread between two checks."""


class AckTimeoutHonest(Law):
    needs = frozenset({"config", "invoke", "ok"})
    timed = True

    def begin(self) -> None:
        self.unproven: dict[str | None, tuple[Ok, int]] = {}
        """Answers to sends without a recorded append, and the number of store events before."""

    @only("send", node=MASTER)
    def on_ok(self, event: Ok) -> None:
        begun = self.known.calls.begun(event)
        if begun is not None and is_followed(begun.call):
            return
        if event.status == TIMEOUT:
            self._timed_out(event, None if begun is None else begun.call)

    def _timed_out(self, event: Ok, call: Event | None) -> None:
        self.judged += 1
        known = line(self.known.config.get(MASTER, {}))
        put = self.known.logs.put(event.message)
        if put is None:
            self.unproven[event.message] = event, self.known.calls.happened_before(event)
        began = max((each for each in (call, put) if each is not None), default=None)
        least_ms, why = self._least_ms(0 if began is None else self._reports(began))
        began_ns = 0 if began is None else began.t
        if known.least_from_turn and put is not None:
            turn_ns = self._turn_ns(put, least_ms * MS)
            why += "" if turn_ns == began_ns else f" from its turn, {(turn_ns - began_ns) / MS:.3f} ms later"
            began_ns = turn_ns
        waited_ms = (event.t - began_ns) / MS
        if waited_ms < least_ms:
            self.violate(event, f"{event.message} timed out after {waited_ms:.3f} ms, {why}", since=began_ns)

    def _turn_ns(self, own: Append, wait_ns: int) -> int:
        """The earliest start of a send's turn. It waits behind every waiting send that was stored before it.

        Each one that timed out had a whole wait, from its append or from the end of the wait before it. Any other
        answer may have come without a wait, and a send without an answer yet proves nothing.
        """
        turn_ns, started_ns = 0, self.known.nodes.last_start(MASTER)
        for put in self.known.logs.puts:
            if put is own:
                break
            # A delayed message is appended again for its delivery.
            if put.t >= started_ns and self.known.logs.put(put.message) is put and self._has_timed_out(put.message):
                turn_ns = max(turn_ns, put.t) + wait_ns
        return max(turn_ns, own.t)

    def _has_timed_out(self, message: str | None) -> bool:
        answer, sent = self.known.sent.answered.get(message), self.known.sent.sends.get(message)
        if answer is None or sent is None or is_followed(sent):
            return False
        return (answer.f, answer.status) == ("send", TIMEOUT)

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
            if message not in held and self.known.stores.of(MASTER, before, answer.lo) <= SURVIVED:
                self.violate(answer, f"{message} was answered as stored, the master's log does not hold it", since=None)
