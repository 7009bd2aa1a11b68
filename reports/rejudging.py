"""The effect of rejudged histories on the verdict, the headline, and the exit code.

A violation that only rejudging shows makes its run violated. Any other difference makes it unknown, and so does a
missing or damaged sampled history.
"""

from collections.abc import Iterable, Sequence

from ..harness.errors import EXIT_HOLDS, EXIT_LAB, EXIT_UNKNOWN, EXIT_VIOLATED
from ..harness.runs.schema import Row
from ..harness.texts.wording import counted
from . import scenarios
from .measures import HISTORIES

EXIT_CODES = {
    scenarios.VIOLATED: EXIT_VIOLATED, scenarios.UNMET: EXIT_VIOLATED, scenarios.DEVIATES: EXIT_VIOLATED,
    scenarios.FAILED: EXIT_LAB, scenarios.UNKNOWN: EXIT_UNKNOWN, scenarios.SKIPPED: EXIT_UNKNOWN,
    scenarios.HOLDS: EXIT_HOLDS,
}  # fmt: skip
COMPLETE = "complete"


def verdict(row: Row) -> str:
    """The contribution of a run's histories (a row of table ``histories``) to its verdict."""
    if row["worse"]:
        return scenarios.VIOLATED
    return scenarios.UNKNOWN if row["different"] or row["odd"] else scenarios.HOLDS


def of_run(row: Row) -> str:
    """The differences of a run's histories (a row of table ``histories``), in words; empty without any."""
    problems = []
    if row["worse"]:
        problems.append(f"{counted(row['worse'], 'verdict')} violated now only")
    if other := row["different"] - row["worse"]:
        problems.append(f"{other:,} other verdict{' differs' if other == 1 else 's differ'}")
    if row["odd"]:
        problems.append(f"{row['odd']:,} histor{'y' if row['odd'] == 1 else 'ies'} missing or damaged")
    return ", ".join(problems)


def total(histories: Iterable[Row]) -> Row:
    """The sums of several runs."""
    known = list(histories)
    return {name: sum(row[name] for row in known) for name in HISTORIES.sums}


def summary(histories: Sequence[Row], differences: list[Row]) -> Row:
    """The report's ``rejudged``: ``trials`` and ``verdicts`` (numbers rejudged), ``different`` (verdicts other than
    recorded), ``worse`` (those violated now only), ``differences`` (the first of them), ``unended`` (incomplete
    trials), ``absent`` (verdicts of laws that are not installed here).
    """
    sums = total(histories)
    counted = {name: sums[name] for name in ("verdicts", "different", "worse", "unended", "absent")}
    return {"trials": sums["judged"], **counted, "differences": differences}


def warnings(histories: Sequence[Row]) -> list[str]:
    """Sentences that precede all others, about problems with the histories; mostly none."""
    sums, found = total(histories), []
    if number := sums["different"]:
        worse = f", {sums['worse']:,} of them violated now only" if sums["worse"] else ""
        verb = " differs" if number == 1 else "s differ"
        found.append(f"Judged again, {number:,} verdict{verb} from what was recorded{worse}.")
    if number := sums["odd"]:
        found.append(f"{number:,} recorded histor{'y is' if number == 1 else 'ies are'} missing or damaged.")
    return found


def headline(histories: Sequence[Row], recorded: str, left_out: int, broken: bool) -> str:
    """The report in some sentences: problems with the histories come first; so does the number of unreadable folders,
    unless something is ``broken``.
    """
    problems = warnings(histories)
    text = " ".join([*problems, f"As recorded: {recorded}"]) if problems else recorded
    left = [f"{counted(left_out, 'run folder')} could not be read."] if left_out else []
    return " ".join([text, *left] if broken else [*left, text])


def exit_code(verdict: str, states: Iterable[str], corrupt: bool) -> int:
    """The verdict's exit code; a failed lab, an incomplete run or an unreadable one is not a success either."""
    code = EXIT_CODES[verdict]
    known = set(states)
    if code in (EXIT_HOLDS, EXIT_UNKNOWN) and "failed" in known:
        return EXIT_LAB
    return EXIT_UNKNOWN if code == EXIT_HOLDS and (corrupt or known - {COMPLETE}) else code
