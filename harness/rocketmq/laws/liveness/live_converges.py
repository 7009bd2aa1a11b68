"""``live-converges``: when faults have ended, the master takes messages again and each slave catches up within a bound,
or the master says why it cannot.

The bound is made of the configured times, see :func:`bound_ms`. A slave that cannot rejoin, since its log is ahead of
the master's or before its start, must be named (``diverged``) after healing or on a connection that still stands; and
the naming must be true. That excuses this slave only, and no other one; where the master's log has grown past its end
at last, the bound counts from when it was named last. Of the probes, the sends by which a lab tries whether the brokers
are alive (mark ``probe``), at least one must be answered as stored. Where a lab sends none, nobody asks; and where a
client gave up before the longest wait that a master may impose, nobody knows.

Not applicable where a heartbeat interval is not below the housekeeping interval: such a pair drops every connection
before its first report. A slave that learns its master's address from a name server has three registration periods
besides: the master has two, since the first may only find out that its connection is dead, and the slave the next. Left
out: how long the others took where one slave never came; whether a diverged slave comes to rest; trials at
whose end a broker of the pair is down by itself, see ``node-lives``; a master that was a diverged slave (see
``known``); and quiet afterwards. So is how long slaves took that close when a report is cut, where a lab with small
buffers has one direction slower than the other: reports pile up, and every few KiB cost a new connection. And so is
what the master stored in the last second.
Source: HAService.HAClient's waits, BrokerController (registration).
"""

import json
from collections import deque
from collections.abc import Callable

from ....event_types.client import Info, Ok
from ....event_types.machine import Lab, Mark
from ....history import MS, UNREADABLE, Event
from ....judging.law import only
from ...contract import STORED
from ...event_types.ha import Diverged
from ...event_types.log import Append, Audit
from ...law import Law
from ...settings import Settings, can_replicate, creates_topics
from ...topology import MASTER, ROGUE

POLL_MS = 1_000
"""One select of an HA thread."""
CONNECT_TIMEOUT_MS = 5_000
CONNECT_WAIT_MS = 5_000
REGISTRATIONS = 3
REGISTRATION_MS = (10_000, 60_000)
"""Between these RocketMQ clamps registerNameServerPeriod."""
REGISTRATION_CALL_MS = 6_000
TRANSFER_MS = 5_000
"""What a healthy link needs for all that a trial wrote."""
JUST_NS = 1_000 * MS
"""What the master stored so short a time before the end may still be on its way."""
WIDE = 65_536
"""A buffer of so many bytes takes all reports that are on their way in any lab."""


def bound_ms(setting: Callable[[str, str], int], slave: str = "slave") -> int:
    """How long a healed slave may need, ms. ``setting`` (node, key) gives RocketMQ's settings."""
    notice = max(setting(node, "haHousekeepingInterval") for node in (MASTER, slave)) + POLL_MS
    connect = CONNECT_TIMEOUT_MS + CONNECT_WAIT_MS
    # The slave's first report waits one interval; the master's heartbeat may have to show that the link is alive.
    ask = setting(slave, "haSendHeartbeatInterval") + setting(MASTER, "haSendHeartbeatInterval") + POLL_MS
    return notice + connect + ask + TRANSFER_MS


def address_ms(config: Settings) -> int:
    """How long a slave with these settings may need to learn where its master is, ms."""
    if config.get("haMasterAddress") or not config.get("namesrvAddr"):
        return 0
    shortest, longest = REGISTRATION_MS
    period = max(shortest, min(int(config.get("registerNameServerPeriod", 30_000)), longest))
    return REGISTRATIONS * (period + REGISTRATION_CALL_MS)


def flush_ms(config: Settings) -> int:
    """How long new bytes wait for the disk before a master may push them, ms."""
    return 2 * int(config.get("flushIntervalCommitLog", 500)) if config.get("haPushes") == "flushed" else 0


