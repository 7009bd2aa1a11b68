"""When and where a trial was in trouble: faults by place, nodes that stood still or were down.

A *place* is a node's or a link's name, as fault events carry it; a fault that names neither concerns the place "", and
one at every link of a node concerns that node and each of them. Laws with a bound ask here whether anything excuses a
delay: a node that a fault pauses or that is down owes nothing for that time, and a promise about a healthy link is
judged only where no fault touched that link meanwhile. A node with a fault at every link of it stands still, too, for
whoever looks from outside: what reaches the last observer before it need not reach it, and nothing of it is heard.

Left out: what a fault does. Nothing here knows a fault by its name.
"""

from __future__ import annotations

from pairproof.harness import places
from pairproof.harness.history import Event

Span = tuple[int, int]


def touched(fault: Event) -> frozenset[str]:
    """The places that a fault concerns."""
    node = fault.node or ""
    if fault.link == places.EVERY_LINK:
        return places.links_of(node) | {node}
    return frozenset((node or fault.link or "",))


class Trouble:
    """Bounded by the faults, pauses and crashes of one trial."""

    def __init__(self) -> None:
        self.active: dict[int | None, Event] = {}
        """Faults that are going on, by number."""
        self._touched: dict[int | None, frozenset[str]] = {}
        self.ended: dict[str, int] = {}
        """Per place: when its last fault ended, ns."""
        self._still: dict[str, int] = {}
        """Since when nodes stand still, ns."""
        self._holds: dict[str, set[int | None]] = {}
        """What has them stand still: None for a pause or the node's end, otherwise faults by number."""
        self._spans: dict[str, list[Span]] = {}

    # What the ledger tells.

    def fault(self, event: Event) -> None:
        """A fault began or ended."""
        if event.status == "on":
            self.active[event.op] = event
            self._touched[event.op] = touched(event)
            if event.link == places.EVERY_LINK:
                self.pause(event.node or "", event.t, event.op)
        else:
            self.active.pop(event.op, None)
            self._touched.pop(event.op, None)
            self.ended.update(dict.fromkeys(touched(event), event.t))
            if event.link == places.EVERY_LINK:
                self.resume(event.node or "", event.t, event.op)

    def pause(self, node: str, t: int, fault: int | None = None) -> None:
        """A node stands still; ``fault``: the number of one at every link of it."""
        self._still.setdefault(node, t)
        self._holds.setdefault(node, set()).add(fault)

    def resume(self, node: str, t: int, fault: int | None = None) -> None:
        """It goes on, unless something else has it stand still."""
        holds = self._holds.get(node, set())
        holds.discard(fault)
        since = self._still.get(node)
        if since is None or holds:
            return
        del self._still[node]
        if t > since:
            self._spans.setdefault(node, []).append((since, t))

    down = pause
    up = resume

    # What laws ask.

    def is_quiet(self, place: str, since: int) -> bool:
        """Whether no fault has touched this place since ``since`` (ns), nor touches it now."""
        if self.ended.get(place, -1) >= since:
            return False
        return all(place not in each for each in self._touched.values())

    def is_struck(self, *where: str) -> bool:
        """Whether a fault acts on one of these places now, or one of them is a node that stands still."""
        if any(place in self._still for place in where):
            return True
        return any(not each.isdisjoint(where) for each in self._touched.values())

    def is_still(self, node: str) -> bool:
        """Whether a node is paused or down now."""
        return node in self._still

    def still_ns(self, node: str, since: int, until: int) -> int:
        """For how long between the two a node was paused or down."""
        total = 0
        for lo, hi in reversed(self._spans.get(node, ())):
            if hi <= since:
                break
            total += min(hi, until) - max(lo, since)
        if node in self._still:
            total += max(0, until - max(self._still[node], since))
        return total
