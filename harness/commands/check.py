"""``pairproof check``: explore a target in a lab, judge every trial, report violations, and write a run folder."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import click

from .. import registry
from ..errors import EXIT_LAB, UsageError, joined
from ..exploration.profiles import KNOWN_BUGS, PROFILES, REAL_TIME_LABS, default, profile
from ..search.known_bugs import ALL, NONE, WHICH
from ..trials import resolve
from ..trials.schedule_json import check_text
from . import options, output, suite
from .exploration import Bounds, Request
from .file import FileOnly
from .helping import completes, example

MAX_PATH_CHARS = 4_096
MAX_TRIALS = 100_000_000


@click.command("check", epilog=example("check --target rocketmq@4.9.7 --lab process --report"))
@options.target
@options.lab
@options.configuration
@click.option(
    "--profile",
    "profile_name",
    shell_complete=completes(names=lambda: PROFILES),
    default=None,
    help=f"One of {', '.join(PROFILES)}. [default: {default(True)}; {default(False)} in {REAL_TIME_LABS}]",
)
@click.option("--time", "time_text", default=None, help="Time limit of the command, such as 90s or 10m.")
@click.option(
    "--trials",
    type=click.IntRange(1, MAX_TRIALS),
    default=None,
    help="Limit the searches by trials: in sim the same seed then gives the same trials and verdicts. With --time too, "
    "fewer trials in that time are unknown: exit code 3.",
)
@click.option(
    "--known-bugs",
    cls=FileOnly,
    type=click.Choice(WHICH),
    default=None,
    help=f"Programs of known bugs to play, in {REAL_TIME_LABS} only; generic: exclude those taken from real systems. "
    f"[default: {ALL}]",
)
@click.option("--first", is_flag=True, help="Stop at the first violation, and shrink it.")
@options.seed
@options.law
@options.jobs("Trials", default="all cores in the simulation, three for each core in labs with real time")
@click.option(
    "--keep",
    cls=FileOnly,
    type=click.Choice(["sample", "all"]),
    default="sample",
    show_default=True,
    help="Histories to keep; a profile's sample may be all.",
)
@options.runs()
@options.report
@click.option(
    "--cases",
    type=click.Path(exists=True, path_type=Path),
    metavar="FOLDER",
    help="Play these regression cases first, on the target and in the lab of this run.",
)
@click.option(
    "--junit",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write JUnit XML, for a build server.",
)
@options.known_deviations
@options.summary
@output.json_option
def command(
    report: bool, report_engine: str, full: bool, cases: Path | None, junit: Path | None, json_to: str | None,
    **asked: Any,
) -> None:  # fmt: skip
    """Explore a replicated pair with generated operations and faults, and judge every history.

    The simulator first plays a small fixed corpus, then the searches until their limit.

    Exit codes: 0 every law holds; 1 a law is violated (with --known-deviations fail also if only as a known deviation);
    2 usage; 3 unknown: a law could not be decided, a law that the corpus or the profile demands had nothing to judge,
    or the searches missed the profile's coverage minimums; 4 the lab failed. --report makes the report for every code
    but 2.
    """
    request = _request(**asked)
    output.say_plugins()
    request.full, request.reported = full, report
    if junit is not None:
        output.writable(junit, "--junit")
    if cases is not None:
        request.cases = _played(cases, asked["target_name"], asked["lab_name"])
    outcome = request.run()
    if json_to is not None:
        output.write_json(outcome.summary, json_to)
    code = joined(outcome.code, suite.code(request.cases))
    if junit is not None:
        _made("show", outcome.folder, json_to, "--junit", str(junit))
    if report:
        code = joined(code, make_report(outcome.folder, json_to, report_engine))
    if outcome.lab_failed is not None and code != EXIT_LAB:
        output.say(f"the lab failed: {outcome.lab_failed}", "yellow")
    for line in outcome.last_lines:
        output.say(*line)
    if outcome.lab_failed is not None and code == EXIT_LAB:
        raise outcome.lab_failed
    sys.exit(code)


def _request(
    target_name: str, lab_name: str, master_conf: Path | None, slave_conf: Path | None, typed: tuple[str, ...],
    profile_name: str | None, time_text: str | None, trials: int | None, known_bugs: str | None, first: bool,
    seed: str | None, law_ids: tuple[str, ...], jobs: int | None, keep: str, runs_folder: Path,
    known_deviations: str | None,
) -> Request:  # fmt: skip
    """The requested run. UsageError if the options contradict each other or a name does not exist."""
    from ..judging import judge as judging

    seed = options.seed_of(seed)
    # Parquet's writer accepts no other names.
    check_text(str(runs_folder), "--runs", MAX_PATH_CHARS)
    lab = resolve.lab(lab_name)
    if jobs is None:
        jobs = options.default_jobs(lab.deterministic, trials)
    if known_bugs is not None and lab.deterministic:
        raise UsageError(f"known-bugs is for {REAL_TIME_LABS}, not for {lab_name}; leave it out")
    chosen = profile(profile_name or default(lab.deterministic))
    if (chosen.name, known_bugs) == (KNOWN_BUGS, NONE):
        raise UsageError(f"known-bugs = {NONE} leaves profile {KNOWN_BUGS} nothing to play; leave one of them out")
    target = options.configured(target_name, master_conf, slave_conf, typed)
    resolve.check_pair(lab, target)
    seconds = options.seconds(time_text) if time_text is not None else None
    return Request(
        target,
        lab,
        chosen,
        Bounds(seconds, trials, first, known_bugs or ALL),
        seed,
        judging.laws(law_ids) if law_ids else judging.laws_for(target),
        jobs,
        keep,
        runs_folder,
        known_deviations=known_deviations,
    )


def make_report(folder: Path, json_to: str | None, engine: str) -> int:
    """Make the report of a run that has just ended; return its exit code."""
    return _made("report", folder, json_to, "--engine", engine)


def recorded(folder: Path) -> int:
    """The exit code of a recorded run, from a silent ``show``."""
    return _made("show", folder, None, "--json", os.devnull)


def _played(cases: Path, target: str, lab: str) -> list[suite.Result]:
    # Standard output may belong to the JSON answer.
    with contextlib.redirect_stdout(sys.stderr):
        found = suite.executed(suite.files([cases]), target, lab, None)
        suite.show(found)
    return found


def _made(command: str, folder: Path, json_to: str | None, *options: str) -> int:
    """Run another command on a run folder; return its exit code."""
    make: Any = registry.find("commands", command)
    # Standard output belongs to the JSON answer if that goes there.
    redirected = contextlib.redirect_stdout(sys.stderr) if json_to == output.STDOUT else contextlib.nullcontext()
    try:
        # Not its main(), which turns a broken pipe into exit code 1: violated.
        with redirected, make.make_context(command, [*options, "--", str(folder)]) as context:
            made = make.invoke(context)
    except click.exceptions.Exit as ended:
        made = ended.exit_code
    return made if isinstance(made, int) else 0
