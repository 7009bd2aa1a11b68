"""What a broker of RocketMQ is given of a trial's settings: all that its version knows, under that version's names.

All of them, not only those that differ from the reference's defaults: RocketMQ's own defaults are other ones, such as
the host's name for ``brokerName`` and the machine's first address for ``brokerIP1``. A key that a version does not know
is left out, since RocketMQ passes over it without a word. Source: BrokerStartup, which sets what BrokerConfig,
NettyServerConfig, NettyClientConfig and MessageStoreConfig have setters for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from types import MappingProxyType

from pairproof.reference.core.config import BrokerConfig

OURS = ("rocketmqVersion", "haPushes", "haCutReports", "totalMemory")
"""Settings that only the reference has."""
ZERO_IS_THE_DEFAULT = "inSyncReplicas"
"""Where 0 stands for a version's own value; RocketMQ would take it for a number."""
COMMON: Mapping[str, object] = {
    # What a shared machine may be late with.
    "waitTimeMillsInSendQueue": 5_000,
    "osPageCacheBusyTimeOutMills": 10_000,
    "diskMaxUsedSpaceRatio": 98,
}
"""Of every broker, beside a trial's own."""
V5: Mapping[str, object] = {"timerWheelEnable": False, "enableControllerMode": False}


class Dialect:
    """One version's. ``absent``: settings that it does not know; ``renamed``: those that have another name there."""

    def __init__(
        self, own: Mapping[str, object], absent: tuple[str, ...] = (), renamed: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.own = own
        self.absent = frozenset((*OURS, *absent))
        self.renamed = renamed

    def properties(self, config: BrokerConfig, paths: Mapping[str, object]) -> dict[str, object]:
        """The lines of its properties file. ``paths``: where its store is."""
        given = {**COMMON, **self.own, **asdict(config), "brokerIP2": config.brokerIP2 or config.brokerIP1, **paths}
        return {
            self.renamed.get(key, key): _as_java(value)
            for key, value in given.items()
            # An empty name server's address is one that cannot be parsed, and ends it.
            if key not in self.absent and value != "" and (key != ZERO_IS_THE_DEFAULT or value)
        }


DIALECTS: Mapping[str, Dialect] = {
    "4.9.7": Dialect({}, absent=("inSyncReplicas", "bindAddress")),
    "5.5.0": Dialect(V5, renamed={"haSlaveFallbehindMax": "haMaxGapNotInSync"}),
}
"""By version."""


def _as_java(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
