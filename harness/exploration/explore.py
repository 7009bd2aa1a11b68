"""Explore a target in a lab: play the fixed corpus and then a profile's searches, and shrink violations.

The caller handles trials and findings; nothing here prints or writes. All searches use one schedule type, so every
violation is shrunk and replayed the same way.

Labs that are not deterministic run in real time: schedules are paced. Only the sweep enumerates there, each fault once,
followed by the programs of known bugs.

A limit in seconds covers the whole run with corpus and shrinking. In real time shrinking gets at most half of it, and a
trial begins only if it is likely to end in time. In a simulation the first finding is always shrunk for
:data:`FIRST_S`.

Several processes may play trials in parallel; this process shrinks their violations. In a deterministic lab their
results are processed in the order of the slices, so a run limited by trials does not depend on the number of processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from time import monotonic

from ..errors import LabError, UsageError
from ..judging import judge as judging
from ..judging.abstentions import offered
from ..judging.cause import violated
from ..judging.verdict import CORPUS, Verdict
from ..ports import Lab, Progress, Target
from ..search import known_bugs, repeated
from ..texts import wording
from ..trials import resolve
from ..trials.interpreter import Laws, run_trial
from ..trials.schedule import Schedule
from ..trials.trial import Finding, Trial
from ..trials.workers import Workers
from . import corpus_of_losses, losses, slices
from .budget import Allowance, Budget
from .counts import Counts, refuse
from .finding import Small, findings_of, smallest
from .profiles import ALL, Profile
from .retention import Retention
from .slices import (
    MACHINE,
    SWEEP,
    Listed,
    Slice,
    enumerated,
    played,
    rare_collection,
    seeded,
)
from .summary import Summary
from .tally import Tally
from .watch import Watch

REFUSED = 100
"""If so many schedules are refused before the first is played, the exploration ends."""
MAX_FINDINGS_PER_LAW = 3
"""Violations of one law that are shrunk in one run; later ones are only counted in its verdicts."""
FIRST_S = 5.0


class Explorer:
    """One exploration. ``on_trial`` receives every trial, ``on_findings`` the laws that one shrunk program violates.

    ``seconds`` limits the run, ``trials`` the searches, instead of the profile. ``first``: nothing begins after the
    first violation, which is shrunk for one law. ``jobs``: the number of processes that play trials; several need a
    registered lab and target. ``retention``: the retained parts of trials, by default their whole histories.
    ``bugs``: the programs of known bugs that a real-time lab plays, one of
    :data:`~pairproof.harness.search.known_bugs.WHICH`. ``on_failure`` receives the error of a process that ended
    while others go on. ``clock`` returns seconds, for limits and reports.
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
        retention: Retention | None = None,
        bugs: str = known_bugs.ALL,
        clock: Callable[[], float] = monotonic,
        on_trial: Callable[[Trial], None] = lambda trial: None,
        on_findings: Callable[[list[Finding]], None] = lambda findings: None,
        on_failure: Callable[[LabError], None] = lambda why: None,
        progress: Progress = lambda done, total, doing, note="": None,
    ) -> None:
        self.lab = lab
        self.target = target
        self.system = resolve.system_of(target)
        listing = enumerated(self.system)
        self._enumerating = listing if lab.deterministic else {SWEEP: listing[SWEEP]}
        self._bugs = [] if lab.deterministic else known_bugs.programs(lab, target, seed, bugs)
        self.losses, self._lossy = corpus_of_losses.listed(lab, target)
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
        self._counts = Counts([law.id for law in self.laws], self.budget.shares, self._tally(profile))
        self._retention = (retention or Retention())._replace(kinds=self._counts.tally is not None)
        about = (played, lab.name, target.name, resolve.brought(target))
        self._workers: Workers[Slice, list[Trial]] | None = Workers(jobs, *about) if jobs > 1 else None
        self._numbers = count()
        self._allowance = Allowance(0)
        self._under_way = 0
        """Trials that have begun and are not reported yet."""
        self._corpus_trials = 0
        self._later: list[Trial] | None = None
        """Violating trials that are shrunk later; None: at once."""
        self.watch = Watch(self.budget.seconds, clock)
        self._shrunk: Counter[str] = Counter()
        """By law, in real time: how often its violations were shrunk, with any result."""

    def _tally(self, profile: Profile) -> Tally | None:
        if not profile.has_minimums or self.budget.counts is None:
            return None
        needs = [law.needs for law in self.laws]
        return Tally(self.system.minimums.of(self.lab.observes(self.target), needs), len(needs))

    def run(self) -> Summary:
        """Play the corpus, then every search. KeyboardInterrupt passes through; :meth:`summary` still works after it.

        UsageError if the lab or the target refuses all schedules.
        """
        self.watch.begin()
        with rare_collection(), self._working():
            if self.lab.deterministic:
                self._searched(self._slices([CORPUS]))
            self._play_losses()
            self._searched(self._slices(list(self.budget.shares)))
            if self._lossy:
                with self.watch.shrinking():
                    corpus_of_losses.shrink_shown(self.lab, self.target, self.losses, self.watch.more(FIRST_S))
        self._check_played(least=1)
        return self.summary()

    def _play_losses(self) -> None:
        """In real time shrinking waits until every class was played: the losses of all classes come first."""
        later: list[Trial] = []
        self._later = None if self.lab.deterministic or self.first else later
        try:
            self._searched(self._slices([losses.NAME]))
            self._later = None
            while later:
                self._shrink_all(later.pop(0))
        except BaseException:
            for trial in later:
                for law in dict.fromkeys(each.law for each in violated(trial)):
                    self._keep(trial, law, Small(trial.schedule, self.lab.name, trial))
            raise

    @property
    def _is_enough(self) -> bool:
        return self.first and bool(self.findings)

    @property
    def _is_over(self) -> bool:
        """Each search of a simulation plays at least one trial; in real time, each run does."""
        begun = self._under_way or self._counts.by_origin
        return bool(begun) and not self.lab.deterministic and self.watch.left() <= 0

    @contextmanager
    def _working(self) -> Iterator[None]:
        try:
            yield
        finally:
            if self._workers is not None:
                self._workers.close()

    @property
    def _jobs(self) -> int:
        return 1 if self._workers is None else self._workers.left

    def summary(self) -> Summary:
        counts = self._counts
        seen = {law: frozenset(each) for law, each in counts.seen.items()}
        return Summary(
            seen, counts.by_origin.total(), counts.events, dict(counts.by_origin), self.findings, self.totals,
            self.watch.so_far(), counts.coverage, self.watch.shrinking_s, self.budget.words, dict(counts.exercised),
            counts.tally, counts.again, dict(counts.faults), counts.replicated,
            offered(counts.judged, ((law, note, amount) for (law, note), amount in counts.notes.items())),
            self.budget.counts is not None and resolve.brought(self.target) is None, dict(counts.refused),
            losses=self.losses, demanded=self.budget.demanded,
        )  # fmt: skip

    def _allow(self, origin: str) -> Allowance:
        if origin == CORPUS:
            return Allowance(ALL)
        if origin == losses.NAME:
            seconds = self.budget.seconds
            return Allowance(ALL) if seconds is None else Allowance(ALL, seconds, self.watch.ending)
        spent = self._counts.searched + self._under_way
        self._allowance = self.budget.allowance(origin, spent, self.watch.ending)
        return self._allowance

    def _slices(self, origins: Sequence[str]) -> Iterator[Slice]:
        """The trials of the searches in order, within their allowances.

        A free worker starts the next search while others finish the last one.
        """
        for origin in origins:
            if self._is_enough or self._is_over:
                return
            listed = self._listed(origin)
            allowance = self._allow(origin)
            if origin == losses.NAME and not listed:
                continue
            if listed is not None and origin != CORPUS:
                self.totals[origin] = len(listed)
            elif listed is not None:
                self._corpus_trials = len(listed)
            ends = allowance.trials if listed is None else min(len(listed), allowance.trials)
            first, size = 0, slices.size(origin, self.lab, self._jobs) if self.watch.left() > 0 else 1
            while count := allowance.begin(min(size, ends - first)):
                self._under_way += count
                drawn = () if listed is None else tuple(listed[first : first + count])
                yield Slice(origin, self.seed, first, count, self.laws, self._retention, drawn)
                first += count

    def _listed(self, origin: str) -> Sequence[Listed] | None:
        """The schedules of a search that ends, each with its source; None for an endless search."""
        if origin == known_bugs.NAME:
            return [(each.schedule, each.name) for each in self._bugs]
        if origin == CORPUS:
            return [(each, "") for each in self.system.corpus()]
        if origin == losses.NAME:
            return self._lossy
        listed = self._enumerating.get(origin)
        return None if listed is None else [(each, "") for each in listed(self.lab, self.target, self.seed)]

    def _searched(self, parts: Iterator[Slice]) -> None:
        for trial in self._played(parts):
            origin = trial.origin
            if trial.refused:
                refuse(self._counts.refused, trial.refused)
                self.losses.take(trial)
                self._check_played(REFUSED)
                continue
            self._take(trial._replace(number=next(self._numbers)))
            self._report_progress(origin)
            if self._is_enough:
                # Other running trials may take a minute and are not needed.
                return

    def _report_progress(self, origin: str) -> None:
        counts, budget, name = self._counts, self.budget, wording.search(origin)
        violated = f"{counts.violated_laws()} violated"
        if origin in (CORPUS, losses.NAME):
            total = self._corpus_trials if origin == CORPUS else len(self._lossy)
            self.progress(counts.by_origin[origin], total, name, f" trials, {violated}")
        elif budget.seconds is not None:
            trials = wording.counted(counts.searched, "trial")
            done = min(int(self.watch.so_far()), int(budget.seconds))
            self.progress(done, int(budget.seconds), f"searching: {name}", f" s, {trials}, {violated}")
        else:
            total = budget.trials or sum((budget.counts or {}).values())
            self.progress(counts.searched, total, f"searching: {name}", f" trials, {violated}")

    def _check_played(self, least: int) -> None:
        refused = self._counts.refused
        if refused.total() >= least and not self._counts.by_origin:
            raise UsageError(f"no schedule could be played: {next(iter(refused))}")

    def _played(self, parts: Iterator[Slice]) -> Iterator[Trial]:
        workers = self._workers
        if workers is None:
            for each in parts:
                yield from slices.play(self.lab, self.target, each)
                self._under_way -= each.trials
            return
        in_order, patience = self.lab.deterministic, self.watch.patience
        for part, answer in workers.play_in_order(parts) if in_order else workers.play(parts, patience):
            if isinstance(answer, list):
                yield from answer
            elif isinstance(answer, LabError) and workers.left and not in_order:
                self.on_failure(answer)
            else:
                raise answer
            self._under_way -= part.trials

    def _execute(self, schedule: Schedule) -> Trial:
        number = next(self._numbers)
        return run_trial(self.lab, self.target, schedule, number=number, origin="shrink", laws=self.laws)

    def _take(self, trial: Trial) -> None:
        self._note(trial)
        if any(self._wants(each.law) for each in trial.judgements if each.verdict is Verdict.VIOLATED):
            if self._later is None:
                self._shrink_all(trial)
            else:
                self._later.append(trial)

    def _note(self, trial: Trial) -> None:
        self.watch.take(trial)
        self._counts.count(trial)
        self.losses.take(trial)
        self.on_trial(trial)

    def _wants(self, law: str) -> bool:
        if self._is_enough:
            return False
        known = sum(1 for each in self.findings if each.law == law)
        return max(known, self._shrunk[law]) < MAX_FINDINGS_PER_LAW

    def _shrink_all(self, trial: Trial) -> None:
        # Begin with the law that broke first: its smallest program mostly shows the violations that follow from it.
        shown: set[str] = set()
        for each in violated(trial):
            if each.law not in shown and self._wants(each.law):
                shown |= self._shrink(trial, each.law)
        if self._is_enough:
            self._allowance.end()

    def _shrink(self, trial: Trial, law: str) -> set[str]:
        """Shrink a program by one law, and keep a finding for every law that it violates; returns these laws.

        If shrinking is interrupted or fails, the finding keeps the original program.
        """
        try:
            small = self._smaller(trial, law)
        except BaseException:
            self._keep(trial, law, Small(trial.schedule, self.lab.name, trial))
            raise
        return self._keep(trial, law, small)

    def _keep(self, trial: Trial, law: str, small: Small) -> set[str]:
        minimal, found = findings_of(self.lab, self.target, trial, law, small)
        # This law's own limit was checked before shrinking, which is counted, too.
        new = [each for each in found if (each.law == law or self._wants(each.law)) and not self._known(each)]
        if minimal is not trial:
            self._note(self._retention.of(self.system, minimal, minimal.number))
        self.findings += new
        if new:
            self.on_findings(new)
        return {each.law for each in found}

    def _known(self, new: Finding) -> bool:
        return any(each.law == new.law and each.schedule.ops == new.schedule.ops for each in self.findings)

    def _smaller(self, trial: Trial, law: str) -> Small:
        lab, target, schedule = self.lab, self.target, trial.schedule
        is_cheap = lab.deterministic
        in_time = self.watch.more(0.0 if self.findings else FIRST_S) if is_cheap else self.watch.shrink()
        if not in_time():
            return Small(schedule, lab.name, trial)
        if is_cheap:
            with self.watch.shrinking():
                small = smallest(lab, target, schedule, law, in_time)
                return Small(small, lab.name, self._execute(small))
        self._shrunk[law] += 1
        tried = count()

        def more() -> bool:
            self.progress(next(tried), None, f"shrinking: {law}")
            return in_time()

        with self.watch.shrinking():
            found = repeated.small(lab, target, schedule, law, more, self.laws)
        if found.shown is None:
            return Small(found.schedule, found.shrunk_in, trial)
        return Small(found.schedule, found.shrunk_in, found.shown._replace(number=next(self._numbers)))