class LiveConverges(Law):
    id = "live-converges"
    promise = (
        "When faults end, sends are answered again, and each slave's log reaches the master's within the bound, or the "
        "master says why it cannot."
    )
    source = "HAService.HAClient: it reconnects and asks from its own end"
    applies_with = "a slave, and each haSendHeartbeatInterval shorter than the other side's haHousekeepingInterval"
    needs = frozenset({"mark", "audit"})
    timed = True

    def begin(self) -> None:
        self.healed: Event | None = None
        self.settled: Event | None = None
        self.named: dict[str, Event] = {}
        """Slaves that the master cannot serve, as it says."""
        self.probes: set[int | None] = set()
        self.is_alive = False
        """Whether one of them was answered as stored after healing."""
        self.impatient = False
        """Whether the client of one of them gave up while the master might still let it wait."""
        self.just = deque[tuple[int, int]]()
        """When the master's newest bytes were written, ns, and where they begin."""
        self.cuts = False
        """Whether reports may pile up until one is cut."""

    def on_lab(self, event: Lab) -> None:
        own = json.loads(event.detail or "{}")
        self.cuts = own.get("lab.bufferBytes", WIDE) < WIDE and own.get("lab.spread", 1) > 1

    def on_mark(self, event: Mark) -> None:
        if event.f == "heal":
            self.healed = event
            # Of refusals before, only those that still stand count.
            links = self.known.links
            self.named = {slave: each for slave, each in self.named.items() if links[each.link or ""].open}
        elif event.f in ("converged", "unsettled"):
            self.settled = event
        elif event.f == "probe":
            self.probes.add(event.op)

    @only("send")
    def on_info(self, event: Info) -> None:
        call = self.known.calls.begun(event)
        if self.healed is None or call is None or call.call.seq < self.healed.seq:
            return
        # What an answer says that nobody can read, see ack-readable, may have been that.
        self.impatient = self.impatient or event.status == UNREADABLE
        if event.status == "timeout":
            longest = max(self.known.setting(MASTER, key) for key in ("syncFlushTimeout", "slaveTimeout"))
            self.impatient = self.impatient or event.t - call.call.t <= longest * MS

    @only("send")
    def on_ok(self, event: Ok) -> None:
        self.is_alive |= self.healed is not None and event.op in self.probes and event.status in STORED

    def on_diverged(self, event: Diverged) -> None:
        link = self.known.links.get(event.link or "")
        if link is None or link.peer == ROGUE or link.first is None or link.valid:
            return
        self.named[link.peer] = event

    @only(node=MASTER)
    def on_append(self, event: Append) -> None:
        self.just.append((event.t, event.lo))
        while self.just[0][0] < event.t - JUST_NS:
            self.just.popleft()

    def end(self, last: Event) -> None:
        slaves = [node for node, each in self.known.config.items() if each.get("brokerRole") == "SLAVE"]
        if not self.known.config:
            slaves = ["slave"]
        slaves = [node for node in slaves if self._may_meet(node)]
        self.applicable = bool(slaves)
        if self.healed is None or self.settled is None or not self.applicable:
            return
        if not self.known.gone.isdisjoint((MASTER, *slaves)) or MASTER in self.known.logs.diverged:
            return
        self.judged += 1
        since = self.healed.t
        # A slave that becomes the master may not have the topic yet; some brokers make none by themselves.
        lacks_topic = self.known.stores.promotions and not creates_topics(self.known.config.get(MASTER, {}))
        silent = self.probes and not self.is_alive and not self.impatient and not lacks_topic
        if silent and "ok" in self.known.observes:
            self.violate(
                self.settled, f"none of {len(self.probes)} sends after healing was answered as stored", since=since
            )
        bound = max(
            bound_ms(self.known.setting, slave) + address_ms(self.known.config.get(slave, {})) for slave in slaves
        )
        bound += flush_ms(self.known.config.get(MASTER, {}))
        named = max((each.t for each in self.named.values()), default=since)
        took = (self.settled.t - max(since, named)) / MS
        if self.settled.f == "unsettled":
            self._judge_missing(slaves, self.settled, since)
        elif took > bound and not (self.cuts and any(self._closes(slave) for slave in slaves)):
            what = f"{_named(slaves)} needed {took:.0f} ms to catch up; {bound} ms are enough"
            self.violate(self.settled, what, since=since)
        else:
            self._compare_ends(self.settled.t)

    def _closes(self, slave: str) -> bool:
        return self.known.config.get(slave, {}).get("haCutReports") == "closes"

    def _may_meet(self, slave: str) -> bool:
        """Whether a connection can outlive the wait for its first report and the silence between two heartbeats.

        And whether their files have one size: if not, the slave must not copy (``ha-file-size``).
        """
        config = self.known.config
        return can_replicate(config.get(MASTER, {}), config.get(slave, {}))

    def _judge_missing(self, slaves: list[str], settled: Event, since: int) -> None:
        took = (settled.t - since) / MS
        final = self._final()
        master = final.get(MASTER)
        explained = False
        for slave in slaves:
            audit = final.get(slave)
            if slave in self.named and not self._is_served(slave):
                explained = True
            elif master is None or audit is None or audit.hi != master.hi:
                explained = True
                self.violate(settled, f"{slave} did not catch up in {took:.0f} ms, and nobody said why", since=since)
            # What it copied may have begun in the middle of a record: it never derives that.
            explained = explained or slave in self.known.logs.diverged
        if not explained and not self.violations:
            what = f"all logs end alike, yet the brokers did not come to rest in {took:.0f} ms"
            self.violate(settled, what, since=since)

    def _is_served(self, slave: str) -> bool:
        """Whether a slave was accepted after all: then an earlier refusal excuses nothing."""
        return any(each.open and each.valid and each.peer == slave for each in self.known.links.values())

    def _final(self) -> dict[str, Audit]:
        return {node: each.read for node, each in self.known.audits.final.items() if each.read is not None}

    def _compare_ends(self, since: int) -> None:
        final = self._final()
        master = final.get(MASTER)
        for node, audit in final.items():
            if master is None or audit.hi == master.hi or node in self.known.logs.diverged:
                continue
            fresh = [lo for t, lo in self.just if t >= audit.t - JUST_NS]
            if not (fresh and min(fresh) <= (audit.hi or 0) < (master.hi or 0)):
                self.violate(audit, f"{node}'s log ends at {audit.hi}, the master's at {master.hi}", since=since)


def _named(slaves: list[str]) -> str:
    return slaves[0] if len(slaves) == 1 else f"the last of {', '.join(slaves)}"
