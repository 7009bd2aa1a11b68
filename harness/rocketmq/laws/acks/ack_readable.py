"""``ack-readable``: whatever a broker answers to a client can be read.

Asked of every answer to a send, a pull, a query or a commit, to plain clients and to consumers. A send's success names
the queue offset and the place in the log; a pull's says where to go on; messages are whole records. A client that
cannot read its answer does not know whether it was served.

Left out: bytes that are not even a frame, since a client just closes such a connection; whether what an answer says is
true, see ``stored-as-sent`` and the ``deliver-`` laws. Source: SendMessageResponseHeader, PullMessageResponseHeader.
"""

from ....event_types.client import Info, Ok
from ....history import UNREADABLE
from ....judging.law import DURABILITY
from ...law import Law


class AckReadable(Law):
    id = "ack-readable"
    kind = DURABILITY
    promise = "Every answer of a broker to a client can be read."
    source = "SendMessageResponseHeader, PullMessageResponseHeader"
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
