"""The nodes of a trial: brokers and the name server, each a process of its own that can end and be started again."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pairproof.chaos.labs.real.child import EXIT_LOST
from pairproof.chaos.labs.real.trace import Row, TraceReader
from pairproof.chaos.rocketmq import provision
from pairproof.chaos.rocketmq.node import EXIT_BUG, EXIT_LAB, NodeSpec
from pairproof.harness.rocketmq import places
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.errors import EXIT_REFUSED, EXIT_USAGE

if TYPE_CHECKING:
    from pairproof.chaos.labs.real.bench import Bench
    from pairproof.chaos.labs.real.stores import Store

_DEFAULTS = asdict(BrokerConfig())
MEMORY = "totalMemory"


class NodeView(Protocol):
    """What a process of a node tells of itself, or somebody else of it."""

    def read(self) -> list[Row]:
        """What is new: see :data:`pairproof.chaos.labs.real.trace.KINDS`."""


class Status(NamedTuple):
    """What a process does."""

    state: str
    """``running``, ``stopped`` (it stands still), ``exited`` or ``killed``."""
    number: int | None = None
    """The exit code, or the signal that stopped or killed it."""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state in ("exited", "killed")


OUTSIDE = frozenset(
    (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM)
)
"""Signals that no process gets for what it does itself."""


class Cause(Enum):
    """What is behind the end of a node that the trial had not asked for."""

    OWN = "own"
    """Its own code."""
    DISK = "disk"
    """Its disk, which fails it."""
    REFUSED = "refused"
    """It declares that it will not start on its store."""
    FAULT = "fault"
    """Another fault of the trial."""
    LAB = "lab"
    """The lab, or somebody else: that says nothing about the node."""


class RealNode:
    """One node. ``config``: a broker's; None for a name server. Each lab has its own way to run it."""

    orderly = Status("exited", 0)
    """How it ends when it is told to stop."""
    ready_s = 60
    """Until it serves, at the longest: a second on a quiet machine. What takes longer does not come up."""
    memory_given = False
    """Whether the trial says how much memory its machine has, be it the default; if not, a broker asks its machine."""
    has_seams = True
    """Whether its disk and clock obey a :class:`Control`, and it traces itself."""

    def __init__(self, bench: Bench, folder: Path, name: str, target: str, config: BrokerConfig | None) -> None:
        self.bench = bench
        self.folder = folder
        self.name = name
        self.target = target
        self.config = config
        self.store: Store | None = bench.store(name) if config is not None else None
        self.incarnation = 0
        self.pid: int | None = None
        self.pidfd: int | None = None
        """Readable once the process has ended."""
        self.powered = True
        self.pauses: list[object] = []
        """Faults that have it stand still."""
        self.unplugged: list[object] = []
        """Faults that have it off the network."""
        self.halted = False
        """Whether the lab has it stand still now, or is about to."""
        self._held = 0
        """How many of its flushes had been held when its process began."""
        self.asks: dict[str, int] = {}
        self.views: dict[str, dict[str, str]] = {}

    # What a lab does. LabError for whatever goes wrong.

    def launch(self, spec: NodeSpec) -> int:
        """Start its process; the pid."""
        raise NotImplementedError

    def status(self) -> Status:
        """What its process does, or how the last one has ended."""
        raise NotImplementedError

    def freeze(self) -> None:
        """Once this returns its process stands still, or had ended."""
        raise NotImplementedError

    def thaw(self) -> None:
        """It goes on; nothing if it has ended."""
        raise NotImplementedError

    def signal(self, number: int) -> None:
        """Signal its process; nothing if it has ended."""
        raise NotImplementedError

    def kill(self) -> None:
        """kill -9, until it is gone."""
        raise NotImplementedError

    def said(self) -> str:
        """All that it has said, in all its lives."""
        raise NotImplementedError

    def bind(self) -> str:
        """The address that it listens on."""
        raise NotImplementedError

    def has_stopped(self, status: Status) -> bool:
        """Whether it has ended in an orderly way, everything flushed."""
        return status == self.orderly

    def cause(self, status: Status) -> Cause:
        """What is behind such an end."""
        if status.state == "killed":
            return Cause.LAB if status.number in OUTSIDE else self.own_or_disk()
        if status.number == EXIT_REFUSED:
            return Cause.REFUSED
        if status.number in (EXIT_USAGE, EXIT_LAB, EXIT_LOST):
            return Cause.LAB
        return Cause.OWN if status.number == EXIT_BUG else self.own_or_disk()

    def own_or_disk(self) -> Cause:
        """A failing disk explains nearly every end."""
        return Cause.DISK if self.store is not None and self.store.is_failing else Cause.OWN

    def files(self, prefixes: Collection[str]) -> dict[str, bytes]:
        """Its store's files whose names begin so, as any process sees them now."""
        assert self.store is not None
        return self.store.copy_files(prefixes)

    # The same everywhere.

    def halt(self) -> None:
        """As :meth:`freeze`; that it stands still is the lab's doing, and no stall."""
        self.halted = True
        self.freeze()

    def go_on(self) -> None:
        self.thaw()
        self.halted = False

    @property
    def is_up(self) -> bool:
        """Whether its process lives."""
        return self.pid is not None

    @property
    def is_stalled(self) -> bool:
        """Whether its disk ends no flush: it can neither start nor stop."""
        return self.store is not None and self.bench.control(self.name).get("stalled") > 0

    @property
    def is_held(self) -> bool:
        """Whether that has held its process up already."""
        return self.is_stalled and self.bench.control(self.name).get("held") > self._held

    def start(self) -> NodeView:
        """Start its process on whatever its store holds; what it tells."""
        self.incarnation += 1
        stem = f"{self.name}-{self.incarnation}"
        conf, trace = self.folder / f"{self.name}.conf", self.folder / f"{stem}.jsonl"
        conf.write_text("".join(f"{key}={value}\n" for key, value in self._properties().items()))
        spec = NodeSpec(
            program="broker" if self.config is not None else "names", target=self.target, node=self.name,
            conf=str(conf), trace=str(trace), output=str(self.folder / f"{self.name}.log"),
            anywhere=self.bench.anywhere,
        )  # fmt: skip
        if self.config is not None:
            # Mapped here first: the node finds the file.
            self._held = self.bench.control(self.name).get("held")
            spec["control"] = str(self.bench.control_path(self.name))
        else:
            spec["asks"], spec["views"] = self.asks, self.views
        self.pid = self.launch(spec)
        # None of one that has ended already.
        with suppress(OSError):
            self.pidfd = os.pidfd_open(self.pid)
        self.powered = True
        return self.view(trace)

    def view(self, trace: Path) -> NodeView:
        """What its process tells of itself."""
        return TraceReader(trace)

    def ended(self) -> None:
        """Its process is gone."""
        if self.pidfd is not None:
            os.close(self.pidfd)
        self.pid = self.pidfd = None
        self.halted = False
        self.pauses.clear()

    def log_tail(self) -> str:
        """The last line that it said."""
        lines = self.said().strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def provide(self) -> None:
        """What an operator puts into a fresh store before a broker's first start; durable."""
        if self.store is None:
            return
        for name, data in provision.FILES.items():
            path = self.store.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            for each in (path, path.parent, self.store.path):
                fd = os.open(each, os.O_RDONLY)
                try:
                    os.fsync(fd)
                finally:
                    os.close(fd)

    def settings(self) -> dict[str, object]:
        """What is known of a broker's settings: its machine's memory only if the trial gives that."""
        assert self.config is not None
        return {key: value for key, value in asdict(self.config).items() if key != MEMORY or self.memory_given}

    def _properties(self) -> dict[str, object]:
        if self.config is None or self.store is None:
            return {"bindAddress": self.bind()}
        known = asdict(self.config).items()
        given = {key: value for key, value in known if value != _DEFAULTS[key] or (key == MEMORY and self.memory_given)}
        # Java properties spell booleans in lower case.
        told = {key: str(value).lower() if isinstance(value, bool) else value for key, value in given.items()}
        own = {"listenPort": self.config.listenPort, "bindAddress": self.bind(), "storePathRootDir": self.store.path}
        return {**told, **own}


def is_slave(name: str) -> bool:
    """Whether a node copies the master."""
    return name in places.SLAVES
