"""``pairproof replay``: execute the minimal program of a finding again, and report whether it still violates its law.

A deterministic lab executes it once, since the history is the same. Another lab executes it several times and reports
how many executions showed the violation. By default it runs in the lab that shrunk it. ``--target`` plays the program
on another target (a mutant's correct original, say). ``--write-report`` writes the finding up for the system's
maintainers (:mod:`pairproof.harness.writeup`).
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Container
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import LabError, UsageError
from ..exploration.profiles import REAL_TIME_LABS
from ..runs.locations import Place
from ..texts import folding
from ..texts.wording import counted
from ..trials import resolve
from .helping import complete_targets, completes, example
from .output import console, json_option, say, write_json

if TYPE_CHECKING:
    from ..history import Event
    from ..judging.verdict import Judgement
    from ..ports import Lab, Target
    from ..trials.trial import Finding, Trial

MAX_EVENT_LINES = 5_000
MAX_REPEATS = 100


@click.command("replay", epilog=example("replay runs/RUN/findings/FINDING.json --target reference"))
@click.argument("named", nargs=-1, required=True, type=Place(), metavar="FINDING.json...")
@click.option("--target", shell_complete=complete_targets, help="Run it against this target instead of the finding's.")
@click.option("--lab", shell_complete=completes("labs"), help="Run it in this lab instead of the finding's.")
@click.option(
    "--repeat",
    type=click.IntRange(1, MAX_REPEATS),
    help=f"Number of executions. [default: 1; 3 in {REAL_TIME_LABS}]",
)
@click.option(
    "--write-report",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write the finding up for the system's maintainers, as Markdown and HTML, into a new folder.",
)
@click.option("--events", is_flag=True, help="Print the history, one event per line.")
@json_option
def command(
    named: tuple[Path, ...],
    target: str | None,
    lab: str | None,
    repeat: int | None,
    folder: Path | None,
    events: bool,
    json_to: str | None,
) -> int:
    """Execute the program of FINDING.json again; for several files or a folder, report on each.

    FINDING.json may also be a trial in which a lab failed (failures/NNNN.json of a run). Process logs are kept in
    DIR/logs with --write-report, otherwise in FINDING.logs beside FINDING.json. The number of reproductions is recorded
    in the run folder, for its report.

    With several files each is REPRODUCED, FLAKY (violated in some executions only), FIXED (its law was judged and
    held), or UNKNOWN; only the law of each case counts.

    Exit codes: 0 all laws hold, or only known deviations of the tested version show; with several files, all are fixed;
    1 a law is violated in another way; 3 unknown; 4 the lab failed.
    """
    from . import suite

    if len(named) > 1 or named[0].is_dir():
        if folder is not None or events:
            raise UsageError("--write-report and --events are for one finding; name one file")
        return suite.play(suite.files(named), target, lab, repeat, json_to)
    return _one(named[0], target, lab, repeat, folder, events, json_to)


def _one(
    finding: Path, target: str | None, lab: str | None, repeat: int | None, folder: Path | None, events: bool,
    json_to: str | None,
) -> int:  # fmt: skip
    from ..judging import judge
    from ..runs.reader import named_finding, to_finding
    from ..writeup.account import Executed
    from ..writeup.files import check_folder, write

    found = to_finding(named_finding(finding))
    known = asked(found, target, lab)
    # A law that is not registered would otherwise read as not violated.
    judge.laws([known.law] if known.law else [])
    if folder is not None:
        check_folder(known, folder)
    chosen_lab, tested = resolved(known)
    trials, failed = executions(finding, known, repeat, target in (None, found.target) and lab is None)
    _keep_logs(folder / "logs" if folder is not None else finding.with_suffix(".logs"), trials, failed)
    if failed is not None and not trials:
        raise failed
    if folder is not None:
        done = Executed(known, tested, chosen_lab, trials, exemplary(known, trials), str(failed or ""))
        for path in write(done, folder):
            say(f"written: {path}")
    if json_to is not None:
        write_json(answer(known, trials, events), json_to)
    if json_to != "-":
        _print(known, trials, events)
    if failed is not None:
        raise failed
    return _exit_code(tested, trials)


def _keep_logs(folder: Path, trials: list[Trial], failed: LabError | None) -> None:
    from ..writeup.files import keep_logs

    logs = keep_logs(folder, [*trials, *([failed.trial] if failed is not None and failed.trial is not None else [])])
    if logs:
        say(f"logs of {len(logs)} processes: {folder}")


def _exit_code(target: Target, trials: list[Trial]) -> int:
    """The exit code of all executions; known deviations of the target do not count as violations."""
    from ..judging import deviations, verdict

    listed = deviations.of(target)
    judged = (each for trial in trials for each in deviations.sorted_out(trial.judgements, trial.events, listed))
    return verdict.exit_code(verdict.Standing(each.verdict) for each in judged)


def asked(finding: Finding, target: str | None, lab: str | None) -> Finding:
    """The finding with the requested target and lab. UsageError without a requested target if a file must not choose
    that of the finding.
    """
    if target is None:
        resolve.check_named_by_file(finding.target, f"if you trust them, give --target {shlex.quote(finding.target)}")
    return finding._replace(target=target or finding.target, lab=lab or finding.shrunk_in or finding.lab)


def executions(
    path: Path, finding: Finding, repeat: int | None, unchanged: bool
) -> tuple[list[Trial], LabError | None]:
    """Execute a finding from :func:`asked` with :func:`execute`, and record the number of reproductions in its run.

    ``unchanged``: on the finding's own target and lab; only then a result is recorded.
    """
    from ..runs import replays
    from ..search.repeated import REPEATS

    lab, tested = resolved(finding)
    trials, failed = execute(finding, lab, tested, repeat or (1 if lab.deterministic else REPEATS))
    if trials and finding.law and unchanged:
        replays.add(path, finding.lab, finding.target, len(trials), sum(reproduced(finding, each) for each in trials))
    return trials, failed


def resolved(finding: Finding) -> tuple[Lab, Target]:
    """The lab and the target. UsageError if the lab does not run the target."""
    lab, tested = resolve.lab(finding.lab), resolve.target(finding.target)
    resolve.check_pair(lab, tested)
    return lab, tested


def execute(finding: Finding, lab: Lab, target: Target, times: int) -> tuple[list[Trial], LabError | None]:
    """The executions, and the error if the lab failed, in which case there are fewer.

    Known deviations are not sorted out: the question is only whether the finding shows again.
    """
    from ..trials.interpreter import run_trial

    trials: list[Trial] = []
    for number in range(times):
        try:
            trials.append(run_trial(lab, target, finding.schedule, number=number, known=()))
        except LabError as why:
            return trials, why
    return trials, None


def exemplary(finding: Finding, trials: list[Trial]) -> Trial:
    """The execution to show: the first that violates the finding's law, else the first that violates any law, else the
    first.
    """
    others = next((each for each in trials if each.violated), trials[0])
    return next((each for each in trials if reproduced(finding, each)), others)


def reproduced(finding: Finding, trial: Trial) -> bool:
    """Whether the finding's own law is violated again."""
    return trial.violates(finding.law)


