"""``ack-flush-timeout``: a send that waits for its flush is answered FLUSH_DISK_TIMEOUT if and only if the flush has
not ended within syncFlushTimeout, at that moment.

Checks:
- FLUSH_DISK_TIMEOUT comes no earlier than syncFlushTimeout after the append, never after a flush in time, and never to
  a send that waits for no flush (only under SYNC_FLUSH, if the message waits).
- PUT_OK comes only after a flush in time.
- The answer comes at that timeout, or after a longer wait for slaves, plus one service round and the way back.
Abstains when:
- The answer is about slaves, which overrides this one.
- For a late answer: sends wait for slaves one after the other (up to 4.9.2), or
  :mod:`pairproof.harness.rocketmq.laws.acks.answering` excuses the delay.
Source: CommitLog.submitFlushRequest, GroupCommitService, FlushDiskWatcher; up to 4.9.0 GroupCommitRequest.waitForFlush.
"""

from ....event_types.client import Fail, Info, Ok
from ....history import MS, Event
from ....judging.law import only
from ...known.in_flight import Send
from ...settings import line
from ...topology import MASTER
from .answering import ROUND_NS, AnswerTimes, Deadline

TIMEOUT = "FLUSH_DISK_TIMEOUT"
SETTING = "syncFlushTimeout"


class AckFlushTimeout(AnswerTimes):
    needs = frozenset({"config", "append", "flush", "invoke", "ok"})

    @only("send", node=MASTER)
    def on_ok(self, event: Fail | Info | Ok) -> None:
        call = self.known.in_flight.ended_by(event)
        if call is not None and event.status == TIMEOUT:
            self._check_timeout(call, event)
        elif call is not None and event.status == "PUT_OK" and self._waits(call):
            self._check_flushed(call, event)
        super().on_ok(event)

    on_fail = on_info = on_ok

    def _waits(self, call: Send) -> bool:
        return call.waits and self.known.sync_flush

    def _check_timeout(self, call: Send, event: Event) -> None:
        self.judged += 1
        if not self._waits(call):
            self.violate(event, f"{event.message} was answered {TIMEOUT}; it waited for no flush", since=None)
            return
        since_ns, limit_ms = call.began_ns, self.known.setting(MASTER, SETTING)
        waited_ns, flushed_ns = event.t - since_ns, self.flushed_ns(call)
        if waited_ns < limit_ms * MS:
            what = f"{event.message} was answered {TIMEOUT} after {waited_ns / MS:.3f} ms, {SETTING} is {limit_ms} ms"
            self.violate(event, what, since=since_ns)
        elif flushed_ns is not None and flushed_ns - since_ns < limit_ms * MS:
            took_ms = (flushed_ns - since_ns) / MS
            what = f"{event.message} was answered {TIMEOUT}; its flush had ended after {took_ms:.3f} ms"
            self.violate(event, what, since=since_ns)

    def _check_flushed(self, call: Send, event: Event) -> None:
        flushed_ns = self.flushed_ns(call)
        if flushed_ns is None or call.appended_ns is None:
            # ack-flushed checks that there was a flush at all.
            return
        self.judged += 1
        since_ns, limit_ms = call.appended_ns, self.known.setting(MASTER, SETTING)
        took_ns = flushed_ns - since_ns - self.known.disturbances.unavailable_ns(MASTER, since_ns, flushed_ns)
        # In a real-time lab a flush and a deadline may share one iteration of the broker's loop.
        if took_ns > limit_ms * MS + ROUND_NS + self.known.healthy_ns:
            what = f"{event.message} was answered PUT_OK; its flush ended after {took_ns / MS:.3f} ms, "
            self.violate(event, f"{what}{SETTING} is {limit_ms} ms", since=since_ns)

    def deadline(self, call: Send) -> Deadline | None:
        """After the flush's timeout, and after the wait for slaves if that is longer."""
        if not self._waits(call) or call.appended_ns is None:
            return None
        limit_ms, flushed_ns = self.known.setting(MASTER, SETTING), self.flushed_ns(call)
        if flushed_ns is not None and flushed_ns - call.appended_ns <= limit_ms * MS:
            return None
        if self.known.needed:
            known = line(self.known.config[MASTER])
            if known.in_turn:
                return None
            limit_ms = max(limit_ms, self.known.setting(MASTER, known.wait))
        return Deadline(call.appended_ns, limit_ms * MS)

    def promised(self, deadline: Deadline) -> str:
        return f"its flush had not ended, and it was to wait {deadline.within_ns // MS} ms at most"
