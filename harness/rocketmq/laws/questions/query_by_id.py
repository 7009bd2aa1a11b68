"""``query-by-id``: a message's id leads to this message, and an offset at which none begins leads to none.

An id says where in the log the message lies. Asked for an offset at which the broker's log has a record, the broker
answers with exactly that record; asked for any other it answers with none. Left out: RocketMQ brokers take whatever
lies at an offset for a record, so they are not asked for one where none begins; diverged slaves.
Source: QueryMessageProcessor.viewMessageById, DefaultMessageStore.selectOneMessageByOffset.
"""

from ....history import UNREADABLE
from ....judging.law import EventFilter
from ...event_types.answers import Answer
from ...known.audits import Listing
from .asked import Asked, named


class QueryById(Asked):
    id = "query-by-id"
    promise = "A message's id leads to this message, and an offset at which none begins to none."
    source = "QueryMessageProcessor.viewMessageById; DefaultMessageStore.selectOneMessageByOffset"
    needs = frozenset({"answer", "record", "audit"})
    subjects = frozenset({"id"})
    awaits = {"answer": EventFilter(subjects)}

    def judge(self, event: Answer, log: Listing) -> None:
        asked, who = event.asked, named(event, f"for the message at {event.asked}")
        assert log.read is not None
        whole = log.read.whole_to
        if whole is not None and asked is not None and whole <= asked < (log.read.hi or 0):
            # Half a record may lie there by now, or a whole one.
            return
        self.judged += 1
        held = next((each for each in log.records if each.lo == asked), None)
        if held is None:
            if event.status in ("PUT_OK", UNREADABLE):
                self.violate(event, f"{who} with what lies there, and no record begins there")
        elif event.status != "PUT_OK":
            self.violate(event, f"{who} {event.status}; {held.message or 'a record'} lies there")
        elif (event.lo, event.digest) != (held.lo, held.digest):
            self.violate(event, f"{who} with a record of {event.lo}; {held.message or 'another one'} lies there")
