"""The processes' output in a trial, for a finding's page: the end of each log in its run folder.

Bounded in files and bytes; control characters are replaced. A log that is not a plain file is left out, so that a
foreign folder cannot bring other files of this machine into a page.
"""

import re
from pathlib import Path
from typing import NamedTuple

MAX_LOGS = 16
MAX_BYTES = 16 * 1024
"""Shown of one log: the reason for an end comes last."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class LogEnd(NamedTuple):
    """The end of one node's log. ``left_out``: bytes before it."""

    node: str
    path: str
    text: str
    left_out: int


def of_trial(folder: Path, trial: int) -> list[LogEnd]:
    """The logs of one trial in a run folder, by node, without unreadable ones."""
    found = []
    for path in sorted((folder / "logs").glob(f"{trial:06d}-*.log"))[:MAX_LOGS]:
        try:
            if path.is_symlink() or not path.is_file():
                continue
            left_out = max(0, path.stat().st_size - MAX_BYTES)
            with path.open("rb") as file:
                file.seek(left_out)
                data = file.read(MAX_BYTES)
        except OSError:
            continue
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        found.append(LogEnd(path.stem.partition("-")[2], str(path), _CONTROL.sub("\ufffd", text).strip("\n"), left_out))
    return found
