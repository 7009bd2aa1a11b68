"""The agent's jar: its source comes with this package, and Maven builds it, with Byte Buddy inside.

It lies in the folder for tools, as RocketMQ's own jars do (:mod:`pairproof.chaos.rocketmq.install`). A broker gets it
only where its target says so (``rocketmq@5.5.0+agent``).
"""

from __future__ import annotations

import hashlib
import subprocess
from importlib import resources
from pathlib import Path

from pairproof.chaos import programs
from pairproof.chaos.labs.real.control import TRIGGERS
from pairproof.chaos.rocketmq.install import NEEDS, program
from pairproof.chaos.toxiproxy.install import place, tool_folders
from pairproof.harness.errors import LabError

SOURCE = resources.files(__package__)
FILES = ("pom.xml", "pairproof/Agent.java", "pairproof/Seams.java")
SEAMS = frozenset(("stalled", "slow_ms", "lies", "undispatched", *TRIGGERS))
"""The numbers of a lab's control file that it obeys, see :mod:`pairproof.chaos.labs.real.control`."""
TELLS = frozenset(("flush",))
"""The kinds of row that it traces."""
BUILD_S = 600
GOALS = ("compiler:compile", "jar:jar", "shade:shade")
BUILT = "target/rocketmq-agent-1.jar"


class Agent:
    """The tool ``rocketmq-agent`` of ``pairproof labs install``."""

    name = "rocketmq-agent"
    about = "a Java agent for RocketMQ's brokers: flushes and dispatch that obey the lab; built by Maven"

    def __init__(self) -> None:
        source = b"".join(SOURCE.joinpath(each).read_bytes() for each in FILES)
        self._jar = f"{self.name}-{hashlib.sha256(source).hexdigest()[:12]}.jar"

    def find(self) -> Path:
        """Its jar. LabError, with the remedy, if it is nowhere."""
        for each in tool_folders():
            if (each / self._jar).is_file():
                return each / self._jar
        raise LabError(f"there is no agent for RocketMQ: run: pairproof labs install {self.name} ({NEEDS})")

    def install(self) -> Path:
        """Build it, unless it is there; the jar. LabError, with the remedy, if that fails."""
        try:
            return self.find()
        except LabError:
            return place(self._jar, _build)


TOOL = Agent()


def flags(control: Path, trace: Path) -> list[str]:
    """Of a JVM that has the agent. LabError, with the remedy, if there is no jar."""
    return [f"-javaagent:{TOOL.find()}", f"-Dpairproof.control={control}", f"-Dpairproof.trace={trace}"]


def _build(folder: Path) -> Path:
    """Have Maven build it in an empty folder; the jar."""
    for each in FILES:
        path = folder / each
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(SOURCE.joinpath(each).read_bytes())
    command = [program("mvn"), "--quiet", "--batch-mode", "--strict-checksums", "--file", str(folder / FILES[0])]
    try:
        done = programs.run([*command, *GOALS], BUILD_S)
    except subprocess.TimeoutExpired:
        raise LabError(f"Maven did not build the agent within {BUILD_S} s; try again") from None
    if done.returncode != 0:
        said = " | ".join((done.stdout + done.stderr).split("\n")[:4]).strip(" |")
        raise LabError(f"Maven could not build the agent: {said}; is the network there?")
    return folder / BUILT
