"""Dates an effect whose own time is coarse, late or by another clock: after its cause, before its observation.

Captures of other pairs and the real labs date brokers' appends by it, so both order them alike. The judge rejects an
effect before its cause (:mod:`harness.judging.precedence`).
"""

AFTER_NS = 1
NEVER = 1 << 63


def dated(recorded: int, cause: int, seen: int = NEVER) -> int:
    """Its time, ns: as recorded, but at least 1 ns after its cause, and no later than its observation.

    If the cause comes after the observation, the observation wins.
    """
    return min(max(recorded, cause + AFTER_NS), seen)
