"""Verdicts on a law after one trial and after a run, and a process's exit code.

A run has the trials of the fixed corpus (``origin`` :data:`CORPUS`) and of its searches; a law may be *vacuous*,
without anything to judge, in either. The run's demands are facts of its folder (:class:`Demands`). :func:`standing`
alone decides whether they are met, for the terminal, the report, JUnit and the exit code. Why the two are separate:
docs/decisions/0034.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from ..errors import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED
from .law import Violation

CORPUS = "corpus"
"""The origin of the trials that are the same in every run, with any seed and limit."""


class Verdict(StrEnum):
    """Worst first. The last two are neither green nor a failure. The run's policy decides whether a known deviation
    fails it.
    """

    VIOLATED = "violated"
    UNKNOWN = "unknown"
    DEVIATES = "known-deviation"
    """Violated, but only by known deviations of the tested version (:mod:`harness.judging.deviations`)."""
    VACUOUS = "vacuous"
    HOLDS = "holds"
    NOT_OBSERVABLE = "not-observable"
    NOT_APPLICABLE = "not-applicable"


EMPTY = (Verdict.VACUOUS, Verdict.NOT_OBSERVABLE, Verdict.NOT_APPLICABLE)
"""The law judged nothing."""


class Judgement(NamedTuple):
    law: str
    verdict: Verdict
    judged: int
    """How often the law had something to judge."""
    broken: int
    violations: tuple[Violation, ...] = ()
    doubt: str | None = None
    notes: dict[str, int] = {}
    deviations: Mapping[str, int] = {}
    """By id of a known deviation: its violations, which are not among a violated law's others."""
    doubted: tuple[Violation, ...] = ()
    """The violations that a stall may have caused."""


class Demands(NamedTuple):
    """Ids of the laws that must have something to judge in a run."""

    by_corpus: frozenset[str] = frozenset()
    """In the trials of the corpus: the fact ``corpus_must_judge``."""
    by_searches: frozenset[str] = frozenset()
    """In the trials of the searches: the fact ``must_not_be_vacuous``."""

    @classmethod
    def of_facts(cls, facts: Mapping[str, object]) -> Demands:
        return cls(_ids(facts.get("corpus_must_judge")), _ids(facts.get("must_not_be_vacuous")))


NO_DEMANDS = Demands()


class Standing(NamedTuple):
    verdict: Verdict
    lacking: str = ""
    """The unmet demand, in words; empty if there is none."""
    corpus_only: bool = False
    """Whether the law had something to judge only in the corpus, and the searches need not have it."""

    @property
    def remark(self) -> str:
        return self.lacking or ("judged by the corpus only" if self.corpus_only else "")


def over_trials(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict for a law over many trials: vacuous only if it had nothing to judge in all of them."""
    seen = set(verdicts)
    for each in (
        Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.DEVIATES, Verdict.HOLDS, Verdict.VACUOUS, Verdict.NOT_OBSERVABLE,
    ):  # fmt: skip
        if each in seen:
            return each
    return Verdict.NOT_APPLICABLE if seen else Verdict.VACUOUS


def standing(law: str, seen: Iterable[tuple[str, Verdict]], demands: Demands = NO_DEMANDS) -> Standing:
    """A run's verdict on a law. ``seen``: the origin of each trial and the law's verdict on it."""
    known = set(seen)
    verdict = over_trials(each for _, each in known)
    by_corpus = over_trials(each for origin, each in known if origin == CORPUS)
    by_searches = over_trials(each for origin, each in known if origin != CORPUS)
    lacking = ""
    if law in demands.by_corpus and by_corpus is Verdict.VACUOUS:
        lacking = "the corpus gave it nothing to judge"
    elif law in demands.by_searches and by_searches is Verdict.VACUOUS:
        lacking = "the searches gave it nothing to judge"
    return Standing(verdict, lacking, verdict is Verdict.HOLDS is not by_searches)


def conclusion(standings: Iterable[Standing], missed: Collection[str] = (), known_fails: bool = False) -> Verdict:
    """The verdict of a run: violated, known-deviation, unknown or holds. It is also unknown if a demand is not met or
    nothing was judged. If only known deviations break laws, it holds, unless ``known_fails``
    (:func:`harness.judging.deviations.fails`).

    ``missed``: the missed coverage minimums (:mod:`harness.exploration.minimums`), in words.
    """
    known = list(standings)
    verdict = over_trials(each.verdict for each in known)
    if known_fails and verdict is not Verdict.VIOLATED:
        return Verdict.DEVIATES
    verdict = Verdict.HOLDS if verdict is Verdict.DEVIATES else verdict
    if verdict is Verdict.HOLDS and (missed or any(each.lacking for each in known)):
        return Verdict.UNKNOWN
    return verdict if verdict in (Verdict.VIOLATED, Verdict.HOLDS) else Verdict.UNKNOWN


def exit_code(standings: Iterable[Standing], missed: Collection[str] = (), known_fails: bool = False) -> int:
    """The exit code of a :func:`conclusion`: 0 holds, 1 violated or known-deviation, 3 unknown."""
    codes = {Verdict.VIOLATED: EXIT_VIOLATED, Verdict.DEVIATES: EXIT_VIOLATED, Verdict.HOLDS: EXIT_HOLDS}
    return codes.get(conclusion(standings, missed, known_fails), EXIT_UNKNOWN)


def _ids(fact: object) -> frozenset[str]:
    return frozenset(str(each) for each in fact) if isinstance(fact, list) else frozenset()
