"""Check that a run folder still holds everything that its run wrote, unchanged.

An upload that lost files, or a changed table, must not read as a pass. At the end of a run its facts list every part
with its number of rows, every finding, failure, log and chunk of a campaign, and the digests of these files
(:func:`contents`). They are replaced at once, so the list of an ended run is exact. Digests are compared for local
files; remote pages, which would be fetched twice, have checksums.

A killed run has no list. Its committed parts can be read, but a part is detected as missing if the numbers of the parts
have a gap, if a part has no verdicts, or if a finding names a trial of no part. Older runs without lists have their
number of trials.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import CorruptRun
from . import locations, tables
from .part_size import MAX_FILE_BYTES
from .schema import TABLES

FILES = {"findings": "[0-9]*.json", "failures": "[0-9]*.json", "logs": "*.log", "chunks": "[0-9]*.json"}
"""Folders of files that are not parts, and the patterns of their names."""
REMEDY = "copy the whole folder again from where it was recorded, or record the run again"
RESUME = "take the campaign up again with pairproof campaign --resume, or delete the folder"

_PART = re.compile(r"part-(\d+)\.parquet")
_FILE = re.compile(r"\w+/(?!\.)[^/\\\0]+")
"""A table or a folder of :data:`FILES`, and a file name in it."""


def part_name(number: int) -> str:
    """The name of a part's file, the same in every table."""
    return f"part-{number:05d}.parquet"


def digest(data: bytes) -> str:
    """For a file."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def contents(folder: Path, parts: Mapping[str, Mapping[str, int]], digests: Mapping[str, str]) -> dict[str, object]:
    """The fact ``contents``. ``parts``: by table, the names of its parts with their rows. ``digests``: of each."""
    files = {name: sorted(each.name for each in (folder / name).glob(glob)) for name, glob in FILES.items()}
    of_files = {
        f"{name}/{each}": digest(locations.read_bytes(folder / name / each, MAX_FILE_BYTES))
        for name, listed in files.items() for each in listed if not locations.is_remote(folder)
    }  # fmt: skip
    rows = {table: dict(parts.get(table, {})) for table in TABLES}
    return {"parts": rows, "files": files, "digests": {**digests, **of_files}}


def check_digests(folder: Path, digests: Mapping[str, str], remedy: str = REMEDY) -> None:
    """Check that files are unchanged, by their names in the folder; CorruptRun names the first that is not."""
    for name, wanted in digests.items():
        path = folder / name
        try:
            found = digest(locations.read_bytes(path, MAX_FILE_BYTES))
        except (OSError, ValueError) as why:
            raise CorruptRun(f"{path} cannot be read ({getattr(why, 'strerror', None) or why}); {remedy}") from None
        if found != wanted:
            raise CorruptRun(f"{path} is not as it was written; {remedy}")


class Contents:
    def __init__(self, folder: Path, facts: Mapping[str, Any]) -> None:
        self.folder = folder
        self.facts = facts
        listed = facts.get("contents")
        if listed is not None and not _is_list(listed):
            raise CorruptRun(f"{folder / 'run.json'} has no list of contents; {REMEDY}")
        self.parts: Mapping[str, Mapping[str, int]] | None = None if listed is None else listed["parts"]
        self.files: Mapping[str, list[str]] = {} if listed is None else listed["files"]
        # Older runs have none.
        self.digests: Mapping[str, str] = {} if listed is None else listed.get("digests", {})
        self._listed: dict[str, frozenset[str]] = {}
        self._remedy = RESUME if facts.get("campaign") else REMEDY

    def check_files(self) -> None:
        """Check that no file is missing, and that all parts are the run's own; CorruptRun names one."""
        for name, wanted in self.files.items():
            for each in wanted:
                self._must_exist(self.folder / name / each)
        if self.parts is None:
            self._check_numbers()
            return
        for table, rows in self.parts.items():
            for each in rows:
                self._must_exist(self.folder / table / each)
        for path in sorted((self.folder / "trials").glob("part-*.parquet")):
            if path.name not in self.parts.get("trials", {}):
                raise CorruptRun(f"{path} is not one of this run's parts; {REMEDY}")

    def check_others(self) -> None:
        """Check that the files that are not parts are unchanged."""
        if not locations.is_remote(self.folder):
            others = {name: each for name, each in self.digests.items() if _folder(name) in FILES}
            check_digests(self.folder, others, self._remedy)

    def check_part(self, path: Path, rows: int) -> None:
        wanted = rows if self.parts is None else self.parts.get(path.parent.name, {}).get(path.name)
        if rows != wanted:
            raise CorruptRun(f"{path} has {rows} rows, and {wanted or 'none'} were written; {REMEDY}")
        name = f"{path.parent.name}/{path.name}"
        # A damaged history affects only itself: it is judged again, and a report names the damage.
        if name in self.digests and path.parent.name != "history" and not locations.is_remote(path):
            check_digests(self.folder, {name: self.digests[name]}, self._remedy)

    def check_trials(self, parts: list[Path], findings: list[dict[str, Any]]) -> None:
        """For a run without a list: check its number of trials or, if it was killed, that they include those of its
        findings.
        """
        if self.parts is not None:
            return
        if self.facts["state"] != "running":
            expected, found = self.facts.get("trials"), sum(tables.read_footer(path).num_rows for path in parts)
            if isinstance(expected, int) and expected != found:
                raise CorruptRun(f"{self.folder} holds {found} of its {expected} trials; {REMEDY}")
        elif findings:
            known = {number for path in parts for number in tables.read_part(path).column("trial").to_pylist()}
            lost = sorted(each["trial"] for each in findings if each["trial"] not in known)
            if lost:
                raise CorruptRun(f"{self.folder} has a finding of trial {lost[0]}, and not that trial; {REMEDY}")

    def _check_numbers(self) -> None:
        found = sorted(
            int(name[1])
            for path in (self.folder / "trials").glob("part-*.parquet")
            if (name := _PART.fullmatch(path.name))
        )
        for number in range(max(found, default=-1) + 1):
            self._must_exist(self.folder / "trials" / part_name(number))
            if self.facts.get("laws"):
                self._must_exist(self.folder / "verdicts" / part_name(number))

    def _names(self, folder: Path) -> frozenset[str]:
        """Its names, listed once: a request per remote file would be slow."""
        if folder.name not in self._listed:
            there = folder.iterdir() if folder.is_dir() else ()
            self._listed[folder.name] = frozenset(each.name for each in there)
        return self._listed[folder.name]

    def _must_exist(self, path: Path) -> None:
        if path.name not in self._names(path.parent):
            raise CorruptRun(f"{path} is missing; {self._remedy}")


def _folder(name: str) -> str:
    return name.partition("/")[0]


def _is_list(told: object) -> bool:
    if not isinstance(told, dict):
        return False
    parts, files, digests = told.get("parts"), told.get("files"), told.get("digests", {})
    if not isinstance(parts, dict) or not isinstance(files, dict) or not isinstance(digests, dict):
        return False
    if not all(map(_FILE.fullmatch, digests)):
        return False
    return all(isinstance(each, dict) for each in parts.values()) and all(
        isinstance(each, list) and all(isinstance(name, str) for name in each) for each in files.values()
    )
