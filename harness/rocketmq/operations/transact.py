"""A producer sends a half message, and ends its transaction."""

from __future__ import annotations

from ...trials.operation import INT_MAX, Drawn, Operation, number, one_of, optional, text
from ...trials.schedule import Args
from ..ports import CanTransact
from .delayed import MOST_LEVEL
from .scope import PRODUCERS, QUEUES

COMMIT, ROLLBACK, NEVER = "commit", "rollback", "never"
MOST_MS = 60_000
MOST_ENDS = 3
WORDS = {
    COMMIT: "and commits it {ms} ms after it is stored",
    ROLLBACK: "and rolls it back {ms} ms after it is stored",
    NEVER: "and never ends the transaction",
}
"""The end of a transaction, in words."""
_KNOWN = one_of(WORDS, f"a producer ends a transaction with {', '.join(WORDS)}")


class Transact(Operation):
    """A producer sends a half message to a queue of the master. ``ms`` after it is stored, the producer ends the
    transaction as it ``says`` (commit, rollback, never); so many ``times``, each ``ms`` after the last answer. A
    delay ``level`` has no effect.
    """

    name = "transact"
    needs = CanTransact
    act = CanTransact.transact
    arguments = {
        "producer": number(INT_MAX, range(PRODUCERS), (0,), usual=0),
        "queue": number(INT_MAX, range(QUEUES), (0,), usual=0),
        "says": text((COMMIT, COMMIT, COMMIT, ROLLBACK, ROLLBACK, NEVER), usual=COMMIT, check=_KNOWN),
        "ms": number(MOST_MS, (0, 0, 500, 3_100), (0,), usual=0),
        "times": number(MOST_ENDS, (1, 1, 1, 2), (1,), usual=1),
        **optional({"level": number(MOST_LEVEL, (0, 0, 0, 1), (0,), usual=0)}),
    }
    drawn = Drawn(whole=True)
    is_load = is_send = True

    def words(self, args: Args) -> str:
        what = f"sends a half message to queue {args['queue']} of the master"
        again = f", {args['times']} times" if args["says"] != NEVER and args["times"] != 1 else ""
        return f"Producer {args['producer']} {what} {WORDS[str(args['says'])].format(ms=args['ms'])}{again}."


OPERATION = Transact()
