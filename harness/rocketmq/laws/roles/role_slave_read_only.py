"""``role-slave-read-only``: a slave accepts no message, topic or group, and writes only its master's bytes into its
log.

Checks:
- A slave refuses sends, and no log holds their messages.
- From 4.9.4 on it refuses an administrator's topics, groups and deletions, and its tables do not get a new name (unless
  the name was used, or created at a master).
- Each append to its log is replicated.
Abstains when:
- The request ends a transaction, which is not recorded.
- A client's call creates the topic or group, as in 4.9 (the next sync removes it, see ``meta-converges``).
Source: DefaultMessageStore.checkStoreStatus, CommitLog.asyncPutMessage (role SLAVE: SERVICE_NOT_AVAILABLE),
AdminBrokerProcessor.updateAndCreateTopic, validateSlave (4.9.4).
"""

from ....event_types.client import Fail, Invoke, Ok
from ....judging.law import EventFilter, only
from ...event_types.log import Append, Record
from ...event_types.metadata import Table
from ...known.metadata import ADMIN, CHANGES, GROUPS, TOPICS, Name, holds
from ...known.possible import NO_ANSWER
from ...law import SlaveLaw
from ...settings import version
from ...topology import NO_SLAVES

REFUSES_ADMIN_SINCE = (4, 9, 4)
OWN = ("put", "filler")
"""Appends that are not replicated."""


class RoleSlaveReadOnly(SlaveLaw):
    needs = frozenset({"config", "invoke", "ok", "fail"})
    awaits = {
        "invoke": EventFilter(frozenset({"send", *CHANGES}), but=frozenset(NO_SLAVES)),
        "append": EventFilter(frozenset(OWN), but=frozenset(NO_SLAVES)),
    }

    def begin(self) -> None:
        self.sent: dict[str, str] = {}
        """By message: the slave to which it was sent."""
        self.named: dict[Name, str] = {}
        """By topic or group: the slave at which an administrator tried to create it."""

    def _refuses_administrators(self, node: str) -> bool:
        return node in self.slaves and version(self.slaves[node]) >= REFUSES_ADMIN_SINCE

    @only("send", *ADMIN, but=NO_SLAVES)
    def on_invoke(self, event: Invoke) -> None:
        if event.f in ADMIN:
            self.named.setdefault((ADMIN[event.f], event.message or ""), event.node)
        elif event.message is not None:
            self.sent[event.message] = event.node

    @only("send", *CHANGES, but=NO_SLAVES)
    def on_ok(self, event: Ok) -> None:
        if event.f == "send":
            self.judged += 1
            self.violate(event, f"{event.node}, a slave, accepted {event.message} and answered {event.status}")
        elif self._refuses_administrators(event.node):
            self.judged += 1
            what = event.f if event.f in ADMIN else f"request to {event.f.replace('-', ' ')}"
            self.violate(event, f"{event.node}, a slave, accepted the {what} {event.message}")

    @only("send", *CHANGES, but=NO_SLAVES)
    def on_fail(self, event: Fail) -> None:
        self.judged += event.status not in NO_ANSWER

    @only(*OWN, but=NO_SLAVES)
    def on_append(self, event: Append) -> None:
        what = f"{event.node}, a slave, wrote [{event.lo}, {event.hi}) into its log by itself ({event.f})"
        self.violate(event, what)

    def on_record(self, event: Record) -> None:
        slave = self.sent.pop(event.message, None) if self.sent and event.message is not None else None
        if slave is not None:
            self.violate(event, f"{event.node} holds {event.message}, which was sent only to {slave}, a slave")

    @only(TOPICS, GROUPS)
    def on_table(self, event: Table) -> None:
        if not self.named or not self._refuses_administrators(event.node):
            return
        used = self.known.tables.used | {(ADMIN[f], name or "") for f, name in self.known.calls.made}
        for name in [name for name, slave in self.named.items() if name[0] == event.f and slave == event.node]:
            if name not in used and holds(event, name[1]):
                del self.named[name]
                self.violate(event, f"{event.node}'s {event.f} hold {name[1]}, which was created only at this slave")
