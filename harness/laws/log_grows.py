"""``log-grows``: a log only grows while its node lives; across a restart only recovery cuts it, between two records.

Each append starts at the log's end (an empty slave may start anywhere). A start with a lower end than before must be
followed by a ``cut`` that says so, at a border between records or at a file's start.

Left out: a log that is longer after a restart: a process may die between writing and telling. Source: property 3,
CommitLog.recoverNormally and recoverAbnormally.
"""

from __future__ import annotations

from pairproof.harness.history import Event
from pairproof.harness.laws.base import Law
from pairproof.harness.laws.ledger import MASTER, Ledger


class LogGrows(Law):
    """See the module."""

    id = "log-grows"
    promise = "A node's log end never decreases while it lives; only recovery cuts it, at a record's border."
    source = "CommitLog.recoverNormally, CommitLog.recoverAbnormally"
    needs = frozenset({"start", "append"})
    key = "node"

    def __init__(self, ledger: Ledger) -> None:
        super().__init__(ledger)
        self.shorter: dict[str | None, tuple[Event, int]] = {}
        """Starts at a lower end than before, and that end, until recovery explains them."""
        self.borders: set[int | None] = set()

    def on_append(self, event: Event) -> None:
        """Bytes entered a log."""
        node = event.node or ""
        if self.shorter:
            self._unexplained(node)
        end = self.ledger.ends.get(node)
        if node == MASTER:
            self.borders.add(event.hi)
        elif not end:
            return
        if end is not None:
            self.judged += 1
            if event.lo != end:
                self.violate(event, f"{node} appended [{event.lo}, {event.hi}), its log ended at {end}")

    def on_record(self, event: Event) -> None:
        """A record whose append nobody saw still has borders."""
        self.borders.add(event.lo)
        self.borders.add(event.hi)

    def on_start(self, event: Event) -> None:
        """A log was recovered."""
        before = self.ledger.ends.get(event.node or "")
        if before is None or event.hi is None:
            return
        self.judged += 1
        if event.hi < before:
            self.shorter[event.node] = (event, before)

    def on_cut(self, event: Event) -> None:
        """Recovery says where it ended the log."""
        node, lo = event.node or "", event.lo or 0
        start, _ = self.shorter.pop(node, (None, 0))
        if start is None or start.hi != lo:
            self.violate(event, f"{node}'s log was cut at {lo} while it lived, not by recovery")
        size = self.ledger.setting(node, "mappedFileSizeCommitLog")
        if self.borders and lo % size and lo not in self.borders:
            self.violate(event, f"{node}'s log was cut at {lo}, in the middle of a record")

    def on_wipe(self, event: Event) -> None:
        """A new store owes nothing."""
        self.shorter.pop(event.node, None)

    def end(self, last: Event) -> None:
        """Starts that nothing explained."""
        for node in list(self.shorter):
            self._unexplained(node)

    def _unexplained(self, node: str | None) -> None:
        found = self.shorter.pop(node, None)
        if found is not None:
            start, before = found
            self.violate(start, f"{node} came back with its log at {start.hi} instead of {before}, and no cut says why")
