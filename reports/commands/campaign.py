"""``pairproof campaign``: run many trials on many processes or machines, into one run folder."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...harness.commands import closing, options, output
from ...harness.commands.check import MAX_TRIALS, make_report
from ...harness.commands.exploration import Bounds, Request
from ...harness.commands.file import FileOnly, Typed
from ...harness.commands.helping import completes, example
from ...harness.errors import (
    EXIT_INTERRUPTED,
    EXIT_LAB,
    EXIT_UNKNOWN,
    CorruptRun,
    PairproofError,
    UsageError,
    interrupted,
    joined,
)
from ...harness.exploration.profiles import PROFILES, profile
from ...harness.judging import judge as judging
from ...harness.runs.locations import Place
from ...harness.texts import invocation
from ...harness.trials import resolve
from ..measures import LOCAL, SPARK

if TYPE_CHECKING:
    from ...harness.campaign.campaign import Campaign, Engine
    from ...harness.campaign.plan import Plan

EVERY_S = 5.0
DEFAULT = "deep"


@click.command("campaign", epilog=example("campaign --trials 10000 --engine local"))
@options.target
@options.lab
@click.option(
    "--profile",
    "profile_name",
    cls=FileOnly,
    shell_complete=completes(names=lambda: PROFILES),
    default=DEFAULT,
    show_default=True,
    help=f"Profile that sets search weights and history sampling: {', '.join(PROFILES)}.",
)
@click.option(
    "--trials", type=click.IntRange(1, MAX_TRIALS), default=100_000, show_default=True, help="Number of search trials."
)
@options.seed
@options.law
@click.option(
    "--engine",
    type=click.Choice(options.ENGINES),
    default=SPARK,
    show_default=True,
    help="Run on Spark executors or local processes.",
)
@click.option("--master", cls=Typed, metavar="URL", help="A Spark cluster's master; default: this machine.")
@options.jobs("With --engine local: chunks", default="all cores")
@click.option(
    "--resume",
    type=Place(),
    metavar="RUN_FOLDER",
    help="Resume an interrupted campaign; its options come from the run folder.",
)
@options.runs()
@options.report
@options.known_deviations
@options.summary
@output.json_option
@click.pass_context
def command(
    context: click.Context, /, resume: Path | None, engine: str, master: str | None, jobs: int | None, report: bool,
    report_engine: str, full: bool, json_to: str | None, **asked: Any,
) -> None:  # fmt: skip
    """Run a fixed number of trials in the simulation on all cores, or on a Spark cluster's machines.

    The same options and seed give the same trials, verdicts and findings on any number of machines, even if some of
    them were killed. The run's folder must be the same on all of them.

    Exit codes: as pairproof check; 130 if it was interrupted and can be resumed with --resume.
    """
    if master is not None and engine != SPARK:
        raise UsageError(f"--master is for --engine {SPARK}; leave one of them out")
    if jobs is not None and engine != LOCAL:
        raise UsageError(f"--jobs is for --engine {LOCAL}; with Spark, set the cores with --master 'local[N]'")
    if resume is not None:
        typed = click.core.ParameterSource.COMMANDLINE
        given = sorted(each for each in asked if context.get_parameter_source(each) == typed)
        if given:
            raise UsageError(f"--resume uses the options of the run folder; leave out {', '.join(given)}")
    campaign = _begun(**asked) if resume is None else _resumed(resume)
    with campaign, output.progress() as progress:
        campaign.said = Now(progress)
        campaign.damaged = lambda line: output.say(line, "yellow")
        code = _led(campaign, engine, master, jobs)
    code = _report_end(campaign, code, json_to, full)
    if report:
        code = joined(code, make_report(campaign.writer.folder, json_to, report_engine))
    sys.exit(code)


class Now:
    """Reports a campaign's progress, every few seconds: a chunk may take less."""

    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._due = 0.0

    def __call__(self, state: Any) -> None:
        if state.seconds >= self._due or state.trials == state.of:
            self._due = state.seconds + EVERY_S
            self._progress(state.trials, state.of, f"campaign: {state}")


def _begun(
    target_name: str, lab_name: str, profile_name: str, trials: int, seed: str | None, law_ids: tuple[str, ...],
    runs_folder: Path, known_deviations: str | None,
) -> Campaign:  # fmt: skip
    from ...harness.campaign import code
    from ...harness.campaign.campaign import Campaign
    from ...harness.campaign.plan import Plan, environment
    from ...harness.runs.writer import RunWriter, run_folder

    target, lab = resolve.target(target_name), resolve.lab(lab_name)
    laws = judging.laws(law_ids) if law_ids else judging.laws_for(target)
    chosen = profile(profile_name)
    plan = Plan(
        target.name, lab.name, chosen.name, options.seed_of(seed), trials, tuple(law.id for law in laws),
        str(chosen.keep_one_in), code.of(lab, target, laws),
    )  # fmt: skip
    # Refuse an impossible campaign before its folder exists.
    environment(plan)
    facts = {**_request(plan, known_deviations).facts(), "keep": chosen.keep_one_in, "campaign": plan.fact}
    return Campaign(RunWriter(run_folder(runs_folder, lab.name, target.name), facts), plan)


def _resumed(folder: Path) -> Campaign:
    from ...harness.campaign.campaign import Campaign
    from ...harness.runs.reader import read_facts

    resolve.check_named_by_file(str(read_facts(folder).get("target")), "start that campaign again")
    return Campaign.resumed(folder)


def _request(plan: Plan, known_deviations: str | None = None) -> Request:
    return Request(
        resolve.target(plan.target), resolve.lab(plan.lab), profile(plan.profile), Bounds(None, plan.trials, False),
        plan.seed, judging.laws(plan.laws), 1, "sample", Path(), known_deviations=known_deviations,
    )  # fmt: skip


def _led(campaign: Campaign, engine: str, master: str | None, jobs: int | None) -> int | None:
    how = f"resume with {invocation.line('campaign --resume', campaign.writer.folder)}"
    try:
        with _engine(campaign, engine, master, jobs) as players:
            campaign.lead(players)
        campaign.close()
    except KeyboardInterrupt as why:
        campaign.close("interrupted", interrupted(why))
        output.say(f"interrupted; {how}", "yellow")
        return EXIT_INTERRUPTED
    except PairproofError as why:
        campaign.close("failed", str(why))
        output.say(f"the campaign failed: {why}; {how}", "red")
        return EXIT_UNKNOWN if isinstance(why, CorruptRun) else EXIT_LAB
    return None


@contextlib.contextmanager
def _engine(campaign: Campaign, engine: str, master: str | None, jobs: int | None) -> Iterator[Engine]:
    if engine == LOCAL:
        from ...harness.campaign.local import Local

        yield Local(campaign.plan, jobs or options.default_jobs(True, campaign.plan.trials))
        return
    from ..campaigning import on_spark

    with on_spark(master) as players:
        yield players


def _report_end(campaign: Campaign, code: int | None, json_to: str | None, full: bool) -> int:
    from ...harness.commands.findings import Findings
    from ..make import assembled

    request, facts = _request(campaign.plan), campaign.writer.facts
    request.full = full
    state = Findings(resolve.system_of(request.target))
    for each, path in campaign.findings:
        state.say([(each, path)])
    _, last, summary = request.print(campaign.writer, campaign.summary(), state)
    recorded = assembled([campaign.writer.folder])
    for line in last or [closing.nothing_judged(facts, str(facts.get("reason") or facts["state"]))]:
        output.say(*line)
    if json_to is not None:
        output.write_json(summary, json_to)
    return joined(code or 0, recorded.exit_code)
