"""What the simulated lab sees and records: taps at both ends of every HA connection, nodes' own traces, store reads.

Observers decode with their own code (``chaos/observers``), never with the broker's. An observer records before it
forwards and after it receives, so the history's order is one that could have been seen from outside.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from functools import lru_cache, partial

from pairproof.chaos.labs.blame import Stuck, described
from pairproof.chaos.labs.sim.disk import SimFile
from pairproof.chaos.labs.sim.host import Host, Observer
from pairproof.chaos.labs.sim.kernel import Kernel
from pairproof.chaos.labs.sim.network import End
from pairproof.chaos.observers import auditing
from pairproof.chaos.observers.ha_tap import FrameTap, ReportTap
from pairproof.chaos.observers.stored_record import stored_key
from pairproof.harness.history import MS, Recorder, digest
from pairproof.harness.schedule import Args
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.errors import StoreError, StoreRefused
from pairproof.reference.wire.record import Record

FOLDER = "commitlog"
ANSWERED = {"ha": "haServerAddr", "master": "masterAddr"}
"""What a name server's answer to a registration is recorded as."""

Tap = FrameTap | ReportTap
_NOTHING = ReportTap()


class Watcher:
    """A node's own trace of its log, turned into events."""

    def __init__(self, evidence: Evidence, host: Host) -> None:
        self.evidence = evidence
        self.host = host
        self.incarnation = host.incarnation
        self.record_ends = evidence.record_ends.setdefault(host.name, {})

    def appended(self, lo: int, hi: int, data: bytes, f: str) -> None:
        """Bytes entered the log."""
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

    def flushed(self, upto: int) -> None:
        """The log is durable up to ``upto``."""
        self.evidence.add(self.host.kernel.now, "flush", self.host.name, self.incarnation, hi=upto)

    def dispatched(self, upto: int) -> None:
        """Queues and index hold every whole message up to ``upto``."""
        self.evidence.add(self.host.kernel.now, "dispatch", self.host.name, self.incarnation, hi=upto)

    def synced(self, table: str, status: str) -> None:
        """A slave's metadata sync: asked, same, applied or failed."""
        self.evidence.add(self.host.kernel.now, "sync", self.host.name, self.incarnation, f=table, status=status)

    def persisted(self, table: str) -> None:
        """A table was written to its file."""
        self.evidence.add(self.host.kernel.now, "persist", self.host.name, self.incarnation, f=table)

    def registered(self, answer: Mapping[str, str] | None) -> None:
        """A name server answered, or not."""
        status, told = ("ok", dict(answer)) if answer is not None else ("failed", {})
        found = {key: told[field] for key, field in ANSWERED.items() if told.get(field)}
        self.evidence.add(
            self.host.kernel.now, "register", self.host.name, self.incarnation, status=status,
            detail=json.dumps({key: self.evidence.node_at(each) for key, each in found.items()}, sort_keys=True),
        )  # fmt: skip

    def expired(self, lo: int) -> None:
        """The oldest files are gone."""
        self.evidence.add(self.host.kernel.now, "expire", self.host.name, self.incarnation, lo=lo)

    def misfits(self, why: str) -> None:
        """What this slave does and does not do from now on is seen from outside."""

    def refused(self, conn: End, reported: int, end: int, why: str) -> None:
        """The master will not serve this peer."""
        self.evidence.add(
            self.host.kernel.now, "diverged", self.host.name, self.incarnation, conn.label, hi=reported, value=end,
            detail=why,
        )  # fmt: skip


