"""``meta-readable``: a node's tables are readable, in its answers and, with their backups, in its files.

Checks:
- Each reading of a table. A file counts with its backup, as at a broker's start: one of the two must be whole.
Abstains when:
- The store is not the node's own work: a lying disk lost a part of it, or an operator replaced it.
- The node is down.
Source: ConfigManager.load, RemotingSerializable.decode.
"""

from ...contract import LIED, WIPE
from ...event_types.metadata import Garbled, Table
from ...law import Law


class MetaReadable(Law):
    needs = frozenset({"table", "garbled"})
    ignored_nodes = frozenset()

    def on_table(self, event: Table) -> None:
        self.judged += 1

    def on_garbled(self, event: Garbled) -> None:
        if not self.known.stores.suffered(event.node) & {LIED, WIPE}:
            self.judged += 1
            self.violate(event, f"the {event.f} of {event.node} cannot be read: {event.detail}")
