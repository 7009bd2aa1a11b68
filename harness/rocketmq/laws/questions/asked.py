"""What laws share that compare a broker's answers with its log: the log as an audit listed it, until that changes.

An answer is compared only where nothing has happened to the broker's log since the audit, and not on a slave in class
rollback (see ``known``), whose log is no copy of any one log. A queue is *complete* where its entries, as the store
reader read them, are those of the records that the log lists: elsewhere the broker has not derived them yet, or has
derived what is wrong, which the ``queue-`` laws judge. Bounded by the records of one audit of each broker.
"""

from __future__ import annotations

from collections import defaultdict

from pairproof.harness.history import Event
from pairproof.harness.kinds.node import Crash, Start, Stop, Wipe
from pairproof.harness.rocketmq.kinds.answers import Answer
from pairproof.harness.rocketmq.kinds.log import Append, Audit, Cut, Entries, Expire, Record
from pairproof.harness.rocketmq.law import Law

BUSY = "SYSTEM_BUSY"
SILENT = frozenset({"timeout", "disconnected", "refused"})
"""How a question can end without an answer."""
NOT_ANSWERED = SILENT | {BUSY}
"""Statuses that say nothing about a log."""


class Log:
    """One broker's log, as its last audit that lists records found it."""

    def __init__(self, audit: int | None) -> None:
        self.audit = audit
        self.records: list[Record] = []
        self.entries: dict[str, Entries] = {}
        self.read: Audit | None = None
        """None until the audit is done."""
        self._of: dict[str, list[Record]] | None = None

    def of(self, queue: str | None) -> list[Record]:
        """The records of a queue, in the log's order."""
        if self._of is None:
            self._of = defaultdict(list)
            for each in self.records:
                self._of[each.queue].append(each)
        return self._of.get(queue or "", [])

    def complete(self, queue: str | None) -> bool:
        """Whether the queue's entries are those of its records."""
        entries, records = self.entries.get(queue or ""), self.of(queue)
        if entries is None or not records:
            return False
        return [each.queue_offset for each in records] == list(range(entries.first or 0, entries.following or 0))

    @property
    def derived(self) -> bool:
        """Whether all queues are complete."""
        return all(map(self.complete, {each.queue for each in self.records}))


class Asked(Law):
    """Hands each answer that can be compared to :meth:`judge`."""

    subjects: frozenset[str] = frozenset()
    """The questions that it is about."""

    def begin(self) -> None:
        self.logs: dict[str, Log] = {}
        """By broker; none where something happened to it since."""

    def judge(self, event: Answer, log: Log) -> None:
        """Compare an answer with the log; it counts what it judges."""
        raise NotImplementedError

    def on_record(self, event: Record) -> None:
        log = self.logs.get(event.node)
        if log is None or log.audit != event.op:
            log = self.logs[event.node] = Log(event.op)
        log.records.append(event)

    def on_audit(self, event: Audit) -> None:
        if event.f == "compare":
            return
        log = self.logs.get(event.node)
        if log is None or log.audit != event.op:
            log = self.logs[event.node] = Log(event.op)
        log.read = event

    def on_entries(self, event: Entries) -> None:
        log = self.logs.get(event.node)
        if log is not None and log.audit == event.op:
            log.entries[event.queue] = event

    def on_answer(self, event: Answer) -> None:
        log = self.logs.get(event.node)
        if event.f not in self.subjects or event.status in NOT_ANSWERED:
            return
        if log is not None and log.read is not None and event.node not in self.known.rolled:
            self.judge(event, log)

    def _changes(self, event: Event) -> None:
        self.logs.pop(event.node or "", None)

    def on_append(self, event: Append) -> None:
        self._changes(event)

    def on_cut(self, event: Cut) -> None:
        self._changes(event)

    def on_expire(self, event: Expire) -> None:
        self._changes(event)

    def on_start(self, event: Start) -> None:
        self._changes(event)

    def on_crash(self, event: Crash | Stop) -> None:
        self._changes(event)

    on_stop = on_crash

    def on_wipe(self, event: Wipe) -> None:
        self._changes(event)


def named(event: Answer, asked: str) -> str:
    """A broker, and what it was asked for, in a violation."""
    return f"{event.node}, asked {asked}, answers"
