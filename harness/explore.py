"""Explores a target in a lab: runs a profile's searches in turn, keeps what they find, makes violations small.

The caller decides what to do with trials and findings; nothing here prints or writes. The searches share one schedule
type, so a violation is shrunk and replayed the same way wherever it came from.

In a lab that is not deterministic time is real: schedules are paced, searches that enumerate moments do not run, and
shrinking, which takes many trials there, has a time of its own: as long as the exploration at most. Seeded searches may
play several trials at once there, in processes of their own; what these find is shrunk in this one.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from time import monotonic
from typing import NamedTuple

from pairproof.harness import judge as judging
from pairproof.harness.cause import cause, violated
from pairproof.harness.coverage_table import CoverageTable
from pairproof.harness.errors import LabError
from pairproof.harness.interpreter import Laws, run_trial
from pairproof.harness.ports import Lab, Target
from pairproof.harness.profiles import Profile
from pairproof.harness.schedule import Schedule
from pairproof.harness.search import cuts, machine, repeated, shrink, swarm, sweep, whole
from pairproof.harness.search.paced import paced
from pairproof.harness.trial import Finding, Trial
from pairproof.harness.verdict import NO_DEMANDS, Demands, Standing, Verdict, over_trials, standing
from pairproof.harness.workers import Workers

MAX_FINDINGS_PER_LAW = 3
"""Violations of one law that are shrunk in one run; the rest are counted in its verdicts."""
MAX_MACHINE_EXAMPLES = 1_000_000
ENUMERATED = {
    "sweep": (sweep.schedules, "single faults at every event"),
    "cuts": (cuts.schedules, "cut points"),
}
"""Searches that end: what lists their schedules, and what to call it."""
SEEDED = {
    "swarm": (swarm.schedule, "seeded swarm"),
    "whole": (whole.schedule, "whole trials"),
}
"""Searches that never end: what makes the schedule with a seed and a number, and what to call it."""


@contextmanager
def rare_collection() -> Iterator[None]:
    """Collect garbage rarely: a trial leaves a few cycles, which are not worth a twentieth of the time to look for."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


class Summary(NamedTuple):
    """What an exploration came to."""

    seen: dict[str, frozenset[tuple[str, Verdict]]]
    """By law: the origins of the trials that it judged, each with its verdicts."""
    trials: int
    events: int
    by_origin: dict[str, int]
    findings: list[Finding]
    totals: dict[str, int]
    """How many schedules each enumerated search has, executed or not, by origin; empty where it did not begin."""
    seconds: float
    """Without those of ``shrinking_s``."""
    coverage: CoverageTable
    shrinking_s: float = 0.0
    """What shrinking took where it is not counted: where the lab is not deterministic."""

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """By law, over all trials."""
        return {law: over_trials(each for _, each in seen) for law, seen in self.seen.items()}

    def standings(self, demands: Demands = NO_DEMANDS) -> dict[str, Standing]:
        """What all trials say of each law, measured by what the run demands."""
        return {law: standing(law, seen, demands) for law, seen in self.seen.items()}

    def rate(self) -> str:
        """Trials a minute, in words, and what was not counted."""
        trials = self.trials - (self.by_origin.get("shrink", 0) if self.shrinking_s else 0)
        a_minute = f"{60 * trials / self.seconds:,.0f} trials a minute" if self.seconds else "no time"
        return a_minute + (f"; shrinking took {self.shrinking_s:.0f} s, not counted" if self.shrinking_s else "")

    def complete(self, origin: str) -> bool:
        """Whether every schedule of an enumerated search was executed."""
        return 0 < self.totals.get(origin, 0) <= self.by_origin.get(origin, 0)

    def searches(self) -> list[dict[str, object]]:
        """How far each enumerated search came: the fact ``searches`` of the run."""
        return [
            {
                "origin": origin, "what": ENUMERATED[origin][1], "done": self.by_origin.get(origin, 0), "of": total,
                "complete": self.complete(origin),
            }
            for origin, total in self.totals.items()
        ]  # fmt: skip

    def enumerated(self) -> list[str]:
        """How far each enumerated search came, in words: ``cut points: 312 of 312``."""
        return [
            f"{ENUMERATED[origin][1]}: {self.by_origin.get(origin, 0):,} of {total:,}"
            f"{'' if self.complete(origin) else ', cut short by the clock'}"
            for origin, total in self.totals.items()
        ]


