"""What the processes of a trial said, as a finding's page shows it: the end of each log that its run folder holds.

Bounded in files, bytes and by what a page can hold: control characters are shown as replaced. A log that is no plain
file is left out, so that a folder from elsewhere cannot bring other files of this machine into a page.
"""

import re
from pathlib import Path
from typing import NamedTuple

MAX_LOGS = 16
MAX_BYTES = 16 * 1024
"""Shown of one log; processes say last why they ended."""

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Said(NamedTuple):
    """The end of one node's log. ``left_out``: bytes before it."""

    node: str
    path: str
    text: str
    left_out: int


def of_trial(folder: Path, trial: int) -> list[Said]:
    """The logs of one trial in a run folder, by node; those that cannot be read are left out."""
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
        found.append(Said(path.stem.partition("-")[2], str(path), _CONTROL.sub("\ufffd", text).strip("\n"), left_out))
    return found
