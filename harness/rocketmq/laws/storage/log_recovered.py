"""``log-recovered``: a start finds of a log all that is whole, keeps it as it is, and leaves nothing else.

The store reader reads a store right before its broker starts. After a crash the log ends where its unbroken chain of
whole records and fillers ends, from the first file on; before that it is what it was, all of it is durable, and behind
it nothing but zeros is left. After an orderly stop nothing changes, in log, queues or index: the log ends no earlier
than the chain, and what else lies in its files stays. If the log is broken then, a disk has lied: the broker does not
start where queues know messages behind the log's end, nor where whole records lie there, unless the queues end with the
last record of the chain (a slave stops there, decision 29). A broker that refuses its store has changed none of its
files.

A recovery may also end before a record with a NUL in its topic or properties, which nobody can tell from one that lost
the end of a sector (decision 29). What is left after the start is recorded in the simulation alone: in real time a
broker goes on before anybody can read. A black box does not say where its log ends: there only one thing is asked, that
the next audit finds every whole record of the chain. RocketMQ reads from the file that its checkpoint names and so may
keep more, leaves bytes behind a cut, and syncs nothing.

Left out: queues and index after an orderly stop of a node whose disk has lied, or whose store an operator put there;
how they are after a crash, which ``queue-is-its-log`` says.
Source: CommitLog.recoverNormally and recoverAbnormally, MappedFileQueue.truncateDirtyFiles; decisions 10 and 29.
"""

from __future__ import annotations

from ....event_types.node import UNKNOWN, Abort, Start
from ....judging.law import DURABILITY, EVERY, EventFilter, only
from ....texts.content import payload
from ...contract import LIED, WIPE
from ...event_types.log import Audit, Found, Left
from ...law import Law

NAMES = {"orderly": "normal", "crash": "abnormal"}
"""What a start is called after each end of a life."""


class LogRecovered(Law):
    id = "log-recovered"
    kind = DURABILITY
    promise = (
        "After a crash a log ends where its unbroken chain of whole records ended, unchanged, durable and with nothing "
        "behind it; after an orderly stop nothing of log, queues and index changes."
    )
    source = "CommitLog.recoverNormally, CommitLog.recoverAbnormally, MappedFileQueue.truncateDirtyFiles"
    needs = frozenset({"start", "found"})
    awaits = {"found": EVERY, "abort": EventFilter(frozenset({"refused"}))}

    def begin(self) -> None:
        self.found: dict[str, Found] = {}
        """Of nodes that are about to start, or just did."""
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
        if event.f != NAMES[found.f]:
            how = "in an orderly way" if found.f == "orderly" else "in a crash, since there was an abort file"
            self.violate(event, f"{node} recovered as in a start called {event.f}, but its last life ended {how}")

    def on_audit(self, event: Audit) -> None:
        """A black box was read after its start."""
        found = self.found.get(event.node)
        if not self.known.is_a_black_box(event.node) or found is None or found.incarnation != event.incarnation:
            return
        del self.found[event.node]
        self.judged += 1
        if event.whole_to < payload(found.detail).get("records", 0):
            self.violate(event, f"{event.node} has whole records up to {event.whole_to} only, but {_chain(found)}")

    def on_left(self, event: Left) -> None:
        node, found, said = event.node, self.found.pop(event.node, None), payload(event.detail)
        differs = said.get("differs")
        if node in self.refused:
            self.refused.discard(node)
            self.judged += 1
            if event.f == "lacks":
                self.violate(event, f"{node} refused its store, and changed {differs} all the same")
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
            self.violate(event, f"{node} ends its log at {event.hi}, and leaves bytes behind it up to {event.used}")
        if said.get("dirty"):
            self.violate(event, f"{node} starts with {said['dirty']} bytes of its log that are not durable")

    def _check_not_lost(self, event: Left, found: Found) -> None:
        """A broker that was stopped in an orderly way has started on a log behind whose end something lies."""
        known, (sure, _) = payload(found.detail), payload(event.detail).get("behind", (0, 0))
        queued = known.get("queued")
        if queued is not None and event.hi < queued <= found.used:
            text = f"queues have messages up to {queued}, and {event.node} starts on a log that ends at {event.hi}"
            self.violate(event, text)
        elif sure and (queued is None or queued < known.get("records", 0)):
            text = f"{event.node} starts on a log that ends at {event.hi}, behind which {sure} whole records lie"
            self.violate(event, text)


def _chain(found: Found) -> str:
    why = payload(found.detail).get("why") or "only zeros follow"
    return f"whole records reached to {found.whole_to} on its disk ({why})"
