"""``log-flushed-survives``: what was promised to be on disk is there after a power loss, and everything stored is there
after a killed or stopped process.

Promised: PUT_OK to a send that waited under SYNC_FLUSH. Stored: every send that was answered with a stored status, and
every message that the master delivered; a machine crash takes those off the list, and a disk that lied about a flush or
a replaced store takes all. Checked at the store reader's records of the master, after each of its restarts and at the
end.

Left out: messages in files that have expired, what a killed process had in its transient store pool. Source:
GroupCommitService.
"""

from typing import NamedTuple

from ....event_types.client import Deliver, Ok
from ....judging.law import DURABILITY, only
from ...contract import PUT_OK, STORED
from ...event_types.log import Audit
from ...known.nodes import MACHINE
from ...known.stores import SURVIVED
from ...law import Law
from ...topology import MASTER


class Stored(NamedTuple):
    """A message on the master."""

    durable: bool
    """Whether it was promised to be on its disk."""
    lo: int | None
    """Where it lies, if anybody said so."""
    happened: int
    """How much had happened to stores before."""
    ended: int
    """How many incarnations of the master had ended before: any that has since put the message at stake."""


class LogFlushedSurvives(Law):
    id = "log-flushed-survives"
    kind = DURABILITY
    promise = "PUT_OK under SYNC_FLUSH survives a machine crash; any stored message survives a process crash."
    source = "CommitLog.GroupCommitService; the page cache outlives a process"
    applies_with = "a message that is answered PUT_OK before a crash"
    needs = frozenset({"invoke", "ok", "crash", "record", "audit"})

    def begin(self) -> None:
        self.stored: dict[str, Stored] = {}

    @only("send")
    def on_ok(self, event: Ok) -> None:
        if event.status in STORED:
            self._store(event, event.status == PUT_OK and bool(event.waits) and self.known.sync_flush)

    @only(node=MASTER)
    def on_deliver(self, event: Deliver) -> None:
        if event.message not in self.stored:
            self._store(event, False)

    def _store(self, event: Deliver | Ok, durable: bool) -> None:
        message, calls = event.message, self.known.calls
        is_old = calls.begun(event) is not None and not calls.is_current(event)
        ended = self.known.nodes.ended(MASTER) - is_old
        found = Stored(durable, event.lo, calls.happened_before(event), ended)
        # An answer may have been under way during the crash: what is not on disk may be gone already.
        if message is None or not self._is_promised(found):
            return
        before = self.stored.get(message)
        if before is not None and self._is_promised(before):
            lo = before.lo if event.lo is None else event.lo
            found = before._replace(durable=durable or before.durable, lo=lo, ended=min(ended, before.ended))
        self.stored[message] = found

    def _is_promised(self, each: Stored) -> bool:
        """Whether nothing has happened since that may take it; an expiry does, wherever a log begins that is empty
        after the next crash."""
        happened = self.known.stores.of_master(each.happened, each.lo)
        return happened <= (SURVIVED | {MACHINE} if each.durable else SURVIVED)

    @only(node=MASTER)
    def on_audit(self, event: Audit) -> None:
        """The reader is done: whoever is missing is lost."""
        # A recovery audit lists the records of the node that restarted, and of no other.
        if event.f == "compare" or (event.f != "final" and self.known.last_started != MASTER):
            return
        self.stored = {message: each for message, each in self.stored.items() if self._is_promised(each)}
        ended, found = self.known.nodes.ended(MASTER), {each.message for each in self.known.audits.records(event)}
        at_stake = {message: each for message, each in self.stored.items() if each.ended < ended}
        self.judged += len(at_stake)
        for message, each in at_stake.items():
            if message not in found:
                del self.stored[message]
                if event.lo and (each.lo or 0) < event.lo:
                    continue
                how = f"{message} was on the master and is gone after {self._how(each)}"
                self.violate(event._replace(message=message), how)

    def _how(self, each: Stored) -> str:
        crashes = [how for node, how in self.known.stores.since(each.happened, each.lo) if node == MASTER]
        return f"a {crashes[-1]} crash" if crashes else "a clean stop"
