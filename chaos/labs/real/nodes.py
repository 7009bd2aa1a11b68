"""The nodes of a trial, each a separate process that can end and be started again."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ....harness.errors import LabError, UsageError
from ...plan import MAIN, OWN, Address, Cause, Command, Fork, Net, NodePlan, Program, Status, View
from .last_words import last_words

if TYPE_CHECKING:
    from .environment import Environment
    from .stores import Store


class Runs(NamedTuple):
    """A node's program; ``more`` has its lab's additional data."""

    program: Program
    more: Any = None


class RealNode:
    """One node, and its :class:`pairproof.chaos.plan.Place`. Each lab runs its program in its own way."""

    def __init__(self, environment: Environment, folder: Path, plan: NodePlan, net: Net) -> None:
        program = plan.form(Program)
        if program is None:
            raise LabError(f"{plan.name} is not a program that a lab of processes can start")
        self.environment = environment
        self.folder = folder
        self.plan = plan
        self.name = plan.name
        self.program = program
        self.store: Store | None = environment.store(plan.name) if plan.has_store else None
        self.incarnation = 0
        self.pid: int | None = None
        self.pidfd: int | None = None
        """Readable after the process has ended."""
        self.powered = True
        self.is_stopping = False
        self.pauses: list[object] = []
        self.unplugged: list[object] = []
        """Faults that disconnect it from the network."""
        self.halted = False
        self._net = net
        self._held = 0
        """Held flushes counted before its process started."""
        self._begins = 0
        """Start of the present incarnation's part in its output."""

    # Defined by each lab. LabError for any failure.

    def launch(self, what: Command | Fork) -> int:
        """Start its process; returns the pid."""
        raise NotImplementedError

    def status(self) -> Status:
        raise NotImplementedError

    def freeze(self) -> None:
        """After it returns, its process is stopped or has ended."""
        raise NotImplementedError

    def thaw(self) -> None:
        """Continue it; no effect if it has ended."""
        raise NotImplementedError

    def signal(self, number: int) -> None:
        raise NotImplementedError

    def kill(self) -> None:
        """kill -9 and wait for its end."""
        raise NotImplementedError

    def cause(self, status: Status) -> Cause:
        """The cause of an end that the trial did not request."""
        return self.program.cause(self, status)

    def files(self, prefixes: Collection[str]) -> dict[str, bytes]:
        """Its store's files whose names begin with a prefix, as any process sees them now."""
        assert self.store is not None
        return self.store.copy_files(prefixes)

    def all_output(self) -> str:
        return self._output()

    def _output(self) -> str:
        try:
            return self.output.read_text(errors="replace")
        except OSError:
            return ""

    # Its place.

    @property
    def path(self) -> Path:
        if self.store is None:
            raise LabError(f"{self.name} has no store")
        return self.store.path

    @property
    def is_failing(self) -> bool:
        return self.store is not None and self.store.is_failing

    @property
    def is_read_only(self) -> bool:
        return self.store is not None and self.store.is_read_only

    @property
    def bind(self) -> str:
        return self.address(self.name).host

    @property
    def anywhere(self) -> bool:
        return self.environment.anywhere

    @property
    def control(self) -> Path | None:
        return self.environment.control_path(self.name) if self.store is not None else None

    @property
    def output(self) -> Path:
        return self.folder / f"{self.name}.log"

    def printed(self) -> str:
        return self._output()[self._begins :]

    def address(self, node: str, port: str = MAIN) -> Address:
        return self._net.address(node, port)

    def dials(self, link: str) -> Address:
        return self._net.dials(link)

    # Its program.

    def other(self, name: str) -> Runs:
        """The node's own program, or the named one that can replace it. UsageError for an unknown name."""
        program = self.plan.form(Program, "" if name == OWN else name)
        if program is None:
            valid = ", ".join((OWN, *self.plan.others))
            raise UsageError(f"no program {name!r} can take the place of {self.name}'s here; valid: {valid}")
        return Runs(program)

    def become(self, what: Runs) -> None:
        """Run that program from its next start on. It must be stopped."""
        self.program = what.program

    # Common to all labs.

    def halt(self) -> None:
        """As :meth:`freeze`, marked as the lab's action, so that it is not a stall."""
        self.halted = True
        self.freeze()

    def go_on(self) -> None:
        self.thaw()
        self.halted = False

    @property
    def is_up(self) -> bool:
        return self.pid is not None

    @property
    def is_stalled(self) -> bool:
        """Whether its disk ends no flush: it can neither start nor stop."""
        return self.store is not None and self.environment.control(self.name).get("stalled") > 0

    @property
    def is_held(self) -> bool:
        """Whether the stalled disk has held it up already."""
        return self.is_stalled and self.environment.control(self.name).get("held") > self._held

    def start(self) -> View:
        """Start its process on its present store; returns its view."""
        self.incarnation += 1
        self._begins = len(self._output())
        if self.store is not None:
            # Mapped here first, so that the node finds the file.
            self._held = self.environment.control(self.name).get("held")
        self.pid = self.launch(self.program.start(self))
        # No pidfd if the process has already exited.
        with suppress(OSError):
            self.pidfd = os.pidfd_open(self.pid)
        self.powered = True
        return self.program.view(self)

    def ended(self) -> None:
        if self.pidfd is not None:
            os.close(self.pidfd)
        self.pid = self.pidfd = None
        self.halted = False
        self.pauses.clear()

    def log_tail(self, lines: int = 1) -> str:
        return last_words(self.all_output(), lines) or "no output"

    def provide(self) -> None:
        """Write an operator's initial files into a fresh store, durably."""
        for name, data in self.plan.fresh.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            for each in (path, path.parent, self.path):
                fd = os.open(each, os.O_RDONLY)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)
