"""What the laws about the replication stream's timing share: how long is too long, and one end that has to speak.

A bound is the configured value and one poll of RocketMQ's HA threads, plus what the lab itself adds. Time for which the
node was paused or down does not count, and an end whose socket takes no more owes nothing until it does again: both are
seen in the history (``pause``, ``crash``, ``partial``).

Left out: links that a fault slows down. All is measured where it is done: when bytes leave, when bytes arrive.
"""

from pairproof.harness.history import MS
from pairproof.harness.rocketmq.known.model import Known

POLL_NS = 1_000 * MS
"""One select of RocketMQ's HA threads."""
FAR = 3


def configured_ns(known: Known, node: str, key: str) -> int:
    """A configured time, a poll, and what the lab adds."""
    return known.setting(node, key) * MS + POLL_NS + known.healthy_ns


def spent_ns(known: Known, node: str, since: int, until: int) -> int:
    """For how long the node could have acted."""
    return until - since - known.trouble.still_ns(node, since, until)


def is_late(known: Known, node: str, since: int, until: int, bound: int) -> bool:
    """Whether the node let more than ``bound`` pass."""
    # Nearly always the first question is the last.
    return until - since > bound and spent_ns(known, node, since, until) > bound


def is_far_too_late(known: Known, node: str, since: int, until: int, bound: int) -> bool:
    """Whether no stall explains it: :data:`FAR` times as much passed without one, and that was most of the time."""
    return _punctual_ns(known, node, since, until) > max(FAR * bound, (until - since) // 2)


def is_instant(known: Known, node: str, since: int, until: int) -> bool:
    """Whether no more passed than a process may need to go on, or to read what lies in its sockets.

    In a simulation that takes no time at all: there it is so for one and the same moment only. Time in which the
    machine stalled does not count.
    """
    passed, most = until - since, known.instant_ns
    # Nearly always there is no instant, and nothing to measure.
    if passed <= most or not most:
        return passed <= most
    return _punctual_ns(known, node, since, until) <= most


def _punctual_ns(known: Known, node: str, since: int, until: int) -> int:
    """For how long the node could have acted while the machine did not stall."""
    return spent_ns(known, node, since, until) - known.trouble.stalled_ns(since, until)


class Speaker:
    """One end of a connection that must not fall silent."""

    __slots__ = ("blocked", "bound", "node", "since")

    def __init__(self, node: str, since: int, bound: int) -> None:
        self.node = node
        self.since = since
        """When it last spoke, or when it began to owe that."""
        self.bound = bound
        self.blocked = False
        """Its socket took no more, or not all."""

    def is_overdue(self, known: Known, now: int) -> bool:
        """Whether it should have spoken before ``now``."""
        return not self.blocked and is_late(known, self.node, self.since, now, self.bound)

    def spoke(self, now: int) -> None:
        self.since = now
        self.blocked = False
