"""``role-slave-read-only``: a slave takes no message, no topic and no group, and adds nothing of its own to its log.

- Sends to a slave are refused, and their messages are found in no log.
- From 4.9.4 on so are an administrator's topics, groups and deletions, and the slave's tables do not come to hold
  what is new (unless somebody used that name, or created it at a master).
- What enters a slave's log is what it replicates.

Left out: the end of a transaction, of which a history says nothing; topics and groups that a client's call creates on
the way, as 4.9 does (the next sync takes them away, see ``meta-converges``). Sources: CommitLog.asyncPutMessage (role
SLAVE: SERVICE_NOT_AVAILABLE), AdminBrokerProcessor.updateAndCreateTopic, validateSlave.
"""

from pairproof.harness.kinds.client import Consumer, Fail, Invoke, Ok
from pairproof.harness.kinds.node import Config
from pairproof.harness.law import only
from pairproof.harness.rocketmq.kinds.log import Append, Record
from pairproof.harness.rocketmq.kinds.metadata import Table
from pairproof.harness.rocketmq.known.metadata import ADMIN, CHANGES, DELETES, GROUPS, TOPICS, Name, holds, topic_of
from pairproof.harness.rocketmq.known.possible import NO_ANSWER
from pairproof.harness.rocketmq.law import Law
from pairproof.harness.rocketmq.settings import parse, version

REFUSES_ADMIN = (4, 9, 4)
"""The first version whose slaves do."""


class RoleSlaveReadOnly(Law):
    id = "role-slave-read-only"
    promise = "A slave accepts no message, topic or group, and writes nothing into its log but its master's bytes."
    source = "DefaultMessageStore.checkStoreStatus; AdminBrokerProcessor.validateSlave (4.9.4)"
    needs = frozenset({"config", "invoke", "ok", "fail"})

    def begin(self) -> None:
        self.slaves: dict[str, bool] = {}
        """And whether they are of a version that refuses administrators."""
        self.sent: dict[str, str] = {}
        """Messages that were sent to a slave, and to which."""
        self.named: dict[Name, str] = {}
        """Topics and groups that somebody tried to create at a slave, and at which."""
        self.used: set[Name] = set()
        self.queues: set[str | None] = set()

    def on_config(self, event: Config) -> None:
        settings = parse(event.detail or "{}")
        if settings.get("brokerRole") == "SLAVE":
            self.slaves[event.node] = version(settings) >= REFUSES_ADMIN
        self.applicable = bool(self.slaves)

    # What it is asked.

    def on_invoke(self, event: Invoke) -> None:
        if event.f in DELETES:
            return
        if event.f in ADMIN:
            name = (ADMIN[event.f], event.message or "")
            if event.node in self.slaves:
                self.named.setdefault(name, event.node)
            else:
                self.used.add(name)
            return
        self.queues.add(event.queue)
        if event.group is not None:
            self.used.add((GROUPS, event.group))
        if event.f == "send" and event.node in self.slaves and event.message is not None:
            self.sent[event.message] = event.node

    def on_consumer(self, event: Consumer) -> None:
        self.used.add((GROUPS, event.group))

    def on_ok(self, event: Ok) -> None:
        refuses = self.slaves.get(event.node)
        if refuses is None:
            return
        if event.f == "send":
            self.judged += 1
            self.violate(event, f"{event.node}, a slave, took {event.message} and answered {event.status}")
        elif event.f in CHANGES and refuses:
            self.judged += 1
            what = event.f if event.f in ADMIN else f"request to {event.f.replace('-', ' ')}"
            self.violate(event, f"{event.node}, a slave, took the {what} {event.message}")

    def on_fail(self, event: Fail) -> None:
        if event.node in self.slaves and (event.f == "send" or event.f in CHANGES) and event.status not in NO_ANSWER:
            self.judged += 1

    # What it has.

    def on_append(self, event: Append) -> None:
        if event.node in self.slaves and event.f != "replicate":
            self.violate(
                event, f"{event.node}, a slave, wrote [{event.lo}, {event.hi}) into its log by itself ({event.f})"
            )

    def on_record(self, event: Record) -> None:
        slave = self.sent.pop(event.message, None) if self.sent and event.message is not None else None
        if slave is not None:
            self.violate(event, f"{event.node} holds {event.message}, which only {slave}, a slave, was sent")

    @only(TOPICS, GROUPS)
    def on_table(self, event: Table) -> None:
        if not self.named or not self.slaves.get(event.node):
            return
        used = self.used | {(TOPICS, topic_of(queue)) for queue in self.queues}
        for name in [name for name, slave in self.named.items() if name[0] == event.f and slave == event.node]:
            if name not in used and holds(event, name[1]):
                del self.named[name]
                self.violate(event, f"{event.node}'s {event.f} hold {name[1]}, which only this slave was told")
