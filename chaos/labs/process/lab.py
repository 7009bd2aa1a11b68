"""The process lab: real brokers in separate processes, every link through a real toxiproxy, on loopback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..real.lab import RealLab

if TYPE_CHECKING:
    from .environment import ProcessEnvironment


class ProcessLab(RealLab):
    name = "process"

    def make_environment(self) -> ProcessEnvironment:
        """A new environment. LabError if toxiproxy is missing or ports are taken."""
        from .environment import ProcessEnvironment

        return ProcessEnvironment()


LAB = ProcessLab()
