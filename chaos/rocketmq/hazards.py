"""Effects of a brought configuration that do not depend on the broker: printed before a run and beside its verdict."""

from __future__ import annotations

from collections.abc import Iterator

from ...harness.rocketmq import topology
from ...harness.rocketmq.known.derived_under import LEVELS
from ...harness.rocketmq.settings import DEFAULTS, HEARTBEAT, HOUSEKEEPING
from ...harness.trials.schedule import Args
from ...reference.core.config import BrokerConfig

MASTER, SLAVE = topology.MASTER, topology.SLAVES[0]


def hazards(settings: Args) -> Iterator[str]:
    """``settings``: of both sides plainly, of one side as ``slave.KEY``; missing ones have the defaults."""

    def of(node: str, key: str, default: object) -> object:
        return settings.get(f"{node}.{key}", settings.get(key, default))

    if not topology.slaves(settings):
        return
    for node, peer in ((SLAVE, MASTER), (MASTER, SLAVE)):
        every, silence = of(node, HEARTBEAT, DEFAULTS[HEARTBEAT]), of(peer, HOUSEKEEPING, DEFAULTS[HOUSEKEEPING])
        if int(str(every)) >= int(str(silence)):
            yield (
                f"this pair does not replicate: the {peer} closes a connection that is silent for {silence} ms "
                f"({HOUSEKEEPING}), and the {node} sends every {every} ms ({HEARTBEAT}); set the {node}'s below it"
            )
    levels = [of(node, LEVELS, BrokerConfig.messageDelayLevel) for node in (MASTER, SLAVE)]
    if levels[0] != levels[1]:
        yield (
            f"{LEVELS} differs between master and slave: after a promotion delayed messages come at other times than "
            f"before; set the same on both"
        )
