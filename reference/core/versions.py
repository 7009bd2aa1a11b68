"""Differences between RocketMQ's version lines on the replication path, as data that the code interprets.

The wire format is the same in all. Left out: known defects of a version; those are mutants. Sources:
HAService.GroupTransferService and CommitLog.handleHA (submitReplicaRequest) of 4.4.0, 4.9.2 and 4.9.7,
GroupTransferService of 5.5.0, HAConnection's constructor; HAClient.reportSlaveMaxOffset of 4.4.0, 4.9.7 and 5.3.3;
BrokerController.handleSlaveSynchronize, MessageStoreConfig.flushCommitLogTimed and isTransientStorePoolEnable of
4.4.0, 4.9.7 and 5.5.0;
PullMessageProcessor's rejectRequest and composeResponseHeader of 4.9.7 and 5.3.3; MQVersion.
"""

from collections.abc import Mapping
from typing import NamedTuple


class AckWait(NamedTuple):
    """How long a send waits for a slave: until the transfer thread, which serves one send after the other, gives up, or
    until its sender stops waiting.
    """

    setting: str
    """The setting that bounds it, ms."""
    in_turn: bool
    """The thread's time for a send begins at its turn; otherwise each send has a deadline after its append."""
    wake_ups: int
    """The thread gives up after so many wake-ups, each at most a second after the last; 0: after the setting."""
    sender_gives_up: bool
    """Whether the sender stops waiting after the setting, counted from the append. The thread does not notice, and
    spends the rest of its time on that send.
    """


class SyncSchedule(NamedTuple):
    """When a slave fetches its master's tables, ms."""

    first: int
    every: int
    rest: int
    """A round fetches only after so much time since the last fetch or the start."""


EARLY_SYNC = SyncSchedule(10_000, 60_000, 0)
SYNC = SyncSchedule(3_000, 10_000, 0)
LATE_SYNC = SyncSchedule(10_000, 3_000, 60_000)


class Version(NamedTuple):
    """A version line's replication path, and its slaves' schedule for metadata."""

    ack_wait: AckWait
    ha_socket_buffer: int
    """Bytes of SO_SNDBUF and SO_RCVBUF on HA connections; 0: the system decides."""
    in_sync_replicas: int
    """Default number of brokers, the master included, that hold a message when a SYNC_MASTER answers PUT_OK."""
    counts_replicas: bool
    """Whether inSyncReplicas is a setting. If so, sends just wait, and never get SLAVE_NOT_AVAILABLE."""
    sync: SyncSchedule
    ordinal: int
    flushes_on_put: bool = False
    """Whether each put wakes ASYNC_FLUSH's service, as with flushCommitLogTimed=false; otherwise only time does."""
    refuses_reads: bool = False
    """Whether a slave without slaveReadEnable answers pulls with SYSTEM_BUSY; otherwise it serves them, and suggests
    the master for the next pull.
    """
    sends_home: bool = False
    """Whether a slave suggests the master to readers that do not lag, whatever broker id their group prefers."""
    obeys_ha_port: bool = False
    """Whether haListenPort is a setting (since 5.1.1); otherwise HA always listens on listenPort + 1."""
    pools_with_sync_flush: bool = False
    """Whether transientStorePoolEnable also counts with SYNC_FLUSH."""


FIVE_ROUNDS = AckWait("syncFlushTimeout", in_turn=True, wake_ups=5, sender_gives_up=True)
IN_TURN = AckWait("syncFlushTimeout", in_turn=True, wake_ups=0, sender_gives_up=False)
BY_DEADLINE = AckWait("slaveTimeout", in_turn=False, wake_ups=0, sender_gives_up=False)

VERSIONS: Mapping[str, Version] = {
    "4.4.0": Version(FIVE_ROUNDS, 65_536, 2, False, EARLY_SYNC, ordinal=293, flushes_on_put=True),
    "4.5.2": Version(FIVE_ROUNDS, 65_536, 2, False, SYNC, ordinal=317, flushes_on_put=True),
    "4.9.2": Version(IN_TURN, 65_536, 2, False, SYNC, ordinal=397),
    "4.9.7": Version(BY_DEADLINE, 0, 2, False, SYNC, ordinal=407),
    "5.5.0": Version(
        BY_DEADLINE,
        0,
        1,
        True,
        LATE_SYNC,
        ordinal=513,
        refuses_reads=True,
        sends_home=True,
        obeys_ha_port=True,
        pools_with_sync_flush=True,
    ),
}
"""Named by the last release with this behaviour: 4.4.0, up to 4.5.2, up to 4.9.2, from 4.9.3 on, 5.x."""
