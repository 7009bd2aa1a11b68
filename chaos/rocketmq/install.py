"""Finds the jars of a RocketMQ release or folder; Maven fetches a missing release.

They are in the folder for tools (:mod:`pairproof.chaos.tools`), one folder per version, which gets its name when it is
complete. Maven checks downloads against the repository's checksums. Measured versions must also have the digests below,
at each use; others are trusted like every tool, and a run's facts contain their digests. RocketMQ (Apache-2.0) is used
for tests and never shipped.

A folder (``ROCKETMQ_HOME``: an unpacked distribution, or the output of a build) has its jars in ``lib``.

Left out: removal (``make clean``, or delete the folder).
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from ...harness.errors import LabError, UsageError
from ...harness.rocketmq import settings
from .. import programs, tools

VERSIONS = ("4.9.7", "5.5.0")
"""Measured versions. They are fetched with the dependencies of RocketMQ's own clients, for tests."""
DIGESTS = {
    "4.9.7": "7485dc4f62609a1e2c2285aa743dd8d0580cce28c22b520baf84c9e65cbbf222",
    "5.5.0": "13371e2c629731e9b6fda207646f555af3500f8b44d41bb187c257b937d837ee",
}
"""Their jars' digests, see :func:`pairproof.chaos.tools.digest`; as in Maven's central repository, 2026-11-27."""
RELEASES = (
    "4.4.0", "4.5.0", "4.5.1", "4.5.2", "4.6.0", "4.6.1", "4.7.0", "4.7.1", "4.8.0", "4.9.0", "4.9.1", "4.9.2",
    "4.9.3", "4.9.4", "4.9.5", "4.9.7", "5.0.0", "5.1.0", "5.1.1", "5.1.3", "5.1.4", "5.2.0", "5.3.0", "5.3.1",
    "5.3.2", "5.3.3", "5.4.0", "5.5.0",
)  # fmt: skip
"""Releases whose jars are in Maven's central repository, in order (2026-11-29)."""
VERSION = re.compile(r"[4-6](\.\d{1,3}){1,2}[-\w.]{0,40}", re.ASCII)
"""A release's name, of a line that may resemble a known one; it becomes a part of a folder's."""
BROKER_JAR = "rocketmq-broker-"
NAMES_JAR = "rocketmq-namesrv"
POM = resources.files(__package__).joinpath("pom.xml")
FETCH_S = 600
NOT_THERE = re.compile("Could not find artifact|was not found in")
"""Maven's message for a version that its repository does not have."""
ARTIFACT = re.compile(r":([\w.-]+):jar:")
"""A jar that Maven names in it."""
NEEDS = "needs a JDK (17 or later) and Maven, on Debian: apt-get install default-jdk-headless maven"


def neighbours(version: str) -> str:
    """The nearest releases that can be fetched, as words."""
    numbers = {each: settings.version({"rocketmqVersion": each}) for each in (version, *RELEASES)}
    before = [each for each in RELEASES if numbers[each] < numbers[version]]
    after = [each for each in RELEASES if numbers[each] > numbers[version]]
    return " and ".join((*before[-1:], *after[:1]))


class Fetched:
    """A tool that Maven makes or fetches into the folder for tools."""

    name: str
    what: str
    """As in "there is no ..."."""
    _placed: str

    def find(self) -> Path:
        """Its path. LabError, with the remedy, if it is absent or was changed after the installation."""
        wrong = []
        for each in tools.there(self._placed):
            if self._is_right(each):
                return each
            wrong.append(f"{each} was changed after its installation")
        why = f" ({'; '.join(wrong)})" if wrong else ""
        raise LabError(f"there is no {self.what}{why}: run: pairproof labs install {self.name} ({NEEDS})")

    def install(self) -> Path:
        """Make it unless it exists; returns its path. LabError, with the remedy, if that fails."""
        try:
            return self.find()
        except LabError:
            return tools.place(self._placed, self._make, self._is_right)

    def _is_right(self, path: Path) -> bool:
        return tools.is_users(path)

    def _make(self, unfinished: Path) -> Path:
        """Make it in an empty folder; returns its path there."""
        raise NotImplementedError


