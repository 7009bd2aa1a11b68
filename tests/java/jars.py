"""RocketMQ 4.9.7 for the tests, and our driver compiled against it.

``pairproof labs install rocketmq-4.9.7`` fetches its jars, javac compiles ``driver/`` into ``.tools/java/``, again when
what it was made from changes. Processes that ask at the same time wait for each other. On a machine without Java or
Maven these tests fail and say what to install.
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

from pairproof.chaos.rocketmq import install
from pairproof.harness.errors import LabError

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".tools" / "java"
COMPILE_S = 60
VERSION = "4.9.7"


class NoJava(Exception):
    """The Java side cannot be made ready: one line with the remedy."""


@cache
def classpath() -> str:
    """The class path of RocketMQ's client, tools, broker and name server, and of the driver."""
    CACHE.mkdir(parents=True, exist_ok=True)
    # Git has no business here, whatever the project's own .gitignore says.
    (CACHE / ".gitignore").write_text("*\n")
    with _alone(CACHE / "lock"):
        jars = fetched()
        drivers = sorted((HERE / "driver").glob("*.java"))
        sources = [each.read_bytes() for each in (install.POM, *drivers)]
        classes = _made("driver", sources, lambda to: compile_sources(drivers, jars, to))
    return f"{classes}:{jars}/*"


def program(name: str) -> str:
    """The path of java, javac or mvn; NoJava if it is not there."""
    try:
        return install.program(name)
    except LabError as why:
        raise NoJava(str(why)) from None


def fetched() -> Path:
    """The folder with RocketMQ's jars; NoJava if they cannot be had."""
    try:
        return install.JARS[VERSION].install()
    except LabError as why:
        raise NoJava(str(why)) from None


def compile_sources(sources: Iterable[Path], jars: Path, to: Path) -> None:
    """Compile Java sources into a folder; NoJava if that fails."""
    _run([program("javac"), "-nowarn", "-proc:none", "-cp", f"{jars}/*", "-d", str(to), *map(str, sources)], COMPILE_S)


def _made(kind: str, sources: list[bytes], make: Callable[[Path], None]) -> Path:
    """The folder made from these sources. It gets its name when it is whole; older ones are removed."""
    digest = hashlib.sha256(b"".join(sources)).hexdigest()[:16]
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
        raise NoJava(f"{Path(command[0]).name} failed: {said}")


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    print(classpath())
