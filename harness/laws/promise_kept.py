"""``promise-kept``: what a client was told that a node has is there, after every failure that this survives.

A promise names a node and the worst end that it survives there. A reading that began after the promise must show the
write, unless the node has met a worse end since, or its store was replaced. A store that goes to another node takes its
promises along: that is a promotion by hand. Where the node that was asked may lose a write, its copies may, too, from
the moment it starts again: they follow it.

An answer may arrive after the end of the node that gave it; then the promise is as old as its call.

Left out: how many copies there are at a moment (a client is promised some by name, or all of them), and overwriting.
Source: what acknowledging means.
"""

from __future__ import annotations

from ..event_types.client import Invoke
from ..event_types.node import Crash, Start, Stop, Wipe
from ..event_types.store import Held, Promise, Scanned
from ..judging.known import Known
from ..judging.law import DURABILITY, Law

WORST = {None: 0, "stop": 1, "process": 2, "machine": 3, "store": 4}
"""Ends of a node, each worse than those before; a store that is replaced survives nothing."""
NAMES = ("nothing", "an orderly stop", "a kill", "a power loss", "another store")
SHOWN = 3
"""Writes that a violation names; the rest are counted."""


class PromiseKept(Law):
    id = "promise-kept"
    kind = DURABILITY
    promise = "A write that a client was told a node has is there after every failure that this survives."
    source = "the meaning of an acknowledgement"
    needs = frozenset({"promise", "held", "scanned"})

    def __init__(self, known: Known) -> None:
        super().__init__(known)
        self.calls: dict[int, tuple[int, str]] = {}
        """By call: when it began (``seq``), and at which node."""
        self.kept: dict[str, dict[str, tuple[int, int]]] = {}
        """By node and write: when it was promised (``seq``), and the worst end that it survives."""
        self.asked: dict[str, str] = {}
        """By write: the node that was asked."""
        self.void: set[str] = set()
        """Writes that the node that was asked may have lost before it answered."""
        self.ends: dict[str, list[tuple[int, int]]] = {}
        """By node: when it ended (``seq``), and how badly."""
        self.born: dict[str, int] = {}
        """By node: when it was started (``seq``)."""
        self.replaced: set[str] = set()
        """Nodes whose store is another one since they last ran."""
        self.found: dict[tuple[int, str], set[str]] = {}
        """By reading and node."""

    def on_invoke(self, event: Invoke) -> None:
        self.calls[event.op] = event.seq, event.node

    def on_promise(self, event: Promise) -> None:
        began, source = self.calls.get(event.op, (event.seq, event.node))
        survives = WORST[event.survives]
        if any(seq > began and how > survives for seq, how in self.ends.get(event.node, ())):
            # The copies of what the node that was asked may have lost follow it in that.
            self.void |= {event.message} if event.node == source else set()
        elif event.message not in self.void:
            self.asked[event.message] = source
            self.kept.setdefault(event.node, {})[event.message] = event.seq, survives

    def on_crash(self, event: Crash | Stop | Wipe) -> None:
        how = WORST["stop" if event.kind == "stop" else event.f if event.kind == "crash" else "store"]
        if event.status == "lied":
            # A disk that lies about flushes breaks what every system builds on.
            how = WORST["store"]
        self.ends.setdefault(event.node, []).append((event.seq, how))
        kept = self.kept.get(event.node, {})
        self.kept[event.node] = {write: each for write, each in kept.items() if each[1] >= how}

    on_stop = on_crash

    def on_wipe(self, event: Wipe) -> None:
        whose = event.detail
        brought = self.kept.pop(whose, {}) if whose is not None and whose not in self.replaced else {}
        self.on_crash(event)
        self.kept[event.node] = brought
        self.replaced.add(event.node)

    def on_start(self, event: Start) -> None:
        """From now on copies follow this node in what it has lost."""
        node = event.node
        self.born[node] = event.seq
        self.replaced.discard(node)
        own = self.kept.get(node, {})
        for copy, kept in self.kept.items():
            if copy != node:
                for write in [each for each in kept if self.asked[each] == node and each not in own]:
                    del kept[write]

    def on_held(self, event: Held) -> None:
        self.found.setdefault((event.reading, event.node), set()).add(event.message)

    def on_scanned(self, event: Scanned) -> None:
        found = self.found.pop((event.reading, event.node), set())
        began = self._began(event)
        kept = self.kept.get(event.node, {})
        due = [write for write, (promised, _) in kept.items() if promised < began]
        self.judged += len(due)
        missing = [write for write in due if write not in found]
        if missing:
            self._accuse(event, missing)
            for write in missing:
                del kept[write]

    def _began(self, event: Scanned) -> int:
        """Promises from before this event (``seq``) count for a reading."""
        if event.f == "read":
            return self.calls.get(event.reading, (event.seq, ""))[0]
        # Nobody writes during the last audit; one at a start may be told after what was promised meanwhile.
        return event.seq if event.f == "final" else self.born.get(event.node, event.seq)

    def _accuse(self, event: Scanned, missing: list[str]) -> None:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        worst = max((how for _, how in self.ends.get(event.node, ())), default=0)
        after = f"the worst that befell it: {NAMES[worst]}" if worst else "nothing befell it"
        what = f"{', '.join(missing[:SHOWN])}{more}"
        self.violate(event, f"{event.node} does not hold {what}, which it has, as clients were told; {after}")
