"""The agent's jar: Maven builds it from the source in this package, with Byte Buddy inside.

It is in the folder for tools, as RocketMQ's own jars are (:mod:`pairproof.chaos.rocketmq.install`). A broker gets it
only if its target requires it (``rocketmq@5.5.0+agent``).
"""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path

from ...labs.real.control import TRIGGERS
from ..install import Fetched, maven

SOURCE = resources.files(__package__)
FILES = ("pom.xml", "pairproof/Agent.java", "pairproof/Seams.java")
HOOKS = frozenset(("stalled", "slow_ms", "lies", "undispatched", *TRIGGERS))
TELLS = frozenset(("flush",))
"""The event types that it traces."""
BUILD_S = 600
GOALS = ("compiler:compile", "jar:jar", "shade:shade")
BUILT = "target/rocketmq-agent-1.jar"


class Agent(Fetched):
    name = "rocketmq-agent"
    what = "agent for RocketMQ"
    about = "a Java agent for RocketMQ's brokers: flushes and dispatch that obey the lab; built by Maven"

    def __init__(self) -> None:
        source = b"".join(SOURCE.joinpath(each).read_bytes() for each in FILES)
        self._placed = f"{self.name}-{hashlib.sha256(source).hexdigest()[:12]}.jar"

    def _make(self, unfinished: Path) -> Path:
        for each in FILES:
            path = unfinished / each
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(SOURCE.joinpath(each).read_bytes())
        maven(["--file", str(unfinished / FILES[0]), *GOALS], "build the agent", BUILD_S)
        return unfinished / BUILT


TOOL = Agent()


def flags(control: Path, trace: Path) -> list[str]:
    """Flags of a JVM with the agent. LabError, with the remedy, if there is no jar."""
    return [f"-javaagent:{TOOL.find()}", f"-Dpairproof.control={control}", f"-Dpairproof.trace={trace}"]