class Evidence(Observer):
    """Records everything that the laws may want to see of one simulated trial."""

    def __init__(
        self,
        kernel: Kernel,
        recorder: Recorder,
        armed: Mapping[tuple[str, str], object],
        point: Callable[[str, str], None],
    ) -> None:
        self.armed = armed
        self.kernel = kernel
        self.recorder = recorder
        self.add = recorder.add
        self._point = point
        self.connections = 0
        self.audits = 0
        self.heard_from: set[str] = set()
        """Slaves whose reports have reached the master."""
        self.log_ends: dict[str, int] = {}
        self._taps: dict[End, tuple[Tap, Tap]] = {}
        """Per end of an HA connection: what taps the bytes that leave it, and those that reach it."""
        self._noted: dict[Tap, object] = {}
        """Taps in the middle of something, and what was last noted of it."""
        self.record_ends: dict[str, dict[int, int]] = {}
        """By node: where the record that begins at an offset ends."""
        self.addresses: Mapping[str, str] = {}
        """Which node an address that brokers register belongs to."""

    def now(self) -> int:
        """Virtual time, ns."""
        return self.kernel.now

    def node_at(self, address: str) -> str:
        """The node behind an address; the address itself if it is nobody's."""
        return self.addresses.get(address, address)

    def point(self, host: str, name: str) -> None:
        """Pass a trigger point on."""
        self._point(host, name)

    # Nodes.

    def lab(self, healthy_ns: int, settings: Args) -> None:
        """The lab itself: what a healthy client's call spends on the way, and what was set for it."""
        own = {key: value for key, value in settings.items() if key.startswith("lab.")}
        self.add(self.kernel.now, "lab", f="sim", value=healthy_ns, detail=json.dumps(own, sort_keys=True))

    def config(self, name: str, config: BrokerConfig) -> None:
        self.add(self.kernel.now, "config", name, detail=_shown(config))

    def watcher(self, host: Host) -> Watcher:
        """The trace of one incarnation."""
        return Watcher(self, host)

    def started(self, host: Host) -> None:
        """A node is up; a broker has recovered its log."""
        broker, name = host.node, host.name
        if not isinstance(broker, Broker):
            self.add(self.kernel.now, "start", name, host.incarnation, f="empty")
            return
        log = broker.log
        self.add(self.kernel.now, "start", name, host.incarnation, f=broker.recovery, lo=log.start, hi=log.end)
        before = self.log_ends.get(name, 0)
        if log.end < before:
            self.add(self.kernel.now, "cut", name, host.incarnation, lo=log.end, hi=before)
        self.log_ends[name] = log.end

    def crashed(self, host: Host, how: str, lost: int, status: str | None = None, detail: str | None = None) -> None:
        """A node went down; its ends of connections went with it. ``status``: see kind ``crash``."""
        self.add(self.kernel.now, "crash", host.name, host.incarnation, f=how, status=status, value=lost, detail=detail)
        for end in host.ends:
            self.closed(end, "local")

    def failed(self, host: Host, why: BaseException) -> None:
        """A node ends by itself, for want of its disk perhaps."""
        status = "disk" if _is_for_its_disk(host, why) else "stuck" if isinstance(why, Stuck) else "own"
        self.crashed(host, "process", 0, status, described(why))

    def aborted(self, host: Host, why: BaseException) -> None:
        """A node does not come up."""
        f = "refused" if isinstance(why, StoreRefused) else "stuck" if isinstance(why, Stuck) else "ended"
        status = "disk" if _is_for_its_disk(host, why) else None
        self.add(self.kernel.now, "abort", host.name, host.incarnation, f=f, status=status, detail=described(why))

    def stopped(self, host: Host) -> None:
        """A node ended in an orderly way."""
        self.add(self.kernel.now, "stop", host.name, host.incarnation)

    def paused(self, host: Host, kind: str) -> None:
        """A node stands still (``pause``), or goes on (``resume``)."""
        self.add(self.kernel.now, kind, host.name, host.incarnation)

    def clock_set(self, host: Host) -> None:
        """A node's wall clock was set."""
        self.add(self.kernel.now, "clock", host.name, value=host.skew_ms)

    def wiped(self, host: Host, f: str, whose: str | None = None) -> int:
        """A node that is down has another store, ``empty`` or an older ``image``; where its log ends by its files.

        ``whose``: the node whose store it was until now, if another's.

        Its next start may cut that, a torn last record say, and is no ``cut`` of what the node had.
        """
        end = _snapshot(host).read().where
        self.log_ends.pop(host.name, None)
        self.add(self.kernel.now, "wipe", host.name, f=f, hi=end, detail=whose)
        return end

    # The HA link.

    def opened(self, end: End, accepted: bool) -> None:
        """An HA connection stands at this end: tap it."""
        if end.link.port != "ha":
            return
        if end.host.name == "impostor":
            # Nobody taps a stranger's end; what it says is seen where the slave hears it.
            self.connections += 1
            end.peer.label = f"ha:{self.connections}"
            return
        peer = (end.peer if accepted else end).host.name
        if accepted:
            self.connections += 1
            end.label = end.peer.label = f"ha:{self.connections}"
            frames, reports = FrameTap(), ReportTap()
            end.tap_out = partial(self._frames_sent, end, frames)
            end.tap_in = partial(self._reports, end, "m", "in", reports)
            self._taps[end] = frames, reports
        else:
            frames, reports = FrameTap(), ReportTap()
            end.tap_in = partial(self._frames_received, end, frames)
            end.tap_out = partial(self._reports, end, "s", "out", reports)
            self._taps[end] = reports, frames
        side = "m" if accepted else "s"
        self.add(self.kernel.now, "connect", peer, link=end.label, side=side, f=peer)

    def closed(self, end: End, how: str) -> None:
        """An HA connection ended at this end."""
        if end.label:
            side = "m" if end.outgoing is end.link.down else "s"
            sent, received = self._taps.pop(end, (_NOTHING, _NOTHING))
            unfinished = sent.pending or received.pending or None
            self.add(self.kernel.now, "close", end.host.name, link=end.label, side=side, f=how, value=unfinished)
            for tap in (sent, received):
                self._noted.pop(tap, None)

    def _frames_sent(self, end: End, tap: FrameTap, data: bytes) -> None:
        now, label = self.kernel.now, end.label
        for offset, body in tap.feed(data):
            hi = offset + len(body)
            known = digest(body)
            self.add(now, "frame", "master", link=label, side="m", lo=offset, hi=hi, digest=known)
            if body:
                stored = self._stored(end.host, offset, hi)
                if stored is not None:
                    known = known if stored == body else digest(stored)
                    self.add(now, "source", "master", link=label, lo=offset, hi=hi, digest=known)
        if tap.pending or tap.broken or not data:
            self._partial(end, "m", "out", tap)
        elif self._noted:
            self._noted.pop(tap, None)

    def _frames_received(self, end: End, tap: FrameTap, data: bytes) -> None:
        now, label, name = self.kernel.now, end.label, end.host.name
        for offset, body in tap.feed(data):
            hi = offset + len(body)
            self.add(now, "frame", name, link=label, side="s", lo=offset, hi=hi, digest=digest(body))
        if tap.pending or tap.broken:
            self._partial(end, "s", "in", tap)

    def _reports(self, end: End, side: str, f: str, tap: ReportTap, data: bytes) -> None:
        for offset in tap.feed(data):
            if side == "m":
                self.heard_from.add(end.peer.host.name)
            self.add(self.kernel.now, "report", end.host.name, link=end.label, side=side, hi=offset)
        if tap.pending or not data:
            self._partial(end, side, f, tap)
        elif self._noted:
            self._noted.pop(tap, None)

    def _partial(self, end: End, side: str, f: str, tap: Tap) -> None:
        """Something is unfinished at this end, or it takes no more; noted once a millisecond until it is whole."""
        now, lo, broken = self.kernel.now, tap.announced, tap.broken
        what = broken or (now // MS, lo)
        if self._noted.get(tap) == what:
            return
        self._noted[tap] = what
        detail = f"broken: {broken}" if broken else None
        self.add(now, "partial", end.host.name, link=end.label, side=side, f=f, lo=lo, value=tap.pending, detail=detail)

    # Clients.

    def end_of_record(self, node: str, lo: int) -> int | None:
        """Where the record that a master put at ``lo`` ends."""
        return self.record_ends.get(node, {}).get(lo)

    def delivered(self, process: int, op: int, node: str, found: Record, data: bytes, group: str | None = None) -> None:
        """One message of a pull's answer; ``group``: of the consumer that it was handed to."""
        lo = found.physical_offset
        self.add(
            self.kernel.now, "deliver", node, process=process, op=op, f="pull", message=stored_key(data),
            queue=f"{found.message.topic}/{found.message.queue_id}", queue_offset=found.queue_offset, lo=lo,
            hi=lo + found.size, digest=digest(data), group=group,
        )  # fmt: skip

    # Stores.

    def audit(self, master: Host, slave: Host, f: str, nodes: Collection[str]) -> None:
        """Read the stores from outside: records of ``nodes``; of both what their logs, queues and indexes share.

        A master without slaves stands in both places.
        """
        self.audits += 1
        one = _snapshot(master)
        other = one if slave is master else _snapshot(slave)
        auditing.audit(self.recorder, self.kernel.now, self.audits, f, one, other, nodes)

    @staticmethod
    def _stored(host: Host, lo: int, hi: int) -> bytes | None:
        """What the node's files hold of [lo, hi); None if they do not hold all of it."""
        found = b""
        while lo < hi:
            start, file = _file_of(host, lo)
            if file is None:
                return None
            found += bytes(file.cache[lo - start : hi - start])
            lo = start + file.size
        return found


def _is_for_its_disk(host: Host, why: BaseException) -> bool:
    return isinstance(why, StoreError) and bool(host.disk.read_only or host.disk.full)


def _file_of(host: Host, offset: int) -> tuple[int, SimFile | None]:
    """The log file that holds ``offset``, and where it starts."""
    files = host.disk.files
    size = host.log_file_size
    start = offset - offset % size
    return start, files.get(f"{FOLDER}/{start:020d}")


def _snapshot(host: Host) -> auditing.Snapshot:
    files = {name: file.cache for name, file in host.disk.files.items()}
    return auditing.Snapshot(host.name, host.incarnation, files, _log_end(host), host.index_slots)


def _log_end(host: Host) -> int | None:
    return host.node.log.end if isinstance(host.node, Broker) else None


@lru_cache(maxsize=1_024)
def _shown(config: BrokerConfig) -> str:
    return json.dumps(asdict(config), sort_keys=True)
