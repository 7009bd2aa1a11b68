"""Plays scenarios: each case several times, in one lab against one target, judged by the laws and its expectations.

A trial ends with one of :data:`VERDICTS`. A step that a lab cannot do is skipped with its reason and never passes;
:func:`lacking` finds the missing abilities of a lab beforehand. A trial that is interrupted, or whose lab fails, keeps
its events: its laws are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from time import monotonic
from typing import NamedTuple

from ...harness.errors import EXIT_HOLDS, EXIT_LAB, EXIT_UNKNOWN, EXIT_VIOLATED, PairproofError, UsageError
from ...harness.judging import deviations
from ...harness.judging import judge as judging
from ...harness.judging.disturbances import STALLED
from ...harness.judging.verdict import Judgement, Verdict, over_trials
from ...harness.ports import HasLogs, Lab, Session, Target
from ...harness.rocketmq import losses
from ...harness.trials import abilities, resolve
from ...harness.trials.interpreter import Laws, run_trial
from ...harness.trials.trial import Trial
from ...reference.core.config import BrokerConfig
from . import meeting, timeline
from .scenario import Case, Scenario

ORIGIN = "scenario"
VIOLATED, UNMET, FAILED, UNKNOWN, SKIPPED, HOLDS = VERDICTS = (
    "violated", "unmet", "failed", "unknown", "skipped", "holds",
)  # fmt: skip
"""Worst first. unmet: an expectation was not met; failed: the lab failed; unknown: a law was undecided, a fault had no
effect, a law of the scenario had nothing to judge, none of them is observable, or it was interrupted; skipped: the lab
could not do a part of it.
"""
VERSION = "rocketmqVersion"
NOTHING = "had nothing to judge"
SKIP = "skipped: "
"""Prefix of the reason for a skipped step."""
SEEDED = "+"
"""Separates a target's name from its seeded bug."""


class Played(NamedTuple):
    case: Case
    trial: Trial
    verdict: str
    unmet: tuple[str, ...]
    doubts: tuple[str, ...]
    """Reasons why it proves nothing: unknown laws, faults without effect, skipped steps."""
    seconds: float
    unseen: tuple[str, ...] = ()
    """Expected event types that the lab cannot record of this target."""

    @property
    def stalled(self) -> bool:
        return any(each.kind == "stall" for each in self.trial.events)

    @property
    def was_stalled(self) -> bool:
        """Whether a stall of the machine made the trial inconclusive: an unknown result, or an abstaining law of the
        scenario.
        """
        if self.verdict == UNKNOWN:
            return any(STALLED in each for each in self.doubts)
        vacuous = {each.law for each in self.trial.judgements if each.verdict is Verdict.VACUOUS}
        return self.verdict == HOLDS and self.stalled and not vacuous.isdisjoint(self.case.expect.judged)


class Result(NamedTuple):
    scenario: Scenario
    played: tuple[Played, ...]
    laws: dict[str, Verdict]
    planned: int

    @property
    def _wanted(self) -> list[str]:
        return sorted({law for each in self.played for law in each.case.expect.judged})

    @property
    def not_judged(self) -> tuple[str, ...]:
        settled = (
            Verdict.HOLDS, Verdict.DEVIATES, Verdict.VIOLATED, Verdict.UNKNOWN, Verdict.NOT_OBSERVABLE,
        )  # fmt: skip
        return tuple(law for law in self._wanted if self.laws.get(law) not in settled)

    @property
    def not_observable(self) -> tuple[str, ...]:
        """The scenario's laws and event types that the lab cannot observe of this target."""
        laws = [law for law in self._wanted if self.laws.get(law) is Verdict.NOT_OBSERVABLE]
        return (*laws, *sorted({f"{kind} events" for each in self.played for kind in each.unseen}))

    @property
    def is_blind(self) -> bool:
        """Whether no law of the scenario is observable here: silence proves nothing then."""
        return bool(self._wanted) and all(self.laws.get(law) is Verdict.NOT_OBSERVABLE for law in self._wanted)

    @property
    def verdict(self) -> str:
        """The worst of its trials'; unknown if a law of the scenario had nothing to judge, none of them was observable,
        or a trial is missing.
        """
        found = {each.verdict for each in self.played}
        if self.not_judged or self.is_blind or len(self.played) < self.planned:
            found.add(UNKNOWN)
        return min(found, key=VERDICTS.index)

    @property
    def stalled(self) -> bool:
        return any(each.stalled for each in self.played)

    @property
    def losses(self) -> dict[str, int]:
        return losses.total(found for each in self.played if (found := losses.measure(each.trial.events)) is not None)

    @property
    def seconds(self) -> float:
        return sum(each.seconds for each in self.played)

    @property
    def reasons(self) -> list[str]:
        why = f" ({STALLED} during it)" if self.stalled else ""
        lines = [f"{law} {NOTHING}{why}" for law in self.not_judged]
        if self.is_blind:
            lines.append(f"no law that it is about is observable here: {', '.join(self._wanted)}")
        if len(self.played) < self.planned:
            lines.append(f"only {len(self.played):,} of {self.planned:,} trials were played")
        for each in self.played:
            where = f"[{each.case.label}] " if each.case.label else ""
            lines += [where + line for line in (*_broken(each), *each.unmet, *each.doubts)]
        return list(dict.fromkeys(lines))


