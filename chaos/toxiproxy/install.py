"""Finds toxiproxy-server, and builds a missing one.

Searched in this order: the file that ``PAIRPROOF_TOXIPROXY`` names (then nowhere else), the folders for tools
(:mod:`pairproof.chaos.tools`: one in a checkout counts only if this user has installed it), PATH. Only one version is
accepted, because the simulated toxics follow it (decision 15); the server's version is checked before its use.

Go builds it from source, verified by Go's checksum database, because its releases are files of 12 MB for each type of
machine. Left out: other versions, and removal (``make clean``, or delete the file).
"""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from ...harness.errors import LabError
from .. import programs, tools

VERSION = "2.12.0"
PROGRAM = "toxiproxy-server"
MODULE = "github.com/Shopify/toxiproxy/v2"
PATH_VARIABLE = "PAIRPROOF_TOXIPROXY"
ASK_LIMIT_S = 20
BUILD_LIMIT_S = 400
REMEDY = f"run: pairproof labs install toxiproxy (needs Go), or set {PATH_VARIABLE} to a {PROGRAM} {VERSION}"


class Unusable(Exception):
    """A file is not the required server, with the reason."""


class Toxiproxy:
    name = "toxiproxy"
    about = f"toxiproxy-server {VERSION}, the proxy between real processes; built with Go"

    def find(self) -> Path:
        """The server's path, without a check of its version. LabError, with the remedy, if there is none."""
        return _first(_there)

    def usable(self) -> Path:
        """The path of a server whose version was checked by running it. LabError likewise."""
        return _first(_checked)

    def install(self) -> Path:
        """Build the server, unless one is found; returns its path. LabError, with the remedy, if that fails."""
        try:
            return self.usable()
        except LabError:
            if os.environ.get(PATH_VARIABLE):
                raise
        try:
            return tools.place(PROGRAM, lambda unfinished: _checked(_build(unfinished)))
        except Unusable as why:
            raise LabError(f"Go built something else: {why}; {REMEDY}") from None


TOOL = Toxiproxy()


def _first(take: Callable[[Path], Path]) -> Path:
    named = os.environ.get(PATH_VARIABLE)
    if named:
        try:
            return take(Path(named))
        except Unusable as why:
            raise LabError(f"{PATH_VARIABLE}: {why}; name a {PROGRAM} {VERSION}, or unset it") from None
    reasons = []
    on_path = shutil.which(PROGRAM)
    for path in [*tools.there(PROGRAM), *([Path(on_path)] if on_path else [])]:
        try:
            if not tools.is_users(path):
                raise Unusable(f"{path} comes with the project, you have not installed it")
            return take(path)
        except Unusable as why:
            reasons.append(str(why))
    raise LabError(f"no {PROGRAM} {VERSION} ({'; '.join(reasons) or 'none found'}): {REMEDY}")


def _there(path: Path) -> Path:
    """The absolute path of a file; :class:`Unusable` otherwise."""
    if not path.is_file():
        raise Unusable(f"{path} is not a file")
    return path.absolute()


def _checked(path: Path) -> Path:
    """The absolute path, if it is the server in the required version; :class:`Unusable` otherwise."""
    late = f"{path} does not print its version within {ASK_LIMIT_S} s"
    try:
        done = programs.run([str(_there(path)), "-version"], ASK_LIMIT_S, late)
    except LabError as why:
        raise Unusable(str(why)) from None
    except OSError as why:
        raise Unusable(f"{path} does not run: {why.strerror}") from None
    output = done.stdout.split()
    if output[:2] != [PROGRAM, "version"]:
        raise Unusable(f"{path} is not a {PROGRAM}, or one older than 2.5")
    if output[2:] != [VERSION]:
        raise Unusable(f"{path} is version {' '.join(output[2:])}")
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
    late = (
        f"go did not build {PROGRAM} within {BUILD_LIMIT_S} s; is the network available? Otherwise set "
        f"{PATH_VARIABLE} to a {PROGRAM} {VERSION}"
    )
    try:
        done = programs.run(command, BUILD_LIMIT_S, late, environ, to)
    except OSError as why:
        raise LabError(f"{go} does not run: {why.strerror}; install Go 1.21 or later") from None
    built = to / "server"
    if done.returncode != 0 or not built.exists():
        output = " | ".join((done.stderr or done.stdout).split("\n")[:4]).strip(" |") or "no message"
        raise LabError(
            f"go could not build {PROGRAM}: {output}; fix that, or set {PATH_VARIABLE} to a {PROGRAM} {VERSION}"
        )
    return built