class _Task(NamedTuple):
    """A trial for a process of its own."""

    schedule: Schedule
    origin: str
    laws: Laws


def _play(lab: Lab, target: Target, task: _Task) -> Trial:
    return run_trial(lab, target, task.schedule, origin=task.origin, laws=task.laws)


class Explorer:
    """One exploration. ``on_trial`` hears every trial, ``on_findings`` the laws that one shrunk program violates.

    ``jobs``: how many trials of seeded searches are played at once; where there are several, the lab and the target
    must be registered. ``on_failure`` hears why one of these processes ended; the others go on.
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
        jobs: int = 1,
        on_trial: Callable[[Trial], None] = lambda trial: None,
        on_findings: Callable[[list[Finding]], None] = lambda findings: None,
        on_failure: Callable[[LabError], None] = lambda why: None,
        progress: Callable[[int, int | None, str], None] = lambda done, total, doing: None,
    ) -> None:
        self.lab = lab
        self.target = target
        self.profile = profile
        self.seed = seed
        self.laws = judging.all_laws() if laws is None else laws
        self.seconds = profile.seconds if seconds is None else seconds
        self.on_trial = on_trial
        self.on_findings = on_findings
        self.on_failure = on_failure
        self.progress = progress
        self.seen: dict[str, set[tuple[str, Verdict]]] = {law.id: set() for law in self.laws}
        self.by_origin: Counter[str] = Counter()
        self.events = 0
        self.findings: list[Finding] = []
        self.totals: dict[str, int] = {}
        self.coverage = CoverageTable()
        self._workers = Workers(jobs, _play, lab.name, target.name) if jobs > 1 else None
        self._numbers = count()
        self._pending: list[Trial] = []
        self._shrinking_s = 0.0
        self._shrunk: Counter[str] = Counter()
        """By law, where a trial is dear: how often its violations were shrunk, whatever came of it."""
        self._began = monotonic()

    def run(self) -> Summary:
        """Run every search for its share of the time. KeyboardInterrupt passes through; :meth:`summary` still works."""
        self._began = monotonic()
        with rare_collection(), self._working():
            shares = self.profile.shares
            if not self.lab.deterministic:
                shares = {origin: share for origin, share in shares.items() if origin not in ENUMERATED}
            for number, origin in enumerate(shares):
                search = self._machine
                if origin != "machine":
                    search = self._enumerated if origin in ENUMERATED else self._seeded
                # What an earlier search left over goes to the later ones.
                left = max(0.0, self.seconds - self.seconds_so_far())
                search(origin, left * shares[origin] / sum(list(shares.values())[number:]))
        return self.summary()

    @contextmanager
    def _working(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._workers is not None:
                self._workers.close()

    def seconds_so_far(self) -> float:
        """Since :meth:`run` began, wall clock, without what shrinking took where that is not counted."""
        return monotonic() - self._began - self._shrinking_s

    def summary(self) -> Summary:
        """What is known so far."""
        seen = {law: frozenset(each) for law, each in self.seen.items()}
        return Summary(
            seen, sum(self.by_origin.values()), self.events, dict(self.by_origin), self.findings, self.totals,
            self.seconds_so_far(), self.coverage, self._shrinking_s,
        )  # fmt: skip

    # Searches, each for so many seconds.

    def _enumerated(self, origin: str, seconds: float) -> None:
        until = monotonic() + seconds
        schedules, doing = ENUMERATED[origin]
        listed = schedules(self.lab, self.target, self.seed)
        self.totals[origin] = len(listed)
        for done, schedule in enumerate(listed):
            if done and monotonic() >= until:
                break
            self._take(self._execute(schedule, origin))
            self.progress(done + 1, len(listed), doing)

    def _seeded(self, origin: str, seconds: float) -> None:
        until = self.seconds_so_far() + seconds
        schedule, doing = SEEDED[origin]

        def drawn() -> Iterator[Schedule]:
            for number in count():
                if number and self.seconds_so_far() >= until:
                    return
                made = schedule(self.seed, number, self.lab)
                yield made if self.lab.deterministic else paced(made)

        for done, trial in enumerate(self._played(drawn(), origin), 1):
            self._take(trial)
            self.progress(done, None, doing)

    def _played(self, schedules: Iterator[Schedule], origin: str) -> Iterator[Trial]:
        if self._workers is None:
            for each in schedules:
                yield self._execute(each, origin)
            return
        for _, answer in self._workers.play(_Task(each, origin, self.laws) for each in schedules):
            if isinstance(answer, Trial):
                yield answer._replace(number=next(self._numbers))
            elif isinstance(answer, LabError) and self._workers.left:
                self.on_failure(answer)
            else:
                raise answer

    def _machine(self, origin: str, seconds: float) -> None:
        done = count(1)

        def taken(trial: Trial) -> None:
            # Hypothesis is still running: shrinking waits until it is not.
            self._note(trial._replace(number=next(self._numbers)))
            self.progress(next(done), None, "Hypothesis state machine")

        machine.explore(self.lab, self.target, self.laws, self.seed, seconds, MAX_MACHINE_EXAMPLES, taken)
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
        self.by_origin[trial.origin] += 1
        self.events += len(trial.events)
        self.coverage.count(trial.events)
        violated = False
        for each in trial.judgements:
            self.seen[each.law].add((trial.origin, each.verdict))
            violated = violated or each.verdict is Verdict.VIOLATED
        self.on_trial(trial)
        wanted = violated and any(
            self._wants(each.law) for each in trial.judgements if each.verdict is Verdict.VIOLATED
        )
        if wanted:
            self._pending.append(trial)
        return wanted

    def _wants(self, law: str) -> bool:
        known = sum(1 for each in self.findings if each.law == law)
        return max(known, self._shrunk[law]) < MAX_FINDINGS_PER_LAW

    def _shrink_all(self, trial: Trial) -> None:
        # The law that broke first goes first: the smallest program for it mostly shows what follows from it, too.
        told: set[str] = set()
        for each in violated(trial):
            if each.law not in told and self._wants(each.law):
                told |= self._shrink(trial, each.law)

    def _shrink(self, trial: Trial, law: str) -> set[str]:
        """Make a program small by one law, and keep a finding for every law that it violates; which these are."""
        small, shrunk_in, minimal = self._smaller(trial, law)
        texts = {each.law: each.violations[0].text for each in violated(minimal)}
        if law not in texts:
            # Not reproduced from its schedule, though the lab should be deterministic: the original is all there is.
            small, minimal = trial.schedule, trial
            texts = {each.law: each.violations[0].text for each in violated(trial) if each.law == law}
        # In a real-time lab the minimal program was judged by this law alone.
        why = cause(minimal if self.lab.deterministic else trial)
        new = [
            Finding(
                each, text, self.target.name, self.lab.name, trial.number, minimal.number, small,
                len(trial.schedule.ops), shrunk_in if shrunk_in != self.lab.name else "", why,
            )
            for each, text in texts.items()
            if self._wants(each) and not self._known(each, small)
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
            small = shrink.shrink(schedule, lambda each: _violation(lab, target, each, laws) is not None)
            return small, lab.name, self._execute(small, "shrink")
        left = min(repeated.SHRINK_S, self.seconds - self._shrinking_s)
        if left <= 0:
            return schedule, lab.name, trial
        self._shrunk[law] += 1
        began = monotonic()
        self.progress(0, None, f"shrinking: {law}")
        try:
            found = repeated.small(lab, target, schedule, law, left)
        finally:
            self._shrinking_s += monotonic() - began
        if found.shown is None:
            return found.schedule, found.shrunk_in, trial
        return found.schedule, found.shrunk_in, found.shown._replace(number=next(self._numbers))


def _violation(lab: Lab, target: Target, schedule: Schedule, laws: Laws) -> str | None:
    for each in run_trial(lab, target, schedule, origin="shrink", laws=laws).judgements:
        if each.verdict is Verdict.VIOLATED:
            return each.violations[0].text
    return None
