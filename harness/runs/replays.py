"""The number of reproductions of a run's finding: ``replays/NNNN.json``, beside ``findings/NNNN.json``.

``pairproof replay`` writes it, and a report shows it. The file is a list with an entry for each replay of the unchanged
finding: lab, version, executions, and how many of these showed it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

from pairproof import __version__

from ..errors import PairproofError
from . import atomic, locations
from .schema import Row

MAX_ENTRIES = 1_000
MAX_BYTES = 1_000_000
FIELDS: dict[str, type] = {"at": str, "lab": str, "target": str, "pairproof": str, "executed": int, "showed": int}


def place(finding: Path) -> Path | None:
    """The file for replays of a finding; None if the finding is not in a run's folder."""
    run = finding.absolute().parent.parent
    ours = finding.parent.name == "findings" and (run / "run.json").is_file()
    return run / "replays" / finding.name if ours else None


def add(finding: Path, lab: str, target: str, executed: int, showed: int) -> Path | None:
    """Record a replay and return the file. None if it is not recorded: outside of a run's folder, or if nothing can be
    written, which must not fail the replay.
    """
    path = place(finding)
    if path is None:
        return None
    now = datetime.now(UTC).isoformat(timespec="seconds")
    values = (now, lab, target, __version__, executed, showed)
    entries = [*read(path), dict(zip(FIELDS, values, strict=True))]
    try:
        return atomic.put_json(path.parent.parent, f"{path.parent.name}/{path.name}", entries[-MAX_ENTRIES:])
    except PairproofError:
        return None


def read(path: Path) -> list[Row]:
    """The entries of a file; none if it is missing or unreadable."""
    try:
        content = json.loads(locations.read_bytes(path, MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return []
    entries = content if isinstance(content, list) else []
    return [each for each in entries if isinstance(each, dict) and _is_entry(each)]


def _is_entry(entry: Row) -> bool:
    typed = all(isinstance(entry.get(name), kind) for name, kind in FIELDS.items())
    return typed and 0 <= entry["showed"] <= entry["executed"]
