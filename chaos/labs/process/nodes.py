"""Nodes of a process trial: started by the bench's keeper."""

from __future__ import annotations

import signal
from pathlib import Path

from ....harness.errors import LabError
from ...plan import Command, Fork, Net, NodePlan, Status
from ..real.bench import Bench
from ..real.keeper import Keeper
from ..real.nodes import RealNode

KILLED_S = 10.0


class NodeProcess(RealNode):
    def __init__(self, keeper: Keeper, bench: Bench, folder: Path, plan: NodePlan, net: Net) -> None:
        super().__init__(bench, folder, plan, net)
        self.keeper = keeper
        self._last: int | None = None

    def launch(self, what: Command | Fork) -> int:
        self._last = self.keeper.start(what, self.output)
        return self._last

    def status(self) -> Status:
        """What its process does, or how the last one has ended."""
        assert self._last is not None
        return self.keeper.status(self._last)

    def freeze(self) -> None:
        """SIGSTOP; once this returns it stands still, or had ended."""
        if self.pid is not None:
            self.keeper.stop_and_wait(self.pid)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def signal(self, number: int) -> None:
        if self._last is not None:
            self.keeper.signal(self._last, number)

    def kill(self) -> None:
        assert self._last is not None
        kill(self.keeper, {self._last: self.name})


def kill(keeper: Keeper, pids: dict[int, str]) -> None:
    """kill -9 processes, given with their names, until they are gone; LabError if one does not end."""
    for pid in pids:
        keeper.signal(pid, signal.SIGKILL)
    for pid, name in pids.items():
        if not keeper.wait(pid, KILLED_S).over:
            raise LabError(f"{name} outlived kill -9 for {KILLED_S:g} s: its disk does not answer")
