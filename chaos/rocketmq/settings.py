"""What a broker of RocketMQ is given of a trial's settings: all that its version knows, under that version's names.

All of them, not only those that differ from the reference's defaults: RocketMQ's own defaults are other ones, such as
the host's name for ``brokerName`` and the machine's first address for ``brokerIP1``. A key that a version does not know
(:mod:`pairproof.chaos.rocketmq.setters`) is left out, since RocketMQ passes over it without a word.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import asdict

from ...harness.trials.schedule import as_text
from ...reference.core.config import BrokerConfig

OURS = ("rocketmqVersion", "haPushes", "haCutReports", "totalMemory")
"""Settings that only the reference has."""
ZERO_IS_THE_DEFAULT = "inSyncReplicas"
"""Where 0 stands for a version's own value; RocketMQ would take it for a number."""
COMMON: Mapping[str, object] = {
    # What a shared machine may be late with.
    "waitTimeMillsInSendQueue": 5_000,
    "osPageCacheBusyTimeOutMills": 10_000,
    "diskMaxUsedSpaceRatio": 98,
    # 5.x loops without a pause until this has passed for the first time: a core for 10 s, by its own default.
    "transactionMetricFlushInterval": 100,
    "timerWheelEnable": False,
    "enableControllerMode": False,
}
"""Of every broker, beside a trial's own."""
RENAMED: Mapping[str, str] = {"haSlaveFallbehindMax": "haMaxGapNotInSync"}
"""Settings that have another name in some versions (5.x)."""


def properties(known: Container[str], config: BrokerConfig, paths: Mapping[str, object]) -> dict[str, str]:
    """The lines of a properties file. ``known``: the settings of its version; ``paths``: where its store is."""
    given = {**COMMON, **asdict(config), "brokerIP2": config.brokerIP2 or config.brokerIP1, **paths}
    return {
        called: as_text(value)
        for key, value in given.items()
        # An empty name server's address is one that cannot be parsed, and ends it.
        if key not in OURS and value != "" and (key != ZERO_IS_THE_DEFAULT or value)
        for called in (key, RENAMED.get(key, ""))
        if called in known
    }
