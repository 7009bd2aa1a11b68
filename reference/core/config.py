"""Broker settings with RocketMQ's names and 4.9 defaults, as in a properties file.

Five are ours: ``rocketmqVersion`` selects the version line of the replication path; ``haPushes`` whether slaves get all
written bytes (RocketMQ) or only flushed ones; ``haCutReports`` whether a slave closes the connection after a partial
write of a report (RocketMQ) or waits; ``tableSaves`` whether saved tables are flushed or only written (RocketMQ);
``totalMemory`` the machine's memory in bytes, against which a reader's lag is measured. The program reads that from its
machine or container unless a file sets it; the default suits a simulated machine.

Attributes have RocketMQ's spelling, for readers of ``broker.conf``. Times are milliseconds, sizes bytes. Only settings
that this broker uses are here; the shell handles other valid keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from ipaddress import IPv4Address
from typing import Any

from ..errors import ConfigError
from ..wire.bodies import INHERIT, READ, WRITE
from .delay import DEFAULT_LEVELS, parse_levels
from .versions import VERSIONS, Version

ROLES = ("ASYNC_MASTER", "SYNC_MASTER", "SLAVE")
FLUSH_TYPES = ("ASYNC_FLUSH", "SYNC_FLUSH")
MAY_BE_ZERO = (
    "brokerId", "inSyncReplicas", "accessMessageInMemoryMaxRatio", "flushCommitLogLeastPages",
    "flushCommitLogThoroughInterval", "flushConsumeQueueLeastPages", "flushConsumeQueueThoroughInterval",
    "haListenPort", "brokerPermission", "commitCommitLogLeastPages", "commitCommitLogThoroughInterval",
)  # fmt: skip
PUSHES = ("written", "flushed")
CUT_REPORTS = ("closes", "waits")
TABLE_SAVES = ("flushed", "written")
MAX_NUMBER = (1 << 31) - 1
MAX_MEMORY = (1 << 63) - 1
HOST = re.compile(r"[\w.-]+")
MAX_SHOWN = 60
"""Characters of a value that an error message repeats."""


@dataclass(frozen=True)
class BrokerConfig:
    """One broker's settings. Raises :class:`ConfigError` for invalid values."""

    brokerClusterName: str = "DefaultCluster"
    brokerName: str = "broker-a"
    brokerId: int = 0
    brokerRole: str = "ASYNC_MASTER"
    brokerIP1: str = "127.0.0.1"
    listenPort: int = 10911
    haMasterAddress: str = ""
    haSendHeartbeatInterval: int = 5_000
    haHousekeepingInterval: int = 20_000
    haTransferBatchSize: int = 32_768
    haSlaveFallbehindMax: int = 268_435_456
    slaveTimeout: int = 3_000
    syncFlushTimeout: int = 5_000
    flushDiskType: str = "ASYNC_FLUSH"
    flushIntervalCommitLog: int = 500
    flushCommitLogLeastPages: int = 4
    flushCommitLogThoroughInterval: int = 10_000
    transientStorePoolEnable: bool = False
    commitIntervalCommitLog: int = 200
    commitCommitLogLeastPages: int = 4
    commitCommitLogThoroughInterval: int = 200
    mappedFileSizeCommitLog: int = 1_073_741_824
    maxMessageSize: int = 4_194_304
    defaultTopicQueueNums: int = 8
    rocketmqVersion: str = "4.9.7"
    inSyncReplicas: int = 0
    haPushes: str = "written"
    haCutReports: str = "closes"
    tableSaves: str = "flushed"
    brokerIP2: str = ""
    namesrvAddr: str = ""
    registerNameServerPeriod: int = 30_000
    autoCreateTopicEnable: bool = True
    autoCreateSubscriptionGroup: bool = True
    flushConsumerOffsetInterval: int = 5_000
    mappedFileSizeConsumeQueue: int = 6_000_000
    flushIntervalConsumeQueue: int = 1_000
    flushConsumeQueueLeastPages: int = 2
    flushConsumeQueueThoroughInterval: int = 60_000
    messageIndexEnable: bool = True
    maxHashSlotNum: int = 5_000_000
    maxIndexNum: int = 20_000_000
    messageDelayLevel: str = DEFAULT_LEVELS
    slaveReadEnable: bool = False
    offsetCheckInSlave: bool = False
    accessMessageInMemoryMaxRatio: int = 40
    totalMemory: int = 17_179_869_184
    longPollingEnable: bool = True
    fileReservedTime: int = 72
    deleteWhen: str = "04"
    cleanResourceInterval: int = 10_000
    haListenPort: int = 0
    brokerPermission: int = 6

    def __post_init__(self) -> None:
        choices = {
            "brokerRole": ROLES, "flushDiskType": FLUSH_TYPES, "haPushes": PUSHES, "haCutReports": CUT_REPORTS,
            "tableSaves": TABLE_SAVES, "rocketmqVersion": tuple(VERSIONS),
        }  # fmt: skip
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        _check_ipv4("brokerIP1", self.brokerIP1)
        if self.brokerIP2 and not HOST.fullmatch(self.brokerIP2):
            raise ConfigError(f"brokerIP2 must be an address or a host name, not {_shown(self.brokerIP2)}")
        parse_levels(self.messageDelayLevel)
        for each in fields(self):
            value = getattr(self, each.name)
            if type(value) is int:
                _check_number(each.name, value)
            elif type(value) is str:
                _check_text(each.name, value)
        if self.inSyncReplicas and not self.version.counts_replicas:
            is_default = self.rocketmqVersion == BrokerConfig.rocketmqVersion
            raise ConfigError(
                f"inSyncReplicas came with 5.0, and rocketmqVersion is {self.rocketmqVersion}"
                f"{', the default' if is_default else ''}: set rocketmqVersion=5.5.0, too, or leave inSyncReplicas out"
            )
        if self.mappedFileSizeCommitLog < 512:
            raise ConfigError(f"mappedFileSizeCommitLog must be at least 512, not {self.mappedFileSizeCommitLog}")
        if self.brokerPermission > READ | WRITE | INHERIT:
            raise ConfigError(f"brokerPermission must be at most 7, not {self.brokerPermission}")
        if self.ha_port in (self.listenPort, self.listenPort - 2):
            raise ConfigError(f"haListenPort must not be listenPort, or two below it, but is {self.ha_port}")
        if self.brokerRole == "SLAVE" and self.brokerId == 0:
            raise ConfigError("a SLAVE needs a brokerId above 0")

    @property
    def name_servers(self) -> tuple[str, ...]:
        return tuple(each for each in self.namesrvAddr.split(";") if each)

    @property
    def address(self) -> str:
        return f"{self.brokerIP1}:{self.listenPort}"

    @property
    def store_host(self) -> tuple[bytes, int]:
        return packed_ipv4(self.brokerIP1), self.listenPort

    @property
    def ha_address(self) -> str:
        return f"{self.brokerIP2 or self.brokerIP1}:{self.ha_port}"

    @property
    def ha_port(self) -> int:
        return (self.haListenPort if self.version.obeys_ha_port else 0) or self.listenPort + 1

    @property
    def is_slave(self) -> bool:
        return self.brokerRole == "SLAVE"

    @property
    def has_pool(self) -> bool:
        """Whether new bytes of the log stay in the process until they are committed to the page cache."""
        is_cached = self.flushDiskType == "ASYNC_FLUSH" or self.version.pools_with_sync_flush
        return self.transientStorePoolEnable and is_cached and not self.is_slave

    @property
    def log_memory(self) -> int:
        # Java's float arithmetic, which may differ from integers in the last byte.
        return int(self.totalMemory * (self.accessMessageInMemoryMaxRatio / 100.0))

    @property
    def version(self) -> Version:
        return VERSIONS[self.rocketmqVersion]

    @property
    def slaves_to_wait_for(self) -> int:
        if self.brokerRole != "SYNC_MASTER":
            return 0
        return (self.inSyncReplicas or self.version.in_sync_replicas) - 1

    @property
    def ack_timeout_ms(self) -> int:
        return int(getattr(self, self.version.ack_wait.setting))

    @classmethod
    def from_properties(cls, values: Mapping[str, object]) -> BrokerConfig:
        """Settings from keys and values as text or numbers. Unknown keys raise :class:`ConfigError`; RocketMQ ignores
        them.
        """
        known: dict[str, Callable[[Any], object]] = {each.name: _READERS[type(each.default)] for each in fields(cls)}
        given: dict[str, object] = {}
        for key, value in values.items():
            if key not in known:
                raise ConfigError(f"unknown setting {key!r}; valid: {', '.join(sorted(known))}")
            try:
                given[key] = known[key](value)
            except (TypeError, ValueError, OverflowError):
                what = "text" if known[key] is _text else "true or false" if known[key] is _truth else "a whole number"
                raise ConfigError(f"{key} must be {what}, not {_shown(value)}") from None
        return cls(**given)  # type: ignore[arg-type]


