"""Explores a target in a lab: plays the fixed corpus and a profile's searches in turn, makes violations small.

The caller decides what to do with trials and findings; nothing here prints or writes. The searches share one schedule
type, so a violation is shrunk and replayed the same way wherever it came from.

Labs that are not deterministic run in real time: schedules are paced, of the searches that enumerate moments only the
sweep runs, every fault once, and then come the programs of known bugs. Shrinking, which takes many trials there, has a
time of its own: as long as the exploration at most. Several trials may be played at once there, in processes of their
own; what these find is shrunk in this one.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count, repeat
from time import monotonic
from typing import NamedTuple

from pairproof.harness import judge as judging
from pairproof.harness import resolve
from pairproof.harness.abilities import Hosted
from pairproof.harness.again import is_spoilt, until_decided
from pairproof.harness.budget import Allowance, Budget
from pairproof.harness.cause import cause, violated
from pairproof.harness.counts import Counts
from pairproof.harness.errors import LabError
from pairproof.harness.interpreter import Laws, run_trial
from pairproof.harness.ports import Lab, Target
from pairproof.harness.profiles import ALL, Profile
from pairproof.harness.schedule import Schedule
from pairproof.harness.search import known_bugs, machine, repeated, shrink, swarm, sweep
from pairproof.harness.search.paced import paced
from pairproof.harness.summary import DOING, Summary
from pairproof.harness.system import Draw, Enumerate, System
from pairproof.harness.tally import Tally
from pairproof.harness.trial import Finding, Trial
from pairproof.harness.verdict import CORPUS, Verdict
from pairproof.harness.workers import Workers

MAX_FINDINGS_PER_LAW = 3
"""Violations of one law that are shrunk in one run; the rest are counted in its verdicts."""
SWEEP = "sweep"
MACHINE = "machine"
"""The search that draws while it executes."""


@contextmanager
def rare_collection() -> Iterator[None]:
    """Collect garbage rarely: a trial leaves a few cycles, which are not worth a twentieth of the time to look for."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Task(NamedTuple):
    """A trial of a search; in real-time labs of the machine, too."""

    origin: str
    seed: str
    number: int
    laws: Laws
    schedule: Schedule | None = None
    """What an enumerating search has listed; the others make theirs from seed and number."""
    source: str = ""
    """Of a program of a known bug: which one."""


def _play(lab: Lab, target: Target, task: _Task) -> Trial:
    trial, again = until_decided(lambda: _play_once(lab, target, task), is_spoilt)
    return trial._replace(again=again) if again else trial


def _play_once(lab: Lab, target: Target, task: _Task) -> Trial:
    if task.origin == MACHINE:
        return machine.play(lab, target, task.laws, task.seed, task.number)
    system = resolve.system_of(target)
    made = task.schedule or seeded(system)[task.origin](task.seed, task.number, Hosted(lab, target))
    schedule = made if lab.deterministic else paced(Hosted(lab, target), made)
    return run_trial(lab, target, schedule, origin=task.origin, laws=task.laws)._replace(source=task.source)


def enumerated(system: System) -> Mapping[str, Enumerate]:
    """The searches that end, by name."""
    return {SWEEP: sweep.schedules, **system.enumerated}


def seeded(system: System) -> Mapping[str, Draw]:
    """The searches that never end, by name."""
    return {"swarm": partial(swarm.schedule, system), **system.seeded}


