"""What brokers' disks keep of their logs, also while the brokers are down: where each log ends, and how much of it is
the master's.

:class:`Logs` says what a broker that runs has, and knows what a crash took when the broker starts again. Here a crash
takes at once the bytes that it names, since a measure asks what would be missing if the others had to go on alone.

What a slave keeps above a point at which the master's log was cut is a history of its own, until its log is cut there,
too. Left out: bytes that a slave reads from a connection to a master that is no more. Bounded by the number of nodes.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...history import Event
from ..topology import MASTER


class Log:
    """[start, end) of one broker's log, and ``common``, where its bytes stop being the master's."""

    __slots__ = ("common", "end", "start")

    def __init__(self) -> None:
        self.start: int | None = None
        self.end = 0
        self.common: int | None = None

    @property
    def reach(self) -> int:
        """Up to where it has the master's bytes."""
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
        """By node; none of a node of whose log nothing was seen."""

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
        """A start, crash, cut or wipe, or a stop, which takes nothing: whether it says where the node's log ends."""
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
            # An empty log begins wherever its first bytes go.
            log.start = event.lo if end != event.lo else None
        elif kind == "wipe":
            log.start = log.start if end else None
            if node != MASTER and end > self.end():
                # What was the master's before a promotion.
                log.common = self.end()
        return True

    def set(self, node: str, end: int) -> None:
        """A log ends there now."""
        log = self._log(node)
        if node == MASTER and end < log.end:
            for each in self.slaves():
                if each.end > end:
                    each.common = end if each.common is None else min(each.common, end)
        log.ends(end)

    def _log(self, node: str) -> Log:
        return self.logs.get(node) or self.logs.setdefault(node, Log())