def _number(value: Any) -> int:
    if isinstance(value, bool | float):
        raise TypeError
    return int(value)


def _truth(value: Any) -> bool:
    text = str(value).lower()
    if text not in ("true", "false"):
        raise ValueError
    return text == "true"


def _text(value: Any) -> str:
    if isinstance(value, bool | float):
        raise TypeError
    return str(value)


_READERS: Mapping[type, Callable[[Any], object]] = {int: _number, bool: _truth, str: _text}


def _check_number(key: str, value: int) -> None:
    if value < (0 if key in MAY_BE_ZERO else 1):
        raise ConfigError(f"{key} must be positive, not {_shown(value)}")
    most = MAX_MEMORY if key == "totalMemory" else MAX_NUMBER
    if value > most:
        raise ConfigError(f"{key} must be at most {most}, not {_shown(value)}")


def _check_text(key: str, text: str) -> None:
    if "\0" in text or any(0xD800 <= ord(each) < 0xE000 for each in text):
        raise ConfigError(f"{key} must be text without NUL characters and surrogates, not {_shown(text)}")


def _shown(value: object) -> str:
    # Python refuses to format a number of thousands of digits.
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**MAX_SHOWN else "a much larger number"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _check_ipv4(key: str, text: str) -> None:
    try:
        IPv4Address(text)
    except ValueError:
        raise ConfigError(f"{key} must be an IPv4 address, not {text!r}") from None


@lru_cache(maxsize=1_024)
def packed_ipv4(text: str) -> bytes:
    """The four bytes of an address."""
    return IPv4Address(text).packed
