"""``meta-as-administered``: a master's topics and groups are as its administrators left them, and deleted ones are
gone.

Checks:
- In each reading, a name that administrators created or changed there, and that no other client uses, has the requested
  values; a deleted one is absent. Calls for other names and restarts change nothing.
- The same after a power loss for what a broker that flushes its tables saved a second before, by the slowest flush.
Abstains when:
- The master saved its table more often than calls for other names explain: an unrecorded client may have changed it.
- A call for the name is in flight or has no known result, in the master's present incarnation.
- The store was replaced, or the machine crashed: if the broker flushes its tables (``tableSaves``), only the changes
  that its disk need not have had.
- A fault affected the master during the change, and that process has ended: a full disk saves nothing.
- The value is a topic's filter type, flags or order.
Source: TopicConfigManager.updateTopicConfig, deleteTopicConfig, SubscriptionGroupManager: each persists before the
answer.
"""

from ....judging.law import only
from ...event_types.metadata import Table
from ...known.metadata import GROUPS, TOPICS, entries
from ...known.tables import Value, value_of
from ...law import Law
from ...topology import MASTER

CHANGES, POWER = "changes", "power losses"


class MetaAsAdministered(Law):
    needs = frozenset({"invoke", "ok", "fail", "table", "persist"})
    parts = (CHANGES, POWER)

    @only(TOPICS, GROUPS, node=MASTER)
    def on_table(self, event: Table) -> None:
        for name, entry in self.known.tables.administered(event.f):
            self.judge_part(POWER if entry.lost_power else CHANGES)
            found, possible = value_of(event.f, entries(event).get(name)), entry.settled
            if possible is not None and found not in possible:
                wanted = " or ".join(sorted(map(_shown, possible)))
                self.violate(
                    event, f"the master's {event.f} have {name} as {_shown(found)}; administrators left it {wanted}"
                )


def _shown(value: Value) -> str:
    return "/".join(map(str, value)) if value else "absent"
