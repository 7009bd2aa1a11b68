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

import re
from functools import lru_cache

from ....history import MS, Event
from ....judging.law import only
from ....kinds.client import Deliver, Invoke, Ok
from ....kinds.machine import Clock, Mark
from ....kinds.node import Crash, Stop, Wipe
from ....texts.content import level_of, told
from ...kinds.groups import Back
from ...kinds.log import Append, Audit, Expire, Record
from ...known.stores import promotes
from ...law import Law
from ...places import MASTER
from ...settings import version

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
    timed = True

    def begin(self) -> None:
        self.delays: dict[str | None, int] = {}
        """Delayed messages and their delays, ms."""
        self.answered: dict[str | None, int] = {}
        """When they were answered as stored, ns."""
        self.records: dict[str | None, list[Event]] = {}
        """What the master's audit lists of them."""
        self.appended: dict[str, list[int]] = {}
        """When the master appended them, ns: to wait, to be delivered, and again."""
        self.settled: set[str] = set()
        """Those that its table of positions is past."""
        self.given: set[str] = set()
        """Those that a group sent back, or may have: copies wait and come again."""
        self.healed = 0
        self.went_down = False
        self.excused = False

    @only("send", node=MASTER)
    def on_invoke(self, event: Invoke) -> None:
        if level_of(event):
            delays = delays_ms(str(self.known.config.get(MASTER, {}).get("messageDelayLevel", LEVELS)))
            level = min(level_of(event), len(delays))
            if level > 0:
                self.delays[event.message] = delays[level - 1]

    @only("send")
    def on_ok(self, event: Ok) -> None:
        if event.message in self.delays:
            self.answered[event.message] = event.t

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        if event.message is None or event.message not in self.delays:
            return
        self.appended.setdefault(event.message, []).append(event.t)
        if event.message in self.settled - self.given and not self.excused:
            self.judged += 1
            since = self.appended[event.message][-2]
            self.violate(
                event, f"{event.message} is delivered again, {(event.t - since) / MS:.0f} ms after it was", since=since
            )  # fmt: skip

    def on_deliver(self, event: Deliver) -> None:
        # Nobody sees what the consumers of a black box send back.
        if event.group is not None and event.message is not None and self.known.is_a_black_box(event.node):
            self.given.add(event.message)

    def on_back(self, event: Back) -> None:
        if event.message is not None:
            self.given.add(event.message)

    @only(node=MASTER)
    def on_record(self, event: Record) -> None:
        if event.message in self.delays and "times" not in told(event.detail):
            self.records.setdefault(event.message, []).append(event)

    @only(node=MASTER)
    def on_audit(self, event: Audit) -> None:
        if not self.delays:
            return
        if event.f == "final" and not self.excused:
            for message, delay in self.delays.items():
                self._judge(message, delay, self.records.get(message, []), event)
        self.records = {}

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
        if len(came) > 1 and not self.went_down:
            self.violate(end._replace(message=message), f"{message} was delivered {len(came)} times", since=None)
        answered = self.answered.get(message)
        if came or answered is None or MASTER not in self.known.up:
            return
        due = max(answered + delay_ms * MS, self.healed, self.known.nodes.born(MASTER))
        if end.t - due > LATE_NS:
            self.judged += 1
            self.violate(
                end._replace(message=message), f"{message} still waits, though it is due since "
                f"{(end.t - answered) / MS - delay_ms:.0f} ms", since=due
            )  # fmt: skip

    # What changes what is due.

    @only("heal")
    def on_mark(self, event: Mark) -> None:
        self.healed = event.t

    @only(node=MASTER)
    def on_crash(self, event: Crash) -> None:
        """A master that comes back may deliver again what it had not noted."""
        self.went_down = True
        self.excused = self.excused or event.status == "lied"
        self.settled = self._past(event.t) if event.f == "process" else set()

    def _past(self, now: int) -> set[str]:
        """What was delivered so long ago that its position is saved, if nothing kept the master from that."""
        trouble = self.known.trouble
        if any(MASTER in trouble.touched(each) and each.f != KILL for each in trouble.active.values()):
            return set()
        since = max(trouble.ended.get(MASTER, 0), self.known.nodes.born(MASTER))
        last = {message: times[-1] for message, times in self.appended.items() if len(times) > 1}
        return {message for message, at in last.items() if now - max(at, since) > SAVED_NS}

    @only(node=MASTER)
    def on_stop(self, event: Stop) -> None:
        saves = version(self.known.config.get(MASTER, {})) >= SAVES_AT_STOP
        trouble = self.known.trouble
        here = sum(MASTER in trouble.touched(each) for each in trouble.active.values())
        # One of them is what stops it.
        if not saves or here > 1:
            self.went_down = True

    def on_wipe(self, event: Wipe) -> None:
        """A slave that becomes the master owes what it is sent itself."""
        if promotes(event):
            self.went_down = True
            self.delays, self.answered, self.appended, self.settled = {}, {}, {}, set()
        else:
            self.on_clock(event)

    def on_clock(self, event: Wipe | Clock | Expire) -> None:
        self.excused = self.excused or event.node == MASTER

    on_expire = on_clock
