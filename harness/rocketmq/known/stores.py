"""What happened to the brokers' stores, in order: crashes, replaced stores, promotions and expired files.

A message is *at risk* from what happened to a store after its append. :meth:`Stores.since` lists that as the durability
contract wants it (:func:`pairproof.harness.rocketmq.contract.fault_class`). An orderly stop takes nothing.

Bounded by the nodes, crashes, replacements and expiries of one trial.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from pairproof.harness.kinds.node import Crash, Stop, Wipe
from pairproof.harness.rocketmq.contract import EXPIRE, LIED, PROMOTED, WIPE
from pairproof.harness.rocketmq.kinds.log import Expire
from pairproof.harness.rocketmq.places import MASTER, NODES

SURVIVED = {"process"}
"""What takes nothing of a log."""
NOTHING: Set[str] = frozenset()


class Happening(NamedTuple):
    """Something that may have taken records from a node's store."""

    node: str
    how: str
    """process, machine or own (a crash), or one of the words of the contract."""
    below: int = 0
    """Of an expiry: the log offset at which the store begins now."""


class Stores:
    def __init__(self) -> None:
        self.happened: list[Happening] = []
        self.replaced: dict[str, str] = {}
        """Nodes that have another store than before and have not started on it; empty or image."""
        self.promotions = 0
        """How often a slave's store became the master's."""
        self._suffered: dict[str, set[str]] = {}

    # What laws ask.

    def since(self, at: int, lo: int | None) -> list[tuple[str, str]]:
        """What has happened, (node, how) each, after the first ``at`` happenings, to a record that begins at ``lo``.

        An expiry concerns records before the new start of the log, and a record whose place is not known (None).
        """
        return [(node, how) for node, how, below in self.happened[at:] if how != EXPIRE or lo is None or lo < below]

    def of_master(self, at: int, lo: int | None) -> set[str]:
        """What of that happened to the master's store."""
        return {how for node, how in self.since(at, lo) if node == MASTER}

    def suffered(self, node: str) -> Set[str]:
        """What has happened to the store that a node has, wherever that was, since it was empty."""
        return self._suffered.get(node, NOTHING)

    # What the judge reports.

    def ended(self, event: Crash | Stop) -> None:
        """An orderly stop takes nothing."""
        if event.kind == "crash":
            how = LIED if event.status == LIED else event.f or "machine"
            self._suffered.setdefault(event.node, set()).add(how)
            self._add(event.node, how)

    def wiped(self, event: Wipe) -> None:
        node = event.node
        self._suffered[node] = set() if event.f == "empty" else {*self.suffered(event.detail or node), WIPE}
        self.replaced[node] = event.f
        self.promotions += promotes(event)
        self._add(node, f"{PROMOTED}{event.detail}" if promotes(event) else WIPE)

    def started(self, node: str) -> None:
        self.replaced.pop(node, None)

    def expired(self, event: Expire) -> None:
        self._add(event.node, EXPIRE, event.new_start)

    def _add(self, node: str, how: str, below: int = 0) -> None:
        if node in NODES:
            self.happened.append(Happening(node, how, below))


def promotes(event: Wipe) -> bool:
    """Whether a slave's store (``event.detail`` names the slave) becomes the master's."""
    return event.node == MASTER and event.detail is not None
