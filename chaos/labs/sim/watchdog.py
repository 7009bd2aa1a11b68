"""Ends endless steps of simulated nodes.

An endless step shows only in its CPU time, so a timer of the process's own CPU time checks once a second whether the
same step is still running. After the first timeout the limit is lower, since shrinking repeats such steps.

Left out: loops inside one call of a C function; sessions outside the main thread, which no signal reaches; a node's
effects on the memory of this process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable
from types import CodeType, FrameType

from ..blame import Stuck

LIMIT_S, NEXT_LIMIT_S = 20, 3
"""Seconds of CPU time for one step of a node, before and after the first timeout; healthy steps take ms."""


class Watchdog:
    """Ends endless steps of nodes. ``steps``: the code of the functions through which a lab calls its nodes, methods
    whose ``self`` has a ``kernel`` that counts its events.
    """

    def __init__(self, steps: Iterable[CodeType]) -> None:
        self.steps = frozenset(steps)
        self.limit_s = LIMIT_S
        self._seen: tuple[int, int] | None = None
        """At the last check: the kernel of the running step, and its event's number."""
        self._ticks = 0

    def begin(self) -> None:
        """Start checking; no effect outside the main thread, or if this signal has another handler."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGVTALRM) in (signal.SIG_DFL, self._look):
            signal.signal(signal.SIGVTALRM, self._look)
            signal.setitimer(signal.ITIMER_VIRTUAL, 1, 1)

    def end(self) -> None:
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGVTALRM) == self._look:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        self._seen = None

    def _look(self, number: int, frame: FrameType | None) -> None:
        seen = None
        while frame is not None and seen is None:
            if frame.f_code in self.steps:
                kernel = frame.f_locals["self"].kernel
                seen = id(kernel), kernel.steps
            frame = frame.f_back
        self._ticks = self._ticks + 1 if seen is not None and seen == self._seen else 0
        self._seen = seen
        if self._ticks >= self.limit_s:
            text = f"one step did not end within {self.limit_s} s of CPU time"
            self.limit_s = NEXT_LIMIT_S
            self._ticks = 0
            raise Stuck(text)
