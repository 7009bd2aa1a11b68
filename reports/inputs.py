"""Opens run folders for a report, and tells the ones that can be read from those that cannot.

A report over many runs must not fail because one of them is damaged: such a folder is named with the reason and left
out. Only facts, findings and the footers of parts are read here; a damaged page is met by the task that counts it,
which says so. Reading itself is :class:`~pairproof.harness.runs.reader.RunReader`'s business.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..harness.errors import CorruptRun, PairproofError
from ..harness.runs import schema
from ..harness.runs.reader import RunReader
from ..harness.texts.plain import without_secrets
from ..harness.texts.wording import counted
from . import scenarios

MAX_REASON = 120

Facts = dict[str, Any]
Done = TypeVar("Done")


class RunInput(NamedTuple):
    """A readable run: its facts, its findings as their files say, and its Parquet parts by table."""

    folder: Path
    facts: Facts
    findings: list[dict[str, Any]]
    parts: dict[str, dict[Path, int]]
    """And the rows of each."""
    scenarios: list[dict[str, Any]] = []
    """See :func:`pairproof.reports.scenarios.rows`."""

    @property
    def run(self) -> str:
        return str(self.facts["run"])

    @property
    def rows(self) -> int:
        return sum(sum(parts.values()) for parts in self.parts.values())


class Corrupt(NamedTuple):
    """A folder that was left out, and why."""

    folder: str
    reason: str


def open_runs(folders: Iterable[Path]) -> tuple[list[RunInput], list[Corrupt]]:
    """The readable runs among ``folders``, and the others with their reasons.

    Raises :class:`~pairproof.harness.errors.UsageError` for a folder that does not exist: a typing error, not a damaged
    run.
    """
    found: dict[str, RunInput] = {}
    corrupt: list[Corrupt] = []
    for folder in dict.fromkeys(folders):
        try:
            run = open_run(folder)
            if run.run in found:
                raise CorruptRun(f"it says that it is run {run.run}, as {found[run.run].folder} does; leave one out")
            found[run.run] = run
        except CorruptRun as error:
            corrupt.append(left_out(folder, str(error)))
        except PairproofError:
            raise
        except Exception as error:
            corrupt.append(left_out(folder, unreadable(error)))
    return list(found.values()), corrupt


def left_out(folder: Path, reason: str) -> Corrupt:
    """A folder that was left out."""
    return Corrupt(without_secrets(str(folder)), without_secrets(reason))


def unreadable(error: Exception) -> str:
    """Why a run is left out whose files are not what a run writes, as far as an unforeseen error tells."""
    told = " ".join(str(error).split())[:MAX_REASON]
    return f"it holds what no run writes ({type(error).__name__}: {told}); record the run again"


def without_spoilt(
    runs: Sequence[RunInput], corrupt: Sequence[Corrupt], do: Callable[[Sequence[RunInput], Sequence[Corrupt]], Done],
    alone: Callable[[RunInput], object],
) -> Done:  # fmt: skip
    """What ``do`` makes of the runs. Where an unforeseen error ends it, each run that has one ``alone`` is left out,
    and it is done again: one run must not spoil the others."""
    try:
        return do(runs, corrupt)
    except (PairproofError, OSError, MemoryError):
        raise
    except Exception:
        spoilt = {run.run: why for run in runs if (why := _spoils(run, alone))}
        if not spoilt:
            raise
    left = [run for run in runs if run.run not in spoilt]
    known = [*corrupt, *(left_out(run.folder, spoilt[run.run]) for run in runs if run.run in spoilt)]
    check_some(left, known)
    return do(left, known)


def _spoils(run: RunInput, alone: Callable[[RunInput], object]) -> str:
    try:
        alone(run)
    except CorruptRun as why:
        return str(why)
    except Exception as why:
        return unreadable(why)
    return ""


def check_some(runs: Sequence[RunInput], corrupt: Sequence[Corrupt]) -> None:
    """CorruptRun, in one line, if none of the folders can be read."""
    if not runs:
        first = corrupt[0].reason if corrupt else "no run folder was named"
        more = len(corrupt) - 1
        others = f"; nor can {counted(more, 'other')} be read" if more > 0 else ""
        raise CorruptRun(f"nothing to report: {first}{others}")


def columns(table: str) -> list[schema.Column]:
    """Those that reports read: what parts of every format have, since the facts tell the rest of ``trials``."""
    added = schema.ADDED.get(table, ()) if table != "history" else ()
    return [each for each in schema.TABLES[table] if each[0] not in added]


def open_run(folder: Path) -> RunInput:
    """One run; :class:`~pairproof.harness.errors.CorruptRun` names the file that cannot be read, and says why."""
    reader = RunReader(folder)
    missing = [name for name in ("target", "lab") if not isinstance(reader.facts.get(name), str)]
    if missing:
        raise CorruptRun(f"{folder / 'run.json'} has no {' and no '.join(missing)}; record the run again")
    played = scenarios.rows(reader.facts, str(folder / "run.json"))
    scenarios.check_left_out(reader.facts, str(folder / "run.json"))
    # Absolute: a Spark task may have another working directory.
    parts = {table: {path.absolute(): rows for path, rows in reader.parts(table).items()} for table in schema.TABLES}
    return RunInput(folder, reader.facts, reader.findings(), parts, played)
