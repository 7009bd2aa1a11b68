"""Read run folders: facts, verdicts, trials, faults, findings and kept histories, also of a killed run.

Damaged data raises CorruptRun in one line with the file and the remedy. Hidden files (a part of a killed run) and parts
that ``trials`` never committed do not count. A folder that lost files is also refused: see
:mod:`pairproof.harness.runs.wholeness`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain, groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from .. import history, renamed
from ..errors import CorruptRun, UsageError
from ..history import Event, kinds
from ..judging.verdict import Verdict
from ..trials.schedule_json import from_json
from ..trials.trial import Finding
from . import locations, tables
from .locations import place, reached
from .schema import ADDED, FACT_KINDS, MAX_NUMBER, READS, STATES, TABLES, Row
from .wholeness import REMEDY, Contents

LATEST = "latest"
VIOLATED = Verdict.VIOLATED.value
AT_ONCE = 16
"""Concurrent requests for remote files."""
MAX_JSON_BYTES = 12 * 1024 * 1024
"""For facts or a finding; Python's objects may take thirty times as much."""
RUN = re.compile(r"\w[\w.-]{0,250}")
"""A run's id, which is its folder's name."""
FINDING_FIELDS: dict[str, type] = {
    "law": str, "text": str, "target": str, "lab": str, "trial": int, "shrunk_trial": int, "original_ops": int,
}  # fmt: skip
KIND = [name for name, _ in TABLES["history"]].index("kind")
REPEAT = "delete the folder and record the run again"


class RunReader:
    """One run folder. Rows are dicts with the columns of ``tables.READ``; every method may raise CorruptRun."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.facts = read_facts(folder)
        self._read: list[Row] = []

    @property
    def run(self) -> str:
        return str(self.facts["run"])

    @cached_property
    def _committed(self) -> frozenset[str]:
        return frozenset(path.name for path in (self.folder / "trials").glob("part-*.parquet"))

    def parts(self, table: str) -> dict[Path, int]:
        """The committed Parquet files of a table, oldest first, with their rows; each has the table's columns. Reads
        their footers.
        """
        # First, even without any part: all parts may be missing.
        whole, paths = self._whole, self._of(table)
        found = dict(zip(paths, _each(_check_columns, paths), strict=True))
        for path, rows in found.items():
            whole.check_part(path, rows)
        return found

    def _of(self, table: str) -> list[Path]:
        return sorted(p for p in (self.folder / table).glob("part-*.parquet") if p.name in self._committed)

    @cached_property
    def _whole(self) -> Contents:
        """The required content of the folder, checked for completeness before anything is read."""
        found = Contents(self.folder, self.facts)
        found.check_files()
        try:
            # Findings first: in a running run both may grow.
            self._read = self._findings()
            found.check_trials(self._of("trials"), self._read)
        except tables.UNREADABLE as why:
            raise _damaged(self.folder / "trials", why) from None
        return found

    def check(self) -> None:
        """Read all facts, findings and parts' footers, not the rows: finds truncated and foreign files."""
        for table in TABLES:
            self.parts(table)
        self.findings()

    def table(self, name: str) -> Iterator[Any]:
        for path in self.parts(name):
            yield read(path, self.run)

    def verdicts(self) -> Iterator[Row]:
        return self._rows("verdicts")

    def trials(self) -> Iterator[Row]:
        return self._rows("trials")

    def faults(self) -> Iterator[Row]:
        return self._rows("faults")

    def _rows(self, name: str) -> Iterator[Row]:
        columns = tables.READ[name].names
        for part in self.table(name):
            for row in tables.rows(part):
                yield dict(zip(columns, row, strict=True))

    def findings(self) -> list[Row]:
        """The findings with ``path``, the file of each. CorruptRun if the tables do not have the violation."""
        self._whole.check_others()
        wanted = {(each["shrunk_trial"], each["law"]): each["path"] for each in self._read}
        trials = {trial for trial, _ in wanted}
        for part in self.parts("verdicts") if trials else ():
            for row in read(part, self.run, trials).select(["trial", "law", "verdict"]).to_pylist():
                if row["verdict"] == VIOLATED:
                    wanted.pop((row["trial"], row["law"]), None)
        for (trial, law), path in wanted.items():
            raise CorruptRun(f"{path} says that trial {trial} violates {law}, and the tables do not; {REMEDY}")
        return self._read

    def _findings(self) -> list[Row]:
        paths = sorted((self.folder / "findings").glob("[0-9]*.json"))
        return [read_finding(path) | {"path": str(path)} for path in paths]

    def histories(self, trials: Collection[int] | None = None) -> Iterator[tuple[int, list[Event]]]:
        """Kept histories as (trial, events in ``seq`` order), optionally of these trials only.

        Holds one part in memory at a time. Trials without a kept history are missing.
        """
        if trials is not None and not trials:
            return
        for path in self.parts("history"):
            for (_, trial), events in histories([read(path, self.run, trials)]):
                yield trial, events


