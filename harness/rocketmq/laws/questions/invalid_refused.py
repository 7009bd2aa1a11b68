"""``invalid-refused``: an invalid request is refused with a code that names the reason.

Checks:
- The answer to each invalid request, sent to brokers and a simulated name server at a trial's end, is one that
  ``invalid_requests`` allows: not success, and not a code on which clients retry.
- Bytes that are not a frame end the connection, as no request can be answered.
Abstains when:
- An administrator changed what clients use, or a broker may not be read or written (brokerPermission), and the answer
  is that something is missing or may not be read.
- There is no answer in time, or it is SYSTEM_BUSY with a reason in brackets.
Source: SendMessageProcessor, PullMessageProcessor, AdminBrokerProcessor, TopicValidator.
"""

from ...event_types.invalid import Invalid
from ...invalid_requests import REQUESTS
from ...law import Law
from .asked import BUSY, SILENT

FORBIDS = frozenset({"NO_PERMISSION", "TOPIC_NOT_EXIST"})


class InvalidRefused(Law):
    needs = frozenset({"invalid"})

    def on_invalid(self, event: Invalid) -> None:
        request = REQUESTS.get(event.f)
        if request is None or _is_inconclusive(event):
            return
        is_forbidden = self.known.tables.is_used_changed() or not self.known.is_allowed()
        if event.status in FORBIDS and is_forbidden:
            return
        self.judged += 1
        if event.status not in request.refused:
            detail = f": {event.detail}" if event.detail else ""
            allowed = ", ".join(sorted(request.refused))
            self.violate(event, f"{event.node}, sent {event.f}, answered {event.status}{detail}; allowed: {allowed}")


def _is_inconclusive(event: Invalid) -> bool:
    if event.status == BUSY:
        # [REJECTREQUEST] or [TIMEOUT_CLEAN_QUEUE]: a client may retry.
        return (event.detail or "").startswith("[")
    return event.status in SILENT
