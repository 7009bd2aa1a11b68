"""``deliver-delayed``: a delayed message comes into its queue when its time has passed: not earlier, and once.

Judged at the master's final audit, by its own store timestamps: where it holds a delayed message as it waited and as
it was delivered, the two must lie at least the delay of its level apart, and none is there as delivered alone. One that
is due for 5 s, counted from its time, the healing and the master's last start, must have been delivered; and a master
that never crashed delivers no message twice: one that stops in an orderly way saves how far it has come (since 4.9.3),
unless another fault at it prevents that. A process that is killed has saved it some time ago: what it delivered 22 s
before is not delivered again, unless a group sent it back.

Left out: which queue offset it gets, see ``queue-dense``; who receives it; copies that consumers sent back, see
``stored-sent-back``; everything where the master's clock was set, its oldest files went, its store was replaced, or a
disk had lied about what it lost; and of a slave that became the master, what its predecessor was sent: how far that one
had come the slave may have heard before it had the messages. A level above messageDelayLevel's last one counts as that.
Source: ScheduleMessageService; CommitLog.checkMessageAndReturnSize.
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
from ...law import Law
from ...settings import version
from ...topology import MASTER

WAITING = "SCHEDULE_TOPIC_XXXX/"
LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
KILL = "kill"
"""The fault that ends a process and leaves what it wrote."""
LATE_NS = 5_000 * MS
SAVED_NS = 22_000 * MS
"""By then it is saved how far deliveries have come: every 10 s, and the reference waits until its log is flushed, which
may take another 10 s."""
SAVES_AT_STOP = (4, 9, 3)
"""The version from which on ScheduleMessageService.shutdown persists."""
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_LEVEL = re.compile(r"(\d+)([smhd])")


@lru_cache(maxsize=16)
def delays_ms(levels: str) -> tuple[int, ...]:
    """The delays of messageDelayLevel, level 1 first; what is no delay is left out."""
    return tuple(int(number) * _UNIT_MS[unit] for number, unit in _LEVEL.findall(levels))


class DeliverDelayed(Law):
    id = "deliver-delayed"
    promise = "A delayed message enters its queue once, when its delay has passed and not earlier."
    source = "ScheduleMessageService; messageDelayLevel"
    needs = frozenset({"config", "invoke", "ok", "start", "record", "audit"})
    awaits = {
        **dict.fromkeys(("crash", "stop"), EventFilter(nodes=frozenset((MASTER,)))),
        "audit": EventFilter(frozenset({"final"}), frozenset((MASTER,))),
    }  # fmt: skip
    timed = True

    def begin(self) -> None:
        self.settled: dict[str, int] = {}
        """Those that its table of positions is past, and when the master appended them last, ns."""
        self.stopped_badly = False

    @property
    def excused(self) -> bool:
        of_master = self.known.stores.of_master(0, None)
        return MASTER in self.known.clocks or not of_master.isdisjoint((EXPIRE, LIED, WIPE))

    def _delays(self) -> dict[str | None, int]:
        """Delayed messages and their delays, ms. A slave that becomes the master owes what it is sent itself."""
        delays = delays_ms(str(self.known.config.get(MASTER, {}).get("messageDelayLevel", LEVELS)))
        promotion = self.known.stores.promotion
        since = -1 if promotion is None else promotion.seq
        sends = (each for each in self.known.sent.sends.values() if (each.f, each.node) == ("send", MASTER))
        levels = {each.message: min(level_of(each), len(delays)) for each in sends if each.seq > since}
        return {message: delays[level - 1] for message, level in levels.items() if level > 0}

    def _may_be_sent_back(self, message: str | None) -> bool:
        """Copies wait and come again. Nobody sees what the consumers of a black box send back."""
        if any(each.event.message == message for each in self.known.sent.backs.values()):
            return True
        consumed = self.known.consumption.consumed.values()
        return self.known.is_a_black_box(MASTER) and any(message in each.messages for each in consumed)

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        since = self.settled.get(event.message or "")
        if since is None or self.excused or event.message not in self._delays():
            return
        if self._may_be_sent_back(event.message):
            return
        self.judged += 1
        self.settled[event.message or ""] = event.t
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
        came = [each for each in records if each not in waited]
        if not waited:
            for each in came:
                self.judged += 1
                self.violate(each, f"{message} came into {each.queue} at once; its delay is {delay_ms} ms", since=None)
            return
        since = max(each.value or 0 for each in waited)
        for each in came:
            self.judged += 1
            if (each.value or 0) - since < delay_ms:
                self.violate(
                    each, f"{message} came into {each.queue} {(each.value or 0) - since} ms after it was stored; "
                    f"its delay is {delay_ms} ms", since=None
                )  # fmt: skip
        went_down = self.stopped_badly or bool(self.known.stores.of_master(0, None))
        if len(came) > 1 and not went_down:
            self.violate(end._replace(message=message), f"{message} was delivered {len(came)} times", since=None)
        answered = self.known.sent.answered.get(message)
        if came or answered is None or MASTER not in self.known.up:
            return
        healed = self.known.milestones.get("heal")
        since = max(self.known.nodes.last_start(MASTER), 0 if healed is None else healed.t)
        due = max(answered.t + delay_ms * MS, since)
        if end.t - due > LATE_NS:
            self.judged += 1
            self.violate(
                end._replace(message=message), f"{message} still waits, though it is due since "
                f"{(end.t - answered.t) / MS - delay_ms:.0f} ms", since=due
            )  # fmt: skip

    # What changes what is due.

    @only(node=MASTER)
    def on_crash(self, event: Crash) -> None:
        """A master that comes back may deliver again what it had not noted."""
        self.settled = self._past(event.t) if event.f == "process" else {}

    def _past(self, now: int) -> dict[str, int]:
        """What was delivered so long ago that its position is saved, if nothing kept the master from that."""
        disturbances = self.known.disturbances
        if any(MASTER in disturbances.affected(each) and each.f != KILL for each in disturbances.active.values()):
            return {}
        since = max(disturbances.ended.get(MASTER, 0), self.known.nodes.last_start(MASTER))
        times: dict[str | None, list[int]] = {message: [] for message in self._delays()}
        for put in sorted(itertools.chain.from_iterable(self.known.sent.puts.values())):
            if put.message in times:
                times[put.message].append(put.t)
        last = {message or "": each[-1] for message, each in times.items() if len(each) > 1}
        return {message: at for message, at in last.items() if now - max(at, since) > SAVED_NS}

    @only(node=MASTER)
    def on_stop(self, event: Stop) -> None:
        saves = version(self.known.config.get(MASTER, {})) >= SAVES_AT_STOP
        disturbances = self.known.disturbances
        here = sum(MASTER in disturbances.affected(each) for each in disturbances.active.values())
        # One of them is what stops it.
        self.stopped_badly |= not saves or here > 1
