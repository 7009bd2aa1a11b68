"""Attributes an exception to a node or the lab, in a process where code of both runs together.

A node that raises has crashed, which law ``node-lives`` judges. An exception raised by the lab's own code, even when
called by a node, is not evidence about the node.
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
"""Prefixes of modules whose failures are the lab's."""
MAX_WORDS = 300
"""Longest exception text in a history, in characters."""
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


class Stuck(BaseException):
    """Raised within a step that does not end. Not an Exception, which a node might catch and continue."""


class Overgrown(Stuck):
    """Raised within a node's step that uses more memory than its clients' requests can need."""


ENDS = (SystemExit, Stuck)
"""Exceptions outside Exception that end a node. A KeyboardInterrupt comes from the user."""


def is_the_labs(why: BaseException) -> bool:
    """Whether the lab's own code raised an exception that came out of a node's step."""
    if isinstance(why, PairproofError):
        return True
    if isinstance(why, (BrokerError, *ENDS, RecursionError, MemoryError)):
        # A disk reports its failure in this way, and the last ones may surface anywhere.
        return False
    return any(_origin(why, own=False).startswith(room) for room in OWN)


def described(why: BaseException) -> str:
    """An exception and its origin in one line, the same on every machine and in every process."""
    words = _ADDRESS.sub("0x...", " ".join((str(why) if isinstance(why, Stuck) else quoted(why)).split()))
    words = words if len(words) <= MAX_WORDS else words[:MAX_WORDS] + "..."
    if isinstance(why, Stuck):
        return words
    return f"{words} ({_origin(why, own=True)})"


def _origin(why: BaseException, *, own: bool) -> str:
    """``module:line`` of the innermost frame outside Python's library, and with ``own`` outside the lab."""
    found = "somewhere"
    for frame, line in traceback.walk_tb(why.__traceback__):
        module = str(frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in sys.stdlib_module_names or (own and module.startswith(OWN)):
            continue
        found = f"{module}:{line}"
    return found
