"""Further states of a cluster trial for the coverage table, besides those of its HA connections.

Two subjects are tracked, each with its events. *Readers*: is there a consumer, and does the master or a slave serve it?
*Tables*: does a slave have its master's topics and groups? Events are distinguished more finely than by type: a call by
its end, a route by whether it has the master, a crash by its node.

Trials without a name server skip this. Bounded by a trial's consumers and slaves. Left out: consumers of brokers of
another name; consumer offsets, in which a slave always lags a little.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from ..exploration.coverage_table import Pair
from ..history import Event
from . import topology

ABSENT, UNSERVED, AT_MASTER, AT_SLAVE = READERS = (
    "no readers", "readers unserved", "readers at the master", "readers at a slave",
)  # fmt: skip
"""No consumer exists; no consumer's last pull was answered; some were, only by the master; some were by a slave."""
UNSYNCED, BEHIND, IN_STEP = TABLES = ("tables not synced", "tables behind", "tables in step")
"""The slave (or else the first one) never had its master's topics and groups; they have changed since, or its last try
failed; it has them.
"""
SYNCED = frozenset({"topics", "groups"})
CHANGES = {"topic": "topics", "group": "groups"}


def is_whole(first: Event) -> bool:
    """Whether the trial that begins with this event has a name server, and so consumers and metadata."""
    return first.kind == "lab" and bool(json.loads(first.detail or "{}").get("lab.nameServer"))


class ClusterStates:
    def __init__(self) -> None:
        self.served: dict[int | None, str | None] = {}
        """By consumer: the node that answered its last pull; None if none did."""
        self.readers = ABSENT
        self.lacks: dict[str, set[str]] = {}
        """By slave: its missing or outdated tables; no key for a slave that never asked."""
        self._counters: dict[str, Callable[[Event], list[Pair]]] = {
            "consumer": self._consumer, "assign": self._assign, "route": self._route, "deliver": self._deliver,
            "ok": self._ended, "fail": self._ended, "info": self._ended, "sync": self._sync, "persist": self._persist,
            "register": self._register, "crash": self._node, "start": self._node, "stop": self._node,
            "wipe": self._wipe,
        }  # fmt: skip

    def count(self, event: Event) -> list[Pair]:
        """The counted pairs of an event and the states before it; updates the states."""
        count = self._counters.get(event.kind)
        return count(event) if count is not None else []

    def tables(self, node: str | None) -> str:
        """The state of this slave; for any other node the first slave's."""
        lacks = self.lacks.get(node if node in topology.SLAVES else topology.SLAVES[0])
        return UNSYNCED if lacks is None else BEHIND if lacks else IN_STEP

    def _update_readers(self) -> None:
        found = set(self.served.values())
        if found & {*topology.SLAVES}:
            self.readers = AT_SLAVE
        elif topology.MASTER in found:
            self.readers = AT_MASTER
        else:
            self.readers = UNSERVED if found else ABSENT

    def _consumer(self, event: Event) -> list[Pair]:
        pair = (self.readers, f"consumer {event.status}")
        if event.status == "on":
            self.served[event.process] = None
        else:
            self.served.pop(event.process, None)
        self._update_readers()
        return [pair]

    def _assign(self, event: Event) -> list[Pair]:
        return [(self.readers, f"assign {event.status}")]

    def _route(self, event: Event) -> list[Pair]:
        nodes = json.loads(event.detail or "{}")
        known = "master" if topology.MASTER_ID in nodes else "slaves only" if nodes else "nobody"
        return [(self.readers, f"route: {known}")]

    def _deliver(self, event: Event) -> list[Pair]:
        return [(self.readers, "deliver")] if event.group is not None else []

    def _ended(self, event: Event) -> list[Pair]:
        f, kind, node = event.f or "", event.kind, event.node
        name = f"{f} {kind}"
        if node == topology.OTHER:
            return []
        if f in CHANGES:
            pair = (self.tables(None), name)
            if kind == "ok" and node == topology.MASTER:
                for lacks in self.lacks.values():
                    lacks.add(CHANGES[f])
            return [pair]
        found = [(self.readers, name)] if event.group is not None or f == "send" else []
        if f == "pull" and node in topology.SLAVES:
            found.append((self.tables(node), name))
        if f == "pull" and event.process in self.served:
            self.served[event.process] = node if kind == "ok" else None
            self._update_readers()
        return found

    def _sync(self, event: Event) -> list[Pair]:
        node, table = event.node or "", event.f or ""
        if event.status == "asked":
            return []
        pair = (self.tables(node), f"sync {event.status}")
        if table in SYNCED:
            lacks = self.lacks.setdefault(node, set(SYNCED))
            (lacks.add if event.status in ("failed", "unread") else lacks.discard)(table)
        return [pair]

    def _persist(self, event: Event) -> list[Pair]:
        return [(self.tables(event.node), "persist")] if event.node in topology.SLAVES else []

    def _register(self, event: Event) -> list[Pair]:
        return [(self.readers, f"register {event.status}")]

    def _node(self, event: Event) -> list[Pair]:
        name = f"{event.kind} {event.node}"
        return [(self.readers, name), (self.tables(event.node), name)]

    def _wipe(self, event: Event) -> list[Pair]:
        self.lacks.pop(event.node or "", None)
        return []
