"""Real RocketMQ pairs as targets, and mixed ones: the reference on one side, RocketMQ on the other.

They run where processes run. Nothing is known of the inside of a Java broker, so laws that ask for it are not
observable; clients, taps and stores say the rest. The name server is the lab's own in every target,
since it has to hand out the proxies' addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from pairproof.chaos.plan import Image, Plan
from pairproof.chaos.rocketmq import planning
from pairproof.chaos.rocketmq.install import JARS, VERSIONS
from pairproof.chaos.rocketmq.programs import JavaProgram
from pairproof.chaos.rocketmq.settings import OURS
from pairproof.chaos.targets.reference import TARGET
from pairproof.chaos.toxiproxy.install import tool_folders
from pairproof.harness.errors import UsageError
from pairproof.harness.history import own_kinds
from pairproof.harness.kinds import store
from pairproof.harness.rocketmq import places
from pairproof.harness.rocketmq.ports import ABILITIES
from pairproof.harness.schedule import Args
from pairproof.reference.client.consumer import Consumer
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.versions import VERSIONS as LINES

if TYPE_CHECKING:
    from pairproof.chaos.labs.real.world import World
    from pairproof.chaos.rocketmq.driver import RocketMQDriver

DEFAULTS: Mapping[str, str | int] = MappingProxyType({
    # Java maps files and wants whole pages; the rest as small as it stands it.
    "mappedFileSizeCommitLog": 65_536, "haTransferBatchSize": 32_768, "mappedFileSizeConsumeQueue": 2_000,
    "maxMessageSize": 32_768, "maxHashSlotNum": 1_000, "maxIndexNum": 4_000,
    # It reports for the first time after one such interval.
    "haSendHeartbeatInterval": 500,
})  # fmt: skip
JRE = ("openjdk-17-jre-headless",)
"""Debian's package that a container needs to run it."""
MEMORY_MB = 1_024
"""Of its container: twice what its heap and its direct memory may be."""
V5_LINE = VERSIONS[1]
UNTRACED = frozenset(("append", "cut", "flush", "dispatch", "sync", "persist", "register", "expire", "diverged"))
"""What only a broker itself can tell."""
LOG_FILE = "mappedFileSizeCommitLog"


class RocketMQTarget(NamedTuple):
    """``master`` and ``slave``: which program they run, a version of RocketMQ or ``reference``."""

    master: str
    slave: str
    images: Mapping[str, str] = MappingProxyType({})
    """See :attr:`ReferenceTarget.images`."""

    @property
    def system(self) -> str:
        return TARGET.system

    @property
    def name(self) -> str:
        """``rocketmq-VERSION``, or of a mixed pair both programs, the master's first."""
        both = [each if each == TARGET.name else f"rocketmq-{each}" for each in (self.master, self.slave)]
        return both[0] if both[0] == both[1] else "-".join(both)

    def plan(self, settings: Args) -> Plan:
        """Of a mixed pair each node has its own forms. The name server is the reference's: it hands out proxies."""
        return planning.plan(
            settings, lambda node: self.config(node, settings), lambda node: self._forms(node, settings)
        )

    def _forms(self, node: str, settings: Args) -> tuple[object, ...]:
        program = self.slave if node in places.SLAVES else self.master
        if node == places.NAMES or program not in JARS:
            return TARGET.forms(node, settings)
        return JavaProgram(program, self.config(node, settings)), Image(
            JRE, tuple(tool_folders()), MEMORY_MB, self.images
        )

    def settings(self, schedule: Args) -> Args:
        """See :meth:`ReferenceTarget.settings`. What only the reference can be set to is what RocketMQ does anyway."""
        version = next((each for each in (self.master, self.slave) if each in VERSIONS), BrokerConfig.rocketmqVersion)
        # What was meant for another version goes with that version's name.
        is_others = "rocketmqVersion" in schedule and not LINES[version].counts_replicas
        left_out = (*OURS, "inSyncReplicas") if is_others else OURS
        given = {key: value for key, value in schedule.items() if key not in left_out}
        size = given.get(LOG_FILE)
        if isinstance(size, int):
            given[LOG_FILE] = max(size, int(DEFAULTS[LOG_FILE]))
        if V5_LINE in (self.master, self.slave) and not given.setdefault("lab.names", 1):
            raise UsageError(f"RocketMQ {V5_LINE} learns of its master only from a name server: leave lab.names=0 out")
        return TARGET.settings({**DEFAULTS, "rocketmqVersion": version, **given})

    @property
    def abilities(self) -> tuple[type, ...]:
        """What operations and faults can ask of its drivers' parts."""
        return ABILITIES

    def driver(self, world: World) -> RocketMQDriver:
        """See :meth:`ReferenceTarget.driver`."""
        from pairproof.chaos.rocketmq.driver import RocketMQDriver

        return RocketMQDriver(self, world)

    def observes(self) -> frozenset[str]:
        """A Java broker is a black box."""
        return own_kinds() - store.KINDS - UNTRACED

    def config(self, node: str, settings: Args) -> BrokerConfig:
        return TARGET.config(node, settings)

    def sync_period_ms(self, settings: Args) -> int:
        return TARGET.sync_period_ms(settings)

    def consumer_class(self) -> type[Consumer]:
        """Consumers are the reference's."""
        return Consumer


V4, V5 = (RocketMQTarget(each, each) for each in VERSIONS)
V4_MASTER, V4_SLAVE = RocketMQTarget(VERSIONS[0], TARGET.name), RocketMQTarget(TARGET.name, VERSIONS[0])
