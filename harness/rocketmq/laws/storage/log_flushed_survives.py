"""``log-flushed-survives``: PUT_OK under SYNC_FLUSH survives a machine crash; any stored message survives a process
crash.

Promised is PUT_OK to a send that waited with SYNC_FLUSH. Stored is every send with a stored status, and every message
that the master delivered; a machine crash ends that, and a lying disk or a replaced store ends both.

Checks:
- The store reader finds these messages on the master after each of its restarts and at the end.
Abstains when:
- The message's file has expired, or the message was in a killed process's transient store pool. A delivered one was
  not, since readers see only committed bytes.
Source: CommitLog.GroupCommitService; the page cache outlives a process.
"""

from typing import NamedTuple

from ....event_types.client import Deliver, Ok
from ....judging.law import DURABILITY, only
from ...contract import POOL, PUT_OK, STORED
from ...event_types.log import Audit
from ...known.nodes import MACHINE
from ...known.stores import NOTHING, SURVIVED
from ...law import Law
from ...topology import MASTER


class Stored(NamedTuple):
    """A message on the master."""

    durable: bool
    shown: bool
    """Whether the master delivered it."""
    lo: int | None
    happened: int
    """Number of events that had affected stores before."""
    ended: int
    """Number of the master's incarnations that had ended before; a later end puts the message at stake."""


class LogFlushedSurvives(Law):
    kind = DURABILITY
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
        before = self.stored.get(event.message or "")
        if before is None or (MASTER in self.known.stores.pooled and not (before.shown or before.durable)):
            self._store(event, False, shown=True)

    def _store(self, event: Deliver | Ok, durable: bool, shown: bool = False) -> None:
        message, calls = event.message, self.known.calls
        is_old = calls.begun(event) is not None and not calls.is_current(event)
        ended = self.known.nodes.ended(MASTER) - is_old
        found = Stored(durable, shown, event.lo, calls.happened_before(event), ended)
        # The answer may have been in flight during the crash.
        if message is None or not self._is_promised(found):
            return
        before = self.stored.get(message)
        if before is not None and self._is_promised(before):
            lo = before.lo if event.lo is None else event.lo
            durable, shown = durable or before.durable, shown or before.shown
            found = before._replace(durable=durable, shown=shown, lo=lo, ended=min(ended, before.ended))
        self.stored[message] = found

    def _is_promised(self, each: Stored) -> bool:
        """Whether no event since may have removed it; an expiry may remove any message, as a later crash can empty the
        log."""
        happened = self.known.stores.of(MASTER, each.happened, each.lo)
        outlived = {POOL, MACHINE} if each.durable else {POOL} if each.shown else NOTHING
        return happened <= SURVIVED | outlived

    @only(node=MASTER)
    def on_audit(self, event: Audit) -> None:
        # A recovery audit lists only the restarted node's records.
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
