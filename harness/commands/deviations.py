"""``pairproof deviations``: list the known deviations of real systems, and play the program that shows one.

Data files (:mod:`harness.judging.deviations`) list the laws that a version is known to break. These do not make
``check`` or ``chaos run`` red. Only the stored program shows whether a version still has a deviation: a search may not
meet it.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import click

from ..errors import EXIT_HOLDS, EXIT_UNKNOWN, EXIT_VIOLATED, UsageError
from ..judging import deviations
from ..judging.deviations import Deviation
from ..judging.disturbances import STALLED
from ..judging.verdict import Verdict
from ..trials import resolve
from ..trials.retry import until_decided
from ..trials.trial import Trial
from . import options
from .helping import Group, complete_targets, completes, example
from .output import json_option, say, table, write_json

MAX_REPLAYS = 100
THERE, GONE, UNKNOWN = "still there", "gone", "unknown"
CODES = {THERE: EXIT_HOLDS, GONE: EXIT_VIOLATED, UNKNOWN: EXIT_UNKNOWN}


@click.group("deviations", cls=Group, epilog=example("deviations --target rocketmq@4.9.7"), invoke_without_command=True)
@click.option(
    "--target",
    "target_name",
    default=None,
    shell_complete=complete_targets,
    help="Only the known deviations of this target.",
)
@json_option
@click.pass_context
def command(ctx: click.Context, target_name: str | None, json_to: str | None) -> None:
    """List known deviations: the laws that versions of real systems are known to break."""
    if ctx.invoked_subcommand is not None:
        if json_to is not None or target_name is not None:
            raise UsageError(f"--target and --json belong after {ctx.invoked_subcommand}")
        return
    known = deviations.every().values() if target_name is None else deviations.of(resolve.target(target_name))
    if json_to is not None:
        write_json([_as_json(each) for each in known], json_to)
        return
    rows = [
        (
            each.id,
            each.about,
            f"{each.node} {_versions(each)}",
            ", ".join(each.laws),
            "; ".join(each.upstream) or "none",
        )
        for each in known
    ]
    table("", ("deviation", "behaviour", "by", "laws", "upstream"), rows)


def _versions(known: Deviation) -> str:
    return " or ".join(each.text for each in known.versions)


def _as_json(known: Deviation) -> dict[str, object]:
    return known.to_json() | {
        "reason": known.reason.strip(), "source": known.source, "system": known.system, "laws": known.laws,
        "models": list(known.models), "program": known.schedule().program() if known.program else [],
    }  # fmt: skip


@command.command(
    "check", epilog=example("deviations check first-report-believed --target rocketmq@4.9.7 --lab process")
)
@click.argument("name", metavar="ID", shell_complete=completes(names=deviations.every))
@options.target
@options.lab
@click.option(
    "--replays",
    type=click.IntRange(1, MAX_REPLAYS),
    default=1,
    show_default=True,
    help="Number of executions of its program.",
)
@json_option
def check(name: str, target_name: str, lab_name: str, replays: int, json_to: str | None) -> None:
    """Play the stored program of the deviation ID, and report in how many trials it shows.

    The target may be a version without this known deviation, to find out whether it has it.

    Exit codes: 0 it is still there; 1 it is gone: no trial showed it; 2 usage; 3 unknown: no trial showed it, and the
    lab left out a part of the program or a law could not decide; 4 the lab failed.
    """
    from ..trials.interpreter import run_trial

    known, lab, target = deviations.find(name), resolve.lab(lab_name), resolve.target(target_name)
    resolve.check_pair(lab, target)
    schedule = known.schedule()

    def play() -> Trial:
        return run_trial(lab, target, schedule, known=(known,))

    trials = [until_decided(play, lambda trial: _is_spoilt(known, trial))[0] for _ in range(replays)]
    found = outcome(known, trials)
    if json_to is not None:
        write_json(found, json_to)
    say(f"{name} on {target_name} in {lab_name}: {found['outcome']}, shown in {found['shown']} of {replays}")
    for line in (*schedule.program(), *found["why"]):
        say(f"  {line}")
    sys.exit(CODES[found["outcome"]])


def outcome(known: Deviation, trials: list[Trial]) -> dict[str, Any]:
    """The result of its program's trials: ``outcome``, ``shown`` of ``trials``, ``laws``, and ``why`` it is unknown."""
    laws = Counter(each.law for trial in trials for each in trial.judgements if known.id in each.deviations)
    shown = sum(_shows(known, trial) for trial in trials)
    why = list(dict.fromkeys(line for trial in trials for line in _doubts(known, trial))) if not shown else []
    state = THERE if shown else UNKNOWN if why else GONE
    return {"id": known.id, "outcome": state, "shown": shown, "trials": len(trials), "laws": dict(laws), "why": why}


def _shows(known: Deviation, trial: Trial) -> bool:
    return any(known.id in each.deviations for each in trial.judgements)


def _is_spoilt(known: Deviation, trial: Trial) -> bool:
    """Whether stalls of this machine may have hidden the deviation."""
    doubts = [each.doubt or "" for each in trial.judgements if each.law in known.laws]
    return not _shows(known, trial) and any(each.startswith(STALLED) for each in doubts)


def _doubts(known: Deviation, trial: Trial) -> list[str]:
    """The reasons why a trial that did not show the deviation does not prove it gone."""
    own = [each for each in trial.judgements if each.law in known.laws]
    by_law = {each.law: each.verdict for each in own}
    doubts = [f"{each.law} could not decide: {each.doubt}" for each in own if each.verdict is Verdict.UNKNOWN]
    if by_law and not {Verdict.HOLDS, Verdict.VIOLATED, Verdict.UNKNOWN} & set(by_law.values()):
        blind = set(by_law.values()) == {Verdict.NOT_OBSERVABLE}
        doubts.append(f"{'not observable here' if blind else 'nothing to judge'}: {', '.join(by_law)}")
    idle = [f"{each.name} had no effect" for each in trial.faults if not each.bit]
    return [*(f"skipped: {each}" for each in trial.skipped), *idle, *doubts]
