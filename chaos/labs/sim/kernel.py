"""Virtual time: an integer-nanosecond clock and one heap whose order is stable for equal times."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

MS = 1_000_000

Entry = list[Any]
"""[at, sequence, function or None once cancelled, arguments]"""


class Kernel:
    """A discrete-event scheduler. Nothing happens but what was asked for, in (time, sequence) order."""

    __slots__ = ("_heap", "_sequence", "now")

    def __init__(self) -> None:
        self.now = 0
        self._heap: list[Entry] = []
        self._sequence = 0

    def at(self, at: int, function: Callable[..., None], *arguments: Any) -> Entry:
        """Call ``function(*arguments)`` at ``at`` ns, or as soon as what is due now has run."""
        self._sequence = sequence = self._sequence + 1
        entry: Entry = [at if at > self.now else self.now, sequence, function, arguments]
        heappush(self._heap, entry)
        return entry

    def step(self, until: int) -> bool:
        """Run the next event that is due no later than ``until``; False, and the clock at ``until``, if none is."""
        heap = self._heap
        while heap:
            if heap[0][0] > until:
                break
            at, _, function, arguments = heappop(heap)
            if function is not None:
                self.now = at
                function(*arguments)
                return True
        if until > self.now:
            self.now = until
        return False

    def next_at(self) -> float:
        """When the next event is due, ns; infinity if there is none."""
        heap = self._heap
        while heap and heap[0][2] is None:
            heappop(heap)
        return heap[0][0] if heap else float("inf")

    def run_until(self, until: int) -> None:
        """Run everything that is due up to ``until``; the clock stands there afterwards."""
        while self.step(until):
            pass
