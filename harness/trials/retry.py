"""Play a trial again after a stall of the machine, which in a real-time lab may leave a holding law undecided.

Every observation counts: a trial with a violation stands, even if it is a known deviation. A trial on a punctual
machine is never played twice. After :data:`RETRIES` retries the last trial stands, and its undecided laws are unknown
(docs/decisions/0031-stalls.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..judging.disturbances import STALLED
from ..judging.verdict import Verdict
from .trial import Trial

RETRIES = 2
T = TypeVar("T")


def until_decided(play: Callable[[], T], was_stalled: Callable[[T], bool]) -> tuple[T, int]:
    """The first play that is not spoilt, else the last one; and the number of plays before it."""
    for again in range(RETRIES):
        found = play()
        if not was_stalled(found):
            return found, again
    return play(), RETRIES


def was_stalled(trial: Trial) -> bool:
    """Whether a stall left a law unknown and no law was violated, as a known deviation or otherwise."""
    return (
        not any(each.broken for each in trial.judgements)
        and any(each.verdict is Verdict.UNKNOWN for each in trial.judgements)
        and any((each.doubt or "").startswith(STALLED) for each in trial.judgements)
    )
