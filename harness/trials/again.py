"""Plays a trial again that the machine spoilt: in a lab with real processes a stall may leave open what would hold.

Promises: whatever was seen counts, so a trial that breaks a law stands, also as a known deviation; a trial that came to
its end on a punctual machine is never played twice; after :data:`AGAIN` more tries the last one stands, and says what
nobody knows.
Why: docs/decisions/0031-stalls.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..judging.disturbances import STALLED
from ..judging.verdict import Verdict
from .trial import Trial

AGAIN = 2
"""How often a trial is played again at most."""
T = TypeVar("T")


def until_decided(play: Callable[[], T], is_spoilt: Callable[[T], bool]) -> tuple[T, int]:
    """The first play that is not spoilt, otherwise the last; and how many were played before it."""
    for again in range(AGAIN):
        found = play()
        if not is_spoilt(found):
            return found, again
    return play(), AGAIN


def is_spoilt(trial: Trial) -> bool:
    """Whether a stall left a law unknown, and no law was broken, whether in a known way or in a new one."""
    return (
        not any(each.broken for each in trial.judgements)
        and any(each.verdict is Verdict.UNKNOWN for each in trial.judgements)
        and any((each.doubt or "").startswith(STALLED) for each in trial.judgements)
    )
