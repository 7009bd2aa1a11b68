"""Base of clients: a node that only calls others; see :class:`pairproof.reference.ports.Node`. It does not listen, and
has no disk. Subclasses define start, end and timers.
"""

from ..core.calls import Calls
from ..ports import Conn, Node


class CallingNode(Node):
    calls: Calls

    def on_connected(self, address: str, conn: Conn) -> None:
        self.calls.on_connected(address, conn)

    def on_connect_failed(self, address: str) -> None:
        self.calls.on_connect_failed(address)

    def on_bytes(self, conn: Conn, data: bytes) -> None:
        self.calls.on_bytes(conn, data)

    def on_writable(self, conn: Conn) -> None:
        self.calls.on_writable(conn)

    def on_closed(self, conn: Conn) -> None:
        self.calls.on_closed(conn)
