"""Which faults are going on while a history is read: only those that took effect make a fault window.

A window begins and ends with the fault's two events. What overlaps windows of one fault is counted under its name, what
overlaps several under :data:`~pairproof.harness.rocketmq.objectives.SEVERAL`.
"""

from collections.abc import Collection, Iterable, Sequence

from ...harness.history import Event
from ...harness.rocketmq.objectives import NO_FAULT, SEVERAL

IN, OUT = "in", "out"
"""Within a fault window, or outside of all."""


def idle(events: Iterable[Event]) -> frozenset[int | None]:
    """Numbers of the faults that hit nothing."""
    return frozenset(each.op for each in events if each.kind == "fault" and each.status == "off" and not each.value)


def label(names: Collection[str]) -> str:
    """One name for the faults that something overlapped."""
    return next(iter(names)) if len(names) == 1 else SEVERAL if names else NO_FAULT


def window(names: Collection[str]) -> str:
    """:data:`IN` or :data:`OUT`."""
    return IN if names else OUT


class Active:
    """The faults that are going on. Tell it of every ``fault`` event, in order."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._idle = idle(events)
        self._on: dict[int | None, str] = {}
        self.names: frozenset[str] = frozenset()
        self.began_ns: int | None = None
        """Since when one has been going on without a break; None while there is none."""
        self.windows: list[tuple[int, int]] = []
        """When faults were going on until now, ns: those that overlap are one window."""

    def hear(self, event: Event) -> bool:
        """Take in a ``fault`` event; whether it is of a fault that took effect."""
        if event.op in self._idle:
            return False
        if event.status == "on":
            if not self._on:
                self.began_ns = event.t
            self._on[event.op] = str(event.f)
        elif self._on.pop(event.op, None) is not None and not self._on and self.began_ns is not None:
            self.windows.append((self.began_ns, event.t))
            self.began_ns = None
        self.names = frozenset(self._on.values())
        return True

    def until(self, end_ns: int) -> list[tuple[int, int]]:
        """All windows of a history that ends at ``end_ns``."""
        return [*self.windows, *([(self.began_ns, end_ns)] if self.began_ns is not None else [])]


def within(windows: Iterable[tuple[int, int]], first: int, last: int) -> int:
    """How much of the time from ``first`` to ``last`` lies in windows, which do not overlap; ns."""
    return sum(max(0, min(end, last) - max(begin, first)) for begin, end in windows)
