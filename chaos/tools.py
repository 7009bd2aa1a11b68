"""The folders for tools, and trust in their contents.

A tool is installed into the folder that ``PAIRPROOF_TOOLS`` names; otherwise into ``.tools`` of the current project
(the nearest folder with a pyproject.toml); without a project, into the user's cache folder, which is always searched. A
project, with its ``.tools``, may come from an untrusted author. So its tools count only if the user's cache contains
their digest, which :func:`place` records. The cache itself and the folder in the environment are trusted.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from ..harness.errors import LabError

TOOLS_VARIABLE = "PAIRPROOF_TOOLS"
PROJECT_TOOLS = ".tools"


def tool_folders() -> list[Path]:
    """In order of priority; tools are installed into the first."""
    named = os.environ.get(TOOLS_VARIABLE)
    if named:
        return [Path(named).absolute()]
    project = _project()
    return [*([project] if project else []), _cache() / "tools"]


def there(name: str) -> list[Path]:
    """Existing paths of this name in the folders, the nearest first, trusted or not."""
    return [path for folder in tool_folders() if (path := folder / name).exists()]


def is_users(path: Path) -> bool:
    """Whether this path in one of the folders is trusted as this user's. Nothing is executed."""
    if os.environ.get(TOOLS_VARIABLE) or path.parent != _project():
        return True
    return _known(digest(path)).exists()


def place(name: str, make: Callable[[Path], Path], is_right: Callable[[Path], bool] = is_users) -> Path:
    """Install the output of ``make`` (called with an empty folder) into the tools folder and return its path. Replaces
    an entry that is not right. LabError, with the remedy.
    """
    folder = tool_folders()[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Git must ignore this folder, regardless of the project's own .gitignore.
        if not os.path.lexists(folder / ".gitignore"):
            (folder / ".gitignore").write_text("*\n")
        with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder) as unfinished:
            made = make(Path(unfinished))
            if folder == _project():
                known = _known(digest(made))
                known.parent.mkdir(parents=True, exist_ok=True)
                known.write_text(f"{name}\n")
            _move(made, folder / name, is_right)
    except OSError as why:
        raise LabError(
            f"cannot write into {why.filename or folder}: {why.strerror}; set {TOOLS_VARIABLE} to a folder that can be "
            f"written"
        ) from None
    return folder / name


def digest(path: Path) -> str:
    """SHA-256 of a file; of a folder, the SHA-256 of ``sha256sum``'s lines for its files, sorted by name; for jars
    ``LC_ALL=C sha256sum *.jar | sha256sum``. Cached by size and times.
    """
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    stats = ((each, each.stat()) for each in files)
    return _digest(path, tuple((each, found.st_size, found.st_mtime_ns, found.st_ctime_ns) for each, found in stats))


@lru_cache(maxsize=64)
def _digest(path: Path, files: tuple[tuple[Path, int, int, int], ...]) -> str:
    if [each for each, *_ in files] == [path]:
        return _sha256(path)
    lines = (f"{_sha256(each)}  {each.relative_to(path)}\n" for each, *_ in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _move(made: Path, to: Path, is_right: Callable[[Path], bool]) -> None:
    if to.is_dir() and not is_right(to):
        to.unlink() if to.is_symlink() else shutil.rmtree(to)
    try:
        made.replace(to)
    except OSError:
        # Another process may have made the same one since. A file is replaced; a folder cannot be, and stays.
        if not (made.is_dir() and to.is_dir()):
            raise


def _project() -> Path | None:
    here = Path.cwd()
    found = next((each for each in (here, *here.parents) if (each / "pyproject.toml").exists()), None)
    return found / PROJECT_TOOLS if found else None


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pairproof"


def _known(digest: str) -> Path:
    """The cache file that records this user's installation of a digest."""
    return _cache() / "installed" / digest
