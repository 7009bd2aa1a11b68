"""A replicated pair in a test of one's own: searched, or put through a written program, and judged by any laws.

The laws may be plain classes in the test's file: they are registered while the pair is in use. What breaks a law fails
the test with the whole story: the smallest program, what led up to it, and the lines that replay and keep it.
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
"""Events that are told around the one that broke the law, and of earlier ones."""
TURNS = ("fault", "crash", "stop", "wipe")
SETTLED = (Verdict.HOLDS, Verdict.DEVIATES)


class Unsettled(AssertionError):
    """Nothing is violated, and a law that was asked for says nothing, or the time limit was over before the end."""

    says_it_all = True


class Broken(AssertionError):
    """A law is violated. ``finding``: how, and ``path``: its file."""

    says_it_all = True
    """For the plugin: no traceback is wanted."""

    def __init__(self, story: str, finding: Finding, path: Path) -> None:
        super().__init__(story)
        self.finding = finding
        self.path = path


class Pair:
    """``target`` in ``lab``, by name, judged by ``laws``: ids or classes, all about its system if there are none.

    ``seed`` decides everything random. ``folder``: where findings are written. ``limit_s``: how long one call may take,
    s. Use :func:`using`.
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
        """What searches are given: they draw settings themselves, but for these."""
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
        """Search until ``trials`` or ``seconds`` are over (300 trials, if neither is given); what all trials came to.

        In a deterministic lab a fixed corpus of some forty trials comes first, which no bound counts.
        :class:`Broken` at the first violation; :class:`Unsettled` where a law that was named did not judge.
        """
        if trials is None and seconds is None:
            trials = 300
        for what, given, kind in (("trials", trials, int), ("seconds", seconds, (int, float))):
            if given is not None and not (isinstance(given, kind) and not isinstance(given, bool) and given > 0):
                raise UsageError(f"{what} of a search are a number above 0, not {given!r}")
        if not resolve.drawn(self.lab):
            raise UsageError(f"searches in {self.lab.name} draw none of these faults; write a program, or name others")
        shown: list[Trial] = []

        def keep(trial: Trial) -> None:
            self._note(trial)
            # Of the others nothing is told, and their histories are large.
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
            raise self._as_it_is(trial, violated(trial)[0].law)
        if missed := minimums.missed(found.minimums):
            raise Unsettled("; ".join(missed))
        self._settled({law: each.verdict for law, each in found.standings(Demands.of_facts({})).items()}, found.trials)
        return found

    def play(self, *ops: Op, settings: Mapping[str, Any] | None = None) -> Trial:
        """Bring the pair up, do this, and judge it; the trial, with its history.

        :class:`Broken` where a law is violated; :class:`Unsettled` where a law that was named did not judge, or the lab
        could not do something. In a Hypothesis test :class:`Broken` has the whole story, a smaller program and a file
        only for the example that Hypothesis ends with.
        """
        if wrong := [op for op in ops if not isinstance(op, Op)]:
            raise UsageError(f"play takes operations, each made by pair.op or pair.fault, not {short(wrong[0])}")
        # As what comes from a file: its operations and their arguments are checked.
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
            raise self._as_it_is(trial, each.law, small)
        if trial.skipped:
            raise Unsettled(f"nothing is violated, but not all was done: {'; '.join(trial.skipped)}")
        self._note(trial)
        self._settled({each.law: each.verdict for each in trial.judgements}, 1)
        return trial

    def _shrunk(self, trial: Trial) -> Small | None:
        """The smallest program for the law that broke first, if there may be a smaller one."""
        broken = violated(trial)
        if not broken or not self.lab.deterministic or len(trial.schedule.ops) < 2:
            return None
        made = smallest(self.lab, self.target, trial.schedule, broken[0].law)
        return Small(made, self.lab.name, run_trial(self.lab, self.target, made, laws=self.laws))

    def _as_it_is(self, trial: Trial, law: str, small: Small | None = None) -> Broken:
        """That a trial violates a law; ``small``: with which program, its own if it was not shrunk."""
        small = small or Small(trial.schedule, self.lab.name, trial)
        shown, found = findings_of(self.lab, self.target, trial, law, small)
        finding = next(each for each in found if each.law == law)
        if _is_draft():
            return Broken(f"{law} is violated: {finding.text}", finding, self.folder)
        return self._broken(finding, shown, [each.law for each in found])

    def _late(self, meanwhile: str = "") -> Unsettled:
        return Unsettled(
            f"unknown: it did not end within the {self.limit_s:g} s of limit_s.{meanwhile} Give it more, or less to do"
        )

    def _note(self, trial: Trial) -> None:
        for each in trial.judgements:
            if each.doubt:
                self._doubts.setdefault(each.law, each.doubt)

    @staticmethod
    def op(name: str, /, **args: Any) -> Op:
        """An operation by name, ``send`` for instance; pairproof labs lists faults, docs/ what else there is."""
        return Op(name, args)

    @staticmethod
    def fault(name: str, /, **args: Any) -> Op:
        """A fault by name, ``kill`` with ``node="master"`` for instance."""
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
            return f"it needs {', '.join(unseen)}, which nobody records here"
        return "the program gives it no case"

    def _broken(self, finding: Finding, trial: Trial, laws: Sequence[str]) -> Broken:
        """``laws``: all that the program violates."""
        return broken(finding, trial, self.laws, self.folder, laws, self.own)


