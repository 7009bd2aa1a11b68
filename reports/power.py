"""The mutation score: how many small changes of a target's code a green run's trials would have detected.

The measurement is the output of ``pairproof mutants --generic --json FILE``. It is part of the package, and covers the
reference in the simulation. All estimates depend on it:

A trial detects a mutant by chance. ``reaching`` of ``of`` trials of the unmutated target execute the mutated code, and
of those run with the mutant the ``trials``-th was the first to detect it; so one in ``of / reaching * trials`` trials
does. An undetected mutant counts as undetectable. The probability that n green trials missed a bug like these is
the mean over all mutants.
"""

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import NamedTuple

from ..harness.exploration.ratio import wilson
from ..harness.runs.schema import Row

NUMBERS = (10, 100, 1_000, 10_000, 100_000)
NOTICED, EQUIVALENT = ("killed", "crash"), "equivalent"
IN_LAB = "sim"
"""The measured lab; other labs differ in recorded events and speed."""


class Missed(NamedTuple):
    """The probability in percent that so many green trials missed a bug like the measured ones, and its interval."""

    trials: int
    percent: float
    low: float
    high: float


def read() -> Row:
    """The measurement of this package."""
    return dict(json.loads(files(__package__).joinpath("power.json").read_text(encoding="utf-8")))


def chances(measured: Row) -> list[float]:
    """By non-equivalent mutant, the probability that one trial detects it."""
    of = measured["control"]["trials"]
    return [
        min(1.0, each["reaching"] / of / each["trials"]) if each["verdict"] in NOTICED and each["trials"] else 0.0
        for each in measured["mutants"]
        if each["verdict"] != EQUIVALENT
    ]


def missed(noticing: Iterable[float], trials: int) -> Missed:
    """The mean over mutants with these probabilities."""
    each = [(1 - chance) ** trials for chance in noticing]
    low, high = wilson(sum(each), len(each))
    percent = 100 * sum(each) / len(each) if each else 100.0
    return Missed(trials, round(percent, 1), round(low, 1), round(high, 1))


def summary(measured: Row, search: Iterable[Row]) -> Row:
    """The summary in report.json: the score, and the missed fraction for each target's trials in the simulation.

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
    """The page's additional data."""
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
    found: dict[str, list[Row]] = {}
    for each in mutants:
        if each["law"] and not each["also"]:
            found.setdefault(each["law"], []).append(each)
    return found
