"""``transact-hidden``: no client receives the message of an uncommitted transaction, and no queue of its topic has it.

Checks:
- Before its producer asks for a commit, no consumer or plain reader receives the message, and no broker's log has it in
  its topic. This includes transactions that are pending or rolled back.
Abstains when:
- A broker itself handles half messages without an end.
- A diverged slave's log ends one record with the rest of another.
- The master has lost a part of its log: a commit may have named another half message at that offset.
Source: SendMessageProcessor, TransactionalMessageBridge.putHalfMessage, EndTransactionProcessor.
"""

from ....event_types.client import Deliver
from ....judging.law import DURABILITY, only
from ...event_types.log import Audit, Record
from .transacted import Transacted


class TransactHidden(Transacted):
    kind = DURABILITY
    needs = frozenset({"invoke", "decide", "deliver", "record"})

    def on_deliver(self, event: Deliver) -> None:
        self._judge(event, f"{event.node} delivered {event.message} from {event.queue}")

    @only("recovery", "final")
    def on_audit(self, event: Audit) -> None:
        common = self.known.logs.diverged.get(event.node)
        for each in self.known.audits.records(event) if self.known.sent.halves else ():
            if common is None or each.hi <= common:
                self._judge(each, f"{each.node} holds {each.message} in {each.queue}")

    def _judge(self, event: Deliver | Record, what: str) -> None:
        send = self.known.sent.halves.get(event.message)
        if send is None or self.excused or _topic(event.queue) != _topic(send.queue):
            # Other laws judge the half topic and other topics.
            self.judged += send is not None and not self.excused
            return
        self.judged += 1
        if not self.commits(event.message):
            is_ended = any(each.event.message == event.message for each in self.asked)
            how = "which was only rolled back" if is_ended else "whose transaction nobody has ended"
            self.violate(event, f"{what}, {how}")


def _topic(queue: str | None) -> str:
    return (queue or "").rpartition("/")[0]
