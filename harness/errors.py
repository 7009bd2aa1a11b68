"""The harness's own errors. Each message is one line that says what to do about it."""

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
"""As a shell reports a command that SIGINT ended."""


def joined(code: int, *others: int) -> int:
    """The exit code of several steps: a violation counts most, then the first that is not 0."""
    codes = (code, *others)
    return EXIT_VIOLATED if EXIT_VIOLATED in codes else next((each for each in codes if each), EXIT_HOLDS)


def interrupted(why: KeyboardInterrupt) -> str:
    """Why a run was interrupted, in words: by a signal that says so, or at the keyboard."""
    return str(why) or "interrupted by the user"


LEAST_BEGUN = 3
"""Letters that are enough to look for names that begin with them."""


def meant(name: object, known: Iterable[str]) -> str:
    """What to say after a name that is not known: which one is close, or which ones there are."""
    listed = sorted(known)
    # Half of a name is meant as its beginning, however close a shorter name is.
    begun = [each for each in listed if len(str(name)) >= LEAST_BEGUN and each.startswith(str(name))]
    close = begun or difflib.get_close_matches(str(name), listed, 1)
    return f"; did you mean {close[0]!r}?" if close else f"; valid: {', '.join(listed) or 'none'}"


class PairproofError(Exception):
    """Anything the user is told in one line. ``exit_code`` is what the process ends with."""

    exit_code = EXIT_LAB
    says_it_all = True
    """For the pytest plugin: no traceback is wanted."""


class UsageError(PairproofError):
    """The request names something that does not exist, or contradicts itself."""

    exit_code = EXIT_USAGE


class LabError(PairproofError):
    """The lab could not do its part: this says nothing about the target."""

    exit_code = EXIT_LAB
    trial: Trial | None = None
    """What there is of the trial in which it failed, not judged."""


class Unable(LabError):
    """A lab has this ability, but not here and now: no loop devices for lack of a right, say.

    Raised before anything was done; the interpreter skips that operation for this reason and goes on.
    """


class CorruptRun(PairproofError):
    """A run folder, or a part of it, cannot be read."""

    exit_code = EXIT_UNKNOWN
