"""Events of the brokers' stores, in order: crashes, replaced stores, promotions and expired files.

A message is *at risk* from the events of a store after its append. :meth:`Stores.since` lists these for the durability
contract (:func:`pairproof.harness.rocketmq.contract.fault_class`). An orderly stop takes nothing. A killed process
takes only what may have been in its transient store pool.

Bounded by the nodes, crashes, replacements and expiries of one trial.
"""

from __future__ import annotations

from collections.abc import Set
from typing import NamedTuple

from ...event_types.node import Crash, Start, Stop, Wipe
from ...history import Event
from ..contract import EXPIRE, LIED, POOL, PROMOTED, WIPE
from ..event_types.log import Cut, Expire
from ..topology import MASTER, NAMES, NODES
from .nodes import MACHINE, PROCESS

SURVIVED = {PROCESS}
"""Events that take nothing from a log."""
NOTHING: Set[str] = frozenset()


class Happening(NamedTuple):
    node: str
    how: str
    """process, machine or own (a crash), or one of the words of the contract."""
    first: int = 0
    """The first log offset that it affects: above 0 for a pool."""
    below: int | None = None
    """The log offset at which the store begins, after an expiry."""


class Stores:
    def __init__(self) -> None:
        self.happened: list[Happening] = []
        self.lost: set[str] = set()
        """Brokers whose log may ever have lost bytes: a position may hold another message, or none."""
        self.expired: set[str] = set()
        """Brokers whose log ever lost its oldest files."""
        self.pooled: set[str] = set()
        """Brokers with a transient store pool."""
        self.committed: dict[str, int] = {}
        """How much of their logs such brokers had committed when they were killed, at least."""
        self.promotion: Wipe | None = None
        self.replaced: dict[str, str] = {}
        """Nodes whose store was replaced and that have not started on it; empty or image."""
        self.promotions = 0
        self._suffered: dict[str, set[str]] = {}

    def configured(self, node: str, has_pool: bool) -> None:
        if has_pool:
            self.pooled.add(node)
        else:
            self.pooled.discard(node)

    def since(self, at: int, lo: int | None) -> list[tuple[str, str]]:
        """The events, (node, how) each, after the first ``at`` ones, that may affect a record that begins at ``lo``.

        An expiry affects records before the new start of the log, a lost pool those behind the committed ones; each
        affects records with an unknown position (None).
        """
        return [
            (node, how)
            for node, how, first, below in self.happened[at:]
            if lo is None or (first <= lo and (below is None or lo < below))
        ]

    def of(self, owner: str, at: int, lo: int | None = None) -> set[str]:
        """Those of these events that affect a node's store."""
        return {how for node, how in self.since(at, lo) if node == owner}

    def may_lack_files(self, node: str) -> bool:
        """Whether a node's machine ever crashed, or its store was ever replaced: its tables may be older ones."""
        return any(each.node == node and each.how not in (PROCESS, EXPIRE, POOL) for each in self.happened)

    def suffered(self, node: str) -> Set[str]:
        """All events of the node's current store, at any node, since it was empty."""
        return self._suffered.get(node, NOTHING)

    def started(self, event: Start, end: int) -> None:
        """``end``: the log end before the start."""
        if event.hi is None or event.hi < end:
            self._loses(event.node)
        self.replaced.pop(event.node, None)

    def ended(self, event: Crash | Stop, committed: int) -> None:
        """An orderly stop takes nothing. ``committed``: how much of the log was not in a pool, at least."""
        node = event.node
        if event.kind == "crash":
            how = LIED if event.status == LIED else event.f or MACHINE
            self._happen(node, how)
            if how == PROCESS and node in self.pooled:
                self.committed[node] = committed
                self._loses(node)
                self._happen(node, POOL, committed)
        if event.f == MACHINE:
            self._loses(node)

    def wiped(self, event: Wipe) -> None:
        node = event.node
        self._loses(node)
        if promotes(event):
            self.promotion = event
            self.promotions += 1
        self._suffered[node] = set() if event.f == "empty" else {*self.suffered(event.detail or node), WIPE}
        self.replaced[node] = event.f
        self._add(node, f"{PROMOTED}{event.detail}" if promotes(event) else WIPE)

    def expires(self, event: Expire) -> None:
        self._loses(event.node)
        self.expired.add(event.node)
        self._add(event.node, EXPIRE, below=event.new_start)

    def cut(self, event: Cut) -> None:
        self._loses(event.node)

    def _loses(self, node: str) -> None:
        if node != NAMES:
            self.lost.add(node)

    def _happen(self, node: str, how: str, first: int = 0) -> None:
        self._suffered.setdefault(node, set()).add(how)
        self._add(node, how, first)

    def _add(self, node: str, how: str, first: int = 0, below: int | None = None) -> None:
        if node in NODES:
            self.happened.append(Happening(node, how, first, below))


def promotes(event: Event) -> bool:
    """Whether a slave's store (``event.detail`` names the slave) becomes the master's."""
    return event.node == MASTER and event.detail is not None
