"""Finds RocketMQ's jars, and has Maven fetch them where they are missing.

They lie in the folder for tools (``PAIRPROOF_TOOLS``, otherwise as :mod:`pairproof.chaos.toxiproxy.install` says), a
folder for each version, which gets its name when it is whole. Maven checks what it fetches against the repository's
checksums. RocketMQ (Apache-2.0) is used where it is to be tested and never shipped.

Left out: versions that nobody has measured, and removal (``make clean``, or delete the folder).
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from importlib import resources
from pathlib import Path

from pairproof.chaos import programs
from pairproof.chaos.toxiproxy.install import TOOLS_VARIABLE, tool_folders
from pairproof.harness.errors import LabError

VERSIONS = ("4.9.7", "5.5.0")
POM = resources.files(__package__).joinpath("pom.xml")
FETCH_S = 600
NEEDS = "needs a JDK (17 or later) and Maven, on Debian: apt-get install default-jdk-headless maven"


class RocketMQ:
    """A tool of ``pairproof labs install``: one version."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.name = f"rocketmq-{version}"
        self.about = f"Apache RocketMQ {version}, brokers and name server to be tested; fetched by Maven"
        self._folder = f"{self.name}-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"

    def find(self) -> Path:
        """The folder with its jars. LabError, with the remedy, if it is nowhere."""
        for each in tool_folders():
            if (each / self._folder).is_dir():
                return each / self._folder
        raise LabError(f"there is no RocketMQ {self.version}: run: pairproof labs install {self.name} ({NEEDS})")

    def install(self) -> Path:
        """Fetch them, unless they are there; the folder. LabError, with the remedy, if that fails."""
        try:
            return self.find()
        except LabError:
            folder = tool_folders()[0]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Git has no business here, whatever the project's own .gitignore says.
            (folder / ".gitignore").write_text("*\n")
            with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder) as unfinished:
                self._fetch(Path(unfinished) / "jars")
                # Whoever fetches it at the same time does the same, and the first one stays.
                if not (folder / self._folder).is_dir():
                    (Path(unfinished) / "jars").rename(folder / self._folder)
        except OSError as why:
            raise LabError(
                f"cannot write into {folder}: {why.strerror}; set {TOOLS_VARIABLE} to a folder that can be written"
            ) from None
        return folder / self._folder

    def _fetch(self, to: Path) -> None:
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={to}"]
        command = [program("mvn"), "--quiet", "--batch-mode", "--strict-checksums", "--file"]
        try:
            with resources.as_file(POM) as pom:
                done = programs.run([*command, str(pom), f"-Drocketmq.version={self.version}", *goal], FETCH_S)
        except subprocess.TimeoutExpired:
            raise LabError(f"Maven did not fetch RocketMQ {self.version} within {FETCH_S} s; try again") from None
        if done.returncode != 0:
            said = " | ".join((done.stdout + done.stderr).split("\n")[:4]).strip(" |")
            raise LabError(f"Maven could not fetch RocketMQ {self.version}: {said}; is the network there?")


def program(name: str) -> str:
    """The path of java, javac or mvn; LabError, with the remedy, if it is not there."""
    found = shutil.which(name)
    if found is None:
        raise LabError(f"there is no {name}, and real RocketMQ {NEEDS}")
    return found


JARS = {version: RocketMQ(version) for version in VERSIONS}
V4, V5 = JARS.values()
