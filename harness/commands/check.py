"""``pairproof check``: explore a target in a lab, judge every trial, keep a run folder, say what came of it."""

from __future__ import annotations

import contextlib
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import click

from pairproof.harness import registry, resolve
from pairproof.harness import verdict as verdicts
from pairproof.harness.budget import Budget
from pairproof.harness.commands import output
from pairproof.harness.errors import EXIT_LAB, EXIT_VIOLATED, LabError, UsageError
from pairproof.harness.profiles import PROFILES, Profile, default, profile
from pairproof.harness.schedule import check_text
from pairproof.harness.verdict import Demands, Verdict
from pairproof.harness.workers import MAX_JOBS

RUNS = Path("runs")
MAX_SEED_CHARS = 200
"""Of ``--seed``; searches make the seeds of their trials longer."""
MAX_PATH_CHARS = 4_096
MAX_TRIALS = 100_000_000
INTERRUPTED = 130
FIRST_WORD_S = 2.0
"""When a first verdict is said; the last one takes as long as the profile gives it."""


@click.command("check")
@click.option(
    "--target",
    "target_name",
    default="reference",
    show_default=True,
    help="What to test; base+mutant for a seeded bug.",
)
@click.option("--lab", "lab_name", default="sim", show_default=True, help="Where it runs.")
@click.option(
    "--profile",
    "profile_name",
    default=None,
    help=f"One of {', '.join(PROFILES)}. [default: {default(True)}; {default(False)} where time is real]",
)
@click.option("--time", "time_text", default=None, help="Bound of the searches, such as 90s or 10m.")
@click.option(
    "--trials",
    type=click.IntRange(1, MAX_TRIALS),
    default=None,
    help="Bound of the searches in trials instead: in sim the same seed then gives the same trials and verdicts.",
)
@click.option("--first", is_flag=True, help="Stop at the first violation, and shrink it.")
@click.option("--seed", default=None, help="Decides everything random; default: one made from the clock, and printed.")
@click.option("--law", "law_ids", multiple=True, help="Judge by this law only; may be given more than once.")
@click.option(
    "--jobs",
    type=click.IntRange(1, MAX_JOBS),
    default=1,
    show_default=True,
    help="Seeded trials side by side, each in a lab of its own; where time is real.",
)
@click.option(
    "--keep", type=click.Choice(["sample", "all"]), default="sample", show_default=True, help="Histories to keep."
)
@click.option(
    "--runs",
    "runs_folder",
    type=click.Path(path_type=Path),
    default=RUNS,
    show_default=True,
    help="Where run folders go.",
)
@click.option("--report", is_flag=True, help="Make the report, too.")
@output.json_option
def command(
    target_name: str,
    lab_name: str,
    profile_name: str | None,
    time_text: str | None,
    trials: int | None,
    first: bool,
    seed: str | None,
    law_ids: tuple[str, ...],
    jobs: int,
    keep: str,
    runs_folder: Path,
    report: bool,
    json_to: str | None,
) -> None:
    """Explore a replicated pair with generated operations and faults, and judge what happened.

    In the simulation a small fixed corpus comes first, then the searches until their bound.

    Exit codes: 0 every law holds, 1 one is violated, 2 usage, 3 unknown, or a law had nothing to judge where the corpus
    or the profile wants it, 4 the lab failed.
    """
    from pairproof.harness import judge as judging

    if seed is not None:
        check_text(seed, "--seed", MAX_SEED_CHARS)
    # Parquet's writer takes no other names.
    check_text(str(runs_folder), "--runs", MAX_PATH_CHARS)
    lab = resolve.lab(lab_name)
    if jobs > 1 and lab.deterministic:
        raise UsageError(f"--jobs is for labs in which time is real, and {lab_name} never waits; leave it out")
    if time_text is not None and trials is not None:
        raise UsageError("--time and --trials exclude each other; give one of them")
    chosen = profile(profile_name or default(lab.deterministic))
    resolve.check_pair(lab, resolve.target(target_name))
    request = _Request(
        resolve.target(target_name),
        lab,
        chosen,
        _Bounds(_seconds(time_text) if time_text is not None else None, trials, first),
        seed if seed is not None else datetime.now(UTC).strftime("%Y%m%d%H%M%S"),
        judging.laws(law_ids) if law_ids else judging.all_laws(),
        jobs,
        keep,
        runs_folder,
    )
    code, folder, summary = request.run()
    if json_to is not None:
        output.write_json(summary, json_to)
    if report:
        made = make_report(folder, json_to)
        code = code or made
    sys.exit(code)