def answer(finding: Finding, trials: list[Trial], events: bool) -> dict[str, object]:
    """The value for ``--json``; of several executions it shows that of :func:`exemplary`."""
    trial = exemplary(finding, trials)
    found: dict[str, object] = {
        "law": finding.law,
        "target": finding.target,
        "lab": finding.lab,
        "program": finding.schedule.program(),
        "reproduced": reproduced(finding, trial),
        "executed": len(trials),
        "showed": sum(reproduced(finding, each) for each in trials),
        "verdicts": {each.law: str(each.verdict) for each in trial.judgements},
        "violations": [
            {"law": each.law, **one._asdict()} for each in trial.violated for one in each.violations
        ],
        "skipped": list(trial.skipped),
        "events": len(trial.events),
    }  # fmt: skip
    if events:
        found["history"] = [each._asdict() for each in trial.events]
    return found


def _print(finding: Finding, trials: list[Trial], events: bool) -> None:
    out, trial = console(), exemplary(finding, trials)
    what = finding.law or "a lab that failed,"
    out.print(f"{what} on {finding.target} in {finding.lab}, seed {finding.schedule.seed!r}")
    settings = ", ".join(f"{key}={value}" for key, value in finding.schedule.settings.items())
    out.print(f"  settings: {settings or 'the defaults'}")
    for line in folding.shown(finding.schedule.program()):
        out.print(f"    {line}", soft_wrap=True)
    for reason in trial.skipped:
        out.print(f"skipped: {reason}", style="yellow", soft_wrap=True)
    if events:
        the = resolve.system_of(resolve.target(finding.target)).the
        broken = {one.seq for each in trial.violated for one in each.violations}
        for event in trial.events[:MAX_EVENT_LINES]:
            out.print(event_line(event, the, broken), soft_wrap=True)
        if len(trial.events) > MAX_EVENT_LINES:
            out.print(f"... and {len(trial.events) - MAX_EVENT_LINES} more")
        out.print("--events --json FILE writes every column of each event")
    for each in trial.violated:
        _print_violations(each)
    if len(trials) > 1 and finding.law:
        out.print(f"{finding.law} was violated in {sum(reproduced(finding, each) for each in trials)} of {len(trials)}")
    out.print(*_outcome(finding, trial), soft_wrap=True)


def _print_violations(judgement: Judgement) -> None:
    out = console()
    out.print(f"violated: {judgement.law} ({counted(judgement.broken, 'time')})", style="bold red")
    for one in judgement.violations:
        out.print(f"  at {one.t / 1e6:.3f} ms, event {one.seq}: {one.text}", soft_wrap=True)


def _outcome(finding: Finding, trial: Trial) -> list[str]:
    if not finding.law:
        return [f"the lab did not fail this time; the recorded failure: {finding.text}"]
    doubtful = ", ".join(f"{each.law} ({each.doubt})" for each in trial.judgements if each.verdict == "unknown")
    unknown = f"; unknown: {doubtful}" if doubtful else ""
    if reproduced(finding, trial):
        return [f"reproduced: {finding.law} is violated again{_as_known(finding, trial)}{unknown}"]
    others = [each.law for each in trial.violated]
    if others:
        return [f"not reproduced: {finding.law} is not violated, but {', '.join(others)}{unknown}"]
    return [f"not reproduced: no law is violated{unknown}"]


def _as_known(finding: Finding, trial: Trial) -> str:
    from ..judging import deviations

    known = deviations.of_named(finding.target)
    found = [each for each in deviations.sorted_out(trial.judgements, trial.events, known) if each.law == finding.law]
    named = ", ".join(name for each in found for name in each.deviations)
    return f"; known: {named} (pairproof deviations)" if named else ""


def event_line(event: Event, the: Callable[[str | None], str], broken: Container[int] = ()) -> str:
    """One event as a short line: number, time and description; marked if a law is violated there."""
    mark = ">" if event.seq in broken else " "
    return f"{mark} {event.seq:6d} {event.t / 1e6:12.3f} ms  {event.words(the)}"
