"""``ack-readable``: a client can read every answer of a broker.

Checks:
- Each answer to a send, pull, query or commit can be decoded, for plain clients and for consumers. A successful send
  names the queue offset and the log offset, a pull names the next offset, and messages are whole records.
Abstains when:
- The bytes are not even a frame: the client just closes the connection.
Source: SendMessageResponseHeader, PullMessageResponseHeader.
"""

from ....event_types.client import Info, Ok
from ....history import UNREADABLE
from ....judging.law import DURABILITY
from ...law import Law


class AckReadable(Law):
    kind = DURABILITY
    needs = frozenset({"invoke", "ok", "info"})
    ignored_nodes = frozenset()

    def on_ok(self, event: Ok) -> None:
        self.judged += 1

    def on_info(self, event: Info) -> None:
        if event.status == UNREADABLE:
            self.judged += 1
            what = f"the send of {event.message}" if event.f == "send" else f"a {event.f}"
            why = f": {event.detail}" if event.detail else ""
            self.violate(event, f"{event.node}'s answer to {what} cannot be read{why}")
