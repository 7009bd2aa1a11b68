"""Several cases executed again: of each whether it is reproduced, fixed, or flaky, and of all an exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from ..errors import (
    EXIT_HOLDS,
    EXIT_LAB,
    EXIT_UNKNOWN,
    EXIT_USAGE,
    EXIT_VIOLATED,
    CorruptRun,
    UsageError,
)  # fmt: skip
from .output import progress, say, table, write_json

if TYPE_CHECKING:
    from ..trials.trial import Finding, Trial

REPRODUCED, FLAKY, FIXED, UNKNOWN, FAILED = "REPRODUCED", "FLAKY", "FIXED", "UNKNOWN", "FAILED"
INVALID = "INVALID"


class Meaning(NamedTuple):
    """What a case's verdict says, the exit code, and the verdict of a run that played it: unknown for a file that says
    nothing about the brokers."""

    says: str
    code: int
    run: str


UNDECIDED = "no execution violates the law, and in some it could not be decided or had nothing to judge"
MEANINGS = {
    REPRODUCED: Meaning("each execution violates the law", EXIT_VIOLATED, "violated"),
    FLAKY: Meaning("some executions violate the law, others do not", EXIT_VIOLATED, "violated"),
    INVALID: Meaning("the file is not a case that can be played", EXIT_USAGE, "unknown"),
    FAILED: Meaning("the lab failed", EXIT_LAB, "failed"),
    UNKNOWN: Meaning(UNDECIDED, EXIT_UNKNOWN, "unknown"),
    FIXED: Meaning("the law was judged, and held, in each execution", EXIT_HOLDS, "holds"),
}
"""In the order in which one counts for all."""
MAX_CASES = 10_000


class Told(NamedTuple):
    """What became of a case."""

    case: str
    law: str
    target: str
    lab: str
    verdict: str
    showed: int
    executed: int
    about: str
    seconds: float = 0.0
    """Spent on it, all its executions together."""


def files(named: Iterable[Path]) -> list[Path]:
    """The cases that were named, of a folder all; UsageError where there is none, or too many."""
    found: list[Path] = []
    for each in named:
        # A run's are its findings.
        folder = each / "findings" if (each / "run.json").is_file() else each
        inside = sorted(folder.glob("*.json")) if each.is_dir() else [each]
        if not inside:
            raise UsageError(f"{folder} holds no case (*.json); add some with pairproof cases add")
        found += inside
    if len(found) > MAX_CASES:
        raise UsageError(f"{len(found):,} cases are too many; at most {MAX_CASES:,} at a time")
    return found


def play(
    paths: Sequence[Path], target: str | None, lab: str | None, repeat: int | None, json_to: str | None
) -> int:  # fmt: skip
    """Execute each case, say what became of it, and answer with the exit code."""
    found = executed(paths, target, lab, repeat)
    if json_to is not None:
        write_json([each._asdict() for each in found], json_to)
    if json_to != "-":
        tell(found)
    return code(found)


def executed(paths: Sequence[Path], target: str | None, lab: str | None, repeat: int | None) -> list[Told]:
    """What became of each case. One that cannot be played is INVALID, and the others are played all the same."""
    found = []
    with progress() as told:
        for number, path in enumerate(paths):
            told(number, len(paths), "cases")
            began = monotonic()
            try:
                became = _played(path, target, lab, repeat)
            except (UsageError, CorruptRun) as why:
                became = Told(str(path), "", target or "", lab or "", INVALID, 0, 0, str(why))
            found.append(became._replace(seconds=round(monotonic() - began, 3)))
    return found


def tell(found: Sequence[Told]) -> None:
    """Say it."""
    rows = [(each.case, each.law, each.verdict, f"{each.showed} of {each.executed}", each.about) for each in found]
    table("", ("case", "law", "is", "violated in", ""), rows)
    counts = {each: sum(told.verdict == each for told in found) for each in MEANINGS}
    for verdict, number in counts.items():
        if number:
            say(f"{number} {verdict}: {MEANINGS[verdict].says}")


def code(found: Sequence[Told]) -> int:
    """The exit code."""
    played = {each.verdict for each in found}
    return next((each.code for verdict, each in MEANINGS.items() if verdict in played), EXIT_HOLDS)


def _played(path: Path, target: str | None, lab: str | None, repeat: int | None) -> Told:
    from ..judging import judge
    from ..runs.reader import named_finding, to_finding
    from . import replay

    found = to_finding(named_finding(path))
    case = replay.asked(found, target, lab)
    judge.laws([case.law] if case.law else [])
    trials, failed = replay.again(path, case, repeat, target in (None, found.target) and lab is None)
    showed = sum(replay.reproduced(case, each) for each in trials)
    verdict = _verdict(case, trials, showed)
    about = str(failed) if failed is not None else "" if verdict != UNKNOWN else _doubt(case, trials)
    return Told(
        str(path), case.law, case.target, case.lab, FAILED if failed is not None and not showed else verdict, showed,
        len(trials), about,
    )  # fmt: skip


def _verdict(case: Finding, trials: Sequence[Trial], showed: int) -> str:
    if showed:
        return REPRODUCED if showed == len(trials) else FLAKY
    held = [any(each.law == case.law and each.verdict == "holds" for each in trial.judgements) for trial in trials]
    return FIXED if held and all(held) else UNKNOWN


def _doubt(case: Finding, trials: Sequence[Trial]) -> str:
    told = [each for trial in trials for each in trial.judgements if each.law == case.law and each.verdict != "holds"]
    return f"{told[0].verdict}{f': {told[0].doubt}' if told[0].doubt else ''}" if told else "the law did not judge"
