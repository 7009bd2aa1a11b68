"""The files of a write-up: one by each registered writer, the program, the steps without pairproof, and the logs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

from .. import registry
from ..errors import UsageError
from ..runs import atomic
from ..trials.trial import Finding, Trial
from .account import PROGRAM, Executed, by_hand, program, write_up
from .blocks import WriteUp

OPTION = "--write-report"
Writer = Callable[[WriteUp], tuple[str, str]]
"""Returns the name and the content of a write-up's file. Registered under the entry points ``pairproof.writers``."""


def check_folder(finding: Finding, folder: Path) -> None:
    """UsageError unless this finding can be written up into this folder; checked before minutes of work."""
    if not finding.law:
        raise UsageError("in this trial the lab failed and no law was violated: there is nothing to write up")
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} exists and is not an empty folder; name a new one with {OPTION}")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise UsageError(f"cannot create {folder}: {why.strerror}; name another path with {OPTION}") from None


def write(done: Executed, folder: Path) -> list[Path]:
    """Write it; returns the files."""
    whole = write_up(done)
    files = [cast(Writer, registry.find("writers", name))(whole) for name in registry.names("writers")]
    files += by_hand(done).items()
    found = [atomic.put_text(folder, name, text, OPTION) for name, text in files]
    return [*found, atomic.put_json(folder, PROGRAM, program(done.finding), OPTION)]


def keep_logs(folder: Path, trials: Iterable[Trial]) -> list[Path]:
    """Write each process's output, with the execution's number before its name; replaces those of an earlier replay.

    UsageError if the folder cannot be written, CorruptRun if it or one of its logs is a symbolic link.
    """
    logs = [(f"{number}-{node}.log", text) for number, each in enumerate(trials, 1) for node, text in each.logs.items()]
    if not logs:
        return []
    try:
        for old in atomic.inside(folder.parent, folder.name).glob("*-*.log"):
            old.unlink()
        return [atomic.put_text(folder.parent, f"{folder.name}/{name}", text, OPTION) for name, text in logs]
    except OSError as why:
        raise UsageError(f"cannot keep logs in {folder}: {why.strerror}; name another path with {OPTION}") from None
