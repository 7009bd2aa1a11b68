"""The user's way of starting pairproof, so that a printed command works when it is pasted into the same shell."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from .plain import without_secrets

NAME = "pairproof"


def program() -> str:
    """``pairproof`` if the shell finds this program; otherwise its path, relative if it is below the working directory.

    ``python -m pairproof`` if the user started that.
    """
    started = Path(sys.argv[0])
    if started.parts[-2:] == (NAME, "__main__.py"):
        return f"{shown(Path(sys.executable))} -m {NAME}"
    if started.name != NAME or not started.is_file():
        # Called as a library: pip puts the command beside the interpreter.
        started = Path(sys.executable).parent / NAME
    known = shutil.which(NAME)
    if not started.is_file() or (known is not None and Path(known).samefile(started)):
        return NAME
    return shown(started)


def shown(path: Path) -> str:
    """A path quoted for a shell; relative if it is below the working directory."""
    if not isinstance(path, Path):
        # A URL, see pairproof.harness.runs.locations.
        return shlex.quote(without_secrets(str(path)))
    absolute = path.absolute()
    near = absolute.is_relative_to(Path.cwd())
    return shlex.quote(str(absolute.relative_to(Path.cwd()) if near else absolute))


def line(command: str, path: Path) -> str:
    """The command line that does ``command`` with the file at ``path``."""
    return f"{program()} {command} {shown(path)}"
