"""Observations of brokers in the simulated lab: taps at both ends of HA connections, nodes' own traces, store reads.

Observers decode with their own code (``chaos/observers``), never with the broker's. An observer records before it
forwards and after it receives, so an outside observer could have seen the history's order.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import partial

from ...harness.history import digest
from ...reference import ports
from ...reference.core.broker import Broker
from ...reference.core.config import BrokerConfig
from ..labs.sim.evidence import Evidence, Readings
from ..labs.sim.host import Host
from ..labs.sim.network import End
from ..observers import auditing
from ..observers.ha_tap import FrameTap, ReportTap
from ..observers.remoting_tap import registered_address
from ..observers.stored_record import stored_key
from .context import Context
from .ha_events import MASTERS, SLAVES, HaEvents, Tap
from .sim_starts import Starts

FOLDER = "commitlog"
ANSWERED = {"ha": "haServerAddr", "master": "masterAddr"}
"""Names of a registration answer's fields in the history."""

_NOTHING = ReportTap()


class Watcher(ports.Watcher):
    def __init__(self, evidence: SimReadings, host: Host) -> None:
        self.evidence = evidence
        self.host = host
        self.incarnation = host.incarnation
        self.record_ends = evidence.record_ends.setdefault(host.name, {})

    def appended(self, lo: int, hi: int, data: bytes, f: str) -> None:
        evidence, host = self.evidence, self.host
        message = None
        if f == "put":
            message = stored_key(data)
            self.record_ends[lo] = hi
        evidence.log_ends[host.name] = hi
        evidence.add(
            host.kernel.now, "append", host.name, self.incarnation, f=f, message=message, lo=lo, hi=hi,
            digest=digest(data),
        )  # fmt: skip
        if evidence.armed:
            evidence.point(host.name, "append")

    def committed(self, upto: int) -> None:
        self.evidence.add(self.host.kernel.now, "commit", self.host.name, self.incarnation, hi=upto)

    def flushed(self, upto: int) -> None:
        self.evidence.add(self.host.kernel.now, "flush", self.host.name, self.incarnation, hi=upto)

    def dispatched(self, upto: int) -> None:
        self.evidence.add(self.host.kernel.now, "dispatch", self.host.name, self.incarnation, hi=upto)

    def synced(self, table: str, status: str) -> None:
        self.evidence.add(self.host.kernel.now, "sync", self.host.name, self.incarnation, f=table, status=status)
        if self.evidence.armed and status == "applied":
            self.evidence.point(self.host.name, "apply")

    def persisted(self, table: str) -> None:
        self.evidence.add(self.host.kernel.now, "persist", self.host.name, self.incarnation, f=table)

    def registered(self, answer: Mapping[str, str] | None, asked: Mapping[str, str]) -> None:
        status, told = ("ok", dict(answer)) if answer is not None else ("failed", {})
        found = {key: told[field] for key, field in ANSWERED.items() if told.get(field)}
        self.evidence.add(
            self.host.kernel.now, "register", self.host.name, self.incarnation, f=registered_address(asked),
            status=status,
            detail=json.dumps({key: self.evidence.node_at(each) for key, each in found.items()}, sort_keys=True),
        )  # fmt: skip
        if self.evidence.armed and answer is not None:
            self.evidence.point(self.host.name, "route")

    def expired(self, lo: int) -> None:
        self.evidence.add(self.host.kernel.now, "expire", self.host.name, self.incarnation, lo=lo)

    def refused(self, conn: End, reported: int, end: int, why: str) -> None:
        self.evidence.add(
            self.host.kernel.now, "diverged", self.host.name, self.incarnation, conn.label, hi=reported, value=end,
            detail=why,
        )  # fmt: skip


