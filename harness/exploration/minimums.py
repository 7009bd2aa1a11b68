"""The coverage minimums of a run's searches.

A useless search violates no law: its sends get no answer, its faults have no effect, the pair is never behind. If the
profile has coverage minimums, a run that misses one is unknown. The run folder keeps the reached and the demanded
values (the fact ``minimums``), so the report and JUnit agree.

Only trials of the searches are counted (:mod:`harness.exploration.tally`), not those of the fixed corpus or of
shrinking.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple


class Family(NamedTuple):
    """Faults that count together."""

    names: tuple[str, ...]
    least: int
    """The number of them that must have taken effect."""


class Minimums(NamedTuple):
    trials: Mapping[str, int] = {}
    operations: Mapping[str, int] = {}
    events: Mapping[str, int] = {}
    """Events of histories, by type, or by type and function: ``ok send``."""
    faults: Mapping[str, Family] = {}
    states: Mapping[str, int] = {}
    """Events in each state of the coverage table."""
    laws: int = 0
    """Laws that had something to judge, at most all laws of the run."""
    shown_by: Mapping[str, str] = {}
    """By state: the event types without which it cannot be detected."""

    def of(self, observes: Set[str], needs: Sequence[Set[str]]) -> Minimums:
        """The minimums that a target with only these event types can meet; ``needs``: of each law of the run.

        The demanded number of laws shrinks with the judgeable ones.
        """
        states = {name: least for name, least in self.states.items() if self.shown_by.get(name) in {None, *observes}}
        judgeable = sum(each <= observes for each in needs)
        return self._replace(states=states, laws=self.laws * judgeable // max(1, len(needs)))


class Minimum(NamedTuple):
    what: str
    met: int
    least: int

    @property
    def is_met(self) -> bool:
        return self.met >= self.least


REPLICATED = "trials in which a slave held a record of the workload"
"""Required of every run of a pair with a slave, in any profile."""
NOTHING_REPLICATED = "nothing was replicated: no slave held a record of the workload in any trial"


def replicated(found: Counter[bool]) -> list[Minimum]:
    """The minimum of every run; ``found``: trials with a slave, by whether a slave held a record of the workload."""
    return [Minimum(REPLICATED, found[True], 1)] if found.total() else []


def missed(minimums: Iterable[Minimum]) -> list[str]:
    """The missed minimums, in words."""
    return [
        NOTHING_REPLICATED if each.what == REPLICATED else f"{each.what}: {each.met:,} of {each.least:,}"
        for each in minimums
        if not each.is_met
    ]


def of_facts(facts: Mapping[str, object]) -> list[Minimum]:
    """The coverage minimums in a run folder; none if it has no such fact."""
    listed = facts.get("minimums")
    rows = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return [
        Minimum(str(each.get("what", "")), met, least)
        for each in rows
        if isinstance(met := each.get("met"), int) and isinstance(least := each.get("least"), int)
    ]
