"""What a green run is worth: which of many small changes of a target's code its trials would have noticed.

The measurement is what ``pairproof mutants --generic --json FILE`` writes. One comes with the package, of the reference
in the simulation; ``report --power FILE`` shows another. What is estimated rests on it, and on nothing else:

A trial notices a mutant by chance. Of ``of`` trials of the unmutated target ``reaching`` come to the changed place, and
of those the mutant was played in, the ``trials``-th was the first to notice it; so one in ``of / reaching * trials``
trials does. A mutant that none noticed counts as one that no number of trials does. The probability that n green trials
have missed a bug like these is the mean over all of them.
"""

import json
from collections.abc import Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from ..harness.errors import UsageError
from ..harness.exploration.proportion import wilson

Row = dict[str, Any]

SHIPPED = "power.json"
NUMBERS = (10, 100, 1_000, 10_000, 100_000)
"""Of green trials, for which the probability is told."""
NOTICED, EQUIVALENT = ("killed", "crash"), "equivalent"
IN_LAB = "sim"
"""The lab that is measured: what others record, and how much they play in an hour, differs."""
MAX_BYTES = 64 << 20
NEEDED = {
    "target": str, "seed": str, "trials": int, "version": str, "made": str, "score": dict, "by_law": dict,
    "packages": dict, "operators": dict, "laws": dict, "control": dict, "mutants": list,
}  # fmt: skip
OF_MUTANT = {
    "module": str, "line": int, "function": str, "operator": str, "before": str, "after": str, "verdict": str,
    "law": str, "also": list, "trials": int, "reaching": int,
}  # fmt: skip


class Missed(NamedTuple):
    """The probability in percent that so many green trials have missed a bug like those measured, with its interval."""

    trials: int
    percent: float
    low: float
    high: float


def read(path: Path | None = None) -> Row:
    """The measurement in a file, or the one of this package; UsageError for what is no measurement."""
    try:
        if path is None:
            text = files(__package__).joinpath(SHIPPED).read_text(encoding="utf-8")
        elif path.stat().st_size > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES >> 20} MB")
        else:
            text = path.read_text(encoding="utf-8")
        found = json.loads(text)
        _check(found, NEEDED, "the document")
        for number, each in enumerate(found["mutants"]):
            _check(each, OF_MUTANT, f"mutant {number}")
        if not found["control"].get("trials"):
            raise ValueError("its control has no trials")
    except (OSError, ValueError) as why:
        raise UsageError(
            f"{path} is not a measurement of mutants ({why}); make one with pairproof mutants --generic --json FILE"
        ) from None
    return dict(found)


def _check(value: object, wanted: Mapping[str, type], what: str) -> None:
    if not isinstance(value, dict):
        raise ValueError(f"{what} is not a JSON object")
    for name, kind in wanted.items():
        if not isinstance(value.get(name), kind):
            raise ValueError(f"{what} has no {name}")


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
