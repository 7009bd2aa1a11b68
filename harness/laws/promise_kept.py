"""``promise-kept``: a write that a client was promised on a node survives every failure that the promise covers.

Checks:
- A promise names a node and the worst end of that node that the write survives. A reading that began after the promise
  shows the write, until a worse end or a replaced store.
- A store that an operator moves to another node takes its promises along.
Abstains when:
- The node that was asked may have lost the write: its copies follow it from its next start.
- The node ended during the call, before it answered.
Source: the meaning of an acknowledgement.
"""

from __future__ import annotations

from ..event_types.client import Invoke
from ..event_types.node import Crash, Start, Stop, Wipe
from ..event_types.store import Held, Promise, Scanned
from ..judging.law import DURABILITY, Law

WORST = {None: 0, "stop": 1, "process": 2, "machine": 3, "store": 4}
"""Ends of a node, by severity; nothing survives a replaced store."""
NAMES = ("nothing", "an orderly stop", "a kill", "a power loss", "another store")
SHOWN = 3


class PromiseKept(Law):
    id = "promise-kept"
    kind = DURABILITY
    promise = "A write that a client was promised on a node survives every failure that the promise covers."
    source = "the meaning of an acknowledgement"
    needs = frozenset({"promise", "held", "scanned"})

    def begin(self) -> None:
        self.calls: dict[int, tuple[int, str]] = {}
        self.promised: dict[str, dict[str, tuple[int, int]]] = {}
        """By node and write: the event of the promise (``seq``), and the worst end that it survives."""
        self.sources: dict[str, str] = {}
        self.void: set[str] = set()
        """Writes that their source may have lost before it answered."""
        self.ends: dict[str, list[tuple[int, int]]] = {}
        """By node: its ends (``seq``), each with its severity."""
        self.started_at: dict[str, int] = {}
        self.replaced: set[str] = set()
        """Nodes with a store that was replaced since they last ran."""
        self.found: dict[tuple[int, str], set[str]] = {}
        """By reading and node."""

    def on_invoke(self, event: Invoke) -> None:
        self.calls[event.op] = event.seq, event.node

    def on_promise(self, event: Promise) -> None:
        began, source = self.calls.get(event.op, (event.seq, event.node))
        survives = WORST[event.survives]
        if any(seq > began and how > survives for seq, how in self.ends.get(event.node, ())):
            # Copies follow their source, also in a loss.
            self.void |= {event.message} if event.node == source else set()
        elif event.message not in self.void:
            self.sources[event.message] = source
            self.promised.setdefault(event.node, {})[event.message] = event.seq, survives

    def on_crash(self, event: Crash | Stop | Wipe) -> None:
        how = WORST["stop" if event.kind == "stop" else event.f if event.kind == "crash" else "store"]
        if event.status == "lied":
            # No system survives a disk that lies about flushes.
            how = WORST["store"]
        self.ends.setdefault(event.node, []).append((event.seq, how))
        promises = self.promised.get(event.node, {})
        self.promised[event.node] = {write: each for write, each in promises.items() if each[1] >= how}

    on_stop = on_crash

    def on_wipe(self, event: Wipe) -> None:
        origin = event.detail
        brought = self.promised.pop(origin, {}) if origin is not None and origin not in self.replaced else {}
        self.on_crash(event)
        self.promised[event.node] = brought
        self.replaced.add(event.node)

    def on_start(self, event: Start) -> None:
        """From now on copies follow this node, also in what it has lost."""
        node = event.node
        self.started_at[node] = event.seq
        self.replaced.discard(node)
        own = self.promised.get(node, {})
        for copy, promises in self.promised.items():
            if copy != node:
                for write in [each for each in promises if self.sources[each] == node and each not in own]:
                    del promises[write]

    def on_held(self, event: Held) -> None:
        self.found.setdefault((event.reading, event.node), set()).add(event.message)

    def on_scanned(self, event: Scanned) -> None:
        found = self.found.pop((event.reading, event.node), set())
        began = self._began(event)
        promises = self.promised.get(event.node, {})
        expected = [write for write, (promised, _) in promises.items() if promised < began]
        self.judged += len(expected)
        missing = [write for write in expected if write not in found]
        if missing:
            self._report(event, missing)
            for write in missing:
                del promises[write]

    def _began(self, event: Scanned) -> int:
        """The event (``seq``) before which promises count for a reading."""
        if event.f == "read":
            return self.calls.get(event.reading, (event.seq, ""))[0]
        # No client writes during the final audit. An audit at a start may be recorded after later promises.
        return event.seq if event.f == "final" else self.started_at.get(event.node, event.seq)

    def _report(self, event: Scanned, missing: list[str]) -> None:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        worst = max((how for _, how in self.ends.get(event.node, ())), default=0)
        after = f"the worst that befell it: {NAMES[worst]}" if worst else "nothing befell it"
        what = f"{', '.join(missing[:SHOWN])}{more}"
        self.violate(event, f"{event.node} does not hold {what}, though clients were promised that; {after}")
