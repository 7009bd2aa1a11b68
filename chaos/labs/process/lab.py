"""The process lab: real brokers in processes of their own, every link through a real toxiproxy, on loopback.

A bench (keeper, toxiproxy, ports, stores) serves one trial after another. One that failed is given up, and the next
trial gets a new one.
"""

from __future__ import annotations

import atexit
from contextlib import suppress
from typing import Any

from pairproof.chaos.labs.real import folders
from pairproof.chaos.labs.real.session import RealSession
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.harness.errors import LabError
from pairproof.harness.history import KINDS
from pairproof.harness.ports import Target
from pairproof.harness.schedule import Args


class ProcessLab:
    """Runs the reference's nodes as processes."""

    name = "process"
    deterministic = False

    def __init__(self) -> None:
        self._bench: Any = None
        self._session: RealSession | None = None

    def observes(self, target: Target) -> frozenset[str]:
        """Everything: taps, clients, stores, and what the nodes trace themselves."""
        return frozenset(KINDS)

    def open(self, target: Target, settings: Args, seed: str) -> RealSession:
        """A new trial. LabError if toxiproxy is missing, ports are taken, or a broker does not come up."""
        if not isinstance(target, ReferenceTarget):
            raise LabError(f"the process lab runs the reference so far, not {target.name!r}")
        if self._session is not None:
            self._session.close()
        if self._bench is not None and self._bench.is_broken:
            self.close()
        if self._bench is None:
            from pairproof.chaos.labs.process.bench import ProcessBench

            self._bench = ProcessBench()
            atexit.register(self.close)
        try:
            self._session = RealSession(self._bench, target, settings, seed)
        except BaseException:
            self.close()
            raise
        return self._session

    def has_devices(self) -> bool:
        """Whether stores lie on disks of their own; only known once there was a trial."""
        return self._bench is not None and not self._bench.stores.why_folder

    def close(self) -> None:
        """Give the bench up: its processes, files and ports."""
        bench, session = self._bench, self._session
        self._bench = self._session = None
        with suppress(LabError):
            if session is not None:
                session.close()
        if bench is not None:
            atexit.unregister(self.close)
            with suppress(LabError):
                bench.close()

    def clean(self) -> list[str]:
        """Remove what labs have left behind that could not; a line for each."""
        return folders.clean()


LAB = ProcessLab()
