"""``pairproof report``: Spark tables, pages, JSON, JUnit XML and a Markdown summary of any number of recorded runs."""

from __future__ import annotations

import webbrowser
from itertools import count
from pathlib import Path

import click

from pairproof.harness.commands import output
from pairproof.harness.errors import EXIT_HOLDS, EXIT_UNKNOWN

RUNS = Path("runs")
STEPS = 16


@click.command("report")
@click.argument("run_folders", nargs=-1, metavar="[RUN_FOLDER]...")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the report goes; default: the folder report in the run's, or runs/report-N for several runs.",
)
@click.option("--open/--no-open", "open_it", default=False, help="Show the first page in the browser.")
@click.option("--rejudge", is_flag=True, help="Judge every kept history again, in Spark, and compare.")
@click.option("--master", metavar="URL", help="A Spark cluster's master; default: this machine.")
@output.json_option
@click.pass_context
def command(
    context: click.Context,
    run_folders: tuple[str, ...],
    out: Path | None,
    open_it: bool,
    rejudge: bool,
    master: str | None,
    json_to: str | None,
) -> None:
    """Make the report of recorded runs; without an argument, of the newest under runs/.

    Its summary.md is also appended to the file that the environment variable GITHUB_STEP_SUMMARY names, if it does.
    The last line is the path of the report's first page. Exit codes: 0 made, 3 made but a run folder was corrupt and
    left out (the runs' own verdicts are not repeated here), 2 usage, 4 Spark failed.
    """
    from pairproof.harness.runs.reader import LATEST, resolve_run
    from pairproof.reports.make import make_report

    folders = [resolve_run(name, RUNS) for name in run_folders or (LATEST,)]
    with output.progress() as progress:
        steps = count(1)
        made = make_report(
            folders,
            out or default_out(folders),
            rejudge=rejudge,
            master=master,
            said=lambda step: progress(min(next(steps), STEPS), STEPS, f"making the report: {step}"),
        )
    for each in made.corrupt:
        click.echo(f"left out {each['folder']}: {each['reason']}", err=True)
    if made.missing:
        click.echo(made.missing, err=True)
    if json_to is not None:
        output.write_json(made.report.to_json(), json_to)
    else:
        click.echo(made.report.headline)
    # A JSON answer on standard output must stay JSON.
    click.echo(made.path.absolute(), err=json_to == output.STDOUT)
    if open_it and made.first_page is not None:
        webbrowser.open(made.first_page.absolute().as_uri())
    context.exit(EXIT_UNKNOWN if made.corrupt else EXIT_HOLDS)


def default_out(folders: list[Path]) -> Path:
    """``report`` within the only run's folder, or the first unused ``runs/report-N``."""
    if len(folders) == 1:
        return folders[0] / "report"
    return next(path for number in count(1) if not (path := RUNS / f"report-{number}").exists())
