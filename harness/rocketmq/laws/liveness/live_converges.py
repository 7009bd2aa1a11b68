"""``live-converges``: after faults end, sends are answered again, and each slave's log reaches the master's within the
bound, or the master reports why it cannot.

Checks:
- At least one of the lab's test sends (mark ``probe``) is answered as stored.
- Each slave reaches the master's log end within :func:`bound_ms`. If a name server provides its master's address, three
  registration periods are added: two for the master, which may first notice a dead connection, and one for itself.
- A slave whose log is ahead of the master's or before its start is reported (``diverged``) after healing, or on a
  connection that is still open. A true report excuses only this slave. If the master's log grows past the slave's end,
  the bound starts at the last report.
Abstains when:
- A heartbeat interval is not below the housekeeping interval (not applicable): no connection reaches its first report.
- The topic may be gone by a promotion or an administrator, and the master creates none (probes only).
- A client gave up on a probe before the master's longest wait.
- For the other slaves' times: one slave did not arrive.
- A broker of the pair is down without a fault (``node-lives``), or the master is diverged (see ``known``).
- A diverged slave does not come to rest, or the pair is busy afterwards.
- The slave closes on a cut report, in a lab with small buffers and unequal directions: reports pile up, and every few
  KiB cost a connection.
- The master stored the missing bytes in the last second.
Source: HAService.HAClient, which reconnects, waits and asks from its own end; BrokerController's registration.
"""

import json
from collections.abc import Callable

from ....event_types.client import Info, Ok
from ....event_types.machine import Lab, Mark
from ....history import MS, UNREADABLE, Event
from ....judging.law import only
from ...contract import STORED
from ...event_types.ha import Diverged
from ...event_types.log import Audit
from ...law import Law
from ...settings import Settings, can_replicate, creates_topics, registration_ms
from ...topology import MASTER, ROGUE

POLL_MS = 1_000
CONNECT_TIMEOUT_MS = 5_000
CONNECT_WAIT_MS = 5_000
REGISTRATIONS = 3
REGISTRATION_CALL_MS = 6_000
TRANSFER_MS = 5_000
"""The time of a healthy link for all bytes of a trial."""
JUST_NS = 1_000 * MS
"""Bytes that the master stored so shortly before the end may be in flight."""
WIDE = 65_536
"""A buffer of this size holds all reports in flight in any lab."""


def bound_ms(setting: Callable[[str, str], int], slave: str = "slave") -> int:
    """The time of a healed slave to catch up, ms. ``setting`` (node, key) returns RocketMQ's settings."""
    notice = max(setting(node, "haHousekeepingInterval") for node in (MASTER, slave)) + POLL_MS
    connect = CONNECT_TIMEOUT_MS + CONNECT_WAIT_MS
    # The slave's first report waits one interval; the slave may need the master's heartbeat to see a live link.
    ask = setting(slave, "haSendHeartbeatInterval") + setting(MASTER, "haSendHeartbeatInterval") + POLL_MS
    return notice + connect + ask + TRANSFER_MS


def address_ms(config: Settings) -> int:
    """The time of a slave to learn its master's address, ms."""
    if config.get("haMasterAddress") or not config.get("namesrvAddr"):
        return 0
    return REGISTRATIONS * (registration_ms(config) + REGISTRATION_CALL_MS)


def flush_ms(config: Settings) -> int:
    """The wait of new bytes for the disk before the master pushes them, ms."""
    return 2 * int(config.get("flushIntervalCommitLog", 500)) if config.get("haPushes") == "flushed" else 0


