"""``query-by-id``: a message's id leads to this message, and an offset at which none begins leads to none.

An id contains the record's offset in the log.

Checks:
- Asked for an offset at which the log has a record, the broker answers with exactly this record; for another offset,
  with none.
Abstains when:
- The offset may by now hold a record or half of one, as it lies behind the whole part of the audited log.
- The broker is RocketMQ's and no record begins there: it is not asked, as it reads a record from any offset.
- The slave diverged.
Source: QueryMessageProcessor.viewMessageById, DefaultMessageStore.selectOneMessageByOffset.
"""

from ....history import UNREADABLE
from ....judging.law import EventFilter
from ...event_types.answers import Answer
from ...known.audits import Listing
from .asked import Asked, named


class QueryById(Asked):
    needs = frozenset({"answer", "record", "audit"})
    subjects = frozenset({"id"})
    awaits = {"answer": EventFilter(subjects)}

    def judge(self, event: Answer, log: Listing) -> None:
        asked, who = event.asked, named(event, f"for the message at {event.asked}")
        assert log.read is not None
        whole = log.read.whole_to
        if whole is not None and asked is not None and whole <= asked < (log.read.hi or 0):
            return
        self.judged += 1
        held = next((each for each in log.records if each.lo == asked), None)
        if held is None:
            if event.status in ("PUT_OK", UNREADABLE):
                self.violate(event, f"{who} with a record, but none begins there")
        elif event.status != "PUT_OK":
            self.violate(event, f"{who} {event.status}; {held.message or 'a record'} is there")
        elif (event.lo, event.digest) != (held.lo, held.digest):
            self.violate(event, f"{who} with a record of {event.lo}; {held.message or 'another one'} is there")
