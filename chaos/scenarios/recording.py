"""Records a run of scenarios in a run folder: every trial with its history, findings to replay, and results.

The facts' ``scenarios`` lists, in the order of the request: name, verdict, trials, seconds, reasons why it is not
green, its unobservable parts, losses of acked messages (:mod:`pairproof.harness.rocketmq.losses`), and its laws;
``left_out`` lists unplayed scenarios with the abilities that the lab lacks. A trial's seed names its scenario.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...harness.errors import interrupted
from ...harness.exploration.coverage_table import CoverageTable
from ...harness.judging import deviations
from ...harness.judging import judge as judging
from ...harness.judging.cause import cause, violated
from ...harness.runs.writer import RunWriter, run_folder
from ...harness.trials import resolve
from ...harness.trials.trial import Finding
from .play import FAILED, Plan, Played, Result, result
from .scenario import Scenario

PROFILE = "scenarios"
MAX_REASONS = 20


class Recording:
    """One run. A context manager: recorded trials are kept however its block ends."""

    def __init__(
        self, runs: Path, plan: Plan, scenarios: Sequence[Scenario], left_out: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        """``left_out``: by scenario name, including named ones, the abilities that the lab lacks for it."""
        self.plan = plan
        self.left_out = left_out or {}
        self.scenarios = scenarios
        self.played: dict[str, list[Played]] = {each.name: [] for each in scenarios}
        self.findings: list[tuple[Finding, Path]] = []
        self._numbers = 0
        self._coverage = CoverageTable()
        lab, target = resolve.lab(plan.lab), resolve.target(plan.target)
        self._system = resolve.system_of(target)
        everything = any(not each.laws for each in scenarios)
        laws = {law for each in scenarios for law in each.laws}
        self.writer = RunWriter(
            run_folder(runs, plan.lab, plan.target, "scenarios"),
            {
                "command": ["pairproof", *sys.argv[1:]],
                "lab": lab.name,
                "target": target.name,
                **resolve.digests(target),
                "system": self._system.name,
                "profile": PROFILE,
                "seed": plan.seed,
                "observes": sorted(lab.observes(target)),
                "laws": [law.id for law in judging.laws_for(target) if everything or law.id in laws],
                "must_not_be_vacuous": [],
                "keep": "all",
                **deviations.facts_of(plan.brought, plan.known_deviations),
                "scenarios": [{"name": each.name} for each in scenarios],
                "left_out": [{"name": name, "lacks": list(lacks)} for name, lacks in self.left_out.items()],
            },
        )

    @property
    def folder(self) -> Path:
        return self.writer.folder

    def take(self, scenario: Scenario, played: Played) -> None:
        """Record a trial, and a finding for each law that its scenario is first to violate."""
        trial = played.trial._replace(number=self._numbers)
        self._numbers += 1
        kept = played._replace(trial=trial)
        self.played[scenario.name].append(kept)
        self._coverage.merge(self._system.cover(trial.events))
        self.writer.trial(trial)
        for each in violated(trial):
            if not self._found(scenario, each.law):
                finding = Finding(
                    each.law, each.violations[0].text, self.plan.target, self.plan.lab, trial.number, trial.number,
                    trial.schedule, len(trial.schedule.ops), cause=cause(trial),
                )  # fmt: skip
                self.findings.append((finding, self.writer.finding(finding)))

    def _found(self, scenario: Scenario, law: str) -> bool:
        numbers = {each.trial.number for each in self.played[scenario.name]}
        return any(each.law == law and each.trial in numbers for each, _ in self.findings)

    def results(self) -> list[Result]:
        return [
            result(each, self.played[each.name], len(self.plan.trials(each)))
            for each in self.scenarios
            if self.played[each.name]
        ]

    def close(self, state: str = "complete", reason: str = "") -> None:
        self.writer.coverage(self._coverage.rows())
        self.writer.facts["scenarios"] = [summary(each) for each in self.results()]
        self.writer.close(state, reason=reason)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        failed = [each.scenario.name for each in self.results() if each.verdict == FAILED]
        if error is None and failed:
            self.close("failed", f"the lab failed in {', '.join(failed)}")
        elif error is None:
            self.close()
        elif isinstance(error, KeyboardInterrupt):
            self.close("interrupted", interrupted(error))
        else:
            self.close("failed", str(error) or type(error).__name__)


def summary(found: Result) -> dict[str, object]:
    """A result as JSON."""
    return {
        "name": found.scenario.name,
        "verdict": found.verdict,
        "trials": len(found.played),
        "seconds": round(found.seconds, 3),
        "reasons": found.reasons[:MAX_REASONS],
        "not_observable": list(found.not_observable),
        "losses": found.losses,
        "laws": {law: str(verdict) for law, verdict in found.laws.items()},
    }
