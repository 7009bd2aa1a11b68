"""``meta-atomic-view``: a slave never answers as if a topic or group that it has synced did not exist.

Checks:
- A pull's answer and a reading of the slave's table do not lack a synced topic or group. It counts as synced after the
  slave's present incarnation asked for a table that had it: the master had served a call that needs it.
Abstains when:
- A client may have deleted it. The master saves at each change, so it must not have saved since it was seen with the
  name, or must be seen with it again after at most one save.
- The master went down since, until the next sync.
- The slave restarted since (``meta-durable``).
Source: SlaveSynchronize.syncTopicConfig, which clears the table before it fills it (fixed in 5.x).
"""

from ....event_types.client import Fail, Ok
from ....judging.law import only
from ...event_types.metadata import Table
from ...known.metadata import GROUPS, TOPICS, Name, topic_of
from ...topology import NO_SLAVES
from .syncing import CopiesLaw


class MetaAtomicView(CopiesLaw):
    needs = frozenset({"config", "start", "invoke", "ok", "fail", "sync", "persist"})

    @only("pull", but=NO_SLAVES)
    def on_ok(self, event: Ok) -> None:
        self.judged += bool(self._needed(event))

    @only("pull", but=NO_SLAVES)
    def on_fail(self, event: Fail) -> None:
        self.check_answer(event, self._needed(event))

    def _needed(self, event: Fail | Ok) -> list[Name]:
        """A pull's topic and group, if its slave held them during the whole call."""
        begun = self.known.calls.begun(event)
        if begun is None:
            return []
        call = begun.call
        needs = ((TOPICS, topic_of(call.queue)), (GROUPS, call.group or ""))
        return [name for name in self.known.copies.held(event.node, call.seq) if name in needs]

    @only(TOPICS, GROUPS, but=NO_SLAVES)
    def on_table(self, event: Table) -> None:
        self.check_table(event, self.known.copies.held(event.node, event.seq), ", which it had synced")
