"""A broker's consumer groups: ``subscriptionGroup.json``, and automatic creation.

With autoCreateSubscriptionGroup a request creates an unknown group with the defaults; the system's groups exist from
the start. A group's brokerId and whichBrokerWhenConsumeSlowly split reads between master and slave. Left out: filters,
and RocketMQ 5's additions. Source: SubscriptionGroupManager, MixAll.isSysConsumerGroup.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from ..ports import WholeFiles
from ..wire.bodies import SubscriptionGroupConfig, SubscriptionGroups
from .config import BrokerConfig
from .config_file import ConfigFile
from .versioned_table import VersionedTable

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
NAME = re.compile(r"[%|a-zA-Z0-9_-]{1,255}")


class GroupTable(VersionedTable[SubscriptionGroupConfig]):
    body = SubscriptionGroups
    queue_numbers = ("retry_queue_nums",)

    def __init__(self, disk: WholeFiles, wall_ms: Callable[[], int], config: BrokerConfig) -> None:
        self.auto_create = config.autoCreateSubscriptionGroup
        self.keeps = not config.is_slave
        """Whether a created group is stored in the table; a slave stores only its master's."""
        system = {group: SubscriptionGroupConfig(group) for group in SYSTEM_GROUPS}
        super().__init__(ConfigFile(disk, "subscriptionGroup.json"), wall_ms, system)

    def find(self, group: str) -> SubscriptionGroupConfig | None:
        """The group, created if needed, on a slave only for this call; None if that is impossible."""
        found = self.get(group)
        return found if found is not None else self.find_all([group]).get(group)

    def find_all(self, groups: Iterable[str]) -> Mapping[str, SubscriptionGroupConfig]:
        """As :meth:`find` for each, in one change; without those that are impossible."""
        known: dict[str, SubscriptionGroupConfig] = {}
        new: dict[str, SubscriptionGroupConfig] = {}
        for group in groups:
            found = self.get(group)
            if found is not None:
                known[group] = found
            elif (self.auto_create or group.startswith(SYSTEM_PREFIX)) and NAME.fullmatch(group):
                new[group] = SubscriptionGroupConfig(group)
        return {**known, **(self.put_all(new) if self.keeps else new)}
