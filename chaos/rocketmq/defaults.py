"""Default settings of the reference's brokers, written down a second time.

A history records its nodes' settings as the lab set them, completed from here. If the judged broker completed them, its
own wrong default, or misread value, would excuse it. Source: BrokerConfig, MessageStoreConfig of RocketMQ 4.9.7; names
and addresses are the lab's.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ...harness.trials.schedule import Scalar

DEFAULTS: Mapping[str, Scalar] = MappingProxyType({
    "brokerClusterName": "DefaultCluster",
    "brokerName": "broker-a",
    "brokerId": 0,
    "brokerRole": "ASYNC_MASTER",
    "brokerIP1": "127.0.0.1",
    "listenPort": 10_911,
    "haMasterAddress": "",
    "haSendHeartbeatInterval": 5_000,
    "haHousekeepingInterval": 20_000,
    "haTransferBatchSize": 32_768,
    "haSlaveFallbehindMax": 268_435_456,
    "slaveTimeout": 3_000,
    "syncFlushTimeout": 5_000,
    "flushDiskType": "ASYNC_FLUSH",
    "flushIntervalCommitLog": 500,
    "flushCommitLogLeastPages": 4,
    "flushCommitLogThoroughInterval": 10_000,
    "mappedFileSizeCommitLog": 1_073_741_824,
    "maxMessageSize": 4_194_304,
    "defaultTopicQueueNums": 8,
    "rocketmqVersion": "4.9.7",
    "inSyncReplicas": 0,
    "haPushes": "written",
    "haCutReports": "closes",
    "tableSaves": "flushed",
    "brokerIP2": "",
    "namesrvAddr": "",
    "registerNameServerPeriod": 30_000,
    "autoCreateTopicEnable": True,
    "autoCreateSubscriptionGroup": True,
    "flushConsumerOffsetInterval": 5_000,
    "mappedFileSizeConsumeQueue": 6_000_000,
    "flushIntervalConsumeQueue": 1_000,
    "flushConsumeQueueLeastPages": 2,
    "flushConsumeQueueThoroughInterval": 60_000,
    "messageIndexEnable": True,
    "maxHashSlotNum": 5_000_000,
    "maxIndexNum": 20_000_000,
    "slaveReadEnable": False,
    "offsetCheckInSlave": False,
    "accessMessageInMemoryMaxRatio": 40,
    "totalMemory": 17_179_869_184,
    "longPollingEnable": True,
    "fileReservedTime": 72,
    "deleteWhen": "04",
    "cleanResourceInterval": 10_000,
    "messageDelayLevel": "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h",
})  # fmt: skip


LATER: Mapping[str, Scalar] = MappingProxyType({
    "haListenPort": 0, "brokerPermission": 6, "transientStorePoolEnable": False, "commitIntervalCommitLog": 200,
    "commitCommitLogLeastPages": 4, "commitCommitLogThoroughInterval": 200,
})  # fmt: skip
"""Shown only where given, so that histories without them stay the same."""


def completed(given: Mapping[str, object]) -> dict[str, Scalar]:
    """Every setting with its value: the given one, as text or unchanged, or the default."""
    return {**DEFAULTS, **{key: _of_kind({**DEFAULTS, **LATER}[key], value) for key, value in given.items()}}


def _of_kind(default: Scalar, value: object) -> Scalar:
    if isinstance(default, bool):
        return str(value).lower() == "true"
    return int(str(value)) if isinstance(default, int) else str(value)
