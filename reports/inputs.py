"""Opens run folders for a report, and separates readable from damaged ones.

A damaged run must not fail a report over many: its folder is left out, with the reason. Only facts, findings and the
footers of parts are read here; the task that counts a damaged page reports it. Source:
:class:`~pairproof.harness.runs.reader.RunReader`.
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
    """A readable run: its facts, its findings, and its Parquet parts by table."""

    folder: Path
    facts: Facts
    findings: list[dict[str, Any]]
    parts: dict[str, dict[Path, int]]
    """Rows by path, by table."""
    scenarios: list[dict[str, Any]] = []
    """See :func:`pairproof.reports.scenarios.rows`."""

    @property
    def run(self) -> str:
        return str(self.facts["run"])

    @property
    def rows(self) -> int:
        return sum(sum(parts.values()) for parts in self.parts.values())


class Corrupt(NamedTuple):
    folder: str
    reason: str


def open_runs(folders: Iterable[Path]) -> tuple[list[RunInput], list[Corrupt]]:
    """The readable runs among ``folders``, and the others with their reasons.

    Raises :class:`~pairproof.harness.errors.UsageError` for a missing folder: a typing error, not a damaged run.
    """
    found: dict[str, RunInput] = {}
    corrupt: list[Corrupt] = []
    for folder in dict.fromkeys(folders):
        try:
            run = open_run(folder)
            if run.run in found:
                raise CorruptRun(f"it has the name {run.run}, like {found[run.run].folder}; leave one out")
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
    """Why a run with unexpected content is left out, after an unforeseen error."""
    text = " ".join(str(error).split())[:MAX_REASON]
    return f"it has unexpected content ({type(error).__name__}: {text}); record the run again"


def without_spoilt(
    runs: Sequence[RunInput], corrupt: Sequence[Corrupt], do: Callable[[Sequence[RunInput], Sequence[Corrupt]], Done],
    alone: Callable[[RunInput], object],
) -> Done:  # fmt: skip
    """The result of ``do`` for the runs. If an unforeseen error ends it, each run that fails ``alone`` is left out, and
    ``do`` is called again.
    """
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
    """The columns that reports read; the facts have those of ``trials`` that older parts lack."""
    added = schema.ADDED[table] if table == "trials" else ()
    return [each for each in schema.TABLES[table] if each[0] not in added]


def open_run(folder: Path) -> RunInput:
    """One run; :class:`~pairproof.harness.errors.CorruptRun` names the unreadable file and the reason."""
    reader = RunReader(folder)
    missing = [name for name in ("target", "lab") if not isinstance(reader.facts.get(name), str)]
    if missing:
        raise CorruptRun(f"{folder / 'run.json'} has no {' and no '.join(missing)}; record the run again")
    played = scenarios.rows(reader.facts, str(folder / "run.json"))
    scenarios.check_left_out(reader.facts, str(folder / "run.json"))
    # Absolute: a Spark task may have another working directory.
    parts = {table: {path.absolute(): rows for path, rows in reader.parts(table).items()} for table in schema.TABLES}
    return RunInput(folder, reader.facts, reader.findings(), parts, played)
