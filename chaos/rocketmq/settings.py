"""A RocketMQ broker's properties from a trial's settings: all that its version has, under that version's names.

All, including those equal to the reference's defaults, since RocketMQ's own defaults differ, such as the host's name
for ``brokerName`` and the machine's first address for ``brokerIP1``. A key that a version lacks
(:mod:`pairproof.chaos.rocketmq.setters`) is left out; RocketMQ would silently ignore it.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import asdict

from ...harness.trials.schedule import as_text
from ...reference.core.config import BrokerConfig

OURS = ("rocketmqVersion", "haPushes", "haCutReports", "tableSaves", "totalMemory")
ZERO_IS_THE_DEFAULT = "inSyncReplicas"
"""Here 0 stands for a version's own value; RocketMQ would read it as a number."""
COMMON: Mapping[str, object] = {
    # Delays of a shared machine.
    "waitTimeMillsInSendQueue": 5_000,
    "osPageCacheBusyTimeOutMills": 10_000,
    "diskMaxUsedSpaceRatio": 98,
    # 5.x busy-loops until this has passed for the first time: by its own default, a core for 10 s.
    "transactionMetricFlushInterval": 100,
    "timerWheelEnable": False,
    "enableControllerMode": False,
}
"""For every broker, besides a trial's own."""
RENAMED: Mapping[str, str] = {
    "haSlaveFallbehindMax": "haMaxGapNotInSync",
    "mappedFileSizeCommitLog": "mapedFileSizeCommitLog",
    "mappedFileSizeConsumeQueue": "mapedFileSizeConsumeQueue",
}
"""Settings that have another name in some versions: since 5.0, before 4.8."""


def properties(known: Container[str], config: BrokerConfig, paths: Mapping[str, object]) -> dict[str, str]:
    """The lines of a properties file. ``known``: the settings of its version; ``paths``: of its store."""
    given = {**COMMON, **asdict(config), "brokerIP2": config.brokerIP2 or config.brokerIP1, **paths}
    return {
        called: as_text(value)
        for key, value in given.items()
        # An empty name server address cannot be parsed, and ends the broker.
        if key not in OURS and value != "" and (key != ZERO_IS_THE_DEFAULT or value)
        for called in (key, RENAMED.get(key, ""))
        if called in known
    }
