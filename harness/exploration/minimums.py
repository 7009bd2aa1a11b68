"""The least that the searches of a run must have met.

A search that draws nothing useful breaks no law, so it would pass: sends that nobody answers, faults that hit nothing,
a pair that is never behind. Where a profile has coverage minimums, a run that misses one is unknown, not a success;
the run folder
keeps what was met beside what was demanded (the fact ``minimums``), so that the report and JUnit say the same.

Counted (:mod:`harness.exploration.tally`) are trials of the searches, not those of the fixed corpus or of shrinking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple


class Family(NamedTuple):
    """Faults that count together."""

    names: tuple[str, ...]
    least: int
    """How many of them must have taken effect."""


class Minimums(NamedTuple):
    """What must have been met at least; what is not named here is not demanded."""

    trials: Mapping[str, int] = {}
    """Trials, by the search that drew them."""
    operations: Mapping[str, int] = {}
    """Operations that were executed, by name."""
    events: Mapping[str, int] = {}
    """Events of histories, by kind, or by kind and function: ``ok send``."""
    faults: Mapping[str, Family] = {}
    """Faults that took effect: what the lab counted of their effects is not all 0. By the family's name."""
    states: Mapping[str, int] = {}
    """Events that met each state of the coverage table."""
    laws: int = 0
    """Laws that had something to judge; no more than the run judges by."""
    shown_by: Mapping[str, str] = {}
    """The kinds of event without which states cannot be known, by state."""

    def of(self, observes: Set[str], needs: Sequence[Set[str]]) -> Minimums:
        """What can be demanded of a target that shows only these kinds of event; ``needs``: of each law asked.

        The laws demanded shrink with those that can be judged.
        """
        states = {name: least for name, least in self.states.items() if self.shown_by.get(name) in {None, *observes}}
        judgeable = sum(each <= observes for each in needs)
        return self._replace(states=states, laws=self.laws * judgeable // max(1, len(needs)))


class Minimum(NamedTuple):
    """One of them, and what the run came to."""

    what: str
    met: int
    least: int

    @property
    def is_met(self) -> bool:
        return self.met >= self.least


REPLICATED = "trials in which a slave held a record of the workload"
"""What every run must have met that played a pair with a slave, whatever its profile."""
NOTHING_REPLICATED = "nothing was replicated: no slave held a record of the workload in any trial"


def replicated(found: Counter[bool]) -> list[Minimum]:
    """The floor of every run; ``found``: trials with a slave, by whether a slave held a record of the workload."""
    return [Minimum(REPLICATED, found[True], 1)] if found.total() else []


def missed(minimums: Iterable[Minimum]) -> list[str]:
    """Those that were not met, in words."""
    return [
        NOTHING_REPLICATED if each.what == REPLICATED else f"{each.what}: {each.met:,} of {each.least:,}"
        for each in minimums
        if not each.is_met
    ]


def of_facts(facts: Mapping[str, object]) -> list[Minimum]:
    """The coverage minimums that a run folder tells of; none where it does not say."""
    told = facts.get("minimums")
    rows = [each for each in told if isinstance(each, dict)] if isinstance(told, list) else []
    return [
        Minimum(str(each.get("what", "")), met, least)
        for each in rows
        if isinstance(met := each.get("met"), int) and isinstance(least := each.get("least"), int)
    ]
