"""Verdicts: what is said of a law after one trial, after a run, and for a process's exit code."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple

from pairproof.harness.errors import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED
from pairproof.harness.laws.base import Violation


class Verdict(StrEnum):
    """Worst first. The last two are neither green nor a failure."""

    VIOLATED = "violated"
    UNKNOWN = "unknown"
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


def over_trials(verdicts: Iterable[Verdict]) -> Verdict:
    """One verdict for a law over many trials: vacuous only if no trial gave it anything to judge."""
    seen = set(verdicts)
    for each in (Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.HOLDS, Verdict.VACUOUS, Verdict.NOT_OBSERVABLE):
        if each in seen:
            return each
    return Verdict.NOT_APPLICABLE if seen else Verdict.VACUOUS


def exit_code(by_law: dict[str, Verdict], must_not_be_vacuous: frozenset[str] = frozenset()) -> int:
    """0 holds, 1 violated, 3 unknown, or vacuous where the profile forbids it."""
    if Verdict.VIOLATED in by_law.values():
        return EXIT_VIOLATED
    if Verdict.UNKNOWN in by_law.values():
        return EXIT_UNKNOWN
    if any(by_law.get(law) is Verdict.VACUOUS for law in must_not_be_vacuous):
        return EXIT_UNKNOWN
    return EXIT_HOLDS