def histories(parts: Iterable[Any]) -> Iterator[tuple[tuple[str, int], list[Event]]]:
    """By run and trial: the events of tables or batches of history rows, grouped by trial, in the order of the rows.
    Events of unregistered types are plain rows.
    """
    known, make = dict(kinds()), tuple.__new__
    rows = chain.from_iterable(map(tables.rows, parts))
    for key, events in groupby(rows, itemgetter(0, 1)):
        yield key, [make(known.get(row[KIND], Event), row[2:]) for row in events]


def find_runs(root: Path = Path("runs")) -> list[Path]:
    """The run folders in ``root``, readable or not, newest last."""
    if not root.is_dir():
        return []
    found = [each for each in root.iterdir() if is_run(each) and not each.name.startswith(".")]
    return sorted(found, key=lambda each: (_began(each), each.name))


def is_run(folder: Path) -> bool:
    """Whether it looks like a run folder, readable or not; a report may also have trials."""
    return (folder / "run.json").exists() or ((folder / "trials").is_dir() and not (folder / "report.json").exists())


def resolve_runs(name: str, root: Path = Path("runs")) -> list[Path]:
    """:func:`resolve_run`; for a folder that contains runs, a store, all of them."""
    found = resolve_run(name, root)
    if name == LATEST or is_run(found):
        return [found]
    return find_runs(found) or [found]


def resolve_run(name: str, root: Path = Path("runs")) -> Path:
    """A run folder from its path or URL, its id under ``root``, or ``latest``; UsageError if there is none."""
    runs = find_runs(root)
    if name == LATEST:
        if not runs:
            raise UsageError(f"no run in {root}/: record one with pairproof check")
        return runs[-1]
    for path in (place(name), root / name):
        with reached(path):
            if path.is_dir():
                return path
    known = ", ".join(each.name for each in runs[-5:]) or "none"
    raise UsageError(f"no run folder {name}; newest in {root}/: {known}")


def named_finding(path: Path) -> Row:
    """The finding that a user named; UsageError if there is none, CorruptRun if a run folder's own file is damaged."""
    if path.is_dir():
        known = sorted(path.glob("findings/[0-9]*.json")) or sorted(path.glob("[0-9]*.json"))
        advice = f"name one of its findings, such as {known[0]}" if known else "name a finding's file (NNNN.json)"
        raise UsageError(f"{path} is a folder; {advice}")
    if not path.is_file():
        raise UsageError(
            f"no finding {path}: check prints the path of each finding, and pairproof cases add makes a folder of cases"
        )
    try:
        return read_finding(path)
    except CorruptRun as why:
        if (path.absolute().parent.parent / "run.json").is_file():
            raise
        # This is the user's own file: an error must not advise deleting it.
        reason = str(why).removeprefix(f"{path} ").removesuffix(f"; {REMEDY}")
        raise UsageError(f"{path} is not a finding: it {reason}; name a run's findings/NNNN.json, or a case") from None


def read_finding(path: Path) -> Row:
    """A finding's JSON object with checked fields; CorruptRun for anything else."""
    data = _json_object(path, REMEDY)
    _check_format(path, data, REMEDY)
    wrong = [name for name, kind in FINDING_FIELDS.items() if not isinstance(data.get(name), kind)]
    if wrong or "schedule" not in data:
        missing = ", ".join(wrong) or "schedule"
        raise CorruptRun(f"{path} lacks what a finding holds (missing or wrong: {missing}); {REMEDY}")
    return data


def to_finding(data: Row) -> Finding:
    """The finding of :func:`read_finding`; UsageError if its schedule is invalid."""
    known = {name: data[name] for name in FINDING_FIELDS}
    # Older findings lack these: they were shrunk in their own lab, and had no other fields.
    known |= {name: str(data.get(name, "")) for name in ("shrunk_in", "cause", "search", "source")}
    for name, group in (("law", "laws"), ("search", "searches")):
        known[name] = renamed.current(group, known[name])
    return Finding(schedule=from_json(data["schedule"]), **known)


