"""Chooses the runs that a report judges: the newest of each series. Replaced runs are history, and never summed with
it.

A run replaces an earlier one with the same question (target, lab, profile, names of broker files, single settings) if
it judged at least its laws, executed at least its scenarios, is complete, and began after the earlier one had ended. So
a fix turns a report green. Runs of one named commit with different seeds are shards: they do not replace one another,
like runs in other labs or interrupted runs.

Left out: the number of trials. A run of few is amber (:mod:`harness.exploration.evidence`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from ..harness.errors import UsageError
from .inputs import Corrupt, RunInput
from .rejudging import COMPLETE

Question = tuple[str, ...]

ASKED = ("target", "lab", "profile")
UNKNOWN = datetime.min.replace(tzinfo=UTC)
"""A run with this time replaces none, and is not replaced."""
BROUGHT = ("--master-conf", "--slave-conf", "--set")
"""Options that set a configuration."""


class Series(NamedTuple):
    """``judged``: in the given order. ``older``: the replaced ones, by run its replacement."""

    judged: list[RunInput]
    older: list[RunInput]
    replaced_by: dict[str, str]


def of(runs: Sequence[RunInput]) -> Series:
    """The runs that a report judges, and the others."""
    alike: dict[Question, list[RunInput]] = {}
    for run in sorted(runs, key=_began, reverse=True):
        alike.setdefault(question(run.facts), []).append(run)
    replaced = {
        run.run: newer.run
        for own in alike.values()
        for at, run in enumerate(own)
        if (newer := next((each for each in own[:at] if _replaces(each, run)), None))
    }
    judged = [run for run in runs if run.run not in replaced]
    return Series(judged, [run for run in runs if run.run in replaced], replaced)


def compared(runs: Sequence[RunInput], corrupt: Sequence[Corrupt]) -> Series:
    """The second of two runs is judged, whatever their questions; UsageError for more or fewer."""
    if len(runs) != 2:
        why = corrupt[0].reason if corrupt else f"there are {len(runs)}"
        raise UsageError(f"--compare needs two readable runs, the earlier one first: {why}")
    before, after = runs
    return Series([after], [before], {before.run: after.run})


def question(facts: Mapping[str, Any]) -> Question:
    """The question of a run, independent of its seed and limits: its target, lab, profile and configuration."""
    # A file's name, not its content: a changed setting that removes a violation does not change the question.
    return (*(str(facts.get(name)) for name in ASKED), *sorted(brought(facts)))


def brought(facts: Mapping[str, Any]) -> list[str]:
    """The configuration of a run: ``--set flushDiskType=ASYNC_FLUSH``, as in its command."""
    command = facts.get("command")
    words = list(map(str, command)) if isinstance(command, list) else []
    found = [(*word.partition("="), after) for word, after in zip(words, [*words, ""][1:], strict=True)]
    return [f"{option} {value if equals else after}" for option, equals, value, after in found if option in BROUGHT]


def _replaces(newer: RunInput, older: RunInput) -> bool:
    ended = _began(older) + timedelta(seconds=_seconds(older))
    return (
        newer.facts.get("state") == COMPLETE
        and _began(newer) > _began(older) > UNKNOWN
        and _began(newer) >= ended
        and not _are_shards(newer, older)
        and _laws(newer) >= _laws(older)
        and _scenarios(newer) >= _scenarios(older)
    )


def _are_shards(one: RunInput, other: RunInput) -> bool:
    commits = {str(run.facts.get("commit") or "") for run in (one, other)}
    return len(commits) == 1 and commits != {""} and one.facts.get("seed") != other.facts.get("seed")


def _laws(run: RunInput) -> frozenset[str]:
    return frozenset(map(str, run.facts.get("laws") or ()))


def _scenarios(run: RunInput) -> frozenset[str]:
    return frozenset(each["name"] for each in run.scenarios)


def _seconds(run: RunInput) -> float:
    recorded = run.facts.get("seconds")
    return float(recorded) if isinstance(recorded, int | float) else 0.0


def _began(run: RunInput) -> datetime:
    """UTC; :data:`UNKNOWN` for malformed times."""
    try:
        moment = datetime.fromisoformat(str(run.facts.get("began")))
    except ValueError:
        return UNKNOWN
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
