"""How many producers, readers, queues, groups, consumers and topics searches let take part, and what these may be."""

from __future__ import annotations

from .. import topology

PRODUCERS = 4
READERS = 2
QUEUES = 3
SIZES = (1, 30, 100, 420, 900, 1_700)
"""Of bodies, bytes."""
SMALL = 100
"""Bytes of a body of which only the way matters."""
GROUPS = 2
JOINED = (0, 0, 0, 1, 2, 3, 6, 8)
"""Groups that consumers join and leave: mostly clustering ones, now and then one that subscribes by tag, is orderly or
broadcasting."""
BY_TAG = {2: "paidAa || a", 3: "paidBB"}
"""Groups that subscribe to some tags. Aa and BB have the same hash in Java; paid before them makes it negative."""
FALTERING = 4
"""The group whose members fail at some messages; others do not join it."""
CONSUMERS = 3
TOPICS = 2
MOST_MEMBER = 9
"""The largest number of a group and of a consumer in it: ten of each."""
ADMINISTERED = (topology.MASTER, topology.MASTER, topology.SLAVES[0])
"""Where administrators act: mostly at the master."""
AWAITED_MS = 30_000
"""The longest delay of a message whose coming a trial awaits at its end."""
