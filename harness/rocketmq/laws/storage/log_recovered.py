"""``log-recovered``: after a crash a log ends where its unbroken chain of whole records ended, unchanged, durable and
with nothing behind it; after an orderly stop nothing of log, queues and index changes.

The store reader reads each store just before the start.

Checks:
- After a crash the log ends where its chain of whole records and fillers from the first file on ended. It is unchanged
  up to there, all of it is durable, and only zeros follow. It may also end before a record with a NUL in topic or
  properties, which is indistinguishable from a torn one (decision 29).
- After an orderly stop nothing changes in log, queues or index. If the log is broken (a lying disk), the broker does
  not start if queues have messages behind the log end or whole records follow it, unless the queues end with the
  chain's last record (a slave may stop there, decision 29).
- A broker that refuses its store changes none of its files.
- A black box does not report its log end: its next audit must find every whole record of the chain.
Abstains when:
- For the files after a start: the lab is not the simulation, as a real broker continues before they can be read.
- For queues and index: the disk has lied or an operator replaced the store; after a crash, see ``queue-is-its-log``.
Source: CommitLog.recoverNormally and recoverAbnormally, MappedFileQueue.truncateDirtyFiles; decisions 10 and 29.
"""

from __future__ import annotations

from ....event_types.node import UNKNOWN, Abort, Start
from ....judging.law import DURABILITY, EVERY, EventFilter, only
from ....texts.content import payload
from ...contract import LIED, WIPE
from ...event_types.log import Audit, Found, Left
from ...law import Law

RECOVERIES = {"orderly": "normal", "crash": "abnormal"}


class LogRecovered(Law):
    kind = DURABILITY
    needs = frozenset({"start", "found"})
    awaits = {"found": EVERY, "abort": EventFilter(frozenset({"refused"}))}

    def begin(self) -> None:
        self.found: dict[str, Found] = {}
        self.refused: set[str] = set()

    def on_found(self, event: Found) -> None:
        self.found[event.node] = event

    @only("refused")
    def on_abort(self, event: Abort) -> None:
        self.refused.add(event.node)

    def on_start(self, event: Start) -> None:
        node, found, end = event.node, self.found.get(event.node), event.hi
        if found is None or found.incarnation != event.incarnation or end is None or event.f == UNKNOWN:
            return
        self.judged += 1
        ends = payload(found.detail).get("ends") or [found.whole_to]
        if end not in ends if found.f == "crash" else end < ends[0]:
            self.violate(event, f"{node} came back with its log at {end}, but {_chain(found)}")
        if event.f != RECOVERIES[found.f]:
            how = "in an orderly stop" if found.f == "orderly" else "in a crash: there was an abort file"
            self.violate(event, f"{node} did the recovery called {event.f}, but its last incarnation ended {how}")

    def on_audit(self, event: Audit) -> None:
        found = self.found.get(event.node)
        if not self.known.is_a_black_box(event.node) or found is None or found.incarnation != event.incarnation:
            return
        del self.found[event.node]
        self.judged += 1
        if event.whole_to < payload(found.detail).get("records", 0):
            self.violate(event, f"{event.node} has whole records up to {event.whole_to} only, but {_chain(found)}")

    def on_left(self, event: Left) -> None:
        node, found, report = event.node, self.found.pop(event.node, None), payload(event.detail)
        differs = report.get("differs")
        if node in self.refused:
            self.refused.discard(node)
            self.judged += 1
            if event.f == "lacks":
                self.violate(event, f"{node} refused its store, but changed {differs}")
            return
        if found is None:
            return
        if event.status == "other":
            self.violate(event, f"the start of {node} changed its log at {differs}")
        if found.f == "orderly":
            if event.f == "lacks" and self.known.stores.suffered(node).isdisjoint({LIED, WIPE}):
                self.violate(event, f"{node} was stopped in an orderly way, and after its start {differs}")
            self._check_not_lost(event, found)
            return
        if event.used > event.hi:
            self.violate(event, f"{node} ends its log at {event.hi}, but leaves bytes after it up to {event.used}")
        if report.get("dirty"):
            self.violate(event, f"{node} starts with {report['dirty']} bytes of its log that are not durable")

    def _check_not_lost(self, event: Left, found: Found) -> None:
        """Check a start after an orderly stop, on a log with data behind its end."""
        known, (sure, _) = payload(found.detail), payload(event.detail).get("behind", (0, 0))
        queued = known.get("queued")
        if queued is not None and event.hi < queued <= found.used:
            text = f"queues have messages up to {queued}, but {event.node} starts on a log that ends at {event.hi}"
            self.violate(event, text)
        elif sure and (queued is None or queued < known.get("records", 0)):
            text = f"{event.node} starts on a log that ends at {event.hi}, though {sure} whole records follow"
            self.violate(event, text)


def _chain(found: Found) -> str:
    why = payload(found.detail).get("why") or "only zeros follow"
    return f"whole records reached to {found.whole_to} on its disk ({why})"
