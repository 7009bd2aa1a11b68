"""``pairproof report``: make tables, pages, JSON, JUnit XML and a Markdown summary from recorded runs."""

import os
import webbrowser
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...harness.commands import output
from ...harness.commands.file import Typed
from ...harness.commands.helping import example
from ...harness.commands.options import ENGINES, RUNS
from ...harness.errors import UsageError
from ...harness.runs.locations import is_remote
from ..measures import LOCAL

if TYPE_CHECKING:
    from ..make import Made

STEPS = 5


@click.command("report", epilog=example("report latest"))
@click.argument("run_folders", nargs=-1, metavar="[RUN_FOLDER]...")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the report; default: report/ in the run's folder, or runs/report-N for several runs.",
)
@click.option("--open/--no-open", "open_it", default=False, help="Show the first page in the browser.")
@click.option(
    "--rejudge/--no-rejudge", default=True, show_default=True, help="Judge every recorded history again, and compare."
)
@click.option("--compare", is_flag=True, help="Report the changes between two runs, the earlier one first.")
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default=ENGINES[0],
    show_default=True,
    help="Engine: Spark, or this process (seconds, for local runs). Same output.",
)
@click.option("--master", cls=Typed, metavar="URL", help="A Spark cluster's master; default: this machine.")
@output.json_option
@click.pass_context
def command(
    context: click.Context,
    run_folders: tuple[str, ...],
    out: Path | None,
    open_it: bool,
    rejudge: bool,
    compare: bool,
    engine: str,
    master: str | None,
    json_to: str | None,
) -> None:
    """Make the report of recorded runs; by default of the newest under runs/.

    A run folder may be a URL (s3a://bucket/runs/RUN); a folder of runs stands for all of them. Runs with the same
    target, lab, profile and configuration are judged by the newest complete one; the page of runs shows all.

    If the environment variable GITHUB_STEP_SUMMARY names a file, summary.md is also appended to it; in GitHub's builds
    (GITHUB_ACTIONS) each cause of a finding is annotated. The last line of the output is the path of the report's first
    page.

    Exit codes: 0 all holds; 1 a law is violated, in the runs or in their rejudged histories, or a scenario's
    expectation was not met; 2 usage; 3 unknown, a rejudged verdict that differs, a missing or damaged history, an
    incomplete run, or an unreadable run folder, which is left out (if none can be read, nothing is written); 4 the lab
    failed in a run, or Spark failed.
    """
    from ...harness.runs.reader import LATEST, resolve_runs
    from ..make import make_report

    if engine == LOCAL and master is not None:
        raise UsageError("--master is for --engine spark; leave one of them out")
    if compare and len(run_folders) != 2:
        raise UsageError(f"--compare needs two runs, the earlier one first, not {len(run_folders)}")
    folders = [each for name in run_folders or (LATEST,) for each in resolve_runs(name, RUNS)]
    with output.progress() as progress:
        steps = count(1)
        made = make_report(
            folders,
            out or default_out(folders),
            rejudge=rejudge,
            compare=compare,
            engine=engine,
            master=master,
            on_step=lambda step: progress(min(next(steps), STEPS), STEPS, f"making the report: {step}"),
        )
    _say(made, json_to)
    if open_it:
        webbrowser.open(made.first_page.absolute().as_uri())
    context.exit(made.exit_code)


def _say(made: "Made", json_to: str | None) -> None:
    from .. import annotations, trend

    for each in made.corrupt:
        output.echo(f"left out {each['folder']}: {each['reason']}", err=True)
    for line in made.warnings:
        output.echo(line, err=True)
    for line in annotations.lines(made.report, os.environ):
        output.echo(line, err=True)
    if made.without_spark:
        output.echo(made.without_spark, err=True)
    if json_to is not None:
        output.write_json(made.report.to_json(), json_to)
    else:
        output.echo(made.report.headline)
        if made.report.compared:
            output.echo(made.report.compared["told"])
        else:
            for line in trend.sentences(made.report.trend):
                output.echo(line)
    # JSON on standard output must stay JSON.
    output.echo(made.first_page.absolute(), err=json_to == output.STDOUT)


def default_out(folders: list[Path]) -> Path:
    """``report`` within the only run's folder, or the first unused ``runs/report-N``, also for remote runs."""
    if len(folders) == 1 and not is_remote(folders[0]):
        return folders[0] / "report"
    return next(path for number in count(1) if not (path := RUNS / f"report-{number}").exists())