def exit_code(results: Sequence[Result]) -> int:
    """1 for a violation or an unmet expectation, 4 for a failed lab, 3 for others not green; else 0."""
    return code_of({each.verdict for each in results})


def code_of(verdicts: Set[str]) -> int:
    """The exit code for scenarios with these verdicts."""
    if verdicts & {VIOLATED, UNMET}:
        return EXIT_VIOLATED
    if FAILED in verdicts:
        return EXIT_LAB
    return EXIT_HOLDS if verdicts <= {HOLDS} else EXIT_UNKNOWN


def lacking(scenario: Scenario, lab: Lab) -> tuple[str, ...]:
    """The abilities that a scenario needs and a lab lacks, in words; empty if the lab declares none."""
    loads = [each.op for case in scenario.cases for each in case.loads]
    steps = [each.op for case in scenario.cases for each in case.steps]
    lacks = abilities.lacking(lab, (*loads, *steps), resolve.faults(), resolve.operations())
    return tuple(map(abilities.words, lacks))


class Stopped(Exception):
    """A trial ended early. ``played``: its partial result; ``why``: the cause."""

    def __init__(self, played: Played | None, why: BaseException) -> None:
        super().__init__(str(why))
        self.played = played
        self.why = why


class Plan(NamedTuple):
    lab: str
    target: str
    seed: str
    repeat: int | None = None
    """Trials of each case; None: as in the file."""
    most_cases: int | None = None
    """At most so many cases of a scenario are played, evenly spread."""
    brought: resolve.Brought | None = None
    """A configuration for the target, see :func:`harness.trials.resolve.configured`."""
    known_deviations: str | None = None
    """Effect of a known deviation, see :func:`pairproof.harness.judging.deviations.facts_of`."""

    def trials(self, scenario: Scenario) -> list[tuple[Case, str]]:
        """Every case for each of its trials, with a seed that names it.

        Cases for other versions than the target's are left out, unless no other case remains.
        """
        every: Sequence[int] = range(len(scenario.cases))
        numbers = [number for number in every if self._is_of(scenario.cases[number])] or every
        most = self.most_cases
        if most is not None and most < len(numbers):
            numbers = [numbers[round(each * (len(numbers) - 1) / max(1, most - 1))] for each in range(most)]
        return [
            (scenario.cases[number], f"{self.seed}/{scenario.name}/{number}/{again}")
            for number in numbers
            for again in range(scenario.repeat if self.repeat is None else self.repeat)
        ]

    def _is_of(self, case: Case) -> bool:
        named = case.settings.get(VERSION)
        return named is None or resolve.target(self.target).settings(case.settings).get(VERSION) == named