def read_facts(folder: Path) -> Row:
    """The facts of a run folder; UsageError if there is none, CorruptRun if they are damaged."""
    path = folder / "run.json"
    if not folder.is_dir():
        raise UsageError(f"no run folder {folder}: record a run with pairproof check")
    if not path.is_file():
        raise CorruptRun(f"{path} is missing, so {folder} is not a run folder; name another one")
    facts = _json_object(path, REPEAT)
    _check_format(path, facts, REPEAT)
    renamed.facts(facts)
    for name in ("run", "state"):
        if not isinstance(facts.get(name), str):
            raise CorruptRun(f"{path} has no {name}; {REPEAT}")
    odd = [name for name, kind in FACT_KINDS.items() if facts.get(name) is not None and not _is(facts[name], kind)]
    if odd or facts["state"] not in STATES:
        raise CorruptRun(f"{path} has facts that no run writes ({', '.join(odd) or 'state'}); {REPEAT}")
    if not RUN.fullmatch(facts["run"]):
        raise CorruptRun(f"{path} calls its run {facts['run'][:100]!r}, which cannot name a run; {REPEAT}")
    if facts["run"] != (name := folder_name(folder)):
        raise CorruptRun(f"{path} is of run {facts['run']}, and its folder is called {name}; give it the run's name")
    return facts


def _is(value: Any, kind: Any) -> bool:
    if isinstance(kind, list):
        return isinstance(value, list) and all(_is(each, kind[0]) for each in value)
    if isinstance(kind, dict):
        return isinstance(value, dict) and all(_is(value.get(name), each) for name, each in kind.items())
    if isinstance(value, bool):
        return False
    if isinstance(value, (int, float)) and not abs(value) < MAX_NUMBER:
        return False
    return isinstance(value, (int, float) if kind is float else kind)


def folder_name(folder: Path) -> str:
    """The name of a run's folder, for any path that leads to it."""
    return folder.name if locations.is_remote(folder) else folder.resolve().name


def _json_object(path: Path, remedy: str) -> Row:
    try:
        data = json.loads(locations.read_bytes(path, MAX_JSON_BYTES))
    except (OSError, ValueError, RecursionError) as why:
        raise CorruptRun(f"{path} cannot be read ({why}); {remedy}") from None
    if not isinstance(data, dict):
        raise CorruptRun(f"{path} is not a JSON object; {remedy}")
    return data


def _check_format(path: Path, data: Row, remedy: str) -> None:
    if data.get("format") not in READS:
        found = data.get("format")
        if found is None:
            raise CorruptRun(f"{path} has no format, so something else than pairproof wrote it; {remedy}")
        raise CorruptRun(
            f"{path} has format {found!r}, this version reads {READS[0]} to {READS[-1]}; use the version that wrote it"
        )


def _each(do: Callable[[Path], int], paths: Sequence[Path]) -> Iterable[int]:
    """``do`` for each path; several at once for remote files."""
    if not paths or not locations.is_remote(paths[0]):
        return map(do, paths)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(do, paths))


def _check_columns(path: Path) -> int:
    """Its number of rows, after a check that its columns have the table's types and no required one is missing."""
    table = path.parent.name
    try:
        footer = tables.read_footer(path)
        schema = footer.schema.to_arrow_schema()
    except tables.UNREADABLE as why:
        raise _damaged(path, why) from None
    odd = _odd(schema, tables.SCHEMAS[table], ADDED.get(table, ()))
    if odd:
        shown = ", ".join(odd[:4])
        remedy = "use the version that wrote it, or record the run again"
        if table == "history":
            raise CorruptRun(f"{path} is not a history of format {history.FORMAT} ({shown}); {remedy}")
        raise CorruptRun(f"{path} does not have the columns of {table} ({shown}); {remedy}")
    return int(footer.num_rows)


def _odd(schema: Any, wanted: Any, added: Collection[str]) -> list[str]:
    """Columns of a wrong type, and missing required ones."""
    types = {field.name: field.type for field in schema}
    return [
        f"{field.name}: {types.get(field.name, 'none')}"
        for field in wanted
        if types.get(field.name, field.type if field.name in added else None) != field.type
    ]


def read(path: Path, run: str, trials: Collection[int] | None = None) -> Any:
    """A part's rows as :func:`pairproof.harness.runs.tables.read_part` returns them; CorruptRun if it is damaged or
    belongs to another run.
    """
    try:
        found = tables.read_part(path, trials)
    except tables.UNREADABLE as why:
        raise _damaged(path, why) from None
    if others := set(found["run"].unique().to_pylist()) - {run}:
        raise CorruptRun(f"{path} holds rows of run {str(others.pop())[:100]!r}; {REMEDY}")
    return found


def _damaged(path: Path, why: Exception) -> CorruptRun:
    reason = " ".join(str(why).split())[:120]
    return CorruptRun(f"{path} is damaged ({reason}); {REMEDY}")


def _began(folder: Path) -> str:
    try:
        began = _json_object(folder / "run.json", REPEAT)["began"]
        return datetime.fromisoformat(began).astimezone(UTC).isoformat()
    except (CorruptRun, ValueError, KeyError, TypeError, OverflowError):
        return datetime.fromtimestamp(folder.stat().st_mtime, UTC).isoformat()
