"""The docker lab: brokers in containers, every link through a toxiproxy in one, on the lab's own network.

Run as a program with a lab's folder, it removes that lab's objects from the engine: the supervisor does so after the
sudden end of a harness.
"""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from ....harness.errors import LabError
from ...plan import Image, Program
from ..real import folders
from ..real.lab import RealLab
from ..real.session import RealSession
from .container_faults import ContainerFaults

if TYPE_CHECKING:
    from .environment import DockerEnvironment


class DockerSession(RealSession):
    faults = ContainerFaults


class DockerLab(RealLab):
    name = "docker"
    hosts = frozenset((Program, Image))
    session_class = DockerSession
    has_images = True

    def make_environment(self) -> DockerEnvironment:
        """A new environment, after the remains of killed labs are removed. LabError without a usable engine."""
        from .environment import DockerEnvironment

        self.clean()
        return DockerEnvironment()

    def clean(self) -> list[str]:
        """Remove the remains of killed labs, the engine's objects first; a line for each."""
        from .connection import is_expected
        from .engine import Engine

        try:
            engine = Engine()
        except LabError as why:
            removed = super().clean()
            # Without an engine there are none.
            return [*removed, f"containers were not checked: {why}"] if is_expected() else removed
        with closing(engine):
            return engine.clean(folders.is_alive) + super().clean()


LAB = DockerLab()


def leave(folder: Path) -> None:
    """Remove a lab's objects from the engine."""
    from .engine import Engine

    with closing(Engine()) as engine:
        engine.remove_lab(folder)


if __name__ == "__main__":
    leave(Path(sys.argv[1]))
