"""Nodes of a docker trial: one container each, restarted after each end."""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from ....harness.errors import LabError
from ...plan import OWN, SIGNALLED, Cause, Command, Fork, Image, Net, NodePlan, Status
from ..real.nodes import RealNode, Runs
from .containers import Bind, Container

if TYPE_CHECKING:
    from .environment import DockerEnvironment

RUN = ("python3", "-m", "pairproof.chaos.labs.docker.run_node")
EXECUTE = ("sh", "-c", 'exec "$@" >>"$0" 2>&1')
"""The output goes to a file that the lab and the ready check can read while the container runs."""
KILLED_S = 15.0
OUT_OF_MEMORY = Status("killed", 9)


class NodeContainer(RealNode):
    def __init__(self, environment: DockerEnvironment, folder: Path, plan: NodePlan, net: Net) -> None:
        super().__init__(environment, folder, plan, net)
        self.lab = environment
        form = plan.form(Image)
        if form is None:
            raise LabError(f"{plan.name} has no image to run in a container")
        self.form = form
        self.image = environment.image(form)
        self.container: Container | None = None
        self._said = ""
        self.limits: list[int] = []
        """Memory limits set by faults, MiB; the least applies."""

    def launch(self, what: Command | Fork) -> int:
        """Start its container, which is made at the first start; returns the pid."""
        if isinstance(what, Fork):
            path = self.folder / f"{self.name}.spec"
            path.write_text(json.dumps(what))
            entry, command = RUN, [str(path)]
        else:
            entry, command = EXECUTE, [str(self.output), *what.argv]
        if self.container is None:
            self.container = self._make(entry, command)
        self.container.start(may_end=True)
        return self.container.pid

    def _make(self, entry: tuple[str, ...], command: list[str]) -> Container:
        binds = [Bind(self.folder)]
        if self.store is not None:
            binds += [Bind(self.store.path), Bind(self.environment.control_path(self.name))]
        binds += [Bind(each, read_only=True) for each in self.form.mounts if each.is_dir()]
        made = self.lab.container(
            f"{self.name}-{self.lab.trials}",
            self.image,
            command,
            self.lab.host(self.name),
            binds,
            self._memory_mb(),
            entry,
        )
        if self.unplugged:
            made.disconnect()
        return made

    def other(self, name: str) -> Runs:
        """In its own image, or its program in another one: ``name`` may also be an image."""
        if name in self.plan.others:
            form = self.plan.form(Image, name)
            assert form is not None, f"the program {name} of {self.name} has no image"
            return super().other(name)._replace(more=(form, self.lab.image(form)))
        form = self.plan.form(Image)
        assert form is not None
        return super().other(OWN)._replace(more=(form, self.lab.image(form, name)))

    def become(self, what: Runs) -> None:
        """Its next start makes a new container."""
        super().become(what)
        self.remove()
        self.form, self.image = what.more

    def status(self) -> Status:
        assert self.container is not None
        found = self.container.state()
        if found.running:
            return Status("stopped" if found.paused else "running")
        # The engine reports a program's own exit status in the same way, as a JVM's after an orderly end.
        if found.exit_code > SIGNALLED and Status("exited", found.exit_code) != self.program.orderly:
            return Status("killed", found.exit_code - SIGNALLED)
        return Status("exited", found.exit_code)

    def freeze(self) -> None:
        """Pause it; after it returns, it is stopped or had ended."""
        assert self.container is not None
        try:
            self.container.pause()
        except LabError:
            # Paused already, or ended.
            if self.status().state == "running":
                raise

    def thaw(self) -> None:
        assert self.container is not None
        if self.status().state == "stopped":
            self.container.unpause()

    def signal(self, number: int) -> None:
        """Signal it; no effect if it has ended. Bypasses the engine, whose delay would distort its time."""
        assert self.container is not None
        if not self.container.is_there():
            # Its number may be 0 by now, or another process's.
            return
        try:
            os.kill(self.container.pid, number)
        except ProcessLookupError:
            return
        except PermissionError:
            self.container.signal(number)

    def kill(self) -> None:
        assert self.container is not None
        self.container.kill()
        if self.container.wait(KILLED_S).running:
            raise LabError(f"{self.name} outlived kill -9 for {KILLED_S:g} s: its disk does not answer")

    def remove(self) -> None:
        if self.container is not None:
            self._said += self.container.logs()
            self.container.remove()
            self.container = None

    def all_output(self) -> str:
        """Its latest output, in all incarnations."""
        return self._said + (self.container.logs() if self.container is not None else "") + super().all_output()

    @property
    def bind(self) -> str:
        """All its addresses, since it may start while disconnected."""
        return "0.0.0.0"

    def cause(self, status: Status) -> Cause:
        return Cause.FAULT if self.is_starved(status) else super().cause(status)

    def is_starved(self, status: Status) -> bool:
        """Whether the kernel has killed it for lack of memory.

        While a fault limits its memory, any unrequested kill counts: the engine may report the end before its reason.
        """
        if status != OUT_OF_MEMORY or self.container is None:
            return False
        return bool(self.limits) or self.container.state().oom_killed

    def limit_memory(self) -> None:
        """Apply the faults' limit. LabError if it already uses more and the kernel refuses."""
        if self.container is not None:
            self.container.limit_memory(self._memory_mb())

    def _memory_mb(self) -> int:
        return min([*self.limits, self.form.memory_mb])

    def files(self, prefixes: Collection[str]) -> dict[str, bytes]:
        """Its store's files, read by the observer."""
        assert self.store is not None
        return self.lab.watching.read(self.store.path, prefixes)
