"""Real RocketMQ brokers as nodes of a process trial: a JVM each, started by the bench's keeper."""

from __future__ import annotations

import os
from pathlib import Path

from pairproof.chaos.labs.process.nodes import NodeProcess
from pairproof.chaos.labs.real.bench import Bench
from pairproof.chaos.labs.real.keeper import Keeper
from pairproof.chaos.labs.real.nodes import MEMORY, OUTSIDE, Cause, Status
from pairproof.chaos.rocketmq import jvm
from pairproof.chaos.rocketmq.install import JARS
from pairproof.chaos.rocketmq.node import NodeSpec
from pairproof.chaos.rocketmq.outside import OutsideView
from pairproof.chaos.rocketmq.settings import DIALECTS
from pairproof.reference.core.config import BrokerConfig

SIGNALLED = 128
"""What a JVM adds to the number of a signal at which it ends in order."""


class JavaProcess(NodeProcess):
    """See :class:`RealNode`. ``version``: which RocketMQ it runs."""

    orderly = Status("exited", jvm.SIGTERM_EXIT)
    ready_s = 120
    has_seams = False

    def __init__(
        self, keeper: Keeper, bench: Bench, folder: Path, name: str, target: str, config: BrokerConfig | None,
        version: str,
    ) -> None:  # fmt: skip
        super().__init__(keeper, bench, folder, name, target, config)
        self.version = version
        self.jars = JARS[version].find()
        self._begins = 0
        """Of what it has said in all its lives: where the present one begins."""

    def launch(self, spec: NodeSpec) -> int:
        """Start its JVM; the pid."""
        command = jvm.broker(self.jars, self.folder / f"{self.name}-home", Path(spec["conf"]))
        self._begins = len(self.said())
        self._last = self.keeper.exec(command, Path(spec["output"]), jvm.environment(os.environ))
        return self._last

    def cause(self, status: Status) -> Cause:
        """Its exit codes are Java's: 253, which is -3, where the broker cannot load its store."""
        number = status.number or 0
        signalled = number if status.state == "killed" else number - SIGNALLED
        return Cause.LAB if signalled in OUTSIDE else self.own_or_disk()

    def has_stopped(self, status: Status) -> bool:
        """A JVM says the same whether its broker could write what it had to or not."""
        return super().has_stopped(status) and self.store is not None and not self.store.is_read_only

    def view(self, trace: Path) -> OutsideView:
        """What can be seen of it."""
        assert self.store is not None
        begins, incarnation = self._begins, self.incarnation
        return OutsideView(
            self.store.path / "commitlog",
            lambda: jvm.READY in self.said()[begins:],
            lambda: self.is_up and self.incarnation == incarnation,
        )

    def settings(self) -> dict[str, object]:
        """What is known of its settings: a JVM always asks its machine how much memory that has."""
        return {key: value for key, value in super().settings().items() if key != MEMORY}

    def _properties(self) -> dict[str, object]:
        assert self.config is not None and self.store is not None
        store = self.store.path
        paths = {"storePathRootDir": store, "storePathCommitLog": store / "commitlog", "bindAddress": self.bind()}
        return DIALECTS[self.version].properties(self.config, paths)
