"""Feeds a captured master's stream to the reference slave and returns the resulting log.

The slave is the broker's own replication half over its own commit log; only disk, clock and sockets are stand-ins. Its
log must not depend on the stream's segmentation, so :func:`segmentations` splits it in several ways.

Left out: dispatch, flushing and recovery, which do not affect a slave's appends.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import fields
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from ..reference.core.commit_log import CommitLog
from ..reference.core.config import BrokerConfig
from ..reference.core.ha_slave import HaSlave
from ..reference.ports import Conn
from ..reference.shell.log import Log, LogWatcher
from .labs.sim.disk import SimDisk

SINGLE_BYTES = 8 * 1024
"""Length of the prefix that is fed byte by byte."""
MAX_PIECE = 5_000
SEEDS = (1, 2, 3)
MASTER = "captured-master"
NOBODY = -1
"""A log without readers."""
NO_CUTS: Mapping[int, int] = MappingProxyType({})
NOT_OF_SLAVES = frozenset({"rocketmqVersion", "inSyncReplicas", "namesrvAddr"})
"""Settings that do not affect a slave's appends and may have values that the reference does not support."""


class Replayed(NamedTuple):
    """The slave's log ``data`` from offset ``start``, its reports, and the connections that it closed itself."""

    start: int
    data: bytes
    reports: list[int]
    closed: int

    @property
    def end(self) -> int:
        return self.start + len(self.data)


def feed_reference_slave(
    connections: Iterable[Iterable[bytes]], settings: Mapping[str, object], cuts: Mapping[int, int] = NO_CUTS
) -> Replayed:
    """Feed these connections to an empty slave in order, each as the pieces in which it arrives.

    ``settings``: RocketMQ's keys; those unknown to the reference are ignored. ``cuts``: by a connection's number, from
    0: the slave's log end before it, because the slave had read no further. After the slave closes a connection it
    receives nothing more from it. ConfigError for values that no broker can have.
    """
    known = {each.name for each in fields(BrokerConfig)} - NOT_OF_SLAVES
    values = {key: value for key, value in settings.items() if key in known}
    config = BrokerConfig.from_properties({**values, "brokerRole": "SLAVE", "haMasterAddress": MASTER})
    shell = _Shell()
    log, slave = _started(config, shell)
    for number, pieces in enumerate(connections):
        if number in cuts:
            _cut(shell.disk, cuts[number])
            log, slave = _started(config, shell, cuts[number])
        shell.open = number
        slave.on_connected(number)
        for piece in pieces:
            slave.on_bytes(piece)
            if shell.open is None:
                break
        else:
            slave.on_lost()
        slave.on_timer(("ha-reconnect", None))
    return Replayed(log.start, _content(log), shell.reports, shell.closed)


def _started(config: BrokerConfig, shell: _Shell, end: int | None = None) -> tuple[CommitLog, HaSlave]:
    log = CommitLog(shell.disk, config.mappedFileSizeCommitLog)
    log.recover(clean=end is None)
    if end is not None and log.files.limit:
        # A slave that only lost its connection continues in the middle of a record. Behind a damaged stream the files
        # may lie elsewhere.
        log.files.end = min(max(end, log.files.start), log.files.limit)
    slave = HaSlave(config, log, shell, LogWatcher(Log(fd=NOBODY)))
    slave.start()
    return log, slave


def segmentations(stream: bytes) -> dict[str, list[bytes]]:
    """The same bytes in several segmentations, by name. Seeded, so deterministic."""
    head, tail = stream[:SINGLE_BYTES], stream[SINGLE_BYTES:]
    found = {"whole": [stream], "byte by byte": [*(head[at : at + 1] for at in range(len(head))), tail]}
    for seed in SEEDS:
        found[f"random cuts, seed {seed}"] = list(_random_cuts(stream, Random(seed)))
    return found


def _random_cuts(stream: bytes, dice: Random) -> Iterable[bytes]:
    at = 0
    while at < len(stream):
        # Small pieces as likely as large ones: most mistakes are in headers.
        size = dice.randint(1, 16) if dice.random() < 0.5 else dice.randint(17, MAX_PIECE)
        yield stream[at : at + size]
        at += size


def _content(log: CommitLog) -> bytes:
    pieces, at = [], log.start
    while at < log.end:
        pieces.append(log.read(at, log.end - at))
        at += len(pieces[-1])
    return b"".join(pieces)


def _cut(disk: SimDisk, end: int) -> None:
    """Discard the log behind an offset."""
    for name, file in list(disk.files.items()):
        start = int(name.rpartition("/")[2])
        if start >= end:
            disk.delete(name)
        elif start + file.size > end:
            file.cache[end - start :] = bytes(start + file.size - end)


class _Shell:
    """Effects of the slave: records its reports; time does not advance."""

    def __init__(self) -> None:
        self.disk = SimDisk()
        self.reports: list[int] = []
        self.open: int | None = None
        self.closed = 0

    def now(self) -> int:
        return 0

    def wall_ms(self) -> int:
        return 0

    def connect(self, address: str) -> None: ...

    def send(self, conn: Conn, data: bytes) -> int:
        self.reports.append(int.from_bytes(data, "big", signed=True))
        return len(data)

    def peer(self, conn: Conn) -> Conn:
        return conn

    def address(self, conn: Conn) -> tuple[str, int]:
        return "127.0.0.1", 0

    def close(self, conn: Conn) -> None:
        self.open = None
        self.closed += 1

    def timer(self, key: Hashable, at: int) -> None: ...

    def cancel(self, key: Hashable) -> None: ...

    def runs(self, thread: Hashable) -> bool:
        return True

    def flush(self, names: list[str], token: Hashable) -> None: ...
