"""When an effect happened whose own time is coarse, late or by another clock: after its cause, before it was seen.

The captures of strangers and the real labs date what brokers append by it, so both order it alike. The judge refuses an
effect that stands before its cause (:mod:`harness.judging.precedence`).
"""

AFTER_NS = 1
NEVER = 1 << 63
"""Nobody has seen it."""


def dated(recorded: int, cause: int, seen: int = NEVER) -> int:
    """When it happened, ns: as recorded, but at least 1 ns after its cause, and no later than somebody saw it.

    Where the cause comes after the sight the sight is believed.
    """
    return min(max(recorded, cause + AFTER_NS), seen)
