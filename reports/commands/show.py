"""``pairproof show``: the result of recorded runs on the terminal, or as JUnit XML, Markdown or JSON, without pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...harness.commands import output
from ...harness.commands.closing import LOOK, by_group, rank
from ...harness.commands.helping import example
from ...harness.commands.options import RUNS, summary
from ...harness.texts.wording import counted

if TYPE_CHECKING:
    from ...harness.runs.schema import Row
    from ..model import Report

MAX_CAUSES = 20
"""Findings shown, one per cause."""

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("show", epilog=example("show latest --junit junit.xml"))
@click.argument("run_folders", nargs=-1, metavar="[RUN_FOLDER]...")
@click.option("--junit", type=FILE, metavar="FILE", help="Write JUnit XML, for a build server.")
@click.option("--markdown", type=FILE, metavar="FILE", help="Write a summary in Markdown.")
@summary
@output.json_option
@click.pass_context
def command(
    context: click.Context, run_folders: tuple[str, ...], junit: Path | None, markdown: Path | None,
    json_to: str | None, full: bool,
) -> None:  # fmt: skip
    """Show the result of recorded runs; by default of the newest under runs/.

    Run folders may be URLs; a folder of runs stands for all of them. Nothing is rejudged, and no page is made: see
    pairproof report. With --junit, --markdown or --json only these are written.

    Exit codes: as pairproof report.
    """
    from ...harness.runs.reader import LATEST, resolve_runs
    from .. import junit as as_junit
    from .. import summary as as_markdown
    from ..make import assembled

    report = assembled(each for name in run_folders or (LATEST,) for each in resolve_runs(name, RUNS))
    for each in report.corrupt:
        output.echo(f"left out {each['folder']}: {each['reason']}", err=True)
    writers: tuple[tuple[Path | None, Callable[[Report, Path], None]], ...]
    writers = ((junit, as_junit.write), (markdown, as_markdown.write))
    for file, write in writers:
        if file is not None:
            write(report, file)
    if json_to is not None:
        output.write_json(report.to_json(), json_to)
    if (junit, markdown, json_to) == (None, None, None):
        _say(report, full)
    context.exit(report.exit_code)


def _say(report: Report, full: bool) -> None:
    from ..examined import is_amber

    for run in report.runs:
        facts = f"{run['target']} in {run['lab']}, {counted(run['trials'] or 0, 'trial')}, {run['state']}"
        output.say(f"{run['run']}: {run['verdict']} ({facts})", output.colour(run["verdict"], is_amber(run)))
        own = [row for row in report.by_run if row["run"] == run["run"]]
        if rows := _rows(own if full else [row for row in own if row["verdict"] in LOOK]):
            output.table("", ("law", "verdict", "violated", "judged in trials", ""), rows)
        for line in by_group({row["law"]: row["verdict"] for row in own}):
            output.say(line)
        if run["untried"]:
            output.say(run["untried"], output.AMBER)
    if report.scenarios:
        rows = [(row["name"], row["verdict"], "; ".join(row["reasons"])) for row in report.scenarios]
        output.table("Scenarios", ("scenario", "verdict", "why"), rows)
    by_number = {row["number"]: row for row in report.findings}
    for cause in report.causes[:MAX_CAUSES]:
        _say_finding(by_number[cause["first"]], cause["laws"][1:])
    if len(report.causes) > MAX_CAUSES:
        output.say(f"{len(report.causes) - MAX_CAUSES} more causes; pairproof report shows all")
    output.say(report.headline, output.colour(report.verdict, report.amber))


def _rows(found: Sequence[Row]) -> list[tuple[Any, ...]]:
    return [
        (
            row["law"],
            row["verdict"],
            f"{row['violated']:,}",
            f"{row['exercised']:,} of {row['trials']:,}",
            row["remark"],
        )
        for row in sorted(found, key=lambda row: (rank(row["verdict"]), row["law"]))
    ]


def _say_finding(row: Row, others: Sequence[str]) -> None:
    output.say(f"violated: {row['law']}: {row['text']}", output.COLOURS["violated"])
    if others:
        output.say(f"  from the same cause: {', '.join(others)}")
    for number, line in enumerate(row["program"], 1):
        output.say(f"  {number:3d}  {line}")
    for line in filter(None, (row["replay"], row["autopsy"])):
        output.say(f"  {line}")
