"""``transact-hidden``: the message of a transaction that nobody committed is in no queue of its topic.

Nobody receives it from there, consumer or plain reader, and no broker's log holds it there, before its producer has
asked to commit it: not while it waits, and not after it was rolled back alone. Where it waits, see ``stored-as-sent``.

Left out: what brokers do of themselves with half messages that nobody ends; a diverged slave's log, which may
end half a record with the rest of another; everything after the master lost a part of its log: a commit may then have
meant another half message at the same place. Source: SendMessageProcessor, TransactionalMessageBridge.putHalfMessage.
"""

from ....judging.law import DURABILITY
from ....kinds.client import Deliver
from ...kinds.log import Record
from .transacted import Transacted


class TransactHidden(Transacted):
    id = "transact-hidden"
    kind = DURABILITY
    promise = "Nobody receives the message of a transaction that was not committed, and no queue of its topic has it."
    source = "TransactionalMessageBridge.putHalfMessage; EndTransactionProcessor"
    needs = frozenset({"invoke", "decide", "deliver", "record"})

    def on_deliver(self, event: Deliver) -> None:
        self._judge(event, f"{event.node} delivered {event.message} from {event.queue}")

    def on_record(self, event: Record) -> None:
        common = self.known.logs.diverged.get(event.node)
        if event.message in self.halves and (common is None or event.hi <= common):
            self._judge(event, f"{event.node} holds {event.message} in {event.queue}")

    def _judge(self, event: Deliver | Record, what: str) -> None:
        send = self.halves.get(event.message)
        if send is None or self.excused or _topic(event.queue) != _topic(send.queue):
            # It is where it waits; what goes elsewhere others judge.
            self.judged += send is not None and not self.excused
            return
        self.judged += 1
        if not self.commits(event.message):
            ends = {each.says for each in self.asked.values() if each.event.message == event.message}
            how = "which was only rolled back" if ends else "whose transaction nobody has ended"
            self.violate(event, f"{what}, {how}")


def _topic(queue: str | None) -> str:
    return (queue or "").rpartition("/")[0]