class SimReadings(Readings, Context):
    """Records observations of one simulated trial's brokers; also its clients' context."""

    by_time = ("partial",)

    def __init__(self, evidence: Evidence, hosts: Mapping[str, Host], configs: Mapping[str, BrokerConfig]) -> None:
        self.evidence = evidence
        self.hosts = hosts
        self.configs = configs
        self.kernel = evidence.kernel
        self.add = evidence.add
        self.now = evidence.now
        self.node_at = evidence.node_at
        self.armed = evidence.armed
        self.point = evidence.point
        self.starts = Starts(evidence, configs)
        self.connections = 0
        self.reporting_slaves: set[str] = set()
        """Slaves whose reports have reached the master."""
        self.log_ends: dict[str, int] = {}
        self._taps: dict[End, tuple[Tap, Tap]] = {}
        """Per end of an HA connection: taps of the bytes that leave it, and of those that reach it."""
        self._ha = HaEvents(self.add, self.now, self._stored)
        self.record_ends: dict[str, dict[int, int]] = {}
        """By node: from a record's start to its end."""

    # Nodes.

    def watcher(self, host: Host) -> Watcher:
        return Watcher(self, host)

    def starting(self, host: Host) -> None:
        self.starts.starting(host)

    def refused(self, host: Host) -> None:
        self.starts.refused(host)

    def started(self, host: Host) -> None:
        """A node has started; a broker has recovered its log."""
        broker, name = host.node, host.name
        if not isinstance(broker, Broker):
            self.add(self.kernel.now, "start", name, host.incarnation, f="empty")
            return
        log = broker.log
        self.add(self.kernel.now, "start", name, host.incarnation, f=broker.store.recovery, lo=log.start, hi=log.end)
        before = self.log_ends.get(name, 0)
        if log.end < before:
            self.add(self.kernel.now, "cut", name, host.incarnation, lo=log.end, hi=before)
        self.log_ends[name] = log.end
        self.starts.started(host)

    def end(self, node: str) -> int | None:
        """A broker's log end; None for one that does not run."""
        broker = self.broker(node)
        return broker.log.end if broker is not None else None

    def broker(self, name: str) -> Broker | None:
        host = self.hosts.get(name)
        return host.node if host is not None and isinstance(host.node, Broker) else None

    def log_end(self, node: str) -> int:
        return self.log_ends.get(node, 0)

    def replaced(self, host: Host) -> int | None:
        self.log_ends.pop(host.name, None)
        return self._snapshot(host).read().where

    # The HA link.

    def opened(self, end: End, accepted: bool) -> None:
        if end.link.port != "ha":
            return
        if end.host.name == "rogue_master":
            # A rogue peer's end is not tapped; its bytes are observed where the slave receives them.
            self.connections += 1
            end.peer.label = f"ha:{self.connections}"
            return
        peer = (end.peer if accepted else end).host.name
        frames, reports = FrameTap(), ReportTap()
        side = MASTERS if accepted else SLAVES
        of_frames, of_reports = partial(self._frames, end, side, frames), partial(self._reports, end, side, reports)
        if accepted:
            self.connections += 1
            end.label = end.peer.label = f"ha:{self.connections}"
            self._taps[end] = frames, reports
            end.tap_out, end.tap_in = of_frames, of_reports
        else:
            self._taps[end] = reports, frames
            end.tap_out, end.tap_in = of_reports, of_frames
        self._ha.connect(peer, end.label, side)

    def closed(self, end: End, how: str) -> None:
        if end.label:
            side = MASTERS if end.outgoing is end.link.down else SLAVES
            self._ha.close(end.host.name, end.label, side, how, *self._taps.pop(end, (_NOTHING, _NOTHING)))

    def _frames(self, end: End, side: str, tap: FrameTap, data: bytes) -> None:
        self._ha.frames(end.host.name, end.label, side, tap, data)

    def _reports(self, end: End, side: str, tap: ReportTap, data: bytes) -> None:
        for offset in tap.feed(data):
            if side == MASTERS:
                self.reporting_slaves.add(end.peer.host.name)
            self._ha.report(end.host.name, end.label, side, offset)
        self._ha.reported(end.host.name, end.label, side, tap, data)

    # Clients.

    def end_of_record(self, node: str, lo: int) -> int | None:
        return self.record_ends.get(node, {}).get(lo)

    # Stores.

    def audit(self, master: Host, slave: Host, f: str, nodes: Collection[str]) -> None:
        """Read the stores from outside: records of ``nodes``; and the common parts of both nodes' logs, queues and
        indexes.

        A master without slaves is passed as both.
        """
        self.evidence.audits += 1
        one = self._snapshot(master)
        other = one if slave is master else self._snapshot(slave)
        auditing.audit(self.evidence.recorder, self.kernel.now, self.evidence.audits, f, one, other, nodes)

    def _snapshot(self, host: Host) -> auditing.Snapshot:
        files = {name: file.cache for name, file in host.disk.files.items()}
        end = host.node.log.end if isinstance(host.node, Broker) else None
        config = self.configs[host.name]
        return auditing.Snapshot(
            host.name, host.incarnation, files, end, config.maxHashSlotNum, config.messageDelayLevel
        )

    def _stored(self, node: str, lo: int, hi: int) -> bytes | None:
        size, files = self.configs[node].mappedFileSizeCommitLog, self.hosts[node].disk.files
        found = b""
        while lo < hi:
            start = lo - lo % size
            file = files.get(f"{FOLDER}/{start:020d}")
            if file is None:
                return None
            found += bytes(file.cache[lo - start : hi - start])
            lo = start + file.size
        return found
