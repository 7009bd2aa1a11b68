"""Nodes that tests start through a keeper, and what their traces say."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import Any

from real_brokers import DEADLINE_S, SETTINGS, free_port

from pairproof.chaos.labs.real.control import Control
from pairproof.chaos.labs.real.supervisor import Supervisor
from pairproof.chaos.labs.real.trace import TraceReader
from pairproof.chaos.plan import Fork, Row, Status
from pairproof.chaos.rocketmq.node import NodeSpec
from pairproof.chaos.rocketmq.programs import RUN
from pairproof.chaos.rocketmq.traced import KINDS


class LabNode:
    """One node over all its incarnations."""

    def __init__(self, supervisor: Supervisor, name: str, program: str, target: str, settings: dict[str, Any]) -> None:
        folder = supervisor.folder
        self.supervisor = supervisor
        self.port = int(settings.setdefault("listenPort", free_port()))
        self.address = f"127.0.0.1:{self.port}"
        self.store = Path(settings.setdefault("storePathRootDir", folder / f"{name}-store"))
        self.output = folder / f"{name}.out"
        self.control = Control(folder / f"{name}.control")
        self.conf = folder / f"{name}.conf"
        values = {**SETTINGS, **settings} if program == "broker" else {"listenPort": self.port}
        self.conf.write_text("".join(f"{key} = {value}\n" for key, value in values.items()))
        self.spec: NodeSpec = {
            "program": program,
            "target": target,
            "node": name,
            "conf": str(self.conf),
            "trace": "",
            "control": str(folder / f"{name}.control"),
        }
        self.incarnation = 0
        self.pid = 0
        self.rows: list[Row] = []
        self.reader = TraceReader(folder)

    def launch(self) -> LabNode:
        """Start it without waiting for anything."""
        self.incarnation += 1
        path = self.supervisor.folder / f"{self.spec['node']}-{self.incarnation}.jsonl"
        self.spec["trace"] = str(path)
        self.reader, self.rows = TraceReader(path, KINDS), []
        return self.fork()

    def fork(self) -> LabNode:
        """Start it as its spec says."""
        self.pid = self.supervisor.start(Fork(RUN, self.spec), self.output)
        return self

    def start(self) -> LabNode:
        """Start it, and wait until it serves."""
        self.launch().hear("ready")
        return self

    def hear(self, kind: str) -> Row:
        """Wait until it has traced this; the last such row."""
        ends = time.monotonic() + DEADLINE_S
        while not (found := self.traced(kind)):
            assert time.monotonic() < ends, f"never traced {kind!r}: {self.rows}; {self.said()}"
            time.sleep(0.001)
        return found[-1]

    def traced(self, kind: str) -> list[Row]:
        """What it has traced of this kind, in this incarnation."""
        self.rows += self.reader.read()
        return [row for row in self.rows if row[1] == kind]

    def said(self) -> str:
        """Its output, over all incarnations."""
        return self.output.read_text() if self.output.exists() else ""

    def end(self, number: int = signal.SIGTERM) -> Status:
        """Signal it and wait for its end."""
        self.supervisor.signal(self.pid, number)
        return self.wait()

    def wait(self) -> Status:
        """Wait for its end."""
        found = self.supervisor.wait(self.pid, DEADLINE_S)
        assert found.over
        return found
