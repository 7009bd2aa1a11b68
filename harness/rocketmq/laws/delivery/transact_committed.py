"""``transact-committed``: a half message that was committed is in its queue, as often as the master took a commit.

Judged at the master's final audit. For each commit that the master answered as done its log has the message once more,
and it has none that no commit asked for. Each lies in the queue that the half message was sent to, is marked as
committed (sysFlag), and says where its half message is (prepared offset).

Left out: body, tags and flag, see ``stored-as-sent``; who gets it, see ``deliver-no-loss``; copies that consumers sent
back; everything after the master lost a part of its log. A commit that was answered while the master went down may
not have been taken. Source: EndTransactionProcessor.endMessageTransaction.
"""

from __future__ import annotations

from collections import defaultdict

from ....judging.law import DURABILITY, EVERY, only
from ....texts.content import payload
from ...event_types.log import Audit, Record
from ...topology import MASTER
from .transacted import COMMIT, HALF, Transacted


class TransactCommitted(Transacted):
    id = "transact-committed"
    kind = DURABILITY
    promise = (
        "A committed half message is in its queue as often as a commit was taken, marked as committed, with the place "
        "of its half."
    )
    source = "EndTransactionProcessor.endMessageTransaction"
    needs = frozenset({"invoke", "decide", "start", "record", "audit"})
    awaits = {"decide": EVERY}

    @only("final", node=MASTER)
    def on_audit(self, event: Audit) -> None:
        if self.excused or event.whole_to not in (None, event.hi) or not event.hi:
            return
        halves = self.known.sent.halves
        found: dict[str | None, list[Record]] = defaultdict(list)
        """What the log has of half messages outside of their topic, by message."""
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
            self._say(end, message, f"{message} was committed {taken} times and is stored {len(found)} times")
        elif len(found) > asked:
            self._say(found[-1], message, f"{message} is stored {len(found)} times; {asked} commits asked for that")
        places = {each.at for each in self.commits(message)}
        queue = self.known.sent.halves[message].queue
        for record in found:
            held, what = payload(record.detail), f"{message}, committed at {record.lo},"
            if record.queue != queue:
                self._say(record, message, f"{what} is in {record.queue}; its half was sent to {queue}")
            elif held.get("type") != COMMIT:
                self._say(record, message, f"{what} is marked as {held.get('type', 'of no transaction')}")
            elif held.get("prepared") not in places:
                at = " or ".join(map(str, sorted(places)))
                self._say(record, message, f"{what} says that its half is at {held.get('prepared', 0)}; it is at {at}")

    def _say(self, event: Record | Audit, message: str | None, text: str) -> None:
        self.violate(event._replace(message=message), text, since=None)
