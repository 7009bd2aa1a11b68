"""The logs on brokers' disks, also of brokers that are down: each log's end, and the part of it that is the master's.

:class:`Logs` has the state of running brokers and applies the loss of a crash at the next start. Here a crash removes
the bytes that it names at once, since the measured loss is that of the other nodes continuing alone.

A slave's bytes above a truncation of the master's log diverge until the slave's log is truncated there, too. Left out:
bytes that a slave reads from a connection to an ended master. Bounded by the number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...history import Event
from ..topology import MASTER


@dataclass(slots=True, eq=False)
class Log:
    """[start, end) of one broker's log, and ``common``, the end of the master's bytes."""

    start: int | None = None
    end: int = 0
    common: int | None = None

    @property
    def reach(self) -> int:
        """The end of the master's bytes in it."""
        return self.end if self.common is None else min(self.common, self.end)

    def holds(self, lo: int, hi: int) -> bool:
        return self.start is not None and self.start <= lo and hi <= self.reach

    def ends(self, end: int) -> None:
        self.end = end
        if self.common is not None and end <= self.common:
            self.common = None


class Kept:
    def __init__(self) -> None:
        self.logs: dict[str, Log] = {}
        """By node; only nodes with observed logs."""

    def end(self, node: str = MASTER) -> int:
        log = self.logs.get(node)
        return 0 if log is None else log.end

    def slaves(self) -> Iterator[Log]:
        return (log for node, log in self.logs.items() if node != MASTER)

    def append(self, event: Event) -> None:
        log = self._log(event.node or "")
        if log.start is None:
            log.start = event.lo
        log.end = event.hi or 0

    def move(self, event: Event) -> bool:
        """Process a start, crash, truncation or wipe (a stop removes nothing). Returns whether it has the node's log
        end.
        """
        node, kind = event.node or "", event.kind
        log = self._log(node)
        if kind == "crash":
            end = max(0, log.end - event.value) if event.value else None
        else:
            end = event.lo if kind == "cut" else event.hi
        if end is None:
            return False
        self.set(node, end)
        if kind == "start":
            # An empty log begins with its first bytes.
            log.start = event.lo if end != event.lo else None
        elif kind == "wipe":
            log.start = log.start if end else None
            if node != MASTER and end > self.end():
                # The master's bytes before a promotion.
                log.common = self.end()
        return True

    def set(self, node: str, end: int) -> None:
        log = self._log(node)
        if node == MASTER and end < log.end:
            for each in self.slaves():
                if each.end > end:
                    each.common = end if each.common is None else min(each.common, end)
        log.ends(end)

    def _log(self, node: str) -> Log:
        return self.logs.get(node) or self.logs.setdefault(node, Log())
