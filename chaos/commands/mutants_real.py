"""Finds mutants in the process and docker labs: the Hypothesis machine must find the bug, and it must reproduce.

A mutant counts as killed when a drawn trial violates the declared law in the lab, and the smallest program violates it
again in at least one of several executions. The run folder contains every trial. The command prints the autopsy of the
message that the violation is about.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ...harness.commands import output
from ...harness.commands.exploration import Bounds, Request
from ...harness.errors import EXIT_HOLDS, EXIT_LAB, EXIT_VIOLATED, LabError
from ...harness.exploration.profiles import PROOF, profile
from ...harness.judging import judge as judging
from ...harness.ports import Lab
from ...harness.rocketmq.commands.autopsy import command as autopsy
from ...harness.runs.reader import named_finding, to_finding
from ...harness.trials import resolve
from ...harness.trials.interpreter import run_trial
from ...harness.trials.workers import CanClose
from ..mutants import Mutant

REPEATS = 5


class Hunt(NamedTuple):
    """``trials``: how many the machine plays; None: the profile's number."""

    lab: Lab
    seed: str
    trials: int | None
    jobs: int
    runs: Path


class Catch(NamedTuple):
    """The result for one mutant; ``showed`` of ``executed`` replays violated the law."""

    name: str
    law: str
    killed: bool
    origin: str
    trials: int
    program: list[str]
    shrunk_in: str
    showed: int
    executed: int
    finding: str
    text: str


def hunt(how: Hunt, mutants: list[Mutant]) -> tuple[int, list[Catch]]:
    """Search for each mutant in turn; returns the exit code and the results. LabError if the lab fails: no verdict."""
    catches = []
    try:
        for mutant in mutants:
            catches.append(_hunt(how, mutant))
            _say(catches[-1])
    finally:
        if isinstance(how.lab, CanClose):
            how.lab.close()
    return EXIT_HOLDS if all(each.killed for each in catches) else EXIT_VIOLATED, catches


def _hunt(how: Hunt, mutant: Mutant) -> Catch:
    target = resolve.target(f"reference+{mutant.name}")
    request = Request(
        target, how.lab, profile(PROOF), Bounds(None, how.trials, True), how.seed, judging.laws([mutant.law]), how.jobs,
        "all", how.runs,
    )  # fmt: skip
    outcome = request.run()
    if outcome.summary["state"] == "interrupted":
        # An unfinished hunt must not count as "survived"; the interrupt also ends the remaining hunts.
        raise KeyboardInterrupt
    if outcome.lab_failed is not None:
        raise outcome.lab_failed
    found = sorted((outcome.folder / "findings").glob("*.json"))
    trials: Any = outcome.summary["trials"]
    if not found:
        if outcome.code == EXIT_LAB:
            raise LabError(f"mutant {mutant.name} was not found, but a trial process failed; see above")
        return Catch(mutant.name, mutant.law, False, "", trials, [], "", 0, 0, "", "")
    known = to_finding(named_finding(found[0]))
    # One at a time, as a user replays it: concurrent executions slow each other down and change the outcome of races.
    again = (run_trial(how.lab, target, known.schedule, origin="replay") for _ in range(REPEATS))
    showed = sum(each.violates(mutant.law) for each in again)
    with autopsy.make_context("autopsy", ["--", str(found[0])]) as context:
        autopsy.invoke(context)
    return Catch(
        mutant.name, mutant.law, showed > 0, "machine", trials, known.schedule.program(),
        known.shrunk_in or how.lab.name, showed, REPEATS, str(found[0]), known.text,
    )  # fmt: skip


def _say(catch: Catch) -> None:
    if not catch.finding:
        output.say(
            f"{catch.name} SURVIVED {catch.trials} trials: {catch.law} was not violated", output.COLOURS["violated"]
        )
        return
    verdict = "killed" if catch.killed else "found, but not reproduced"
    output.say(
        f"{catch.name}: {verdict}; {catch.law}, found by the {catch.origin} in {catch.trials} trials, shrunk to "
        f"{len(catch.program)} operations in {catch.shrunk_in}, and violated again in {catch.showed} of "
        f"{catch.executed} executions",
        "" if catch.killed else output.COLOURS["violated"],
    )
