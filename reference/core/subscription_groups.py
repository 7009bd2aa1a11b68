"""The consumer groups that a broker knows: ``subscriptionGroup.json``, and automatic creation.

A group that somebody asks about is created with the defaults where autoCreateSubscriptionGroup is set; the system's own
groups are there from the start. A group's brokerId and whichBrokerWhenConsumeSlowly split reads between master and
slave. Left out: filters, and what RocketMQ 5 added. Source: SubscriptionGroupManager, MixAll.isSysConsumerGroup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from pairproof.reference.core.config_file import ConfigFile
from pairproof.reference.core.versioned_table import VersionedTable
from pairproof.reference.ports import WholeFiles
from pairproof.reference.wire import beans
from pairproof.reference.wire.bodies import DataVersion, SubscriptionGroupConfig, SubscriptionGroups

SYSTEM_PREFIX = "CID_RMQ_SYS_"
SYSTEM_GROUPS = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
)
_name = re.compile(r"[%|a-zA-Z0-9_-]{1,255}")


class GroupTable(VersionedTable[SubscriptionGroupConfig]):
    """Subscription groups by name."""

    def __init__(
        self, disk: WholeFiles, wall_ms: Callable[[], int], *, auto_create: bool = True, keeps: bool = True
    ) -> None:
        self.auto_create = auto_create
        self.keeps = keeps
        """Whether a group that is created is put into the table; a slave has only its master's."""
        system = {group: SubscriptionGroupConfig(group) for group in SYSTEM_GROUPS}
        super().__init__(ConfigFile(disk, "subscriptionGroup.json"), wall_ms, system)

    def encoded(self, pretty: bool) -> bytes:
        """The body of GET_ALL_SUBSCRIPTIONGROUP_CONFIG (201), or the file."""
        return beans.encode(SubscriptionGroups(dict(self.entries), self.version), pretty=pretty)

    def parse(self, data: bytes) -> tuple[Mapping[str, SubscriptionGroupConfig], DataVersion]:
        """Groups and version of such a body or file."""
        return _parsed(data)

    def find(self, group: str) -> SubscriptionGroupConfig | None:
        """The group, created if need be, on a slave for this once; None if that cannot be."""
        found = self.get(group)
        if found is not None or not (self.auto_create or group.startswith(SYSTEM_PREFIX)):
            return found
        if not _name.fullmatch(group):
            return None
        config = SubscriptionGroupConfig(group)
        return config if not self.keeps or self.put(group, config) else None


@lru_cache(maxsize=64)
def _parsed(data: bytes) -> tuple[Mapping[str, SubscriptionGroupConfig], DataVersion]:
    # Cached, as the topics are.
    return beans.decode(SubscriptionGroups, data)