class LiveConverges(Law):
    applies_with = "a slave, and each haSendHeartbeatInterval shorter than the other side's haHousekeepingInterval"
    needs = frozenset({"mark", "audit"})
    timed = True

    def begin(self) -> None:
        self.named: dict[str, Event] = {}
        self.probes: set[int | None] = set()
        self.is_alive = False
        self.impatient = False
        """Whether a client gave up before the master's longest wait."""
        self.may_cut = False
        """Whether reports may pile up until one is cut."""

    def on_lab(self, event: Lab) -> None:
        own = json.loads(event.detail or "{}")
        self.may_cut = own.get("lab.bufferBytes", WIDE) < WIDE and own.get("lab.spread", 1) > 1

    def on_mark(self, event: Mark) -> None:
        if event.f == "heal":
            # Earlier refusals count only on connections that are still open.
            links = self.known.links
            self.named = {slave: each for slave, each in self.named.items() if links[each.link or ""].open}
        elif event.f == "probe":
            self.probes.add(event.op)

    @only("send")
    def on_info(self, event: Info) -> None:
        call = self.known.calls.begun(event)
        healed = self.known.milestones.get("heal")
        if healed is None or call is None or call.call.seq < healed.seq:
            return
        # An unreadable answer (ack-readable) may have been a success.
        self.impatient = self.impatient or event.status == UNREADABLE
        if event.status == "timeout":
            longest = max(self.known.setting(MASTER, key) for key in ("syncFlushTimeout", "slaveTimeout"))
            self.impatient = self.impatient or event.t - call.call.t <= longest * MS

    @only("send")
    def on_ok(self, event: Ok) -> None:
        self.is_alive |= "heal" in self.known.milestones and event.op in self.probes and event.status in STORED

    def on_diverged(self, event: Diverged) -> None:
        link = self.known.links.get(event.link or "")
        if link is None or link.peer == ROGUE or link.first is None or link.valid:
            return
        self.named[link.peer] = event

    def end(self, last: Event) -> None:
        slaves = [node for node, each in self.known.config.items() if each.get("brokerRole") == "SLAVE"]
        if not self.known.config:
            slaves = ["slave"]
        slaves = [node for node in slaves if self._can_replicate(node)]
        self.applicable = bool(slaves)
        marks = self.known.milestones
        healed, settled = marks.get("heal"), marks.get("unsettled") or marks.get("converged")
        if healed is None or settled is None or not self.applicable:
            return
        if not self.known.gone.isdisjoint((MASTER, *slaves)) or MASTER in self.known.logs.diverged:
            return
        self.judged += 1
        since = healed.t
        # A promoted slave may not have it yet, an administrator may have deleted it, and some brokers create none.
        may_lack = self.known.stores.promotions or self.known.tables.may_lack_topics
        lacks_topic = may_lack and not creates_topics(self.known.config.get(MASTER, {}))
        silent = self.probes and not self.is_alive and not self.impatient and not lacks_topic
        if silent and "ok" in self.known.observes:
            self.violate(settled, f"none of {len(self.probes)} sends after healing was answered as stored", since=since)
        bound = max(
            bound_ms(self.known.setting, slave) + address_ms(self.known.config.get(slave, {})) for slave in slaves
        )
        bound += flush_ms(self.known.config.get(MASTER, {}))
        named = max((each.t for each in self.named.values()), default=since)
        took = (settled.t - max(since, named)) / MS
        if settled.f == "unsettled":
            self._judge_missing(slaves, settled, since)
        elif took > bound and not (self.may_cut and any(self._closes(slave) for slave in slaves)):
            what = f"{_named(slaves)} needed {took:.0f} ms to catch up; {bound} ms are enough"
            self.violate(settled, what, since=since)
        else:
            self._compare_ends(settled.t)

    def _closes(self, slave: str) -> bool:
        return self.known.config.get(slave, {}).get("haCutReports") == "closes"

    def _can_replicate(self, slave: str) -> bool:
        """Whether the heartbeats keep a connection open, and both have one file size (``ha-file-size``)."""
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
            # The copy may begin in the middle of a record, which is never dispatched.
            explained = explained or slave in self.known.logs.diverged
        if not explained and not self.violations:
            what = f"all logs end alike, yet the brokers did not come to rest in {took:.0f} ms"
            self.violate(settled, what, since=since)

    def _is_served(self, slave: str) -> bool:
        """Whether a slave was accepted after all: an earlier refusal is then no excuse."""
        return any(each.open and each.valid and each.peer == slave for each in self.known.links.values())

    def _final(self) -> dict[str, Audit]:
        return {node: each.read for node, each in self.known.audits.final.items() if each.read is not None}

    def _compare_ends(self, since: int) -> None:
        final = self._final()
        master = final.get(MASTER)
        for node, audit in final.items():
            if master is None or audit.hi == master.hi or node in self.known.logs.diverged:
                continue
            fresh = [each.lo for each in self.known.logs.puts if each.t >= audit.t - JUST_NS]
            if not (fresh and min(fresh) <= (audit.hi or 0) < (master.hi or 0)):
                self.violate(audit, f"{node}'s log ends at {audit.hi}, the master's at {master.hi}", since=since)


def _named(slaves: list[str]) -> str:
    return slaves[0] if len(slaves) == 1 else f"the last of {', '.join(slaves)}"
