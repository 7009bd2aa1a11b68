"""Virtual time: an integer-nanosecond clock and one heap whose order is stable for equal times."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from ....harness.history import MS

MOST_IN_A_MS = 200_000
"""Events within a virtual millisecond, far above useful work: a proxy that forwards a whole buffer in single bytes
makes 65,536.
"""

Entry = list[Any]
"""[at, sequence, function or None once cancelled, arguments]"""


class Kernel:
    """A discrete-event scheduler. Runs only scheduled calls, in (time, sequence) order."""

    __slots__ = ("_dense", "_heap", "_sequence", "_until", "crowded", "now", "steps")

    def __init__(self, crowded: Callable[[], None] = lambda: None) -> None:
        self.crowded = crowded
        """Called between two events whenever a millisecond has had too many."""
        self.now = 0
        self.steps = 0
        self._until = 0
        self._dense = MOST_IN_A_MS
        self._heap: list[Entry] = []
        self._sequence = 0

    def at(self, at: int, function: Callable[..., None], *arguments: Any) -> Entry:
        """Call ``function(*arguments)`` at ``at`` ns, or after the events that are due now."""
        self._sequence = sequence = self._sequence + 1
        entry: Entry = [at if at > self.now else self.now, sequence, function, arguments]
        heappush(self._heap, entry)
        return entry

    def step(self, until: int) -> bool:
        """Run the next event that is due by ``until``; False, with the clock at ``until``, if there is none."""
        heap = self._heap
        while heap:
            if heap[0][0] > until:
                break
            at, _, function, arguments = heappop(heap)
            if function is not None:
                self.now = at
                self.steps = steps = self.steps + 1
                if at >= self._until:
                    self._until = at + MS
                    self._dense = steps + MOST_IN_A_MS
                elif steps >= self._dense:
                    self._dense = steps + MOST_IN_A_MS
                    self.crowded()
                function(*arguments)
                return True
        if until > self.now:
            self.now = until
        return False

    def step_of(self, owner: object, until: int) -> bool:
        """Run this object's next event that is due by ``until``, before all others.

        False, with the clock unchanged, if there is none. The caller must set the clock back in the end.
        """
        due = (each for each in self._heap if each[0] <= until and getattr(each[2], "__self__", None) is owner)
        entry = min(due, default=None)
        if entry is None:
            return False
        at, _, function, arguments = entry
        # It is still in the heap.
        entry[2] = None
        self.now = max(self.now, at)
        self.steps += 1
        function(*arguments)
        return True

    def next_at(self) -> float:
        heap = self._heap
        while heap and heap[0][2] is None:
            heappop(heap)
        return heap[0][0] if heap else float("inf")

    def run_until(self, until: int) -> None:
        while self.step(until):
            pass
