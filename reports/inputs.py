"""Opens run folders for a report, and tells the ones that can be read from those that cannot.

A report over many runs must not fail because one of them is damaged: such a folder is named with the reason and left
out. Everything Spark is going to read is checked here first, since an error inside its job would name no folder.
The layout is :mod:`pairproof.harness.runs.schema`'s.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pairproof.harness.errors import CorruptRun, UsageError
from pairproof.harness.runs import schema

ARROW: dict[type, pa.DataType] = {str: pa.string(), int: pa.int64(), bool: pa.bool_()}

Facts = dict[str, Any]

MAX_FINDINGS = 10_000
"""Findings read of one run; more would be a run without a limit of its own."""


class RunInput(NamedTuple):
    """A readable run: its facts, its findings as their files say, and its Parquet parts by table."""

    folder: Path
    facts: Facts
    findings: list[dict[str, Any]]
    parts: dict[str, list[Path]]

    @property
    def run(self) -> str:
        """The run's id."""
        return str(self.facts["run"])

    @property
    def size_bytes(self) -> int:
        """Bytes of all Parquet parts."""
        return sum(part.stat().st_size for parts in self.parts.values() for part in parts)


class Corrupt(NamedTuple):
    """A folder that was left out, and why."""

    folder: str
    reason: str


def arrow_schema(table: str) -> pa.Schema:
    """The table's columns as Arrow has them; every column may be null."""
    return pa.schema([(name, ARROW[kind]) for name, kind in schema.TABLES[table]])


def find_runs(root: Path) -> list[Path]:
    """Folders under ``root`` that hold a run.json, the newest last."""
    return sorted((each.parent for each in root.glob("*/run.json")), key=lambda each: (each / "run.json").stat().st_mtime)


def open_runs(folders: Iterable[Path], histories: bool = False) -> tuple[list[RunInput], list[Corrupt]]:
    """The readable runs among ``folders``, and the others with their reasons.

    ``histories``: read every history page too, not only their footers (a rejudging job will). Raises
    :class:`UsageError` for a folder that does not exist: that is a typing error, not a damaged run.
    """
    found: dict[str, RunInput] = {}
    corrupt: list[Corrupt] = []
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"no run folder {folder}; name a folder that `pairproof check` wrote")
        try:
            run = open_run(folder, histories)
            if run.run in found:
                raise CorruptRun(f"it says that it is run {run.run}, as {found[run.run].folder} does; leave one out")
            found[run.run] = run
        except CorruptRun as error:
            corrupt.append(Corrupt(str(folder), str(error)))
    return list(found.values()), corrupt


def open_run(folder: Path, histories: bool = False) -> RunInput:
    """One run; :class:`CorruptRun` names the file that cannot be read, and says why."""
    facts = _facts(folder)
    parts = {table: sorted((folder / table).glob("part-*.parquet")) for table in schema.TABLES}
    for table, files in parts.items():
        for file in files:
            _check(file, arrow_schema(table), whole=histories or table != "history")
    findings = [_object(file) for file in sorted((folder / "findings").glob("*.json"))[:MAX_FINDINGS]]
    return RunInput(folder, facts, findings, parts)


def _facts(folder: Path) -> Facts:
    facts = _object(folder / "run.json")
    if facts.get("format") != schema.FORMAT:
        raise CorruptRun(
            f"run.json has format {facts.get('format')!r}, this version reads format {schema.FORMAT}: "
            "use the version of pairproof that wrote it"
        )
    missing = [name for name in ("run", "target", "lab", "state") if not isinstance(facts.get(name), str)]
    if missing:
        raise CorruptRun(f"run.json lacks {', '.join(missing)}: the run is damaged, make it again")
    return facts


def _object(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CorruptRun(f"{file.name} is missing: not a run folder, or one that was damaged") from None
    except (OSError, ValueError) as error:
        raise CorruptRun(f"{file.name} cannot be read ({_first(error)}): delete the run or make it again") from None
    if not isinstance(found, dict):
        raise CorruptRun(f"{file.name} is not a JSON object: delete the run or make it again")
    return found


def _check(file: Path, wanted: pa.Schema, whole: bool) -> None:
    where = f"{file.parent.name}/{file.name}"
    try:
        parquet = pq.ParquetFile(file)
        columns = parquet.schema_arrow
        if whole:
            for group in range(parquet.num_row_groups):
                parquet.read_row_group(group)
    except (OSError, pa.ArrowException) as error:
        raise CorruptRun(f"{where} cannot be read ({_first(error)}): delete this part or make the run again") from None
    unlike = [each.name for each in wanted if each.name not in columns.names or columns.field(each.name).type != each.type]
    if unlike:
        raise CorruptRun(f"{where} lacks, or has other types for, {', '.join(unlike)}: was it written by another version?")


def _first(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
