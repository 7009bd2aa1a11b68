"""``deliver-delayed``: a delayed message enters its queue once, and no earlier than its delay.

Checks:
- In the master's final audit, the store timestamps of the waiting and the delivered record are at least the delay
  apart. No record is delivered without a waiting one. A level above the last one of messageDelayLevel counts as the
  last.
- A message is delivered within 5 s of its time, the healing and the master's last start.
- A master delivers no message twice without a crash, nor after an orderly stop since 4.9.3, which saves its position.
  After a kill it repeats no delivery older than 22 s, or than its flushes are late: it had saved that.
Abstains when:
- A fault kept the master from saving its position.
- A consumer sent the message back (``stored-sent-back``).
- The master's clock was set, its oldest files were deleted, its store was replaced, or its disk lied.
- A promoted slave received the message from its predecessor: it may have synced the position before the message.
Source: ScheduleMessageService (messageDelayLevel); CommitLog.checkMessageAndReturnSize.
"""

import itertools
import re
from functools import lru_cache

from ....event_types.node import Crash, Stop
from ....history import MS, Event
from ....judging.law import EventFilter, only
from ....texts.content import level_of, payload
from ...contract import EXPIRE, LIED, WIPE
from ...event_types.log import Append, Audit
from ...law import MASTER_ENDS, Law
from ...settings import version
from ...topology import MASTER

WAITING = "SCHEDULE_TOPIC_XXXX/"
LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
KILL = "kill"
LATE_NS = 5_000 * MS
SAVED_NS = 22_000 * MS
"""The position is saved every 10 s. The reference first flushes its log, which takes another 10 s or :meth:`_lag`."""
SAVE_NS = 12_000 * MS
SAVES_AT_STOP = (4, 9, 3)
"""Since this version ScheduleMessageService.shutdown persists."""
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LEVEL = re.compile(r"(\d+)([smhd])")


@lru_cache(maxsize=16)
def delays_ms(levels: str) -> tuple[int, ...]:
    """The delays of messageDelayLevel, level 1 first, without malformed ones."""
    return tuple(int(number) * _UNIT_MS[unit] for number, unit in _LEVEL.findall(levels))