def play(
    scenario: Scenario,
    case: Case,
    lab: Lab,
    target: Target,
    seed: str,
    opened: Callable[[Session], None] = lambda session: None,
) -> Played:
    """One trial, of number 0. Raises Stopped if it ends early."""
    case = _on(case, target)
    laws = judging.laws(scenario.laws) if scenario.laws else judging.laws_for(target)
    schedule = timeline.compiled(case, seed)
    sessions: list[Session] = []
    began = monotonic()

    def remember(session: Session) -> None:
        sessions.append(session)
        opened(session)

    try:
        trial = run_trial(lab, target, schedule, origin=ORIGIN, laws=laws, opened=remember)
    except (KeyboardInterrupt, PairproofError) as why:
        events = sessions[0].recorder.events if sessions else []
        logs = sessions[0].logs() if sessions and isinstance(sessions[0], HasLogs) else {}
        part = Trial(0, ORIGIN, schedule, events, _unknown(laws, why), logs=logs) if events else None
        verdict = UNKNOWN if isinstance(why, KeyboardInterrupt) else FAILED
        ended = Played(case, part, verdict, (), (_doubt(why),), monotonic() - began) if part else None
        raise Stopped(ended, why) from why
    return _played(case, trial, lab.observes(target), began)


def _on(case: Case, target: Target) -> Case:
    case = case._replace(settings=resolve.of_line(target, case.settings))
    version = target.settings(case.settings).get(VERSION, BrokerConfig.rocketmqVersion)
    return case.on(str(version), {each.id for each in deviations.of(target)})


def check(scenario: Scenario, target: Target) -> None:
    """UsageError for a scenario that a target cannot play: unsupported settings, or a law that must be violated, which
    only a target with a seeded bug can meet.
    """
    for case in scenario.cases:
        try:
            target.settings(case.settings)
        except UsageError as why:
            raise UsageError(f"{scenario.name}, on {target.name}: {why}") from None
    if SEEDED not in target.name and any(case.expect.violated for case in scenario.cases):
        raise UsageError(
            f"{scenario.name} expects a violation, which only a target with a seeded bug shows: "
            f"--target {target.name}+..."
        )


def result(scenario: Scenario, played: Sequence[Played], planned: int) -> Result:
    """The result of a scenario's trials."""
    seen: dict[str, set[Verdict]] = {}
    for each in played:
        for judgement in each.trial.judgements:
            seen.setdefault(judgement.law, set()).add(judgement.verdict)
    laws = {law: over_trials(verdicts) for law, verdicts in sorted(seen.items())}
    return Result(scenario, tuple(played), laws, planned)


def _played(case: Case, trial: Trial, observes: Set[str], began: float) -> Played:
    expected = case.expect.violated
    by_law = {each.law: each for each in trial.judgements}
    broken = {law for law, each in by_law.items() if each.verdict is Verdict.VIOLATED}
    unknown = {law: each.doubt for law, each in by_law.items() if each.verdict is Verdict.UNKNOWN}
    unmet = [f"{law} should be violated, and is not" for law in expected if law not in {*broken, *unknown}]
    owes, late = meeting.unmet(case, trial, observes)
    unmet += owes
    doubts = [*(f"{law}: {doubt}" for law, doubt in unknown.items()), *late]
    doubts += meeting.without_effect(case, trial)
    skipped = [f"{SKIP}{reason}" for reason in trial.skipped]
    if broken - set(expected):
        verdict = VIOLATED
    elif skipped:
        # Its expectations depend on the skipped part.
        verdict, unmet = SKIPPED, []
    else:
        verdict = UNMET if unmet else UNKNOWN if doubts else HOLDS
    unseen = tuple(meeting.unseen(case, observes))
    return Played(case, trial, verdict, tuple(unmet), (*doubts, *skipped), monotonic() - began, unseen)


def _doubt(why: BaseException) -> str:
    return "the trial was interrupted" if isinstance(why, KeyboardInterrupt) else f"the lab failed: {why}"


def _unknown(laws: Laws, why: BaseException) -> list[Judgement]:
    doubt = _doubt(why)
    return [Judgement(law.id, Verdict.UNKNOWN, 0, 0, (), doubt) for law in laws]


def _broken(each: Played) -> list[str]:
    return [
        f"{judgement.law} is violated: {judgement.violations[0].text}"
        for judgement in each.trial.judgements
        if judgement.verdict is Verdict.VIOLATED
    ]
