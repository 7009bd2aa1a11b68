"""``ack-unavailable-honest``: a send gets SLAVE_NOT_AVAILABLE if and only if no slave was connected and near enough
during the whole call.

A slave counts while the master has an open connection with a valid report, and the message's end is less than
haSlaveFallbehindMax ahead of the most advanced report. A half-open connection counts until the master can notice.

Checks:
- The status, of a batch for its last message. 5.x never sends SLAVE_NOT_AVAILABLE: such a send waits until its timeout.
Abstains when:
- The availability changed during the call, or so shortly before it that the master may not have read the change: it
  needs time in a real-time lab, and reads sends and reports in any order after a pause.
Source: HAService.isSlaveOK. A bare connection counts as a slave there, but not here.
"""

from ....event_types.client import Invoke, Ok
from ....judging.law import only
from ....texts.content import is_followed
from ...known.calls import Begun
from ...known.deadlines import is_instant
from ...law import Law
from ...settings import line
from ...topology import MASTER

WAITED = frozenset({"PUT_OK", "FLUSH_SLAVE_TIMEOUT", "FLUSH_DISK_TIMEOUT"})


class AckUnavailableHonest(Law):
    needs = frozenset({"append", "connect", "close", "report", "invoke", "ok"})
    timed = True

    def _has_read(self, since: int, now: int) -> bool:
        """Whether the master has read what arrived at ``since``; in a simulation it reads at once."""
        return not self.known.instant_ns or not is_instant(self.known, MASTER, since, now)

    @only("send")
    def on_ok(self, event: Ok) -> None:
        call = self.known.calls.begun(event)
        if not event.waits or call is None or not self.known.sync_master or is_followed(call.call):
            return
        if line(self.known.config[MASTER]).counts_replicas:
            self.judged += 1
            if event.status == "SLAVE_NOT_AVAILABLE":
                self.violate(event, f"{event.message}: no slave, says the master; 5.x lets it wait instead", since=None)
            return
        expected = self._available(event, call)
        if expected is None:
            return
        self.judged += 1
        if expected and event.status == "SLAVE_NOT_AVAILABLE":
            what = f"{event.message}: no slave, says the master, while one was connected and near enough"
            self.violate(event, what, since=call.call.t)
        elif not expected and event.status in WAITED:
            what = f"{event.message}: {event.status}, although there was no slave during the whole call"
            self.violate(event, what, since=call.call.t)

    def _available(self, ok: Ok, call: Begun[Invoke]) -> bool | None:
        """Whether there was a slave during the whole call; None if that changed."""
        known, began = self.known, call.call
        seq, since = known.available_changed
        if seq > began.seq or not self._has_read(since, began.t):
            return None
        if not known.available:
            return False
        most = known.setting(MASTER, "haSlaveFallbehindMax")
        end, near = ok.hi or 0, call.pushed if self._has_read(call.pushed_at, began.t) else 0
        if end - near < most:
            return True
        return False if end - known.pushed >= most else None
