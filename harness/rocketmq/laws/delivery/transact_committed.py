"""``transact-committed``: a committed half message is in its queue once for each taken commit, marked as committed,
with the log offset of its half.

Checks:
- The master's final audit lists the message once for each commit that was answered as done, and no more often than
  commits were sent.
- Each record is in the half message's queue, is marked as committed (sysFlag), and has the half message's log offset
  (prepared offset).
Abstains when:
- A commit was answered while the master went down: it may not have been taken.
- The record is a copy that a consumer sent back.
- The master has lost a part of its log.
Source: EndTransactionProcessor.endMessageTransaction.
"""

from __future__ import annotations

from collections import defaultdict

from ....judging.law import DURABILITY, EVERY, only
from ....texts.content import payload
from ...event_types.log import Audit, Record
from ...topology import MASTER
from .transacted import COMMIT, HALF, Transacted


class TransactCommitted(Transacted):
    kind = DURABILITY
    needs = frozenset({"invoke", "decide", "start", "record", "audit"})
    awaits = {"decide": EVERY}

    @only("final", node=MASTER)
    def on_audit(self, event: Audit) -> None:
        if self.excused or event.whole_to not in (None, event.hi) or not event.hi:
            return
        halves = self.known.sent.halves
        found: dict[str | None, list[Record]] = defaultdict(list)
        """By message: records outside the half topic."""
        for each in self.known.audits.records(event):
            if each.message in halves and not each.queue.startswith(HALF) and "times" not in payload(each.detail):
                found[each.message].append(each)
        for message in halves:
            commits = self.commits(message)
            if commits:
                taken = sum(each.taken is not None for each in commits)
                self._judge(message, len(commits), taken, found.get(message, []), event)

    def _judge(self, message: str | None, asked: int, taken: int, found: list[Record], end: Audit) -> None:
        self.judged += 1
        if len(found) < taken:
            self._flag(end, message, f"{message} was committed {taken} times and is stored {len(found)} times")
        elif len(found) > asked:
            self._flag(found[-1], message, f"{message} is stored {len(found)} times; {asked} commits asked for that")
        halves = {each.at for each in self.commits(message)}
        queue = self.known.sent.halves[message].queue
        for record in found:
            held, what = payload(record.detail), f"{message}, committed at {record.lo},"
            if record.queue != queue:
                self._flag(record, message, f"{what} is in {record.queue}; its half was sent to {queue}")
            elif held.get("type") != COMMIT:
                self._flag(record, message, f"{what} is marked as {held.get('type', 'of no transaction')}")
            elif held.get("prepared") not in halves:
                at = " or ".join(map(str, sorted(halves)))
                self._flag(record, message, f"{what} says that its half is at {held.get('prepared', 0)}; it is at {at}")

    def _flag(self, event: Record | Audit, message: str | None, text: str) -> None:
        self.violate(event._replace(message=message), text, since=None)
