"""``pairproof autopsy``: the life of one message of a recorded trial, or a line for each of its messages.

Works for trials whose history was kept: every violating and unknown one, and a sample of the others.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pairproof.harness.commands.output import json_option, say, table, write_json
from pairproof.harness.errors import UsageError

if TYPE_CHECKING:
    from pairproof.harness.autopsy import Autopsy
    from pairproof.harness.history import Event
    from pairproof.harness.runs.reader import RunReader

RUNS = Path("runs")
MAX_LISTED = 200
"""Messages of a trial that get a line."""
MAX_NAMED = 10


@click.command("autopsy")
@click.argument("run", metavar="RUN")
@click.option("--trial", type=click.IntRange(min=0), required=True, help="The trial's number, as findings name it.")
@click.option("--message", metavar="KEY", help="The message; default: the one that the trial's violation is about.")
@json_option
def command(run: str, trial: int, message: str | None, json_to: str | None) -> int:
    """Tell the life of a message: who sent it, which logs held it, what took it, where it is now, and who received it.

    RUN is a run's folder, its id under runs/, or latest. Where no message is given and no violation names one, every
    message of the trial gets a line. Exits with 0; 2 if there is no such run, trial or message; 3 if the folder is no
    run.
    """
    from pairproof.harness import autopsy as telling
    from pairproof.harness.runs.reader import RunReader, resolve_run

    reader = RunReader(resolve_run(run, RUNS))
    events = _history(reader, trial)
    known = telling.messages(events)
    chosen = message if message is not None else _violated(reader, trial, events)
    if chosen is None:
        _list([telling.autopsy(events, each) for each in known[:MAX_LISTED]], len(known), json_to)
        return 0
    if chosen not in known:
        raise UsageError(f"trial {trial} has no message {chosen}; its messages: {_some(known)}")
    told = telling.autopsy(events, chosen)
    if json_to is not None:
        write_json(_json(told), json_to)
    if json_to != "-":
        for line in told.lines:
            say(f"{line.seq:6d} {line.t / 1e6:12.3f} ms  {line.text}")
        say(told.conclusion, "bold")
    return 0


def _history(reader: RunReader, trial: int) -> list[Event]:
    for _, events in reader.histories([trial]):
        return events
    kept = [str(row["trial"]) for row in islice((row for row in reader.trials() if row["kept"]), MAX_NAMED + 1)]
    raise UsageError(
        f"{reader.folder} kept no history of trial {trial}; kept: {_some(kept)}; pairproof check --keep all keeps all"
    )


def _violated(reader: RunReader, trial: int, events: list[Event]) -> str | None:
    """The message that the trial's first violation which is about one is about."""
    from pairproof.harness.autopsy import message_of

    rows = [row for row in reader.verdicts() if row["trial"] == trial and row["verdict"] == "violated"]
    found = (message_of(events, row["seq"], row["text"] or "") for row in rows)
    return next((each for each in found if each is not None), None)


def _list(told: list[Autopsy], messages: int, json_to: str | None) -> None:
    if json_to is not None:
        write_json([{"message": each.message, "conclusion": each.conclusion} for each in told], json_to)
    if json_to != "-":
        rows = [(each.message, each.conclusion.removeprefix(f"{each.message} ")) for each in told]
        table("", ("message", "what became of it"), rows)
        left = messages - len(told)
        say(f"{messages:,} messages{f', the first {len(told):,} shown' if left else ''}; --message KEY tells one life")


def _json(told: Autopsy) -> dict[str, object]:
    return {**told._asdict(), "lines": [line._asdict() for line in told.lines]}


def _some(names: list[str]) -> str:
    return (", ".join(names[:MAX_NAMED]) + (", ..." if len(names) > MAX_NAMED else "")) or "none"