def _is_draft() -> bool:
    """Whether Hypothesis executes an example that it may still make smaller."""
    control: Any = sys.modules.get("hypothesis.control")
    return control is not None and control.currently_in_test_context() and not control.current_build_context().is_final


@contextlib.contextmanager
def using(
    target: str, lab: str, laws: Iterable[str | type[Law]], settings: Mapping[str, Any], seed: str, folder: Path,
    faults: Iterable[str] | None = None, limit_s: float | None = None,
) -> Iterator[Pair]:  # fmt: skip
    """A pair for the ``with`` block, in which its own laws are registered. UsageError for what does not exist.

    ``faults``: by name, those that its searches draw; None for all that the lab can inject. ``limit_s``: how long a
    search or a program may take, s; then what was not decided is unknown (:class:`Unsettled`).
    """
    if limit_s is not None and not (type(limit_s) in (int, float) and 0 < limit_s < math.inf):
        raise UsageError(f"limit_s is a number of seconds above 0, not {limit_s!r}")
    for what, text in (("target", target), ("lab", lab), ("seed", seed)):
        if not isinstance(text, str):
            raise UsageError(f"{what} is a text, not {text!r}")
    if not isinstance(settings, Mapping):
        raise UsageError(f'settings are a table, such as {{"brokerRole": "SYNC_MASTER"}}, not {settings!r}')
    for what, given in (("laws", laws), ("faults", faults)):
        if given is not None and (isinstance(given, (str, type)) or not isinstance(given, Iterable)):
            raise UsageError(f"{what} is a list, [{getattr(given, '__name__', given)!r}], not what stands in it")
    laws = tuple(laws)
    own = own_laws.checked(laws)
    with own_laws.added(own), contextlib.nullcontext() if faults is None else resolve.only(tuple(faults)):
        yield Pair(target, lab, laws, settings, seed, folder, limit_s)


def broken(
    finding: Finding, trial: Trial | None, laws: Iterable[type[Law]], folder: Path, also: Iterable[str],
    own: Collection[str],
) -> Broken:  # fmt: skip
    """The error that tells a finding, which is kept in ``folder``.

    ``trial``: of its program, judged by ``laws``. ``also``: all laws that the program violates. ``own``: ids of those
    that only the caller knows.
    """
    path = folder / case_name(finding.target, finding.lab, finding.law, finding.schedule.to_json())
    told = [*story(finding, trial, laws)]
    if others := [each for each in also if each != finding.law]:
        told.append(f"the same program violates: {', '.join(others)}")
    try:
        atomic.put_json(folder, path.name, finding_json(finding, path))
    except PairproofError as why:
        reason = str(why).partition("; ")[0]
        return Broken("\n".join([*told, f"it could not be kept: {reason}"]), finding, path)
    if only_here := "law" if finding.law in own else _unregistered(finding):
        told.append(f"run the test again to replay it: only this test knows the {only_here}")
    else:
        told.append(f"replay: {replay_line(path, finding.target)}")
        told.append(f"keep it as a case: {invocation.line('cases add', path)}")
    return Broken("\n".join(told), finding, path)


def _unregistered(finding: Finding) -> str:
    """Which of its target and its lab no command line can name; empty where it can name both."""
    for what, find, name in (("target", resolve.target, finding.target), ("lab", resolve.lab, finding.lab)):
        try:
            find(name)
        except UsageError:
            return what
    return ""


def story(finding: Finding, trial: Trial | None, laws: Iterable[type[Law]]) -> Iterator[str]:
    """What happened, in lines."""
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
        yield "       (nothing: bringing the pair up shows it)"
    if trial is None:
        return
    judged = next((each for each in violated(trial) if each.law == finding.law), None)
    if judged is not None and trial.events:
        yield "what led up to it:"
        yield from _led_up(trial.events, judged.violations[0])


def _led_up(events: Sequence[Event], broke: Violation) -> Iterator[str]:
    """The last events before it, and of those before them faults, ends of nodes, and what became of its message."""
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
