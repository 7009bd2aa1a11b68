"""Finds toxiproxy-server, and builds it where it is missing.

Looked for in this order: the file that ``PAIRPROOF_TOXIPROXY`` names (then nowhere else), the folders for tools, PATH.
The folder for tools is ``PAIRPROOF_TOOLS``, otherwise ``.tools`` of the project that we are in (the nearest folder with
a pyproject.toml) and the user's cache folder. Only one version will do, because the simulated toxics mean what that one
does (decision 15).

Built from its source by Go, whose checksum database vouches for it: its releases are files of 12 MB for each kind of
machine. Left out: other versions, and removal (``make clean``, or delete the file).
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from pairproof.chaos import programs
from pairproof.harness.errors import LabError

VERSION = "2.12.0"
PROGRAM = "toxiproxy-server"
MODULE = "github.com/Shopify/toxiproxy/v2"
PATH_VARIABLE = "PAIRPROOF_TOXIPROXY"
TOOLS_VARIABLE = "PAIRPROOF_TOOLS"
ASK_LIMIT_S = 20
BUILD_LIMIT_S = 400
REMEDY = f"run: pairproof labs install toxiproxy (needs Go), or set {PATH_VARIABLE} to a {PROGRAM} {VERSION}"


class Unusable(Exception):
    """A file is not the server that is wanted; says what it is."""


class Toxiproxy:
    """The tool ``toxiproxy`` of ``pairproof labs install``."""

    name = "toxiproxy"
    about = f"toxiproxy-server {VERSION}, the proxy between real processes; built with Go"

    def find(self) -> Path:
        """Where the server is. LabError, with the remedy, if there is none of the right version."""
        named = os.environ.get(PATH_VARIABLE)
        if named:
            try:
                return _checked(Path(named))
            except Unusable as why:
                raise LabError(f"{PATH_VARIABLE}: {why}; name a {PROGRAM} {VERSION}, or unset it") from None
        reasons = []
        for path in _candidates():
            try:
                return _checked(path)
            except Unusable as why:
                reasons.append(str(why))
        raise LabError(f"no {PROGRAM} {VERSION} ({'; '.join(reasons) or 'there is none at all'}): {REMEDY}")

    def install(self) -> Path:
        """Build the server, unless one can be found; where it is. LabError, with the remedy, if that fails."""
        try:
            return self.find()
        except LabError:
            if os.environ.get(PATH_VARIABLE):
                raise
        try:
            return place(PROGRAM, lambda unfinished: _checked(_build(unfinished)))
        except Unusable as why:
            raise LabError(f"Go built something else: {why}; {REMEDY}") from None


TOOL = Toxiproxy()


def _candidates() -> Iterator[Path]:
    yield from (path for folder in tool_folders() if (path := folder / PROGRAM).exists())
    on_path = shutil.which(PROGRAM)
    if on_path:
        yield Path(on_path)


def tool_folders() -> list[Path]:
    """The first is for what is installed from here."""
    named = os.environ.get(TOOLS_VARIABLE)
    if named:
        return [Path(named).absolute()]
    here = Path.cwd()
    project = next((each for each in (here, *here.parents) if (each / "pyproject.toml").exists()), None)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [*([project / ".tools"] if project else []), cache / "pairproof" / "tools"]


def place(name: str, make: Callable[[Path], Path]) -> Path:
    """Put what ``make`` makes in an empty folder into the folder for tools; where it is. LabError, with the remedy."""
    folder = tool_folders()[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Git has no business here, whatever the project's own .gitignore says.
        (folder / ".gitignore").write_text("*\n")
        with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder) as unfinished:
            made = make(Path(unfinished))
            try:
                made.replace(folder / name)
            except OSError:
                # Another process may have made the same meanwhile. A file is replaced; a folder cannot be, and stays.
                if not (made.is_dir() and (folder / name).is_dir()):
                    raise
    except OSError as why:
        raise LabError(
            f"cannot write into {folder}: {why.strerror}; set {TOOLS_VARIABLE} to a folder that can be written"
        ) from None
    return folder / name


def _checked(path: Path) -> Path:
    """The absolute path, if that is the server in the version that is wanted; :class:`Unusable` otherwise."""
    try:
        done = programs.run([str(path.absolute()), "-version"], ASK_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise Unusable(f"{path} does not say its version within {ASK_LIMIT_S} s") from None
    except OSError as why:
        raise Unusable(f"{path} does not run: {why.strerror}") from None
    said = done.stdout.split()
    if said[:2] != [PROGRAM, "version"]:
        raise Unusable(f"{path} is not a {PROGRAM}, or one older than 2.5")
    if said[2:] != [VERSION]:
        raise Unusable(f"{path} is version {' '.join(said[2:])}")
    return path.absolute()


def _build(to: Path) -> Path:
    go = shutil.which("go")
    if go is None:
        raise LabError(
            f"there is no go, which builds {PROGRAM}: install Go 1.21 or later, or set {PATH_VARIABLE} to "
            f"a {PROGRAM} {VERSION}"
        )
    command = [go, "install", "-ldflags", f"-s -w -X {MODULE}.Version={VERSION}", f"{MODULE}/cmd/server@v{VERSION}"]
    # Without cgo no C compiler is needed.
    environ = {**os.environ, "GOBIN": str(to), "CGO_ENABLED": "0"}
    try:
        done = programs.run(command, BUILD_LIMIT_S, environ, to)
    except subprocess.TimeoutExpired:
        raise LabError(
            f"go did not build {PROGRAM} within {BUILD_LIMIT_S} s; is the network there? Otherwise set "
            f"{PATH_VARIABLE} to a {PROGRAM} {VERSION}"
        ) from None
    except OSError as why:
        raise LabError(f"{go} does not run: {why.strerror}; install Go 1.21 or later") from None
    built = to / "server"
    if done.returncode != 0 or not built.exists():
        said = " | ".join((done.stderr or done.stdout).split("\n")[:4]).strip(" |") or "it did not say why"
        raise LabError(
            f"go could not build {PROGRAM}: {said}; fix that, or set {PATH_VARIABLE} to a {PROGRAM} {VERSION}"
        )
    return built
