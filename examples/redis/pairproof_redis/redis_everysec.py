"""``redis-everysec``: under ``appendfsync everysec`` a disaster costs a second of writes, not more.

A write acknowledged more than :data:`BOUND_NS` before the disaster must be in the primary's own store at its restart. A
disaster is the primary's end, or the beginning of a fault at it: a failing disk loses unflushed data, however long the
process continues. The store must be its own: not emptied, replaced, or on a lying disk.

Source: Redis's page on persistence.

Left out: ``always`` and ``no``, see ``promise-kept``, and the replica's data.
"""

from __future__ import annotations

import json

from pairproof import Event, Known, Law

SECOND_NS = 1_000_000_000
BOUND_NS = 2 * SECOND_NS
"""The documented second, and one for a timer of whole seconds and for the flush itself."""


class RedisEverysec(Law):
    id = "redis-everysec"
    promise = "With appendfsync everysec, writes acknowledged two seconds before a disaster survive it."
    source = "Redis: persistence, appendfsync"
    needs = frozenset({"config", "ok", "held", "scanned", "crash"})
    timed = True

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self.acknowledged: dict[str, int] = {}
        """By write: its time, ns."""
        self.due: dict[str, Event] = {}
        """By write that the primary must have: the disaster."""
        self.found: set[str] = set()

    def on_config(self, event: Event) -> None:
        self.applicable = json.loads(event.detail or "{}").get("appendfsync") == "everysec"

    def on_ok(self, event: Event) -> None:
        if event.message is not None and not self.known.disturbances.is_disturbed("master"):
            self.acknowledged[event.message] = event.t

    def on_crash(self, event: Event) -> None:
        if event.node != "master":
            return
        if event.status == "lied":
            self.on_wipe(event)
        else:
            self._disaster(event)

    def on_fault(self, event: Event) -> None:
        if event.node == "master" and event.status == "on":
            self._disaster(event)

    def _disaster(self, event: Event) -> None:
        for write, t in self.acknowledged.items():
            if event.t - t > BOUND_NS:
                self.due.setdefault(write, event)
        # A younger write may be lost, whatever happens to it later.
        self.acknowledged.clear()

    def on_wipe(self, event: Event) -> None:
        if event.node == "master":
            self.acknowledged.clear()
            self.due.clear()

    def on_held(self, event: Event) -> None:
        if event.node == "master" and event.message is not None:
            self.found.add(event.message)

    def on_scanned(self, event: Event) -> None:
        if event.node != "master" or event.f != "final":
            return
        self.judged += len(self.due)
        lost = [write for write in self.due if write not in self.found]
        if lost:
            end = self.due[lost[0]]
            what = f"{len(lost)} writes are gone, such as {lost[0]}, acknowledged over {BOUND_NS // SECOND_NS} s before"
            self.violate(event, f"{what} the disaster", since=end.t - BOUND_NS, until=end.t)
