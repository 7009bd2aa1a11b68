"""Losses under the user's configuration, on a terminal: a table, and a small program for each loss."""

from __future__ import annotations

from collections.abc import Mapping

from ..exploration.losses import IMPOSSIBLE, Losses
from ..system import System
from ..texts import folding
from . import output

SHOWN_NS = 100_000_000
"""Shorter times without an answer are not an outage."""


def say_losses(found: Losses, system: System) -> None:
    """Print the losses of each class of faults, over all trials of the run."""
    rows = found.rows()
    heads = ("fault", "of", system.acknowledged, "lost", "on one broker only", "unavailable", "trials")
    output.table("What was lost", heads, [_cells(row) for row in rows if row["corpus"] or row["lost"]])
    for state in dict.fromkeys(str(row["state"]) for row in rows if str(row["state"]).startswith(IMPOSSIBLE)):
        output.say(f"{', '.join(_name(row) for row in rows if row['state'] == state)}: {state}", "yellow")
    for row in rows:
        program = row["program"]
        if isinstance(program, list) and program and row["corpus"]:
            output.say(f"{_name(row)}, the shortest program that loses something:", "yellow")
            for line in folding.limited(program):
                output.say(f"  {line}")


def _name(row: Mapping[str, object]) -> str:
    return f"{row['fault']}, {row['of']}" if row["of"] else str(row["fault"])


def _cells(row: Mapping[str, object]) -> tuple[str, ...]:
    name, state = (str(row["fault"]), str(row["of"])), str(row["state"]).partition(":")[0]
    if not row["trials"]:
        return (*name, "", "", "", "", state)
    trials = f"{row['trials']:,} of searches; {state}" if state else f"{row['trials']:,}"
    return (*name, f"{row['acknowledged']:,}", _lost(row), single(row), unavailable(row), trials)


def _lost(row: Mapping[str, object]) -> str:
    unknown = row["unaudited"]
    if unknown == row["trials"]:
        return "not known"
    return f"{row['lost']:,}" + (f" ({unknown:,} trials unknown)" if unknown else "")


def single(row: Mapping[str, object]) -> str:
    """The number of messages that only one broker holds, by broker."""
    held = (("slave_only", "slave"), ("master_only", "master"))
    counts = [f"{row[name]:,} {where}" for name, where in held if row[name]]
    return ", ".join(counts) or "0"


def unavailable(row: Mapping[str, object]) -> str:
    """The longest time without a stored answer, in seconds."""
    longest = row["unavailable_ns"]
    return f"{longest / 1e9:.1f} s" if isinstance(longest, int) and longest >= SHOWN_NS else "none seen"
