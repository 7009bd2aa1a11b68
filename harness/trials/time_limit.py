"""A real-time limit for a block of this process."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from time import monotonic
from types import FrameType

from ..errors import UsageError


class OutOfTime(KeyboardInterrupt):
    """The time limit is over. A KeyboardInterrupt, since labs end in order on these, and nodes do not catch them."""


@contextlib.contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """OutOfTime in the block after so many seconds; None: no limit. UsageError outside the main thread.

    Another alarm (pytest-timeout's, say) continues afterwards; an earlier one is not changed.
    """
    if seconds is None:
        yield
        return

    def over(number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    try:
        before = signal.signal(signal.SIGALRM, over)
    except ValueError:
        raise UsageError("limit_s works in the main thread; leave it out in another one") from None
    began, (left, every) = monotonic(), signal.setitimer(signal.ITIMER_REAL, seconds)
    if 0 < left < seconds:
        signal.signal(signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, left, every)
        yield
        return
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            # An overdue alarm fires at once; 0 would cancel it.
            signal.setitimer(signal.ITIMER_REAL, max(left - (monotonic() - began), 0.001), every)
