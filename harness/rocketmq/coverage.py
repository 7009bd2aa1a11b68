"""States of a RocketMQ trial for the coverage table (:mod:`harness.exploration.coverage_table`).

A cheap fold over each trial's history, kept or not. An event's state is that of its HA connection; without one, of its
node's newest connection; otherwise (the master, clients) of the first slave's newest one. A fault at a target of
cluster trials also counts under that target. Cluster trials have further states, see
:mod:`pairproof.harness.rocketmq.coverage_cluster`.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from ..exploration.coverage_table import CoverageTable, Pair
from ..history import Event
from . import topology
from .coverage_cluster import ClusterStates, is_whole

NONE, ACCEPTED, BEHIND, CAUGHT_UP, REFUSED = STATES = ("unconnected", "accepted", "behind", "caught-up", "refused")
"""No connection; connected, but without a report; the master has bytes that the slave has not reported; it has none;
the master refused the report.
"""
OUTSIDE = frozenset({
    "lab", "config", "fault", "mark", "record", "chunk", "audit", "source", "wipe", "clock", "pause", "resume",
    "stall", "table", "entries", "keys", "derived", "consumer", "assign", "lock", "route", "sync",
    "register", "ask",
})  # fmt: skip
"""Event types that are not steps of replication or its clients: faults, readings of observers, and types with their
own states.
"""
AT = {
    topology.NAMES: "at names",
    **dict.fromkeys((*topology.NAMES_LINKS, topology.NAMES_CLIENT), "at names links"),
    **dict.fromkeys((*topology.META_LINKS, *topology.FAST_LINKS), "at meta links"),
    **dict.fromkeys((topology.OTHER, *topology.OTHERS_LINKS), "at other"),
}
"""The replacement of a fault's target in the table."""
MOVES = frozenset({"connect", "close", "report", "diverged", "start"})
_PICK = itemgetter(2, 3, 5, 6, 9, 10, 15)


def cover(events: Sequence[Event]) -> CoverageTable:
    """The table of one trial."""
    table = CoverageTable()
    if events and is_whole(events[0]):
        _count_cluster(table, events)
    links = _Links()
    states = links.states
    pairs: list[Pair] = []
    active: list[str] = []
    # Columns picked in C: every trial of every search runs this loop.
    for kind, node, link, side, f, status, hi in map(_PICK, events):
        if kind in OUTSIDE:
            if kind == "fault":
                table.add(pairs, active)
                pairs.clear()
                _turn(active, status, f, AT.get(node) or AT.get(link))
            continue
        pairs.append((states.get(link or node, NONE), kind))
        if kind == "append":
            if node == topology.MASTER:
                links.grow(hi)
        elif kind in MOVES:
            links.move(kind, node, link, side, hi)
    table.add(pairs, active)
    return table


def _count_cluster(table: CoverageTable, events: Sequence[Event]) -> None:
    whole = ClusterStates()
    pairs: list[Pair] = []
    active: list[str] = []
    for event in events:
        if event.kind == "fault":
            table.add(pairs, active)
            pairs.clear()
            _turn(active, event.status, event.f or "", AT.get(event.node or "") or AT.get(event.link or ""))
        else:
            pairs += whole.count(event)
    table.add(pairs, active)


def _turn(active: list[str], status: str | None, *names: str | None) -> None:
    """Begin or end a fault, and the replacement of its target."""
    for name in names:
        if name is not None:
            (active.append if status == "on" else active.remove)(name)


class _Links:
    """The states of a trial's HA connections at the master, by connection and by the node with the newest one.

    The first slave's also counts for the master.
    """

    def __init__(self) -> None:
        self.states: dict[str | None, str] = {}
        self.newest: dict[str, str] = {}
        self.owners: dict[str, str] = {}
        self.end = 0

    def grow(self, end: int) -> None:
        if end > self.end:
            for where, state in self.states.items():
                if state is CAUGHT_UP:
                    self.states[where] = BEHIND
        self.end = end

    def move(self, kind: str, node: str, link: str | None, side: str | None, hi: int | None) -> None:
        if link is None:
            # The log end of a broker without a trace is unknown.
            if node == topology.MASTER and hi is not None:
                self.grow(hi)
        elif kind == "report":
            if side == "m" and self.states.get(link, NONE) not in (NONE, REFUSED):
                self._set(link, CAUGHT_UP if (hi or 0) >= self.end else BEHIND)
        elif kind == "connect":
            if side == "m":
                self.owners[link] = node
                self.newest[node] = link
                self._set(link, ACCEPTED)
        else:
            self._set(link, NONE if kind == "close" else REFUSED)

    def _set(self, link: str, state: str) -> None:
        states = self.states
        states[link] = state
        owner = self.owners.get(link)
        if owner is not None and self.newest[owner] == link:
            states[owner] = state
            if owner == topology.SLAVES[0]:
                states[topology.MASTER] = state
