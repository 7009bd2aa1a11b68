"""Several regression cases executed again: a result for each, and an exit code for all."""

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
    """A verdict on a case: its text, its exit code, and the verdict of a run that played it (unknown for an unreadable
    file, which does not concern the brokers).
    """

    text: str
    code: int
    run: str


UNDECIDED = "no execution violates the law, and in some it could not be decided or had nothing to judge"
MEANINGS = {
    REPRODUCED: Meaning("every execution violates the law", EXIT_VIOLATED, "violated"),
    FLAKY: Meaning("some executions violate the law, others do not", EXIT_VIOLATED, "violated"),
    INVALID: Meaning("the file is not a case that can be played", EXIT_USAGE, "unknown"),
    FAILED: Meaning("the lab failed", EXIT_LAB, "failed"),
    UNKNOWN: Meaning(UNDECIDED, EXIT_UNKNOWN, "unknown"),
    FIXED: Meaning("the law was judged and held in every execution", EXIT_HOLDS, "holds"),
}
"""In order of precedence for the exit code."""
MAX_CASES = 10_000


class Result(NamedTuple):
    case: str
    law: str
    target: str
    lab: str
    verdict: str
    showed: int
    executed: int
    about: str
    seconds: float = 0.0


def files(named: Iterable[Path]) -> list[Path]:
    """The named cases, and all cases of a named folder; UsageError if there are none, or too many."""
    found: list[Path] = []
    for each in named:
        # The cases of a run are its findings.
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
    """Execute and print each case; return the exit code."""
    found = executed(paths, target, lab, repeat)
    if json_to is not None:
        write_json([each._asdict() for each in found], json_to)
    if json_to != "-":
        show(found)
    return code(found)


def executed(paths: Sequence[Path], target: str | None, lab: str | None, repeat: int | None) -> list[Result]:
    """The result of each case. A case that cannot be played is INVALID, and the others are still played."""
    found = []
    with progress() as report:
        for number, path in enumerate(paths):
            report(number, len(paths), "cases")
            began = monotonic()
            try:
                became = _played(path, target, lab, repeat)
            except (UsageError, CorruptRun) as why:
                became = Result(str(path), "", target or "", lab or "", INVALID, 0, 0, str(why))
            found.append(became._replace(seconds=round(monotonic() - began, 3)))
    return found


def show(found: Sequence[Result]) -> None:
    """Print the results."""
    rows = [(each.case, each.law, each.verdict, f"{each.showed} of {each.executed}", each.about) for each in found]
    table("", ("case", "law", "is", "violated in", ""), rows)
    counts = {each: sum(result.verdict == each for result in found) for each in MEANINGS}
    for verdict, number in counts.items():
        if number:
            say(f"{number} {verdict}: {MEANINGS[verdict].text}")


def code(found: Sequence[Result]) -> int:
    """The exit code of all cases together."""
    played = {each.verdict for each in found}
    return next((each.code for verdict, each in MEANINGS.items() if verdict in played), EXIT_HOLDS)


def _played(path: Path, target: str | None, lab: str | None, repeat: int | None) -> Result:
    from ..judging import judge
    from ..runs.reader import named_finding, to_finding
    from . import replay

    found = to_finding(named_finding(path))
    case = replay.asked(found, target, lab)
    judge.laws([case.law] if case.law else [])
    trials, failed = replay.executions(path, case, repeat, target in (None, found.target) and lab is None)
    showed = sum(replay.reproduced(case, each) for each in trials)
    verdict = _verdict(case, trials, showed)
    about = str(failed) if failed is not None else "" if verdict != UNKNOWN else _doubt(case, trials)
    return Result(
        str(path), case.law, case.target, case.lab, FAILED if failed is not None and not showed else verdict, showed,
        len(trials), about,
    )  # fmt: skip


def _verdict(case: Finding, trials: Sequence[Trial], showed: int) -> str:
    if showed:
        return REPRODUCED if showed == len(trials) else FLAKY
    held = [any(each.law == case.law and each.verdict == "holds" for each in trial.judgements) for trial in trials]
    return FIXED if held and all(held) else UNKNOWN


def _doubt(case: Finding, trials: Sequence[Trial]) -> str:
    open_ = [each for trial in trials for each in trial.judgements if each.law == case.law and each.verdict != "holds"]
    return f"{open_[0].verdict}{f': {open_[0].doubt}' if open_[0].doubt else ''}" if open_ else "the law did not judge"
