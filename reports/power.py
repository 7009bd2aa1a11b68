"""What a green run is worth: which of many small changes of a target's code its trials would have noticed.

The measurement is what ``pairproof mutants --generic --json FILE`` writes. It comes with the package, and is of the
reference in the simulation. What is estimated rests on it, and on nothing else:

A trial notices a mutant by chance. Of ``of`` trials of the unmutated target ``reaching`` come to the changed place, and
of those the mutant was played in, the ``trials``-th was the first to notice it; so one in ``of / reaching * trials``
trials does. A mutant that none noticed counts as one that no number of trials does. The probability that n green trials
have missed a bug like these is the mean over all of them.
"""

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any, NamedTuple

from ..harness.exploration.ratio import wilson

Row = dict[str, Any]

NUMBERS = (10, 100, 1_000, 10_000, 100_000)
"""Of green trials, for which the probability is told."""
NOTICED, EQUIVALENT = ("killed", "crash"), "equivalent"
IN_LAB = "sim"
"""The lab that is measured: what others record, and how much they play in an hour, differs."""


class Missed(NamedTuple):
    """The probability in percent that so many green trials have missed a bug like those measured, with its interval."""

    trials: int
    percent: float
    low: float
    high: float


def read() -> Row:
    """The measurement of this package."""
    return dict(json.loads(files(__package__).joinpath("power.json").read_text(encoding="utf-8")))


def chances(measured: Row) -> list[float]:
    """By mutant that is not equivalent, the chance that one trial notices it."""
    of = measured["control"]["trials"]
    return [
        min(1.0, each["reaching"] / of / each["trials"]) if each["verdict"] in NOTICED and each["trials"] else 0.0
        for each in measured["mutants"]
        if each["verdict"] != EQUIVALENT
    ]


def missed(noticing: Iterable[float], trials: int) -> Missed:
    """The mean over mutants with these chances."""
    each = [(1 - chance) ** trials for chance in noticing]
    low, high = wilson(sum(each), len(each))
    percent = 100 * sum(each) / len(each) if each else 100.0
    return Missed(trials, round(percent, 1), round(low, 1), round(high, 1))


def summary(measured: Row, search: Iterable[Row]) -> Row:
    """What report.json says: the score, and what the trials in the simulation of each target have missed.

    ``search``: the report's rows of that name.
    """
    noticing = chances(measured)
    played: dict[str, int] = {}
    for row in search:
        if row["lab"] == IN_LAB:
            played[row["target"]] = played.get(row["target"], 0) + row["trials"]
    own = [{"target": target, **missed(noticing, trials)._asdict()} for target, trials in sorted(played.items())]
    known = {name: measured[name] for name in ("target", "seed", "version", "made", "score", "by_law")}
    return {**known, "missed": own}


def shown(measured: Row) -> Row:
    """What the page shows beside the summary."""
    noticing = chances(measured)
    mutants = measured["mutants"]
    return {
        "measured": measured,
        "numbers": [missed(noticing, number) for number in NUMBERS],
        "alone": _alone(mutants),
        "survivors": [each for each in mutants if each["verdict"] not in (*NOTICED, EQUIVALENT)],
        "equivalents": sum(1 for each in mutants if each["verdict"] == EQUIVALENT),
    }


def _alone(mutants: Iterable[Row]) -> dict[str, list[Row]]:
    """By law, the mutants that only it was violated by."""
    found: dict[str, list[Row]] = {}
    for each in mutants:
        if each["law"] and not each["also"]:
            found.setdefault(each["law"], []).append(each)
    return found
