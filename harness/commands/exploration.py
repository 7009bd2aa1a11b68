"""One run of ``pairproof check``: explore, record, print the results, and return an exit code.

If a lab fails, the verdicts so far are printed, the run folder is closed as failed with the reason, and its report can
be made. For the exit code a violation counts most, then a failed lab, then anything that the run lacks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import registry
from ..errors import EXIT_INTERRUPTED, EXIT_LAB, EXIT_VIOLATED, LabError, interrupted
from ..exploration import evidence, minimums
from ..exploration.budget import Budget
from ..exploration.profiles import Profile
from ..judging import deviations
from ..judging import verdict as verdicts
from ..judging.verdict import Demands, Verdict
from ..search import known_bugs
from ..texts.wording import counted
from ..trials import resolve
from ..trials.abilities import Hosted
from . import closing, output, suite
from .closing import Line
from .losses import say_losses

if TYPE_CHECKING:
    from ..exploration.summary import Summary
    from ..exploration.tally import FaultCount
    from .findings import Findings

REPORT_S, REPORT_SHARE = 10.0, 0.1
"""``--time`` reserves so many seconds for a report, or this share of it if that is less."""
_DEMANDS = ("corpus_must_judge", "must_not_be_vacuous")


class Ended(NamedTuple):
    """How an exploration ended. ``lab_failed``: the error of the last process."""

    state: str
    reason: str
    lab_failed: LabError | None = None


class Outcome(NamedTuple):
    """The result of a run: exit code, folder, JSON summary, and the error of its lab."""

    code: int
    folder: Path
    summary: dict[str, object]
    lab_failed: LabError | None
    last_lines: list[Line]


class Bounds(NamedTuple):
    seconds: float | None
    trials: int | None
    first: bool
    bugs: str = known_bugs.ALL
    """Programs of known bugs to play in real-time labs: all, generic or none."""


@dataclass(eq=False)
class Request:
    target: Any
    lab: Any
    profile: Profile
    bounds: Bounds
    seed: str
    laws: Any
    jobs: int
    keep: str
    runs: Path
    reported: bool = False
    full: bool = False
    """Whether the summary names all laws instead of those that need attention."""
    known_deviations: str | None = None
    """One of :data:`pairproof.harness.judging.deviations.POLICIES`."""
    cases: list[suite.Result] = field(default_factory=list)
    failures: list[LabError] = field(default_factory=list)
    """Errors of processes that ended while others went on."""
    began: float = field(default_factory=monotonic)

    def run(self) -> Outcome:
        """Explore, record, and print the results. Raises UsageError; a failed lab becomes part of the outcome."""
        from ..exploration.explore import Explorer
        from ..exploration.retention import Retention
        from ..runs.writer import RunWriter, run_folder
        from .findings import Findings

        findings = Findings(resolve.system_of(self.target))
        # However this block ends, even within a line, the run is closed.
        with RunWriter(run_folder(self.runs, self.lab.name, self.target.name), self.facts()) as writer:
            with output.progress() as progress:
                explorer = Explorer(
                    self.lab,
                    self.target,
                    self.profile,
                    self.seed,
                    self.laws,
                    **self.bounds._replace(seconds=self._seconds())._asdict(),
                    jobs=self.jobs,
                    retention=Retention(writer.sampling),
                    on_failure=lambda why: self._go_on(writer, why),
                    on_trial=lambda trial: writer.trial(trial, None),
                    on_findings=lambda found: findings.say([(each, writer.finding(each)) for each in found]),
                    progress=progress,
                )
                findings.is_over = lambda: explorer.watch.left() <= 0
                ended = self._explored(explorer, writer)
            found = explorer.summary()
            self._close(writer, found, ended)
        code, last, summary = self.print(writer, found, findings)
        if not last and ended.lab_failed is None:
            last = [closing.nothing_judged(writer.facts, ended.reason)]
        return Outcome(self._code(code, ended), writer.folder, summary, ended.lab_failed, last)

    def print(self, writer: Any, found: Summary, findings: Findings) -> tuple[int, list[Line], dict[str, object]]:
        """Print the results of a run that has ended. Returns its exit code, the last lines (none if nothing was
        judged), and the value for ``--json``.
        """
        from .findings import say_deviations

        facts, system = writer.facts, resolve.system_of(self.target)
        standings = found.standings(Demands.of_facts(facts))
        missed = minimums.missed(minimums.of_facts(facts))
        last: list[Line] = []
        if found.trials or facts["state"] == "complete":
            if minimums.NOTHING_REPLICATED in missed:
                output.say(f"{minimums.NOTHING_REPLICATED}; the verdicts below do not cover replication", "bold red")
            closing.say_run(facts, self.lab, found, writer.folder, standings, self.full, findings.sentence())
            say_deviations(writer.known_deviations)
            if found.losses.classes:
                say_losses(found.losses, system)
            output.say_remarks(closing.known(facts)["configuration_remarks"])
            say_minimums(found, missed)
            following = "show" if self.reported else "report"
            last = closing.last_lines(facts, found, standings, missed, writer.folder, findings, system, following)
        code = verdicts.exit_code(standings.values(), missed, deviations.fails(facts))
        summary = self.summary(found, writer.folder, facts, standings, findings)
        return code, last, summary | closing.known(facts)

    def _seconds(self) -> float | None:
        """Seconds left of ``--time`` after the regression cases and without the report's share."""
        if (whole := self.bounds.seconds) is None:
            return None
        report = min(REPORT_S, REPORT_SHARE * whole) if self.reported else 0.0
        return max(0.0, whole - (monotonic() - self.began) - report)

    def _explored(self, explorer: Any, writer: Any) -> Ended:
        try:
            explorer.run()
        except KeyboardInterrupt as why:
            return Ended("interrupted", interrupted(why))
        except LabError as why:
            self._keep(writer, why)
            return Ended("failed", str(why) or type(why).__name__, why)
        except BaseException as why:
            self._close(writer, explorer.summary(), Ended("failed", str(why) or type(why).__name__))
            raise
        return Ended("failed", str(self.failures[0])) if self.failures else Ended("complete", "")

    def _close(self, writer: Any, found: Summary, ended: Ended) -> None:
        writer.coverage(found.coverage.rows())
        writer.close(
            ended.state, reason=ended.reason, seconds=round(found.seconds, 3), trials=found.trials,
            events=found.events, searches=found.searches(), losses=found.losses.rows(), **self._met(found),
        )  # fmt: skip

    def _met(self, found: Summary) -> dict[str, object]:
        """Facts about missed demands, which are known at the end of the run."""
        if self.bounds.first and found.findings:
            # A run that stopped at a violation had no time for the rest.
            return {name: [] for name in _DEMANDS}
        return found.lacks()

    def _code(self, code: int, ended: Ended) -> int:
        # A trial that its lab did not finish might have shown a violation.
        if code == EXIT_VIOLATED:
            return code
        if ended.state == "interrupted":
            return EXIT_INTERRUPTED
        return EXIT_LAB if ended.state == "failed" else code

    def _go_on(self, writer: Any, why: LabError) -> None:
        if str(why) not in map(str, self.failures):
            output.say(f"the lab of one of {self.jobs} processes failed, the others go on: {why}", "yellow")
        self.failures.append(why)
        self._keep(writer, why)

    def _keep(self, writer: Any, why: LabError) -> None:
        kept = writer.failure(self.target.name, self.lab.name, why)
        if kept is not None:
            output.say(f"the unfinished trial: {kept}", "yellow")

    def _demands(self) -> dict[str, list[str]]:
        # Optional: a third party's law, whose events may not occur; every law on a version that the laws were not
        # written for; every law under the user's configuration, which may rule it out.
        as_made = resolve.brought(self.target) is None and not getattr(self.target, "releases", {})
        made_for = self.lab.deterministic and as_made
        listed = registry.own("laws") if made_for and resolve.system_of(self.target).corpus() else ()
        counts = Budget.of(self.profile, self.lab, self.bounds.seconds, self.bounds.trials).counts
        counted = counts is not None and not self.profile.has_minimums and resolve.brought(self.target) is None
        by_corpus = [law.id for law in self.laws if law.id in listed]
        return dict(zip(_DEMANDS, (by_corpus, [law.id for law in self.laws] if counted else []), strict=True))

    def facts(self) -> dict[str, object]:
        """Facts of the run that are known before it begins."""
        return {
            "command": ["pairproof", *sys.argv[1:]],
            "lab": self.lab.name,
            "target": self.target.name,
            **resolve.digests(self.target),
            "system": resolve.system_of(self.target).name,
            "profile": self.profile.name,
            "seed": self.seed,
            "observes": sorted(self.lab.observes(self.target)),
            "laws": [law.id for law in self.laws],
            "drawn": sorted(resolve.drawn(Hosted(self.lab, self.target))),
            **self._demands(),
            **({"cases": [each._asdict() for each in self.cases]} if self.cases else {}),
            **deviations.facts_of(resolve.brought(self.target), self.known_deviations),
            "known_bugs": known_bugs.NONE if self.lab.deterministic else self.bounds.bugs,
            "keep": "all" if self.keep == "all" or self.profile.keep_one_in == 1 else self.profile.keep_one_in,
        }

    def summary(
        self, found: Any, folder: Path, facts: Mapping[str, Any], standings: Any, findings: Findings
    ) -> dict[str, object]:
        return {
            "run": folder.name,
            "folder": str(folder),
            **{name: facts[name] for name in ("state", "target", "lab", "profile", "seed")},
            "trials": found.trials,
            "corpus_trials": found.by_origin.get(verdicts.CORPUS, 0),
            "events": found.events,
            "seconds": round(found.seconds, 3),
            "shrinking_seconds": round(found.shrinking_s, 3),
            **{name: {"done": found.by_origin.get(name, 0), "of": total} for name, total in found.totals.items()},
            "evidence": evidence.of(facts, found.by_origin, found.faults).to_json(),
            "coverage": {"counts": len(found.coverage.rows()), "gaps": _gaps(found.coverage, self.lab)},
            **found.lacks(),
            "abstained": {each.law: dict(each.abstained) for each in found.offered if each.abstained},
            "faults": {name: each._asdict() for name, each in found.tally.faults().items()} if found.tally else {},
            "laws": {law: str(verdict) for law, verdict in sorted(found.verdicts.items())},
            "remarks": {law: each.remark for law, each in sorted(standings.items()) if each.remark},
            "judged_in_trials": {law: found.exercised.get(law, 0) for law in sorted(found.verdicts)},
            "cases": [each._asdict() for each in self.cases],
            "violated": sorted(law for law, verdict in found.verdicts.items() if verdict is Verdict.VIOLATED),
            "losses": found.losses.rows(),
            "findings": [
                {
                    "law": each.law,
                    "text": each.text,
                    "cause": each.cause,
                    "program": each.schedule.program(),
                    "shrunk_in": each.shrunk_in,
                    "search": each.search,
                    "source": each.source,
                    "trial": each.trial,
                    "replayed": findings.replayed.get((each.law, each.trial)),
                }
                for each in found.findings
            ],
        }


