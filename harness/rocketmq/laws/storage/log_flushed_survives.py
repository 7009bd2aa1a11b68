"""``log-flushed-survives``: what was promised to be on disk is there after a power loss, and everything stored is there
after a killed or stopped process.

Promised: PUT_OK to a send that waited under SYNC_FLUSH. Stored: every send that was answered with a stored status, and
every message that the master delivered; a machine crash takes those off the list, and a disk that lied about a flush or
a replaced store takes all. Checked at the store reader's records of the master, after each of its restarts and at the
end.

Left out: messages in files that have expired, the transient store pool. Source: GroupCommitService.
"""

from ....judging.law import DURABILITY, only
from ....kinds.client import Deliver, Ok
from ....kinds.node import Crash, Stop, Wipe
from ...contract import PUT_OK, STORED
from ...kinds.log import Audit, Expire
from ...known.nodes import MACHINE
from ...known.stores import SURVIVED
from ...law import Law
from ...places import MASTER


class LogFlushedSurvives(Law):
    id = "log-flushed-survives"
    kind = DURABILITY
    promise = "PUT_OK under SYNC_FLUSH survives a machine crash; any stored message survives a process crash."
    source = "CommitLog.GroupCommitService; the page cache outlives a process"
    applies_with = "a message that is answered PUT_OK before a crash"
    needs = frozenset({"invoke", "ok", "crash", "record", "audit"})

    def begin(self) -> None:
        self.stored: dict[str | None, bool] = {}
        """Messages on the master, and whether they were promised to be on its disk."""
        self.at_stake: dict[str | None, str] = {}
        """Those that have been through a crash, and its kind."""
        self.where: dict[str | None, int] = {}
        """Where messages lie on the master, if anybody said so."""

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
        happened = self.known.stores.of_master(calls.happened_before(event), event.lo)
        # An answer may have been under way during the crash: what is not on disk may be gone already.
        if message is None or not happened <= (SURVIVED | {MACHINE} if durable else SURVIVED):
            return
        if event.lo is not None:
            self.where[message] = event.lo
        self.stored[message] = durable or self.stored.get(message, False)
        if calls.begun(event) is not None and not calls.is_current(event):
            self.at_stake[message] = "a crash"

    @only(node=MASTER)
    def on_crash(self, event: Crash) -> None:
        if event.f == MACHINE:
            self.stored = {message: True for message, durable in self.stored.items() if durable}
        if event.status == "lied":
            self._lose_all()
        self.at_stake = dict.fromkeys(self.stored, f"a {event.f} crash")

    @only(node=MASTER)
    def on_stop(self, event: Stop) -> None:
        """The master ended cleanly: that takes nothing."""
        self.at_stake = dict.fromkeys(self.stored, "a clean stop")

    @only(node=MASTER)
    def on_wipe(self, event: Wipe) -> None:
        self._lose_all()

    @only(node=MASTER)
    def on_expire(self, event: Expire) -> None:
        """Gone with its file, wherever a log begins that is empty after the next crash."""
        for message in [each for each in self.stored if self.where.get(each, 0) < event.new_start]:
            del self.stored[message]
            self.at_stake.pop(message, None)

    def _lose_all(self) -> None:
        self.stored, self.at_stake = {}, {}

    @only(node=MASTER)
    def on_audit(self, event: Audit) -> None:
        """The reader is done: whoever is missing is lost."""
        if not self.at_stake or event.f == "compare":
            return
        # A recovery audit lists the records of the node that restarted, and of no other.
        if event.f != "final" and self.known.last_started != MASTER:
            return
        found = {each.message for each in self.known.audits.records(event)}
        self.judged += len(self.at_stake)
        for message, how in list(self.at_stake.items()):
            if message not in found:
                del self.stored[message], self.at_stake[message]
                if event.lo and self.where.get(message, 0) < event.lo:
                    continue
                self.violate(event._replace(message=message), f"{message} was on the master and is gone after {how}")
