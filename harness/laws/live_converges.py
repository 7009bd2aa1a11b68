"""``live-converges``: when faults have ended, the pair takes messages again and the slave catches up within a bound, or
the master says why it cannot.

The bound is made of the configured times, see :func:`bound_ms`. A slave that cannot rejoin, since its log is ahead of
the master's or before its start, must be named (``diverged``) after healing or on a connection that still stands; and
the naming must be true. That excuses the slave only: of the probes, the sends by which a lab tries whether the pair is
alive (mark ``probe``), at least one must be answered as stored. Where a lab sends none, nobody asks.

Not applicable where a heartbeat interval is not below the housekeeping interval: such a pair drops every connection
before its first report. Left out: addresses that come from a name server (their registration periods would add), and
quiet afterwards. Source: property 9, HAService.HAClient's waits, hazards 6 and 8.
"""

from __future__ import annotations

from collections.abc import Callable

from pairproof.harness.contract import STORED
from pairproof.harness.history import Event
from pairproof.harness.laws.base import Law
from pairproof.harness.laws.ledger import HOSTILE, MASTER, Ledger

MS = 1_000_000
POLL_MS = 1_000
"""One select of an HA thread."""
CONNECT_TIMEOUT_MS = 5_000
CONNECT_WAIT_MS = 5_000
TRANSFER_MS = 5_000
"""What a healthy link needs for all that a trial wrote."""


def bound_ms(setting: Callable[[str, str], int], slave: str = "slave") -> int:
    """How long a healed slave may need, ms. ``setting`` (node, key) gives RocketMQ's settings."""
    notice = max(setting(node, "haHousekeepingInterval") for node in (MASTER, slave)) + POLL_MS
    connect = CONNECT_TIMEOUT_MS + CONNECT_WAIT_MS
    # The slave's first report waits one interval; the master's heartbeat may have to show that the link is alive.
    ask = setting(slave, "haSendHeartbeatInterval") + setting(MASTER, "haSendHeartbeatInterval") + POLL_MS
    return notice + connect + ask + TRANSFER_MS


class LiveConverges(Law):
    """See the module."""

    id = "live-converges"
    promise = (
        "When faults end sends are answered again, and the slave's log reaches the master's within the bound, or the "
        "master says why it cannot."
    )
    source = "HAService.HAClient: it reconnects and asks from its own end"
    needs = frozenset({"mark", "audit"})
    key = "node"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self.healed: Event | None = None
        self.settled: Event | None = None
        self.final: dict[str, Event] = {}
        self.named: Event | None = None
        self.probes: set[int | None] = set()
        self.stored: set[int | None] = set()
        """Sends that were answered as stored after healing."""

    def on_mark(self, event: Event) -> None:
        """The trial's phases."""
        if event.f == "heal":
            self.healed = event
        elif event.f in ("converged", "unsettled"):
            self.settled = event
        elif event.f == "probe":
            self.probes.add(event.op)

    def on_ok(self, event: Event) -> None:
        """Somebody was answered."""
        if self.healed is not None and event.f == "send" and event.status in STORED:
            self.stored.add(event.op)

    def on_diverged(self, event: Event) -> None:
        """The master names a slave that it cannot serve."""
        link = self.ledger.links.get(event.link or "")
        if link is None or link.peer == HOSTILE or link.first is None or link.valid:
            return
        self.named = event

    def on_close(self, event: Event) -> None:
        """Before healing, only a refusal that still stands counts."""
        if self.named is not None and self.healed is None and event.side == "m" and event.link == self.named.link:
            self.named = None

    def on_crash(self, event: Event) -> None:
        """So does the refusal of a master that is gone."""
        if event.node == MASTER and self.healed is None:
            self.named = None

    on_stop = on_crash

    def on_audit(self, event: Event) -> None:
        """Where logs end at last."""
        if event.f == "final":
            self.final[event.node or ""] = event

    def end(self, last: Event) -> None:
        """Judge the phase after healing."""
        slaves = [node for node, each in self.ledger.config.items() if each.get("brokerRole") == "SLAVE"]
        self.applicable = (bool(slaves) or not self.ledger.config) and self._may_meet(slaves or ["slave"])
        if self.healed is None or self.settled is None or not self.applicable:
            return
        self.judged += 1
        if self.probes and not self.probes & self.stored and "ok" in self.ledger.observes:
            self.violate(self.settled, f"none of {len(self.probes)} sends after healing was answered as stored")
        bound = max((bound_ms(self.ledger.setting, slave) for slave in slaves), default=bound_ms(self.ledger.setting))
        took = (self.settled.t - self.healed.t) / MS
        if self.settled.f == "unsettled":
            if self.named is None or self._is_served():
                self.violate(self.settled, f"the slave did not catch up in {took:.0f} ms, and nobody said why")
        elif took > bound:
            self.violate(self.settled, f"the slave needed {took:.0f} ms to catch up; {bound} ms are enough")
        else:
            self._compare_ends()

    def _may_meet(self, slaves: list[str]) -> bool:
        """Whether a connection can outlive the wait for its first report and the silence between two heartbeats."""
        setting = self.ledger.setting
        pauses = [setting(node, "haSendHeartbeatInterval") for node in (MASTER, *slaves)]
        return max(pauses) < min(setting(node, "haHousekeepingInterval") for node in (MASTER, *slaves))

    def _is_served(self) -> bool:
        """Whether a slave was accepted after all: then an earlier refusal excuses nothing."""
        return any(each.open and each.valid and each.peer != HOSTILE for each in self.ledger.links.values())

    def _compare_ends(self) -> None:
        master = self.final.get(MASTER)
        for node, audit in self.final.items():
            if master is not None and audit.hi != master.hi and node not in self.ledger.rolled:
                self.violate(audit, f"{node}'s log ends at {audit.hi}, the master's at {master.hi}")