def _gaps(table: Any, lab: Any) -> dict[str, list[str]]:
    return {fault: [" ".join(pair) for pair in pairs] for fault, pairs in table.gaps(resolve.drawn(lab)).items()}


def say_minimums(found: Summary, missed: Sequence[str]) -> None:
    """Print the work of the searches, and the coverage minimums that they missed, if the profile has any."""
    if found.tally is not None:
        _say_tally(found, found.tally.faults())
    if of_profile := [each for each in missed if each != minimums.NOTHING_REPLICATED]:
        output.say(f"coverage minimums missed: {'; '.join(of_profile)}", output.COLOURS["unknown"])


def _say_tally(found: Summary, faults: Mapping[str, FaultCount]) -> None:
    rows = [
        (name, each.drawn, each.took_effect, each.began - each.took_effect, each.drawn - each.began, _amounts(each))
        for name, each in faults.items()
    ]
    output.table(
        "Faults of the searches", ("fault", "drawn", "took effect", "hit nothing", "not begun", "effect"), rows
    )
    output.table("Floors", ("what", "met", "at least"), found.minimums)
    idle = sum(each.drawn - each.took_effect for each in faults.values())
    drawn = sum(each.drawn for each in faults.values())
    output.say(f"{drawn - idle} of {counted(drawn, 'fault')} took effect; {idle} did not and are not counted")


def _amounts(count: FaultCount) -> str:
    return ", ".join(f"{name} {amount:,}" for name, amount in sorted(count.effect.items()) if amount)
