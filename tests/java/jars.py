"""RocketMQ 4.9.7 for the tests, and our driver compiled against it.

Maven fetches what ``pom.xml`` names into ``.tools/java/`` once, javac compiles ``driver/`` there; each is done again
when what it was made from changes. Processes that ask at the same time wait for each other. RocketMQ (Apache-2.0) is
used by these tests only and never shipped. On a machine without Java or Maven these tests fail and say what to install.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".tools" / "java"
POM = HERE / "pom.xml"
FETCH_S = 400
COMPILE_S = 60
REMEDY = "install a JDK (17 or later) and Maven, on Debian: apt-get install default-jdk-headless maven"


class NoJava(Exception):
    """The Java side cannot be made ready: one line with the remedy."""


@cache
def classpath() -> str:
    """The class path of RocketMQ's client, tools, broker and name server, and of the driver."""
    CACHE.mkdir(parents=True, exist_ok=True)
    # Git has no business here, whatever the project's own .gitignore says.
    (CACHE / ".gitignore").write_text("*\n")
    with _alone(CACHE / "lock"):
        jars = _made("lib", [POM], fetch)
        drivers = sorted((HERE / "driver").glob("*.java"))
        classes = _made("driver", [POM, *drivers], lambda to: compile_sources(drivers, jars, to))
    return f"{classes}:{jars}/*"


def program(name: str) -> str:
    """The path of java, javac or mvn; NoJava if it is not there."""
    found = shutil.which(name)
    if found is None:
        raise NoJava(f"there is no {name}, and the tests with real RocketMQ peers need it: {REMEDY}")
    return found


def fetch(to: Path) -> None:
    """Fetch the jars into a folder; NoJava if that fails."""
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={to}"]
    _run([program("mvn"), "--quiet", "--batch-mode", "--strict-checksums", "--file", str(POM), *goal], FETCH_S)


def compile_sources(sources: Iterable[Path], jars: Path, to: Path) -> None:
    """Compile Java sources into a folder; NoJava if that fails."""
    _run([program("javac"), "-nowarn", "-proc:none", "-cp", f"{jars}/*", "-d", str(to), *map(str, sources)], COMPILE_S)


def _made(kind: str, sources: list[Path], make: Callable[[Path], None]) -> Path:
    """The folder made from these sources. It gets its name when it is whole; older ones are removed."""
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:16]
    folder = CACHE / f"{kind}-{digest}"
    if not folder.exists():
        for old in CACHE.glob(f"{kind}-*"):
            shutil.rmtree(old)
        unfinished = CACHE / f"{kind}-unfinished"
        make(unfinished)
        unfinished.rename(folder)
    return folder


def _run(command: list[str], limit_s: int) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        raise NoJava(f"{Path(command[0]).name} did not end within {limit_s} s") from None
    if done.returncode != 0:
        said = " | ".join((done.stdout + done.stderr).split("\n")[:6])
        raise NoJava(f"{Path(command[0]).name} failed: {said}; {REMEDY}")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    print(classpath())
