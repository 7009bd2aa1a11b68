"""The harness's errors. Each message is one line with the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .trials.trial import Trial

EXIT_HOLDS = 0
EXIT_VIOLATED = 1
EXIT_USAGE = 2
EXIT_UNKNOWN = 3
EXIT_LAB = 4
EXIT_INTERRUPTED = 130
"""The code of shells for a command that SIGINT ended."""


def joined(code: int, *others: int) -> int:
    """The exit code of several steps: a violation first, then the first code that is not 0."""
    codes = (code, *others)
    return EXIT_VIOLATED if EXIT_VIOLATED in codes else next((each for each in codes if each), EXIT_HOLDS)


def interrupted(why: KeyboardInterrupt) -> str:
    """The reason of an interrupt: the signal, or the user."""
    return str(why) or "interrupted by the user"


LEAST_BEGUN = 3
"""Letters that a name needs before names that begin with it are proposed."""


def meant(name: object, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the closest name, or all names."""
    listed = sorted(known)
    # A prefix of a name is more likely than a similar shorter name.
    begun = [each for each in listed if len(str(name)) >= LEAST_BEGUN and each.startswith(str(name))]
    close = begun or difflib.get_close_matches(str(name), listed, 1)
    return f"; did you mean {close[0]!r}?" if close else f"; valid: {', '.join(listed) or 'none'}"


class PairproofError(Exception):
    """An error that the user sees as one line. ``exit_code``: the exit code of the process."""

    exit_code = EXIT_LAB
    no_traceback = True
    """The pytest plugin prints no traceback."""


class UsageError(PairproofError):
    """The request names something that does not exist, or contradicts itself."""

    exit_code = EXIT_USAGE


class LabError(PairproofError):
    """The lab failed, which does not concern the target."""

    exit_code = EXIT_LAB
    trial: Trial | None = None
    """The unfinished trial, not judged."""


class Unable(LabError):
    """The lab has this ability, but not here and now: it lacks the right to use loop devices, say.

    Raised before anything was done. The interpreter skips the operation with this reason and continues.
    """


class CorruptRun(PairproofError):
    """A run folder, or a part of it, cannot be read."""

    exit_code = EXIT_UNKNOWN
