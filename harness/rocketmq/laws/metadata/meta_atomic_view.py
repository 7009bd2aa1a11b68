"""``meta-atomic-view``: while a sync runs a slave never answers as if a synced topic or group did not exist.

Asked of every pull from a slave, and of every reading of its topics and groups, from when a sync of its present life
was asked for that the master must have answered with that topic or group: the master had served a call that needs it.
A pull's answer that names it as missing, or a table without it, is wrong, be it in the middle of a sync or not.

What an administrator deletes may be missing, whoever that is: a name that a slave lacks is held against it only if its
master, which saves its table at each change, has not saved since it was seen to have it, or is seen to have it again
after no more than one save.

Left out: what the master may have lost when it went down, until it has been synced again; what a slave still knows
after its own restart, see ``meta-durable``; a group that a pull does not name. Source: SlaveSynchronize, which clears
the table before it fills it (fixed in 5.x).
"""

from ....kinds.client import Fail, Info, Invoke, Ok
from ....kinds.node import Crash, Start, Stop
from ...kinds.metadata import Persist, Sync, Table
from ...known.metadata import GROUPS, MISSING, TOPICS, CopiesLaw, Name, holds, topic_of
from ...places import MASTER


class MetaAtomicView(CopiesLaw):
    id = "meta-atomic-view"
    promise = "A slave never answers as if a topic or group that it has synced did not exist."
    source = "SlaveSynchronize.syncTopicConfig: clear, then putAll"
    needs = frozenset({"config", "start", "invoke", "ok", "fail", "sync", "persist"})

    def begin(self) -> None:
        super().begin()
        self.asked: dict[int | None, tuple[Name, ...]] = {}
        """Pulls from slaves under way, and what the slave has of what they need."""

    def on_invoke(self, event: Invoke) -> None:
        self.copies.began(event)
        if event.f == "pull" and event.node in self.slaves:
            needs = ((TOPICS, topic_of(event.queue)), (GROUPS, event.group or ""))
            self.asked[event.op] = tuple(name for name in needs if self.copies.has(event.node, name))

    def on_ok(self, event: Ok) -> None:
        if event.node not in self.slaves:
            self.see(self.copies.answered(event))
        elif self.asked.pop(event.op, ()):
            self.judged += 1

    def on_fail(self, event: Fail) -> None:
        needs = self.asked.pop(event.op, ())
        if not needs:
            return
        self.judged += 1
        table = MISSING.get(event.status)
        for name in needs:
            if name[0] == table and self.copies.has(event.node, name):
                self.suspect(event, name, f"{event.node} answered {event.status}, and had synced {name[1]}")

    def on_info(self, event: Info) -> None:
        self.asked.pop(event.op, None)

    def on_sync(self, event: Sync) -> None:
        if event.node in self.slaves:
            self.copies.synced(event)

    def on_table(self, event: Table) -> None:
        if event.node == MASTER and event.f in (TOPICS, GROUPS):
            self.see(self.copies.read(event))
        if event.node not in self.slaves or event.f not in (TOPICS, GROUPS):
            return
        names = [name for table, name in self.copies.slaves.get(event.node, ()) if table == event.f]
        if not names:
            return
        self.judged += 1
        for name in sorted(names):
            if not holds(event, name):
                self.suspect(event, (event.f, name), f"{event.node}'s {event.f} lack {name}, which it had synced")

    def on_start(self, event: Start) -> None:
        self.copies.up(event.node)
        self.copies.slaves.pop(event.node, None)

    def on_crash(self, event: Crash | Stop) -> None:
        self.down(event.node)

    def on_persist(self, event: Persist) -> None:
        """The master may have deleted something."""
        self.copies.saved(event)

    on_stop = on_crash
