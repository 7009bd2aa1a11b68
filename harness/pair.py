"""A replicated pair in a user's test: searched, or given a written program, and judged by any laws.

The laws may be plain classes of the test's file, registered while the pair is in use. A violation fails the test with
the smallest program, the events before the violation, and the commands that replay and keep it.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from reprlib import repr as short
from typing import Any

from .errors import PairproofError, UsageError
from .exploration import minimums, profiles
from .exploration.explore import Explorer
from .exploration.finding import Small, findings_of, smallest
from .exploration.summary import Summary
from .history import Event
from .judging import judge, own_laws
from .judging.cause import violated
from .judging.law import Law, Violation
from .judging.verdict import Demands, Verdict
from .ports import Target
from .runs import atomic
from .runs.writer import case_name, finding_json, replay_line
from .texts import invocation
from .trials import resolve
from .trials.interpreter import run_trial
from .trials.schedule import Op, Schedule
from .trials.schedule_json import from_json
from .trials.time_limit import OutOfTime, limited
from .trials.trial import Finding, Trial

BEFORE, AFTER, EARLY = 12, 2, 12
"""The number of events printed around the violation, and of earlier ones."""
TURNS = ("fault", "crash", "stop", "wipe")
SETTLED = (Verdict.HOLDS, Verdict.DEVIATES)


class Unsettled(AssertionError):
    """No law is violated, but a requested law was not judged, or the time limit ended the search."""

    no_traceback = True


class Broken(AssertionError):
    no_traceback = True

    def __init__(self, story: str, finding: Finding, path: Path) -> None:
        super().__init__(story)
        self.finding = finding
        self.path = path


class Pair:
    """``target`` in ``lab``, by name, judged by ``laws``: ids or classes; default: all laws of its system.

    ``seed`` decides everything random. Findings are written to ``folder``. ``limit_s``: time limit of one call, s. Use
    :func:`using`.
    """

    def __init__(
        self, target: str, lab: str, laws: Sequence[str | type[Law]], settings: Mapping[str, Any], seed: str,
        folder: Path, limit_s: float | None = None,
    ) -> None:  # fmt: skip
        self.target, self.lab = resolve.target(target), resolve.lab(lab)
        resolve.check_pair(self.lab, self.target)
        self.named = tuple(each if isinstance(each, str) else each.id for each in laws)
        self.own = frozenset(each.id for each in laws if not isinstance(each, str))
        self.laws = judge.laws(self.named) if laws else judge.laws_for(self.target)
        self.settings, self.seed, self.folder, self.limit_s = dict(settings), seed, folder, limit_s
        self._doubts: dict[str, str] = {}

    def _under_settings(self) -> Target:
        if not self.settings:
            return self.target
        if not isinstance(self.target, resolve.TakesConfiguration):
            raise UsageError(f"{self.target.name} takes no settings for a search; give them to pair.play")
        typed = [
            f"{key}={str(value).lower() if isinstance(value, bool) else value}" for key, value in self.settings.items()
        ]
        brought, _ = self.target.bring({}, typed)
        return self.target.given(brought)

    def explore(self, trials: int | None = None, seconds: float | None = None) -> Summary:
        """Search for ``trials`` or ``seconds`` (default: 300 trials), and return the summary of all trials.

        In a deterministic lab a fixed corpus of some forty trials comes first, which no limit counts. Raises
        :class:`Broken` at the first violation, and :class:`Unsettled` if a named law was not judged.
        """
        if trials is None and seconds is None:
            trials = 300
        for what, given, kind in (("trials", trials, int), ("seconds", seconds, (int, float))):
            if given is not None and not (isinstance(given, kind) and not isinstance(given, bool) and given > 0):
                raise UsageError(f"{what} of a search are a number above 0, not {given!r}")
        if not resolve.drawn(self.lab):
            raise UsageError(f"searches in {self.lab.name} cannot draw these faults; write a program, or name others")
        shown: list[Trial] = []

        def keep(trial: Trial) -> None:
            self._note(trial)
            # Other trials are not printed, and their histories are large.
            if violated(trial):
                shown.append(trial)

        explorer = Explorer(
            self.lab, self._under_settings(), profiles.profile(profiles.default(self.lab.deterministic)), self.seed,
            self.laws, seconds=seconds, trials=trials, first=True, on_trial=keep,
        )  # fmt: skip
        try:
            with limited(self.limit_s):
                explorer.run()
        except OutOfTime:
            if not shown:
                raise self._late(f" {explorer.summary().trials} trials ended by then, and violate nothing.") from None
        found = explorer.summary()
        for finding in found.findings:
            trial = next(each for each in reversed(shown) if each.number == finding.shrunk_trial)
            raise self._broken(finding, trial, [each.law for each in found.findings])
        for trial in shown:
            # There was no time to shrink it.
            raise self._unshrunk(trial, violated(trial)[0].law)
        if missed := minimums.missed(found.minimums):
            raise Unsettled("; ".join(missed))
        self._settled({law: each.verdict for law, each in found.standings(Demands.of_facts({})).items()}, found.trials)
        return found

    def play(self, *ops: Op, settings: Mapping[str, Any] | None = None) -> Trial:
        """Start the pair, execute these operations, judge, and return the trial with its history.

        Raises :class:`Broken` if a law is violated, and :class:`Unsettled` if a named law was not judged or the lab
        skipped an operation. In a Hypothesis test only the last example gets the full text, a shrunk program and a
        file.
        """
        if wrong := [op for op in ops if not isinstance(op, Op)]:
            raise UsageError(f"play takes operations, each made by pair.op or pair.fault, not {short(wrong[0])}")
        # Through JSON, to check operations and arguments.
        schedule = from_json(Schedule({**self.settings, **(settings or {})}, self.seed, ops).to_json())
        trial = small = None
        try:
            with limited(self.limit_s):
                trial = run_trial(self.lab, self.target, schedule, laws=self.laws)
                small = None if _is_draft() else self._shrunk(trial)
        except OutOfTime:
            if trial is None:
                raise self._late() from None
        for each in violated(trial):
            raise self._unshrunk(trial, each.law, small)
        if trial.skipped:
            raise Unsettled(f"nothing is violated, but some operations were skipped: {'; '.join(trial.skipped)}")
        self._note(trial)
        self._settled({each.law: each.verdict for each in trial.judgements}, 1)
        return trial

    def _shrunk(self, trial: Trial) -> Small | None:
        broken = violated(trial)
        if not broken or not self.lab.deterministic or len(trial.schedule.ops) < 2:
            return None
        made = smallest(self.lab, self.target, trial.schedule, broken[0].law)
        return Small(made, self.lab.name, run_trial(self.lab, self.target, made, laws=self.laws))

    def _unshrunk(self, trial: Trial, law: str, small: Small | None = None) -> Broken:
        """The error for a trial that violates a law; ``small``: the shrunk program, if any."""
        small = small or Small(trial.schedule, self.lab.name, trial)
        shown, found = findings_of(self.lab, self.target, trial, law, small)
        finding = next(each for each in found if each.law == law)
        if _is_draft():
            return Broken(f"{law} is violated: {finding.text}", finding, self.folder)
        return self._broken(finding, shown, [each.law for each in found])

    def _late(self, ended: str = "") -> Unsettled:
        return Unsettled(
            f"unknown: it did not end within the {self.limit_s:g} s of limit_s.{ended} Raise it, or test less"
        )

    def _note(self, trial: Trial) -> None:
        for each in trial.judgements:
            if each.doubt:
                self._doubts.setdefault(each.law, each.doubt)

    @staticmethod
    def op(name: str, /, **args: Any) -> Op:
        """An operation by name, such as ``send``; ``pairproof labs`` lists faults, docs/ the other operations."""
        return Op(name, args)

    @staticmethod
    def fault(name: str, /, **args: Any) -> Op:
        """A fault by name, such as ``kill`` with ``node="master"``."""
        return Op("fault", {"name": name, **args})

    def _settled(self, verdicts: Mapping[str, Verdict], trials: int) -> None:
        open_ = [
            f"{law} is {verdicts[law]}: {self._why(law, verdicts[law])}"
            for law in self.named
            if verdicts.get(law) not in SETTLED
        ]
        if open_:
            many = "1 trial" if trials == 1 else f"{trials} trials"
            raise Unsettled(f"nothing is violated, but after {many} {'; '.join(open_)}")

    def _why(self, law: str, verdict: Verdict) -> str:
        if verdict is Verdict.UNKNOWN:
            return self._doubts.get(law, "it could not be decided")
        if verdict is Verdict.NOT_OBSERVABLE:
            (needs,) = (each.needs for each in self.laws if each.id == law)
            unseen = sorted(needs - self.lab.observes(self.target))
            return f"it needs {', '.join(unseen)}, which this lab does not record"
        return "the program has no event for it"

    def _broken(self, finding: Finding, trial: Trial, laws: Sequence[str]) -> Broken:
        return broken(finding, trial, self.laws, self.folder, laws, self.own)


def _is_draft() -> bool:
    """Whether Hypothesis executes an example that it may still shrink."""
    control: Any = sys.modules.get("hypothesis.control")
    return control is not None and control.currently_in_test_context() and not control.current_build_context().is_final


@contextlib.contextmanager
def using(
    target: str, lab: str, laws: Iterable[str | type[Law]], settings: Mapping[str, Any], seed: str, folder: Path,
    faults: Iterable[str] | None = None, limit_s: float | None = None,
) -> Iterator[Pair]:  # fmt: skip
    """A pair for the ``with`` block, with its laws registered. UsageError for names that do not exist.

    ``faults``: names of the faults that its searches draw; None for all that the lab can inject. ``limit_s``: time
    limit of a search or a program, s; laws that are undecided then are unknown (:class:`Unsettled`).
    """
    if limit_s is not None and not (type(limit_s) in (int, float) and 0 < limit_s < math.inf):
        raise UsageError(f"limit_s is a number of seconds above 0, not {limit_s!r}")
    for what, text in (("target", target), ("lab", lab), ("seed", seed)):
        if not isinstance(text, str):
            raise UsageError(f"{what} must be a text, not {text!r}")
    if not isinstance(settings, Mapping):
        raise UsageError(f'settings must be a table, such as {{"brokerRole": "SYNC_MASTER"}}, not {settings!r}')
    for what, given in (("laws", laws), ("faults", faults)):
        if given is not None and (isinstance(given, (str, type)) or not isinstance(given, Iterable)):
            raise UsageError(f"{what} is a list, [{getattr(given, '__name__', given)!r}], not a single value")
    laws = tuple(laws)
    own = own_laws.checked(laws)
    with own_laws.added(own), contextlib.nullcontext() if faults is None else resolve.only(tuple(faults)):
        yield Pair(target, lab, laws, settings, seed, folder, limit_s)


def broken(
    finding: Finding, trial: Trial | None, laws: Iterable[type[Law]], folder: Path, also: Iterable[str],
    own: Collection[str],
) -> Broken:  # fmt: skip
    """The error for a finding, which is written to ``folder``.

    ``trial``: the trial of its program, judged by ``laws``. ``also``: all laws that the program violates. ``own``: ids
    of laws that only the caller has.
    """
    path = folder / case_name(finding.target, finding.lab, finding.law, finding.schedule.to_json())
    lines = [*account(finding, trial, laws)]
    if others := [each for each in also if each != finding.law]:
        lines.append(f"the same program violates: {', '.join(others)}")
    try:
        atomic.put_json(folder, path.name, finding_json(finding, path))
    except PairproofError as why:
        reason = str(why).partition("; ")[0]
        return Broken("\n".join([*lines, f"it could not be kept: {reason}"]), finding, path)
    if only_here := "law" if finding.law in own else _unregistered(finding):
        lines.append(f"run the test again to replay it: only this test has the {only_here}")
    else:
        lines.append(f"replay: {replay_line(path, finding.target)}")
        lines.append(f"keep it as a regression case: {invocation.line('cases add', path)}")
    return Broken("\n".join(lines), finding, path)


def _unregistered(finding: Finding) -> str:
    """Which of its target and its lab cannot be named on a command line; empty if both can."""
    for what, find, name in (("target", resolve.target, finding.target), ("lab", resolve.lab, finding.lab)):
        try:
            find(name)
        except UsageError:
            return what
    return ""


def account(finding: Finding, trial: Trial | None, laws: Iterable[type[Law]]) -> Iterator[str]:
    """The finding, in lines."""
    promise = next((law.promise for law in laws if law.id == finding.law), "")
    yield f"{finding.law} is violated: {finding.text}"
    yield f"  the promise: {promise}"
    settings = ", ".join(f"{name}={value}" for name, value in finding.schedule.settings.items())
    yield f"  {finding.target} in {finding.lab}, seed {finding.schedule.seed!r}{f', {settings}' if settings else ''}"
    lines = list(finding.schedule.program())
    was = finding.original_ops
    yield f"the smallest program that shows it, of {was} operations:" if len(lines) < was else "the program:"
    for number, line in enumerate(lines, 1):
        yield f"  {number:3d}  {line}"
    if not finding.schedule.ops:
        yield "       (nothing: starting the pair shows it)"
    if trial is None:
        return
    judged = next((each for each in violated(trial) if each.law == finding.law), None)
    if judged is not None and trial.events:
        yield "events before it:"
        yield from _before(trial.events, judged.violations[0])


def _before(events: Sequence[Event], broke: Violation) -> Iterator[str]:
    """The last events before the violation, and of earlier ones faults, ends of nodes, and the events of its
    message.
    """
    at = broke.seq
    early = [
        each.seq
        for each in events[: max(0, at - BEFORE)]
        if each.kind in TURNS or (broke.message is not None and each.message == broke.message)
    ]
    before = -1
    for seq in [*early[-EARLY:], *range(max(0, at - BEFORE), min(at + AFTER + 1, len(events)))]:
        event = events[seq]
        if seq > before + 1 and before >= 0:
            yield "       ..."
        yield f"{'>' if seq == at else ' '} {seq:6d} {event.t / 1e6:12.3f} ms  {event.words(_the)}"
        before = seq


def _the(node: str | None) -> str:
    return f"the {node}" if node else "nobody"