class RocketMQ(Fetched):
    """A tool of ``pairproof labs install``: one release."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.name = f"rocketmq{'-' if version in VERSIONS else '@'}{version}"
        self.about = f"Apache RocketMQ {version}, brokers and name server to be tested; fetched by Maven"
        self.what = f"RocketMQ {version}"
        self._placed = f"rocketmq-{version}-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"

    def _make(self, unfinished: Path) -> Path:
        to = unfinished / "jars"
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={to}"]
        profile = ["-Pwith-clients"] if self.version in VERSIONS else []
        missing = (
            f"Maven's repository does not have all jars of RocketMQ {self.version}{{lacking}}; it has "
            f"those of {neighbours(self.version)}. If {self.version} is a release, unpack its binary distribution "
            f"(rocketmq.apache.org/download), and name that: rocketmq@/its/folder"
        )
        with resources.as_file(POM) as pom:
            arguments = [*profile, "--file", str(pom), f"-Drocketmq.version={self.version}", *goal]
            what = f"fetch RocketMQ {self.version}"
            try:
                maven(["-Pwith-names", *arguments], what, FETCH_S, missing)
            except (LabError, UsageError) as why:
                # Brokers can be tested without it.
                if NAMES_JAR not in str(why):
                    raise
                maven(arguments, what, FETCH_S, missing)
        if not self._is_right(to):
            raise LabError(
                f"Maven fetched other jars than those of RocketMQ {self.version} that were measured (digest "
                f"{tools.digest(to)}, not {DIGESTS[self.version]}); check the repository in its settings.xml"
            )
        return to

    def _is_right(self, path: Path) -> bool:
        known = DIGESTS.get(self.version)
        return tools.digest(path) == known if known else super()._is_right(path)


class Home:
    """An unpacked or locally built RocketMQ: a folder with ``lib``."""

    def __init__(self, folder: Path) -> None:
        """UsageError, with the remedy, for a folder without a broker."""
        self.name = f"rocketmq@{folder}"
        self.about = f"the RocketMQ in {folder}"
        self._jars = folder / "lib"
        found = releases(self._jars)
        if len(found) != 1:
            what = "no" if not found else "more than one"
            raise UsageError(
                f"{self.name}: {what} lib/{BROKER_JAR}VERSION.jar in that folder; name the folder of an unpacked "
                f"RocketMQ that holds bin, conf and lib (of a build: distribution/target/rocketmq-VERSION/...)"
            )
        self.version = found[0]

    def find(self) -> Path:
        return self._jars

    def install(self) -> Path:
        return self._jars


def releases(jars: Path) -> list[str]:
    """Releases with a broker in a folder of jars."""
    return sorted(each.stem.removeprefix(BROKER_JAR) for each in jars.glob(f"{BROKER_JAR}[0-9]*.jar"))


@cache
def source(which: str) -> RocketMQ | Home:
    """A version, or the absolute path of a folder; UsageError otherwise."""
    if which in JARS:
        return JARS[which]
    if which.startswith("/"):
        return Home(Path(which))
    if not VERSION.fullmatch(which):
        raise UsageError(
            f"{which[:80]!r} is neither a RocketMQ release, such as 4.9.8 or 5.5.0, "
            f"nor the absolute path of an unpacked one"
        )
    return RocketMQ(which)


def maven(arguments: Sequence[str], what: str, limit_s: int, missing: str = "") -> None:
    """Run Maven for a purpose (``what``, in words). LabError if it fails; UsageError ``missing`` if it finds no such
    jars, which the text gets as ``lacking``.
    """
    command = [program("mvn"), "--quiet", "--batch-mode", "--strict-checksums", *arguments]
    done = programs.run(command, limit_s, f"Maven did not {what} within {limit_s} s; try again")
    if done.returncode != 0:
        if missing and NOT_THERE.search(done.stdout + done.stderr):
            jars = ", ".join(dict.fromkeys(ARTIFACT.findall(done.stdout + done.stderr)))
            raise UsageError(missing.format(lacking=f" (no {jars})" if jars else ""))
        output = " | ".join((done.stdout + done.stderr).split("\n")[:4]).strip(" |")
        raise LabError(f"Maven could not {what}: {output}; is the network available?")


def program(name: str) -> str:
    """The path of java, javac or mvn; LabError, with the remedy, if it is missing."""
    found = shutil.which(name)
    if found is None:
        raise LabError(f"there is no {name}, and real RocketMQ {NEEDS}")
    return found


JARS = {version: RocketMQ(version) for version in VERSIONS}
V4, V5 = JARS.values()
