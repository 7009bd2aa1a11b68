"""``role-slave-read-only``: a slave takes no message, no topic and no group, and adds nothing of its own to its log.

- Sends to a slave are refused, and their messages are found in no log.
- From 4.9.4 on so are an administrator's topics, groups and deletions, and the slave's tables do not come to hold
  what is new (unless somebody used that name, or created it at a master).
- What enters a slave's log is what it replicates.

Left out: the end of a transaction, of which a history says nothing; topics and groups that a client's call creates on
the way, as 4.9 does (the next sync takes them away, see ``meta-converges``). Sources: CommitLog.asyncPutMessage (role
SLAVE: SERVICE_NOT_AVAILABLE), AdminBrokerProcessor.updateAndCreateTopic, validateSlave.
"""

from ....event_types.client import Fail, Invoke, Ok
from ....event_types.node import Config
from ....judging.law import EventFilter, only
from ...event_types.log import Append, Record
from ...event_types.metadata import Table
from ...known.metadata import ADMIN, CHANGES, GROUPS, TOPICS, Name, holds
from ...known.possible import NO_ANSWER
from ...law import Law
from ...settings import parse, version
from ...topology import NO_SLAVES

REFUSES_ADMIN = (4, 9, 4)
"""The first version whose slaves do."""
OWN = ("put", "filler")
"""How a node's log grows by itself."""


class RoleSlaveReadOnly(Law):
    id = "role-slave-read-only"
    promise = "A slave accepts no message, topic or group, and writes nothing into its log but its master's bytes."
    source = "DefaultMessageStore.checkStoreStatus; AdminBrokerProcessor.validateSlave (4.9.4)"
    needs = frozenset({"config", "invoke", "ok", "fail"})
    awaits = {
        "invoke": EventFilter(frozenset({"send", *CHANGES}), but=frozenset(NO_SLAVES)),
        "append": EventFilter(frozenset(OWN), but=frozenset(NO_SLAVES)),
    }

    def begin(self) -> None:
        self.slaves: dict[str, bool] = {}
        """And whether they are of a version that refuses administrators."""
        self.sent: dict[str, str] = {}
        """Messages that were sent to a slave, and to which."""
        self.named: dict[Name, str] = {}
        """Topics and groups that somebody tried to create at a slave, and at which."""

    def on_config(self, event: Config) -> None:
        settings = parse(event.detail or "{}")
        if settings.get("brokerRole") == "SLAVE":
            self.slaves[event.node] = version(settings) >= REFUSES_ADMIN
        self.applicable = bool(self.slaves)

    # What it is asked.

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
            self.violate(event, f"{event.node}, a slave, took {event.message} and answered {event.status}")
        elif self.slaves.get(event.node):
            self.judged += 1
            what = event.f if event.f in ADMIN else f"request to {event.f.replace('-', ' ')}"
            self.violate(event, f"{event.node}, a slave, took the {what} {event.message}")

    @only("send", *CHANGES, but=NO_SLAVES)
    def on_fail(self, event: Fail) -> None:
        self.judged += event.status not in NO_ANSWER

    # What it has.

    @only(*OWN, but=NO_SLAVES)
    def on_append(self, event: Append) -> None:
        what = f"{event.node}, a slave, wrote [{event.lo}, {event.hi}) into its log by itself ({event.f})"
        self.violate(event, what)

    def on_record(self, event: Record) -> None:
        slave = self.sent.pop(event.message, None) if self.sent and event.message is not None else None
        if slave is not None:
            self.violate(event, f"{event.node} holds {event.message}, which only {slave}, a slave, was sent")

    @only(TOPICS, GROUPS)
    def on_table(self, event: Table) -> None:
        if not self.named or not self.slaves.get(event.node):
            return
        used = self.known.tables.used | {(ADMIN[f], name or "") for f, name in self.known.calls.made}
        for name in [name for name, slave in self.named.items() if name[0] == event.f and slave == event.node]:
            if name not in used and holds(event, name[1]):
                del self.named[name]
                self.violate(event, f"{event.node}'s {event.f} hold {name[1]}, which only this slave was told")
