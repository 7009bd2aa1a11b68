"""``pairproof autopsy``: trace one message of a recorded trial step by step, or list all messages of the trial.

Works for trials with a kept history: every violating and unknown one, and a sample of the others.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...commands.helping import example
from ...commands.options import RUNS
from ...commands.output import json_option, say, table, write_json
from ...errors import UsageError
from ...runs.locations import place
from ...texts.wording import counted

if TYPE_CHECKING:
    from ...history import Event
    from ...runs.reader import RunReader
    from ..autopsy import Autopsy

MAX_LISTED = 200
MAX_NAMED = 10
NUMBER = re.compile(r"\d[\d,.]*(?<![,.])")


@click.command("autopsy", epilog=example("autopsy runs/RUN/findings/FINDING.json"))
@click.argument("run", metavar="FINDING.json|RUN")
@click.option("--trial", type=click.IntRange(min=0), help="The trial's number, for RUN; a finding names its own trial.")
@click.option("--message", metavar="KEY", help="The message; default: the message of the trial's violation.")
@json_option
def command(run: str, trial: int | None, message: str | None, json_to: str | None) -> int:
    """Trace a message: its sender, the logs that held it, the event that removed it, its final position, and its
    receivers.

    FINDING.json is a finding of a run, as check prints it. RUN is a run's folder, its id under runs/, or latest, and
    needs --trial. Without --message the violation's message is traced; if the violation names none, each message of the
    trial gets a line.

    Exit codes: 0 traced; 2 no such finding, run, trial or message; 3 the folder is not a run.
    """
    from .. import autopsy as tracing

    path = place(run)
    reader, trial, law = _finding(path, trial) if path.is_file() else _run(run, trial)
    events = _history(reader, trial)
    known = tracing.messages(events)
    chosen = message if message is not None else _violated(reader, trial, law, events)
    if chosen is None:
        _list([tracing.autopsy(events, each) for each in known[:MAX_LISTED]], len(known), json_to)
        return 0
    if chosen not in known:
        raise UsageError(f"trial {trial} has no message {chosen}; its messages: {_some(known)}")
    traced = tracing.autopsy(events, chosen)
    if json_to is not None:
        write_json(_json(traced), json_to)
    if json_to != "-":
        for line in traced.lines:
            say(f"{line.seq:6d} {line.t / 1e6:12.3f} ms  {line.text}")
        say(traced.conclusion, "bold")
    return 0


def _finding(path: Path, trial: int | None) -> tuple[RunReader, int, str]:
    from ...runs.reader import RunReader, named_finding

    found = named_finding(path)
    if not found["law"]:
        raise UsageError(
            f"{path} is a trial in which the lab failed, so it has no verdict to explain; replay executes it"
        )
    folder = path.absolute().parent.parent
    if not (folder / "run.json").is_file():
        raise UsageError(f"{path} is not in its run's folder, which has the history; name the run with --trial")
    return RunReader(folder), found["shrunk_trial"] if trial is None else trial, found["law"]


def _run(name: str, trial: int | None) -> tuple[RunReader, int, str]:
    from ...runs.reader import RunReader, resolve_run

    reader = RunReader(resolve_run(name, RUNS))
    if trial is None:
        red = sorted({row["trial"] for row in reader.verdicts() if row["verdict"] == "violated"})
        violations = f"; trials with a violation: {_some(list(map(str, red)))}" if red else "; no trial violated a law"
        raise UsageError(f"name a finding (findings/NNNN.json of {reader.folder}), or add --trial NUMBER{violations}")
    return reader, trial, ""


def _history(reader: RunReader, trial: int) -> list[Event]:
    for _, events in reader.histories([trial]):
        return events
    kept = [str(row["trial"]) for row in islice((row for row in reader.trials() if row["kept"]), MAX_NAMED + 1)]
    raise UsageError(
        f"{reader.folder} kept no history of trial {trial}; kept: {_some(kept)}; "
        'keep = "all" in [check] of pairproof.toml keeps all'
    )


def _violated(reader: RunReader, trial: int, law: str, events: list[Event]) -> str | None:
    """The message of the trial's violation of ``law``, or else of its first violation with a message."""
    from ..autopsy import message_of

    rows = [row for row in reader.verdicts() if row["trial"] == trial and row["verdict"] == "violated"]
    rows.sort(key=lambda row: row["law"] != law)
    found = (message_of(events, row["seq"], row["text"] or "") for row in rows)
    return next((each for each in found if each is not None), None)


def _list(listed: list[Autopsy], messages: int, json_to: str | None) -> None:
    if json_to is not None:
        write_json([{"message": each.message, "conclusion": each.conclusion} for each in listed], json_to)
    if json_to != "-":
        table("", ("messages", "conclusion for the first; the others differ in numbers only"), _folded(listed))
        left = messages - len(listed)
        say(
            f"{counted(messages, 'message')}{f', the first {len(listed):,} shown' if left else ''}; "
            f"--message KEY traces one"
        )


def _folded(listed: list[Autopsy]) -> list[tuple[str, str]]:
    """Messages with the same conclusion, except for numbers, in one row with the first conclusion."""
    alike: dict[str, list[str]] = {}
    conclusions = {each.message: each.conclusion.removeprefix(f"{each.message} ") for each in listed}
    for message, conclusion in conclusions.items():
        alike.setdefault(NUMBER.sub("0", conclusion), []).append(message)
    return [(_named(messages), conclusions[messages[0]]) for messages in alike.values()]


def _named(messages: list[str]) -> str:
    return messages[0] if len(messages) == 1 else f"{messages[0]} and {len(messages) - 1:,} like it, to {messages[-1]}"


def _json(traced: Autopsy) -> dict[str, object]:
    return {**traced._asdict(), "lines": [line._asdict() for line in traced.lines]}


def _some(names: list[str]) -> str:
    return (", ".join(names[:MAX_NAMED]) + (", ..." if len(names) > MAX_NAMED else "")) or "none"
