"""``meta-readable``: a node's tables can be read, whether it answers with them or keeps them in files.

Judged by every read of a table. A file counts with its backup, as at a broker's start: one of the two must be whole.
Excused are stores that are not the node's own work: a lying disk lost a part of one, or an operator put it there.

Left out: tables of nodes that are down; what a table says. Source: ConfigManager.load, RemotingSerializable.
"""

from ...contract import LIED, WIPE
from ...event_types.metadata import Garbled, Table
from ...law import Law


class MetaReadable(Law):
    id = "meta-readable"
    promise = "A node's tables can be read, as answers and, with their backups, as files."
    source = "ConfigManager.load, RemotingSerializable.decode"
    needs = frozenset({"table", "garbled"})
    ignored_nodes = frozenset()

    def on_table(self, event: Table) -> None:
        self.judged += 1

    def on_garbled(self, event: Garbled) -> None:
        if not self.known.stores.suffered(event.node) & {LIED, WIPE}:
            self.judged += 1
            self.violate(event, f"the {event.f} of {event.node} cannot be read: {event.detail}")
