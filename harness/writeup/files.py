"""The files of a write-up: one by each registered writer, the program, and the logs of every execution."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast

from .. import registry
from ..errors import UsageError
from ..runs import atomic
from ..trials.trial import Finding, Trial
from .account import PROGRAM, Executed, program, write_up
from .blocks import WriteUp

OPTION = "--write-report"
Writer = Callable[[WriteUp], tuple[str, str]]
"""Of a write-up: the name of its file, and what is in it. Registered under the entry points ``pairproof.writers``."""


def check_folder(finding: Finding, folder: Path) -> None:
    """UsageError unless this finding can be written up into this folder; asked before minutes go by."""
    if not finding.law:
        raise UsageError("a trial in which the lab failed broke no law, so there is nothing to write up; leave it out")
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise UsageError(f"{folder} exists and is not an empty folder; name a new one with {OPTION}")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise UsageError(f"cannot create {folder}: {why.strerror}; name another place with {OPTION}") from None


def write(done: Executed, folder: Path) -> list[Path]:
    """Write it; where the files are."""
    whole = write_up(done)
    files = [cast(Writer, registry.find("writers", name))(whole) for name in registry.names("writers")]
    found = [atomic.put_text(folder, name, text, OPTION) for name, text in files]
    return [*found, atomic.put_json(folder, PROGRAM, program(done.finding), OPTION)]


def keep_logs(folder: Path, trials: Iterable[Trial]) -> list[Path]:
    """Write what each process said, an execution's number before its name; those of an earlier replay are replaced.

    UsageError if the folder cannot be written, CorruptRun if it is a symbolic link, or one of its logs is."""
    said = [(f"{number}-{node}.log", text) for number, each in enumerate(trials, 1) for node, text in each.logs.items()]
    if not said:
        return []
    try:
        for old in atomic.inside(folder.parent, folder.name).glob("*-*.log"):
            old.unlink()
        return [atomic.put_text(folder.parent, f"{folder.name}/{name}", text, OPTION) for name, text in said]
    except OSError as why:
        raise UsageError(f"cannot keep logs in {folder}: {why.strerror}; name another place with {OPTION}") from None
