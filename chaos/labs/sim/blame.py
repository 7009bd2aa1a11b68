"""Whose failure an exception is, in a process that the simulation shares with the nodes it runs.

A node that raises has crashed, and one whose step never ends is stuck: events of the trial, which law ``node-lives``
judges. What the lab's own code raises, even when a node has called it, says nothing about the node and passes through.

A step that does not end leaves no other sign than the CPU time that it takes, so a timer of the process's own CPU time
looks once a second whether the same step is still going on. What ran long enough once will do so again while the
finding is shrunk, so from then on the limit is lower.

Left out: loops inside one call of a C function; sessions outside the main thread, which no signal reaches; what a node
does to the memory of this process.
"""

from __future__ import annotations

import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterable
from types import CodeType, FrameType

from pairproof.harness.errors import PairproofError
from pairproof.reference.errors import BrokerError

OWN = tuple(
    f"pairproof.{room}." for room in ("harness", "chaos.labs", "chaos.faults", "chaos.observers", "chaos.scenarios")
)
"""How names of modules begin whose failures are the lab's."""
MAX_WORDS = 300
"""Characters of an exception's own words that a history keeps."""
LIMIT_S, NEXT_LIMIT_S = 20, 3
"""Seconds of CPU time that one step of a node may take, and may take once one did not end; healthy ones take ms."""
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class Stuck(BaseException):
    """Raised within a step that does not end. Not an Exception: a node that survives those would go on for ever."""


def is_the_labs(why: BaseException) -> bool:
    """Whether an exception that came out of a node's step was raised by the lab's own code."""
    if isinstance(why, PairproofError):
        return True
    if isinstance(why, (BrokerError, Stuck, RecursionError, MemoryError)):
        # A disk says in this way that it failed, and the last ones may surface anywhere.
        return False
    return any(_place(why, own=False).startswith(room) for room in OWN)


def described(why: BaseException) -> str:
    """An exception and where it was raised, in one line that is the same on every machine and in every process."""
    words = _ADDRESS.sub("0x...", " ".join(str(why).split()))
    words = words if len(words) <= MAX_WORDS else words[:MAX_WORDS] + "..."
    if isinstance(why, Stuck):
        return words
    return f"{type(why).__name__}: {words} ({_place(why, own=True)})"


def _place(why: BaseException, *, own: bool) -> str:
    """``module:line`` of the innermost frame outside Python's library; with ``own`` outside the lab, too."""
    found = "somewhere"
    for frame, line in traceback.walk_tb(why.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in sys.stdlib_module_names or (own and module.startswith(OWN)):
            continue
        found = f"{module}:{line}"
    return found


class Watchdog:
    """Ends steps of nodes that do not end. ``steps``: the code of the functions through which a lab calls its nodes,
    each of a method whose ``self`` has a ``kernel`` that counts its events."""

    def __init__(self, steps: Iterable[CodeType]) -> None:
        self.steps = frozenset(steps)
        self.limit_s = LIMIT_S
        self._seen: tuple[int, int] | None = None
        """The kernel in whose event a step was going on when it was looked last, and the event's number."""
        self._ticks = 0

    def begin(self) -> None:
        """Look from now on; nothing outside the main thread, or where somebody else uses this signal."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGVTALRM) in (signal.SIG_DFL, self._look):
            signal.signal(signal.SIGVTALRM, self._look)
            signal.setitimer(signal.ITIMER_VIRTUAL, 1, 1)

    def end(self) -> None:
        """Look no more."""
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
