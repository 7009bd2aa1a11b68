"""Nodes of a process trial: started by the environment's supervisor."""

from __future__ import annotations

import signal
from pathlib import Path

from ....harness.errors import LabError
from ...plan import Command, Fork, Net, NodePlan, Status
from ..real.environment import Environment
from ..real.nodes import RealNode
from ..real.supervisor import Supervisor

KILLED_S = 10.0


class NodeProcess(RealNode):
    def __init__(
        self, supervisor: Supervisor, environment: Environment, folder: Path, plan: NodePlan, net: Net
    ) -> None:
        super().__init__(environment, folder, plan, net)
        self.supervisor = supervisor
        self._last: int | None = None

    def launch(self, what: Command | Fork) -> int:
        self._last = self.supervisor.start(what, self.output)
        return self._last

    def status(self) -> Status:
        assert self._last is not None
        return self.supervisor.status(self._last)

    def freeze(self) -> None:
        """SIGSTOP; after it returns, the process is stopped or had ended."""
        if self.pid is not None:
            self.supervisor.stop_and_wait(self.pid)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        if self._last is not None:
            self.supervisor.signal(self._last, number)

    def kill(self) -> None:
        assert self._last is not None
        kill(self.supervisor, {self._last: self.name})


def kill(supervisor: Supervisor, pids: dict[int, str]) -> None:
    """kill -9 processes, given with their names, and wait for their ends; LabError if one does not end."""
    for pid in pids:
        supervisor.signal(pid, signal.SIGKILL)
    for pid, name in pids.items():
        if not supervisor.wait(pid, KILLED_S).over:
            raise LabError(f"{name} outlived kill -9 for {KILLED_S:g} s: its disk does not answer")
