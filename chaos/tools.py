"""The folders for tools, and which tools in them are this user's.

A tool is put into the folder that ``PAIRPROOF_TOOLS`` names, otherwise into ``.tools`` of the project that we are in
(the nearest folder with a pyproject.toml); without a project, into the user's cache folder, where it is looked for in
any case. A project, with its ``.tools``, comes from whoever wrote it. So what lies there counts only if the user's
cache knows its digest, which :func:`place` writes down. The cache itself is the user's, and so is what the environment
names.
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
    """The first is for what is installed from here."""
    named = os.environ.get(TOOLS_VARIABLE)
    if named:
        return [Path(named).absolute()]
    project = _project()
    return [*([project] if project else []), _cache() / "tools"]


def there(name: str) -> list[Path]:
    """What has this name in the folders, the nearest first, whoever put it there."""
    return [path for folder in tool_folders() if (path := folder / name).exists()]


def is_users(path: Path) -> bool:
    """Whether what lies in one of the folders is this user's. Nothing is executed."""
    if os.environ.get(TOOLS_VARIABLE) or path.parent != _project():
        return True
    return _known(digest(path)).exists()


def place(name: str, make: Callable[[Path], Path], is_right: Callable[[Path], bool] = is_users) -> Path:
    """Put what ``make`` makes in an empty folder into the folder for tools, in place of what is not right there; where
    it is. LabError, with the remedy."""
    folder = tool_folders()[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Git has no business here, whatever the project's own .gitignore says.
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
    """SHA-256 of a file; of a folder, that of what ``sha256sum`` says of its files in the order of their names, for
    jars ``LC_ALL=C sha256sum *.jar | sha256sum``. What is read again is only what has another size or other times."""
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
        # Another process may have made the same meanwhile. A file is replaced; a folder cannot be, and stays.
        if not (made.is_dir() and to.is_dir()):
            raise


def _project() -> Path | None:
    """The folder for tools of the project that we are in."""
    here = Path.cwd()
    found = next((each for each in (here, *here.parents) if (each / "pyproject.toml").exists()), None)
    return found / PROJECT_TOOLS if found else None


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pairproof"


def _known(digest: str) -> Path:
    """A file of the user's cache that says that this user has installed what has this digest."""
    return _cache() / "installed" / digest
