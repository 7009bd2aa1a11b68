"""Whose failure an exception is, in a process where a lab's code and a node's run together.

A node that raises has crashed, which law ``node-lives`` judges. What the lab's own code raises, even when a node has
called it, says nothing about the node.
"""

from __future__ import annotations

import re
import sys
import traceback

from ...harness.errors import PairproofError
from ...harness.texts.quoting import quoted
from ...reference.errors import BrokerError

OWN = (
    "pairproof.harness.", "pairproof.chaos.labs.", "pairproof.chaos.faults.", "pairproof.chaos.observers.",
    "pairproof.chaos.scenarios.",
    "pairproof.chaos.rocketmq.",
)  # fmt: skip
"""How names of modules begin whose failures are the lab's."""
MAX_WORDS = 300
"""Characters of an exception's own words that a history keeps."""
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class Stuck(BaseException):
    """Raised within a step that does not end. Not an Exception: a node that survives those would go on for ever."""


class Overgrown(Stuck):
    """Raised within a step of a node that takes more room than what its clients sent can need."""


ENDS = (SystemExit, Stuck)
"""What ends a node though it is no Exception. A KeyboardInterrupt is its user's wish."""


def is_the_labs(why: BaseException) -> bool:
    """Whether an exception that came out of a node's step was raised by the lab's own code."""
    if isinstance(why, PairproofError):
        return True
    if isinstance(why, (BrokerError, *ENDS, RecursionError, MemoryError)):
        # A disk says in this way that it failed, and the last ones may surface anywhere.
        return False
    return any(_place(why, own=False).startswith(room) for room in OWN)


def described(why: BaseException) -> str:
    """An exception and where it was raised, in one line that is the same on every machine and in every process."""
    words = _ADDRESS.sub("0x...", " ".join((str(why) if isinstance(why, Stuck) else quoted(why)).split()))
    words = words if len(words) <= MAX_WORDS else words[:MAX_WORDS] + "..."
    if isinstance(why, Stuck):
        return words
    return f"{words} ({_place(why, own=True)})"


def _place(why: BaseException, *, own: bool) -> str:
    """``module:line`` of the innermost frame outside Python's library; with ``own`` outside the lab, too."""
    found = "somewhere"
    for frame, line in traceback.walk_tb(why.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in sys.stdlib_module_names or (own and module.startswith(OWN)):
            continue
        found = f"{module}:{line}"
    return found
