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

from ....event_types.client import Fail, Ok
from ....judging.law import only
from ...event_types.metadata import Table
from ...known.metadata import GROUPS, MISSING, TOPICS, Name, holds, topic_of
from ...topology import NO_SLAVES
from .syncing import CopiesLaw


class MetaAtomicView(CopiesLaw):
    id = "meta-atomic-view"
    promise = "A slave never answers as if a topic or group that it has synced did not exist."
    source = "SlaveSynchronize.syncTopicConfig: clear, then putAll"
    needs = frozenset({"config", "start", "invoke", "ok", "fail", "sync", "persist"})

    @only("pull", but=NO_SLAVES)
    def on_ok(self, event: Ok) -> None:
        if self._needed(event):
            self.judged += 1

    @only("pull", but=NO_SLAVES)
    def on_fail(self, event: Fail) -> None:
        needs = self._needed(event)
        if needs:
            self.judged += 1
        for name in needs:
            if name[0] == MISSING.get(event.status):
                self.suspect(event, name, f"{event.node} answered {event.status}, and had synced {name[1]}")

    def _needed(self, event: Fail | Ok) -> list[Name]:
        """What a pull needs, and its slave has had all the time."""
        begun = self.known.calls.begun(event)
        if begun is None:
            return []
        call = begun.call
        needs = ((TOPICS, topic_of(call.queue)), (GROUPS, call.group or ""))
        return [name for name in self.known.copies.held(event.node, call.seq) if name in needs]

    @only(TOPICS, GROUPS, but=NO_SLAVES)
    def on_table(self, event: Table) -> None:
        names = sorted(name for name in self.known.copies.held(event.node, event.seq) if name[0] == event.f)
        if names:
            self.judged += 1
        for name in names:
            if not holds(event, name[1]):
                self.suspect(event, name, f"{event.node}'s {event.f} lack {name[1]}, which it had synced")
