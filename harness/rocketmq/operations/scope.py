"""The producers, readers, queues, groups, consumers and topics of searches, and their properties."""

from __future__ import annotations

from ...trials.schedule import Args
from .. import topology

PRODUCERS = 4
READERS = 2
QUEUES = 3
SIZES = (1, 30, 100, 420, 900, 1_700)
"""For bodies, bytes."""
SMALL = 100
"""Bytes of a body whose size does not matter."""
GROUPS = 2
JOINED = (0, 0, 0, 1, 2, 3, 6, 8)
"""Groups that consumers join and leave: mostly clustering ones, sometimes one that subscribes by tag, is orderly or
broadcasting.
"""
BY_TAG = {2: "paidAa || a", 3: "paidBB"}
"""Groups that subscribe to some tags. Aa and BB have the same hash in Java; paid before them makes it negative."""
FALTERING = 4
"""The group whose members fail at some messages; others do not join it."""
CHANGED = (0, 0, 1, 1, 2, FALTERING, FALTERING, 6, 8)
"""Groups that administrators change while they are in use."""
CONSUMERS = 3
TOPICS = 2
MOST_MEMBER = 9
"""The largest number of a group and of a consumer in it: ten of each."""
ADMINISTERED = (topology.MASTER, topology.MASTER, topology.SLAVES[0])
"""Targets of administrators: mostly the master."""
AWAITED_MS = 30_000
"""The longest delay that a trial awaits at its end."""


def waiting(args: Args) -> str:
    """Whether a producer waits, as the end of a sentence."""
    return "and waits for the store's promise" if args["wait"] else "and does not wait for the store"
