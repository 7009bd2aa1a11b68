"""What differs between RocketMQ's version lines on the replication path, as data; the code interprets it.

The reference speaks the wire of all of them, which never changed. Left out: known defects of a version; those are
mutants. Sources: HAService.GroupTransferService and CommitLog.handleHA (submitReplicaRequest) of 4.4.0, 4.9.2 and
4.9.7, GroupTransferService of 5.5.0, HAConnection's constructor;
BrokerController.handleSlaveSynchronize and MessageStoreConfig.flushCommitLogTimed of 4.4.0, 4.9.7 and 5.5.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class AckWait(NamedTuple):
    """How long a send waits for a slave."""

    setting: str
    """The setting that bounds it, ms."""
    in_turn: bool
    """Counted from when the transfer thread reaches the send, one after the other; otherwise from the append."""
    wake_ups: int
    """After so many wake-ups of its thread it is given up, whatever the time; 0: only time counts."""


class SyncSchedule(NamedTuple):
    """When a slave fetches its master's tables, ms."""

    first: int
    """From the start to the first time it looks."""
    every: int
    """From one look to the next."""
    rest: int
    """It only does it if so much has passed since it last did, or since the start."""


EARLY_SYNC = SyncSchedule(10_000, 60_000, 0)
SYNC = SyncSchedule(3_000, 10_000, 0)
LATE_SYNC = SyncSchedule(10_000, 3_000, 60_000)


class Version(NamedTuple):
    """A version line's replication path, and its slaves' schedule for metadata."""

    ack_wait: AckWait
    ha_socket_buffer: int
    """Bytes of SO_SNDBUF and SO_RCVBUF on HA connections; 0: the system decides."""
    in_sync_replicas: int
    """How many brokers hold a message when a SYNC_MASTER answers PUT_OK, itself counted, unless configured."""
    counts_replicas: bool
    """Whether inSyncReplicas is a setting. Where it is, nobody is told SLAVE_NOT_AVAILABLE: the send just waits."""
    sync: SyncSchedule
    flushes_on_put: bool = False
    """Whether each put wakes ASYNC_FLUSH's service, as where flushCommitLogTimed is false; otherwise only time does."""


VERSIONS: Mapping[str, Version] = {
    "4.4.0": Version(AckWait("syncFlushTimeout", in_turn=False, wake_ups=5), 65_536, 2, False, EARLY_SYNC, True),
    "4.9.2": Version(AckWait("syncFlushTimeout", in_turn=True, wake_ups=0), 65_536, 2, False, SYNC),
    "4.9.7": Version(AckWait("slaveTimeout", in_turn=False, wake_ups=0), 0, 2, False, SYNC),
    "5.5.0": Version(AckWait("slaveTimeout", in_turn=False, wake_ups=0), 0, 1, True, LATE_SYNC),
}
"""By the last release of a line that behaves so: up to 4.5.2 as 4.4.0, up to 4.9.2, from 4.9.3 on, 5.x."""