class DeliverDelayed(Law):
    needs = frozenset({"config", "invoke", "ok", "start", "record", "audit"})
    awaits = {**MASTER_ENDS, "audit": EventFilter(frozenset({"final"}), frozenset((MASTER,)))}
    timed = True

    def begin(self) -> None:
        self.saved: dict[str, int] = {}
        """Messages below the master's saved positions, and their last append, ns."""
        self.stopped_badly = False

    @property
    def excused(self) -> bool:
        of_master = self.known.stores.of(MASTER, 0)
        return MASTER in self.known.clocks or not of_master.isdisjoint((EXPIRE, LIED, WIPE))

    def _delays(self) -> dict[str | None, int]:
        """Delayed messages and their delays, ms; after a promotion only newer ones."""
        delays = delays_ms(str(self.known.config.get(MASTER, {}).get("messageDelayLevel", LEVELS)))
        promotion = self.known.stores.promotion
        since = -1 if promotion is None else promotion.seq
        sends = (each for each in self.known.sent.sends.values() if (each.f, each.node) == ("send", MASTER))
        levels = {each.message: min(level_of(each), len(delays)) for each in sends if each.seq > since}
        return {message: delays[level - 1] for message, level in levels.items() if level > 0}

    def _may_be_sent_back(self, message: str | None) -> bool:
        """A black box's send-backs are not recorded."""
        if any(each.event.message == message for each in self.known.sent.backs.values()):
            return True
        consumed = self.known.consumption.consumed.values()
        return self.known.is_a_black_box(MASTER) and any(message in each.messages for each in consumed)

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        since = self.saved.get(event.message or "")
        if since is None or self.excused or event.message not in self._delays():
            return
        if self._may_be_sent_back(event.message):
            return
        self.judged += 1
        self.saved[event.message or ""] = event.t
        self.violate(
            event, f"{event.message} is delivered again, {(event.t - since) / MS:.0f} ms after it was", since=since
        )  # fmt: skip

    @only("final", node=MASTER)
    def on_audit(self, event: Audit) -> None:
        delays = {} if self.excused else self._delays()
        records: dict[str | None, list[Event]] = {message: [] for message in delays}
        for each in self.known.audits.records(event) if delays else ():
            if each.message in delays and "times" not in payload(each.detail):
                records[each.message].append(each)
        for message, delay in delays.items():
            self._judge(message, delay, records[message], event)

    def _judge(self, message: str | None, delay_ms: int, records: list[Event], end: Event) -> None:
        waited = [each for each in records if (each.queue or "").startswith(WAITING)]
        delivered = [each for each in records if each not in waited]
        if not waited:
            for each in delivered:
                self.judged += 1
                self.violate(each, f"{message} came into {each.queue} at once; its delay is {delay_ms} ms", since=None)
            return
        since = max(each.value or 0 for each in waited)
        for each in delivered:
            self.judged += 1
            waited_ms = (each.value or 0) - since
            if waited_ms < delay_ms:
                what = f"{message} came into {each.queue} {waited_ms} ms after it was stored"
                self.violate(each, f"{what}; its delay is {delay_ms} ms", since=None)
        went_down = self.stopped_badly or bool(self.known.stores.of(MASTER, 0))
        if len(delivered) > 1 and not went_down:
            self.violate(end._replace(message=message), f"{message} was delivered {len(delivered)} times", since=None)
        answered = self.known.sent.answered.get(message)
        if delivered or answered is None or MASTER not in self.known.up:
            return
        healed = self.known.milestones.get("heal")
        since = max(self.known.nodes.last_start(MASTER), 0 if healed is None else healed.t)
        due = max(answered.t + delay_ms * MS, since)
        if end.t - due > LATE_NS:
            self.judged += 1
            what = f"{message} still waits, though it is due since {(end.t - answered.t) / MS - delay_ms:.0f} ms"
            self.violate(end._replace(message=message), what, since=due)

    # Saved positions.

    @only(node=MASTER)
    def on_crash(self, event: Crash) -> None:
        self.saved = self._saved(event.t) if event.f == "process" else {}

    def _saved(self, now: int) -> dict[str, int]:
        """Deliveries with a saved position, unless a fault prevented that."""
        disturbances = self.known.disturbances
        if any(MASTER in disturbances.affected(each) and each.f != KILL for each in disturbances.active.values()):
            return {}
        since = max(disturbances.ended.get(MASTER, 0), self.known.nodes.last_start(MASTER))
        times: dict[str | None, list[int]] = {message: [] for message in self._delays()}
        puts = sorted(itertools.chain.from_iterable(self.known.sent.puts.values()))
        for put in puts:
            if put.message in times:
                times[put.message].append(put.t)
        # An earlier position may wait for its flush before this one does.
        bound = max(SAVED_NS, SAVE_NS + 2 * self._lag([each for each in puts if each.t > since], now))
        last = {message or "": each[-1] for message, each in times.items() if len(each) > 1}
        return {message: at for message, at in last.items() if now - max(at, since) > bound}

    def _lag(self, puts: list[Append], now: int) -> int:
        """The longest time until the log was durable up to one of these, ns; 0 where flushes are not recorded."""
        if "flush" not in self.known.observes:
            return 0
        flushed_ns = self.known.logs.flushed_ns
        return max(((flushed_ns(each.hi) or now) - each.t for each in puts), default=0)

    @only(node=MASTER)
    def on_stop(self, event: Stop) -> None:
        saves = version(self.known.config.get(MASTER, {})) >= SAVES_AT_STOP
        disturbances = self.known.disturbances
        here = sum(MASTER in disturbances.affected(each) for each in disturbances.active.values())
        # One of these faults is the stop itself.
        self.stopped_badly |= not saves or here > 1