class Explorer:
    """One exploration. ``on_trial`` hears every trial, ``on_findings`` the laws that one shrunk program violates.

    ``seconds`` or ``trials`` bounds the searches instead of the profile. ``first``: nothing begins after the first
    violation, which is shrunk for one law. ``jobs``: how many trials are played at once; where there are several, the
    lab and the target must be registered. ``bugs``: which programs of known bugs a lab with real time plays, one of
    :data:`~pairproof.harness.search.known_bugs.WHICH`. ``on_failure`` hears why one of these processes ended; the
    others go on. ``clock`` tells the seconds that are bounded and reported.
    """

    def __init__(
        self,
        lab: Lab,
        target: Target,
        profile: Profile,
        seed: str,
        laws: Laws | None = None,
        *,
        seconds: float | None = None,
        trials: int | None = None,
        first: bool = False,
        jobs: int = 1,
        bugs: str = known_bugs.ALL,
        clock: Callable[[], float] = monotonic,
        on_trial: Callable[[Trial], None] = lambda trial: None,
        on_findings: Callable[[list[Finding]], None] = lambda findings: None,
        on_failure: Callable[[LabError], None] = lambda why: None,
        progress: Callable[[int, int | None, str], None] = lambda done, total, doing: None,
    ) -> None:
        self.lab = lab
        self.target = target
        self.system = resolve.system_of(target)
        listing = enumerated(self.system)
        self._enumerating = listing if lab.deterministic else {SWEEP: listing[SWEEP]}
        self._bugs = [] if lab.deterministic else known_bugs.programs(lab, target, seed, bugs)
        of_bugs = {known_bugs.NAME} if self._bugs else set()
        self.budget = Budget.of(profile, lab, seconds, trials).of_searches(
            {*self._enumerating, *of_bugs, *seeded(self.system), MACHINE}
        )
        self.first = first
        self.seed = seed
        self.laws = judging.laws_for(target) if laws is None else laws
        self.on_trial = on_trial
        self.on_findings = on_findings
        self.on_failure = on_failure
        self.progress = progress
        self.findings: list[Finding] = []
        self.totals: dict[str, int] = {}
        self._counts = Counts([law.id for law in self.laws], self.budget.shares, self._tally(profile), self.system)
        self._workers = Workers(jobs, _play, lab.name, target.name, resolve.brought(target)) if jobs > 1 else None
        self._numbers = count()
        self._pending: list[Trial] = []
        self._allowance = Allowance(0)
        """Of the search that begins trials."""
        self._under_way = 0
        """Trials that have begun and were not heard of."""
        self._expected: dict[str, int | None] = {}
        """How many trials a search will play, where that is known."""
        self._corpus_s = self._shrinking_s = 0.0
        # Where trials of each search are counted, all violations together have the time of one.
        seconds = repeated.SHRINK_S if self.budget.counts is not None else self.budget.seconds
        self._effort = repeated.Effort(seconds, self.budget.trials, clock)
        self._shrunk: Counter[str] = Counter()
        """By law, where a trial is dear: how often its violations were shrunk, whatever came of it."""
        self._clock = clock
        self._began = clock()

    def _tally(self, profile: Profile) -> Tally | None:
        if not profile.has_floors or self.budget.counts is None:
            return None
        needs = [law.needs for law in self.laws]
        return Tally(self.system.floors.of(self.lab.observes(self.target), needs), len(needs))

    def run(self) -> Summary:
        """Play the corpus, then every search. KeyboardInterrupt passes through; :meth:`summary` still works."""
        self._began = self._clock()
        with rare_collection(), self._working():
            if self.lab.deterministic:
                self._corpus()
            origins = list(self.budget.shares)
            # Whose trial is done begins one of the next search, where others are not done with the last one yet.
            together = [[each] for each in origins] if self._workers is None else [origins]
            for some in together:
                if some == [MACHINE] and self.lab.deterministic:
                    self._machine()
                else:
                    self._searched(self._tasks(some))
        return self.summary()

    @property
    def _is_enough(self) -> bool:
        return self.first and bool(self.findings)

    @contextmanager
    def _working(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._workers is not None:
                self._workers.close()

    def seconds_so_far(self) -> float:
        """Since :meth:`run` began, wall clock, without what shrinking took where that is not counted."""
        return self._clock() - self._began - self._shrinking_s

    def _searching_s(self) -> float:
        return self.seconds_so_far() - self._corpus_s

    def _trial_s(self) -> float:
        jobs = 1 if self._workers is None else self._workers.left
        return jobs * self._searching_s() / max(1, self._counts.searched)

    def summary(self) -> Summary:
        counts = self._counts
        seen = {law: frozenset(each) for law, each in counts.seen.items()}
        return Summary(
            seen, counts.by_origin.total(), counts.events, dict(counts.by_origin), self.findings, self.totals,
            self.seconds_so_far(), counts.coverage, self._shrinking_s, self.budget.words, dict(counts.exercised),
            counts.tally, counts.again,
        )  # fmt: skip

    # Searches, each with its allowance.

    def _corpus(self) -> None:
        schedules = self.system.corpus()
        self._allowance = Allowance(len(schedules))
        for done, schedule in enumerate(schedules, 1):
            if self._allowance.begin():
                self._take(self._execute(schedule, CORPUS))
                self.progress(done, len(schedules), DOING[CORPUS])
        self._corpus_s = self.seconds_so_far()

    def _allow(self, origin: str) -> Allowance:
        spent = self._counts.searched + self._under_way
        self._allowance = self.budget.allowance(origin, spent, self._searching_s)
        return self._allowance

    def _tasks(self, origins: Sequence[str]) -> Iterator[_Task]:
        """The trials of some searches, one search after the other, as far as each may go."""
        for origin in origins:
            if self._is_enough:
                return
            allowance = self._allow(origin)
            for task in self._of(origin, allowance):
                if not allowance.begin():
                    break
                self._under_way += 1
                yield task

    def _of(self, origin: str, allowance: Allowance) -> Iterator[_Task]:
        listed, trials = self._listed(origin), allowance.trials
        if listed is not None:
            self.totals[origin] = len(listed)
            trials = min(len(listed), trials)
        self._expected[origin] = trials if trials < ALL else None
        drawn: Iterable[tuple[Schedule | None, str]] = repeat((None, "")) if listed is None else listed
        return (_Task(origin, self.seed, number, self.laws, *each) for number, each in enumerate(drawn))

    def _listed(self, origin: str) -> list[tuple[Schedule, str]] | None:
        """What a search plays that ends, each with its source; None for one that never does."""
        if origin == known_bugs.NAME:
            return [(each.schedule, each.name) for each in self._bugs]
        listed = self._enumerating.get(origin)
        return None if listed is None else [(each, "") for each in listed(self.lab, self.target, self.seed)]

    def _searched(self, tasks: Iterator[_Task]) -> None:
        for trial in self._played(tasks):
            origin = trial.origin
            self._under_way -= 1
            self._take(trial._replace(number=next(self._numbers)))
            self.progress(self._counts.by_origin[origin], self._expected[origin], DOING[origin])
            if self._is_enough:
                # Others that are under way may take a minute, and nobody asks for them.
                return

    def _played(self, tasks: Iterator[_Task]) -> Iterator[Trial]:
        if self._workers is None:
            for each in tasks:
                yield _play(self.lab, self.target, each)
            return
        for _, answer in self._workers.play(tasks):
            if isinstance(answer, Trial):
                yield answer
            elif isinstance(answer, LabError) and self._workers.left:
                self._under_way -= 1
                self.on_failure(answer)
            else:
                raise answer

    def _machine(self) -> None:
        if self._is_enough:
            return
        done, allowance = count(1), self._allow(MACHINE)

        def taken(trial: Trial) -> None:
            if allowance.begun >= allowance.trials:
                # Hypothesis ends a batch when it likes.
                return
            allowance.begun += 1
            # Hypothesis is still running: shrinking waits until it is not.
            if self._note(trial._replace(number=next(self._numbers))) and self.first:
                allowance.end()
            self.progress(next(done), None, DOING[MACHINE])

        machine.explore(self.lab, self.target, self.laws, self.seed, allowance.more, taken)
        pending, self._pending = self._pending, []
        for trial in pending:
            self._shrink_all(trial)

    # Trials.

    def _execute(self, schedule: Schedule, origin: str) -> Trial:
        number = next(self._numbers)
        return run_trial(self.lab, self.target, schedule, number=number, origin=origin, laws=self.laws)

    def _take(self, trial: Trial) -> None:
        if self._note(trial):
            self._pending.remove(trial)
            self._shrink_all(trial)

    def _note(self, trial: Trial) -> bool:
        """Count a trial; whether it violated a law that may still be shrunk for."""
        self._counts.count(trial)
        self.on_trial(trial)
        wanted = any(self._wants(each.law) for each in trial.judgements if each.verdict is Verdict.VIOLATED)
        if wanted:
            self._pending.append(trial)
        return wanted

    def _wants(self, law: str) -> bool:
        if self._is_enough:
            return False
        known = sum(1 for each in self.findings if each.law == law)
        return max(known, self._shrunk[law]) < MAX_FINDINGS_PER_LAW

    def _shrink_all(self, trial: Trial) -> None:
        # The law that broke first goes first: the smallest program for it mostly shows what follows from it, too.
        told: set[str] = set()
        for each in violated(trial):
            if each.law not in told and self._wants(each.law):
                told |= self._shrink(trial, each.law)
        if self._is_enough:
            self._allowance.end()

    def _shrink(self, trial: Trial, law: str) -> set[str]:
        """Make a program small by one law, and keep a finding for every law that it violates; which these are."""
        small, shrunk_in, minimal = self._smaller(trial, law)
        texts = {each.law: each.violations[0].text for each in violated(minimal)}
        if law not in texts:
            # Not reproduced from its schedule, though the lab should be deterministic: the original is all there is.
            small, minimal = trial.schedule, trial
            texts = {each.law: each.violations[0].text for each in violated(trial) if each.law == law}
        why = cause(minimal)
        new = [
            Finding(
                each, text, self.target.name, self.lab.name, trial.number, minimal.number, small,
                len(trial.schedule.ops), shrunk_in if shrunk_in != self.lab.name else "", why,
                trial.origin, trial.source,
            )
            for each, text in texts.items()
            # That this law is wanted was known before it was shrunk for, which counts, too.
            if (each == law or self._wants(each)) and not self._known(each, small)
        ]  # fmt: skip
        if minimal is not trial:
            self._note(minimal)
            if minimal in self._pending:
                self._pending.remove(minimal)
        self.findings += new
        if new:
            self.on_findings(new)
        return set(texts)

    def _known(self, law: str, schedule: Schedule) -> bool:
        return any(each.law == law and each.schedule.ops == schedule.ops for each in self.findings)

    def _smaller(self, trial: Trial, law: str) -> tuple[Schedule, str, Trial]:
        """A smaller schedule, the lab where that was found, and a trial of it in this lab, or else the trial given."""
        lab, target, schedule = self.lab, self.target, trial.schedule
        if lab.deterministic:
            laws = judging.laws([law])
            small = shrink.shrink(self.system, schedule, lambda each: _violation(lab, target, each, laws) is not None)
            return small, lab.name, self._execute(small, "shrink")
        if not self._effort.begin(self._trial_s()):
            return schedule, lab.name, trial
        self._shrunk[law] += 1
        began = self._clock()
        self.progress(0, None, f"shrinking: {law}")
        try:
            found = repeated.small(lab, target, schedule, law, self._effort.more, self.laws)
        finally:
            self._shrinking_s += self._clock() - began
            self._effort.end()
        if found.shown is None:
            return found.schedule, found.shrunk_in, trial
        return found.schedule, found.shrunk_in, found.shown._replace(number=next(self._numbers))


def _violation(lab: Lab, target: Target, schedule: Schedule, laws: Laws) -> str | None:
    for each in run_trial(lab, target, schedule, origin="shrink", laws=laws).judgements:
        if each.verdict is Verdict.VIOLATED:
            return each.violations[0].text
    return None
