"""The nodes of a process trial: brokers and the name server, each a process that can end and be started again."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from pairproof.chaos.labs import provision
from pairproof.chaos.labs.process.bench import HOST, Bench
from pairproof.chaos.labs.process.node import NodeSpec
from pairproof.chaos.labs.process.stores import Store
from pairproof.chaos.labs.process.trace import TraceReader
from pairproof.harness import places
from pairproof.reference.core.config import BrokerConfig

_DEFAULTS = asdict(BrokerConfig())


class NodeProcess:
    """One node. ``config``: a broker's; None for a name server."""

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
        self.asks: dict[str, int] = {}
        self.views: dict[str, dict[str, str]] = {}

    @property
    def is_up(self) -> bool:
        """Whether its process lives."""
        return self.pid is not None

    def fork(self) -> TraceReader:
        """Start its process on whatever its store holds; its trace."""
        self.incarnation += 1
        stem = f"{self.name}-{self.incarnation}"
        conf, trace = self.folder / f"{self.name}.conf", self.folder / f"{stem}.jsonl"
        conf.write_text("".join(f"{key}={value}\n" for key, value in self._properties().items()))
        spec = NodeSpec(
            program="broker" if self.config is not None else "names", target=self.target, node=self.name,
            conf=str(conf), trace=str(trace), output=str(self.folder / f"{self.name}.log"),
        )  # fmt: skip
        if self.config is not None:
            # Mapped here first: the node finds the file.
            self.bench.control(self.name)
            spec["control"] = str(self.bench.control_path(self.name))
        else:
            spec["asks"], spec["views"] = self.asks, self.views
        self.pid = self.bench.keeper.fork_node(spec)
        self.pidfd = os.pidfd_open(self.pid)
        self.powered = True
        return TraceReader(trace)

    def ended(self) -> None:
        """Its process is gone."""
        if self.pidfd is not None:
            os.close(self.pidfd)
        self.pid = self.pidfd = None
        self.pauses.clear()

    def signal(self, number: int) -> None:
        """Signal its process, if there is one."""
        if self.pid is not None:
            self.bench.keeper.signal(self.pid, number)

    def said(self) -> str:
        """All that it has said, in all its lives."""
        try:
            return (self.folder / f"{self.name}.log").read_text(errors="replace")
        except OSError:
            return ""

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

    def _properties(self) -> dict[str, object]:
        if self.config is None or self.store is None:
            return {"bindAddress": HOST}
        given = {key: value for key, value in asdict(self.config).items() if value != _DEFAULTS[key]}
        # Java's way to write a truth.
        told = {key: str(value).lower() if isinstance(value, bool) else value for key, value in given.items()}
        return {**told, "listenPort": self.config.listenPort, "storePathRootDir": self.store.path}


def is_slave(name: str) -> bool:
    """Whether a node copies the master."""
    return name in places.SLAVES