def make_report(folder: Path, json_to: str | None) -> int:
    """Make the report of a run that has just ended; its exit code."""
    make: Any = registry.find("commands", "report")
    # Standard output belongs to the JSON answer if that went there.
    said = contextlib.redirect_stdout(sys.stderr) if json_to == output.STDOUT else contextlib.nullcontext()
    try:
        # Not its main(), which would turn a broken pipe into exit code 1: violated.
        with said, make.make_context("report", ["--", str(folder)]) as context:
            made = make.invoke(context)
    except click.exceptions.Exit as ended:
        made = ended.exit_code
    return made if isinstance(made, int) else 0


_DEMANDS = ("corpus_must_judge", "must_not_be_vacuous")


class _Bounds(NamedTuple):
    """What ends the searches, if not the profile."""

    seconds: float | None
    trials: int | None
    first: bool


class _Request:
    """One run: what was asked for, and its execution."""

    def __init__(
        self, target: Any, lab: Any, chosen: Profile, bounds: _Bounds, seed: str, laws: Any, jobs: int, keep: str,
        runs: Path,
    ) -> None:  # fmt: skip
        self.target = target
        self.lab = lab
        self.profile = chosen
        self.bounds = bounds
        self.seed = seed
        self.laws = laws
        self.jobs = jobs
        self.keep = keep
        self.runs = runs
        self.spoke = False
        self.failures: list[LabError] = []
        """Why processes ended that played trials, while others went on."""

    def run(self) -> tuple[int, Path, dict[str, object]]:
        """Explore; exit code, run folder and a JSON-able summary."""
        from pairproof.harness.commands.findings import Findings
        from pairproof.harness.explore import Explorer
        from pairproof.harness.runs.writer import RunWriter

        writer = RunWriter(self.runs / self._run_id(), self._facts())
        state, reason, interrupted, told = "failed", "the harness failed", False, Findings()
        try:
            with output.progress() as progress:
                explorer = Explorer(
                    self.lab,
                    self.target,
                    self.profile,
                    self.seed,
                    self.laws,
                    **self.bounds._asdict(),
                    jobs=self.jobs,
                    on_failure=lambda why: self._go_on(writer, why),
                    on_trial=lambda trial: self._take(writer, explorer, trial),
                    on_findings=lambda found: told.say([(each, writer.finding(each)) for each in found]),
                    progress=progress,
                )
                try:
                    explorer.run()
                    state, reason = ("failed", str(self.failures[0])) if self.failures else ("complete", "")
                except KeyboardInterrupt:
                    state, reason, interrupted = "interrupted", "interrupted by the user", True
        except BaseException as why:
            if isinstance(why, LabError):
                self._keep(writer, why)
            reason = str(why) or type(why).__name__
            raise
        finally:
            found = explorer.summary()
            # A run that stopped at a violation had no time for the rest.
            met: dict[str, object] = {name: [] for name in _DEMANDS} if self.bounds.first and found.findings else {}
            writer.coverage(found.coverage.rows())
            writer.close(
                state, reason=reason, seconds=round(found.seconds, 3), trials=found.trials, events=found.events,
                searches=found.searches(), **met,
            )  # fmt: skip
        standings = found.standings(Demands.of_facts(writer.facts))
        code = verdicts.exit_code(standings.values())
        output.say_verdict(
            self.target.name, self.lab, self.profile.name, self.seed, found, writer.folder, standings, told.sentence()
        )
        if code != EXIT_VIOLATED:
            # A trial that its lab did not finish might have shown something.
            code = INTERRUPTED if interrupted else EXIT_LAB if self.failures else code
        return code, writer.folder, self._summary(found, writer.folder, state, standings)

    def _go_on(self, writer: Any, why: LabError) -> None:
        self.failures.append(why)
        output.say(f"the lab of one of {self.jobs} processes failed, the others go on: {why}", "yellow")
        self._keep(writer, why)

    def _keep(self, writer: Any, why: LabError) -> None:
        kept = writer.failure(self.target.name, self.lab.name, why)
        if kept is not None:
            output.say(f"what there is of that trial: {kept}", "yellow")

    def _take(self, writer: Any, explorer: Any, trial: Any) -> None:
        writer.trial(trial, None)
        if not self.spoke and explorer.seconds_so_far() > FIRST_WORD_S:
            self.spoke = True
            output.say_first_word(explorer.summary())

    def _demands(self) -> dict[str, list[str]]:
        # A third party's law may find nothing in it.
        listed = registry.own("laws") if self.lab.deterministic else ()
        counted = Budget.of(self.profile, self.lab, self.bounds.seconds, self.bounds.trials).counts is not None
        by_corpus = [law.id for law in self.laws if law.id in listed]
        return dict(zip(_DEMANDS, (by_corpus, [law.id for law in self.laws] if counted else []), strict=True))

    def _run_id(self) -> str:
        stem = f"{datetime.now(UTC).strftime('%Y%m%dT%H%M%S')}-{self.lab.name}-{self.target.name.replace('+', '-')}"
        for number in range(1_000):
            name = f"{stem}-{number}" if number else stem
            # Unlike Path.exists, no error where the name is too long: creating it will say so.
            if not os.path.lexists(self.runs / name):
                return name
        raise UsageError(f"a thousand runs named {stem} exist in {self.runs}; remove some")

    def _facts(self) -> dict[str, object]:
        return {
            "command": ["pairproof", *sys.argv[1:]],
            "lab": self.lab.name,
            "target": self.target.name,
            "profile": self.profile.name,
            "seed": self.seed,
            "observes": sorted(self.lab.observes(self.target)),
            "laws": [law.id for law in self.laws],
            **self._demands(),
            "keep": "all" if self.keep == "all" else self.profile.keep_one_in,
        }

    def _summary(self, found: Any, folder: Path, state: str, standings: Any) -> dict[str, object]:
        return {
            "run": folder.name,
            "folder": str(folder),
            "state": state,
            "target": self.target.name,
            "lab": self.lab.name,
            "profile": self.profile.name,
            "seed": self.seed,
            "trials": found.trials,
            "corpus_trials": found.by_origin.get(verdicts.CORPUS, 0),
            "events": found.events,
            "seconds": round(found.seconds, 3),
            "shrinking_seconds": round(found.shrinking_s, 3),
            **{name: {"done": found.by_origin.get(name, 0), "of": total} for name, total in found.totals.items()},
            "coverage": {"counts": len(found.coverage.rows()), "gaps": _gaps(found.coverage, self.lab)},
            "laws": {law: str(verdict) for law, verdict in sorted(found.verdicts.items())},
            "remarks": {law: each.remark for law, each in sorted(standings.items()) if each.remark},
            "judged_in_trials": {law: found.exercised.get(law, 0) for law in sorted(found.verdicts)},
            "violated": sorted(law for law, verdict in found.verdicts.items() if verdict is Verdict.VIOLATED),
            "findings": [
                {
                    "law": each.law,
                    "text": each.text,
                    "cause": each.cause,
                    "program": each.schedule.program(),
                    "shrunk_in": each.shrunk_in,
                }
                for each in found.findings
            ],
        }


def _gaps(table: Any, lab: Any) -> dict[str, list[str]]:
    return {fault: [" ".join(pair) for pair in pairs] for fault, pairs in table.gaps(resolve.drawn(lab)).items()}


def _seconds(text: str) -> float:
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], text[-1]) if text[-1:] in units else (text, "s")
    try:
        seconds = float(number) * units[unit]
    except ValueError:
        raise UsageError(f"--time wants a number with s, m or h, such as 90s or 10m, not {text!r}") from None
    if not 0 < seconds <= 7 * 24 * 3600:
        raise UsageError(f"--time must be above 0 and at most 7 days, not {text!r}")
    return seconds
