"""Broker settings under RocketMQ's own names and 4.9 defaults, as a properties file carries them.

Two are ours: ``rocketmqVersion`` says which version line's replication path to follow, ``haPushes`` whether slaves get
what is written (RocketMQ) or only what is flushed.

Attributes keep RocketMQ's spelling on purpose: who knows ``broker.conf`` knows this class. Times are milliseconds,
sizes bytes. Only what this broker acts on is here; other known keys are the shell's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from ipaddress import IPv4Address
from typing import Any

from pairproof.reference.core.versions import VERSIONS, Version
from pairproof.reference.errors import ConfigError

ROLES = ("ASYNC_MASTER", "SYNC_MASTER", "SLAVE")
FLUSH_TYPES = ("ASYNC_FLUSH", "SYNC_FLUSH")
MAY_BE_ZERO = ("brokerId", "inSyncReplicas")
PUSHES = ("written", "flushed")


@dataclass(frozen=True)
class BrokerConfig:
    """One broker's settings. Raises :class:`ConfigError` for values that cannot work."""

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
    mappedFileSizeCommitLog: int = 1_073_741_824
    maxMessageSize: int = 4_194_304
    defaultTopicQueueNums: int = 8
    rocketmqVersion: str = "4.9.7"
    inSyncReplicas: int = 0
    haPushes: str = "written"

    def __post_init__(self) -> None:
        choices = {
            "brokerRole": ROLES, "flushDiskType": FLUSH_TYPES, "haPushes": PUSHES, "rocketmqVersion": tuple(VERSIONS),
        }  # fmt: skip
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ConfigError(f"{name} must be one of {', '.join(allowed)}, not {getattr(self, name)!r}")
        try:
            IPv4Address(self.brokerIP1)
        except ValueError:
            raise ConfigError(f"brokerIP1 must be an IPv4 address, not {self.brokerIP1!r}") from None
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int) and value < (0 if each.name in MAY_BE_ZERO else 1):
                raise ConfigError(f"{each.name} must be positive, not {value}")
        if self.inSyncReplicas and not self.version.counts_replicas:
            raise ConfigError(f"inSyncReplicas came with 5.0: leave it out, or 0, for {self.rocketmqVersion}")
        if self.mappedFileSizeCommitLog < 512:
            raise ConfigError(f"mappedFileSizeCommitLog must be at least 512, not {self.mappedFileSizeCommitLog}")
        if self.brokerRole == "SLAVE" and self.brokerId == 0:
            raise ConfigError("a SLAVE needs a brokerId above 0")

    @property
    def is_slave(self) -> bool:
        """Whether this broker copies another one."""
        return self.brokerRole == "SLAVE"

    @property
    def version(self) -> Version:
        """What its version line does on the replication path."""
        return VERSIONS[self.rocketmqVersion]

    @property
    def slaves_to_wait_for(self) -> int:
        """How many slaves must hold a waiting send before it is answered with PUT_OK."""
        if self.brokerRole != "SYNC_MASTER":
            return 0
        return (self.inSyncReplicas or self.version.in_sync_replicas) - 1

    @property
    def ack_timeout_ms(self) -> int:
        """How long a send waits for them."""
        return int(getattr(self, self.version.ack_wait.setting))

    @classmethod
    def from_properties(cls, values: Mapping[str, object]) -> BrokerConfig:
        """Settings from keys and values as text or numbers. Unknown keys are a :class:`ConfigError`.

        RocketMQ ignores them silently, which is how a mistyped key goes unnoticed for years.
        """
        known: dict[str, Callable[[Any], object]] = {
            each.name: str if isinstance(each.default, str) else int for each in fields(cls)
        }
        given: dict[str, object] = {}
        for key, value in values.items():
            if key not in known:
                raise ConfigError(f"unknown setting {key!r}; valid: {', '.join(sorted(known))}")
            try:
                if isinstance(value, bool | float):
                    raise TypeError
                given[key] = known[key](value)
            except (TypeError, ValueError, OverflowError):
                what = "text" if known[key] is str else "a whole number"
                raise ConfigError(f"{key} must be {what}, not {value!r}") from None
        return cls(**given)  # type: ignore[arg-type]
