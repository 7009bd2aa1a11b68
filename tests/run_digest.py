"""A digest of all that a run's folder tells of its trials, whatever it is called and whoever wrote it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pyarrow.parquet as pq

from pairproof.harness.runs.schema import TABLES


def digest_of(folder: Path) -> str:
    """Of all rows, parts in the order of their numbers, and of all findings; the run's name is left out."""
    made = hashlib.blake2b(digest_size=12)
    for table in TABLES:
        for part in sorted((folder / table).glob("part-*.parquet")):
            with part.open("rb") as file:
                rows = pq.read_table(file).drop_columns(["run"])
            # Row by row: how many rows a part has depends on the time that they took.
            for row in rows.to_pylist():
                made.update(repr(row).encode())
    for path in sorted((folder / "findings").glob("[0-9]*.json")):
        told = json.loads(path.read_text())
        made.update(json.dumps({name: each for name, each in told.items() if name != "replay"}).encode())
    return made.hexdigest()


def numbers(folder: Path) -> list[int]:
    """Of all its trials."""
    parts = sorted((folder / "trials").glob("part-*.parquet"))
    return [number for part in parts for number in pq.read_table(part, columns=["trial"])["trial"].to_pylist()]
