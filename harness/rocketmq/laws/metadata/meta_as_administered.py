"""``meta-as-administered``: a master's topics and groups are what administrators made of them.

Judged at each reading of a master's topics and groups, for the names that administrators have made, changed or deleted
there, and that nobody else uses. What an answered call has made is there with the values that it asked for; what one
has deleted is not; and no call for another name changes that, nor does a restart.

Somebody may change a table whom nobody watches. A master saves its table at each change, so the law is silent about a
name where the master has saved more often since than calls for other names explain.

Left out: names with calls under way, and those whose last call has no known end, until the master's process has ended;
what a machine's crash leaves; what was changed while a fault touched the master (a full disk saves nothing), once that
process has ended; stores that were replaced; values besides a topic's numbers of queues and a group's two broker ids.
See :mod:`pairproof.harness.rocketmq.known.tables`.
Source: TopicConfigManager.updateTopicConfig, deleteTopicConfig, SubscriptionGroupManager: each persists before the
answer.
"""

from collections.abc import Mapping
from typing import Any

from ....judging.law import only
from ...event_types.metadata import Table
from ...known.metadata import GROUPS, TOPICS, entries
from ...known.tables import ABSENT, FIELDS, Value
from ...law import Law
from ...topology import MASTER


class MetaAsAdministered(Law):
    id = "meta-as-administered"
    promise = "A master's topics and groups are what administrators made of them, and what they deleted is gone."
    source = "TopicConfigManager.updateTopicConfig, deleteTopicConfig; SubscriptionGroupManager"
    needs = frozenset({"invoke", "ok", "fail", "table", "persist"})

    @only(TOPICS, GROUPS, node=MASTER)
    def on_table(self, event: Table) -> None:
        for name, entry in self.known.tables.administered(event.f):
            self.judged += 1
            found, possible = _held(event, name), entry.settled
            if possible is not None and found not in possible:
                wanted = " or ".join(sorted(map(_shown, possible)))
                self.violate(
                    event, f"the master's {event.f} have {name} as {_shown(found)}; administrators left it {wanted}"
                )


def _held(table: Table, name: str) -> Value:
    entry: Mapping[str, Any] | None = entries(table).get(name)
    return ABSENT if entry is None else tuple(entry.get(field, 0) for field in FIELDS[table.f])


def _shown(value: Value) -> str:
    return "/".join(map(str, value)) if value else "absent"
