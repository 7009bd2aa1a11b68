"""Files that appear whole or not at all: written beside their place under a hidden name, then renamed over it.

Holds against the end of the process at any instruction. A machine that loses power may still lose the newest files:
nothing is synced to the disk, since a recorded run is cheaper to repeat than an fsync per part is to pay for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from pairproof.harness.errors import PairproofError


def replace(path: Path, write: Callable[[Path], object]) -> Path:
    """Let ``write`` fill a hidden file in the same folder, then give it the name ``path``.

    Raises PairproofError in one line if the file cannot be written; what ``path`` held before is still there then.
    """
    hidden = path.with_name(f".{path.name}.tmp")
    try:
        write(hidden)
        hidden.replace(path)
    except OSError as why:
        hidden.unlink(missing_ok=True)
        raise PairproofError(
            f"cannot write {path}: {why.strerror or why}; make room or name another place with --out"
        ) from None
    return path


def write_text(path: Path, text: str) -> Path:
    """Put ``text`` at ``path``."""
    return replace(path, lambda hidden: hidden.write_text(text, encoding="utf-8"))


def write_json(path: Path, data: object) -> Path:
    """Put ``data`` at ``path`` as indented JSON."""
    return write_text(path, json.dumps(data, indent=2) + "\n")
