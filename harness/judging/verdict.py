"""Verdicts: what is said of a law after one trial and after a run, and for a process's exit code.

A run's trials are those of the fixed corpus (``origin`` :data:`CORPUS`) and those of its searches, and a law may be
*vacuous*, without anything to judge, in either. What a run demands is a fact of its folder (:class:`Demands`); whether
the demand is met, :func:`standing` alone decides, for the terminal, the report, JUnit and the exit code alike. Why the
two are kept apart: docs/decisions/0034.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from ..errors import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED
from .law import Violation

CORPUS = "corpus"
"""The origin of the trials that are the same in every run, whatever its seed and its bounds."""


class Verdict(StrEnum):
    """Worst first. The last two are neither green nor a failure. Whether a known deviation fails a run is the run's."""

    VIOLATED = "violated"
    UNKNOWN = "unknown"
    DEVIATES = "known-deviation"
    """Violated, but only as the version that was tested is known to (:mod:`harness.judging.deviations`)."""
    VACUOUS = "vacuous"
    HOLDS = "holds"
    NOT_OBSERVABLE = "not-observable"
    NOT_APPLICABLE = "not-applicable"


class Judgement(NamedTuple):
    """One law's verdict on one trial."""

    law: str
    verdict: Verdict
    judged: int
    """How often the history gave the law something to judge."""
    broken: int
    violations: tuple[Violation, ...] = ()
    doubt: str | None = None
    notes: dict[str, int] = {}
    deviations: Mapping[str, int] = {}
    """By id of a known deviation, the violations that come of it; of a violated law they are not among the others."""
    doubted: tuple[Violation, ...] = ()
    """What it would say, had the machine not stalled."""


class Demands(NamedTuple):
    """Ids of the laws that a run must have given something to judge."""

    by_corpus: frozenset[str] = frozenset()
    """By the trials of the corpus: the fact ``corpus_must_judge``."""
    by_searches: frozenset[str] = frozenset()
    """By the trials of the searches: the fact ``must_not_be_vacuous``."""

    @classmethod
    def of_facts(cls, facts: Mapping[str, object]) -> Demands:
        """What a run's facts demand; nothing where they do not say."""
        return cls(_ids(facts.get("corpus_must_judge")), _ids(facts.get("must_not_be_vacuous")))


NO_DEMANDS = Demands()


class Standing(NamedTuple):
    """What a run says of one law."""

    verdict: Verdict
    lacking: str = ""
    """What the law was not given to judge although the run demands it, in words; empty if nothing is lacking."""
    corpus_only: bool = False
    """Whether only the corpus gave the law something to judge, which is not lacking where the searches need not."""

    @property
    def remark(self) -> str:
        """What to say beside the verdict; empty if nothing."""
        return self.lacking or ("judged by the corpus only" if self.corpus_only else "")


def over_trials(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict for a law over many trials: vacuous only if no trial gave it anything to judge."""
    seen = set(verdicts)
    for each in (
        Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.DEVIATES, Verdict.HOLDS, Verdict.VACUOUS, Verdict.NOT_OBSERVABLE,
    ):  # fmt: skip
        if each in seen:
            return each
    return Verdict.NOT_APPLICABLE if seen else Verdict.VACUOUS


def standing(law: str, seen: Iterable[tuple[str, Verdict]], demands: Demands = NO_DEMANDS) -> Standing:
    """What the trials of a run say of a law. ``seen``: the origin of a trial and the law's verdict on it."""
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
    """The run in one word: violated, known-deviation, unknown or holds. Unknown, too, if a demand is not met or nothing
    was judged. Where laws are broken only as it is known of the target, it holds, unless ``known_fails``
    (:func:`harness.judging.deviations.fails`).

    ``missed``: the coverage minimums (:mod:`harness.exploration.minimums`) that the searches did not meet, in words.
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
    """Of a process that says :func:`conclusion`: 0 holds, 1 violated or known-deviation, 3 unknown."""
    codes = {Verdict.VIOLATED: EXIT_VIOLATED, Verdict.DEVIATES: EXIT_VIOLATED, Verdict.HOLDS: EXIT_HOLDS}
    return codes.get(conclusion(standings, missed, known_fails), EXIT_UNKNOWN)


def _ids(fact: object) -> frozenset[str]:
    return frozenset(str(each) for each in fact) if isinstance(fact, list) else frozenset()
