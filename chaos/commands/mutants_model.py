"""``pairproof mutants --model``: is each excuse of the laws' model needed, and does a law depend on each fact?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ...harness.commands import output
from ...harness.errors import EXIT_HOLDS, EXIT_VIOLATED
from ...harness.trials.schedule import Schedule
from .. import model_mutants
from ..model_mutants import ModelMutant

Alarms = Callable[[Schedule], Iterable[str]]


class Noticed(NamedTuple):
    """The result for one mutant of the model. ``trials``: up to the first alarm, or to the kill that is undone."""

    name: str
    about: str
    noticed: bool
    trials: int
    laws: list[str]


def excuse(mutant: ModelMutant, schedules: Iterable[Schedule], alarms: Alarms) -> Noticed:
    """Play the reference without this excuse until a law raises an alarm."""
    number = 0
    with mutant.applied():
        for number, schedule in enumerate(schedules, 1):
            if laws := sorted(alarms(schedule)):
                return Noticed(mutant.name, mutant.about, True, number, laws)
    return Noticed(mutant.name, mutant.about, False, number, [])


def fact(mutant: ModelMutant, law: str, trials: int, killed: Callable[[], bool]) -> Noticed:
    """Judge the program that kills the fact's mutant again, with the fact falsified."""
    with mutant.applied():
        return Noticed(mutant.name, mutant.about, not killed(), trials, [law])


def report(found: list[Noticed], json_to: str | None) -> int:
    """Print the score; return the exit code."""
    if json_to is not None:
        output.write_json([each._asdict() for each in found], json_to)
    rows = [
        (each.name, each.about, "noticed" if each.noticed else "UNNOTICED", f"{each.trials:,}", ", ".join(each.laws))
        for each in found
    ]
    output.table("", ("mutant of the model", "what it does", "", "trials", "laws"), rows)
    score = sum(each.noticed for each in found)
    amounts = f"{len(model_mutants.EXCUSES)} dropped excuses, {len(model_mutants.FACTS)} falsified facts"
    output.say(f"{score} of {len(found)} mutants of the model noticed ({amounts})")
    return EXIT_HOLDS if score == len(found) else EXIT_VIOLATED
