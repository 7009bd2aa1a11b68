"""Base of clients: a node that only calls others; see :class:`pairproof.reference.ports.Node`. Subclasses define start,
end and timers.
"""

from collections.abc import Hashable

from ..core.calls import Calls
from ..ports import Conn


class CallingNode:
    calls: Calls

    def on_accepted(self, conn: Conn, port: str) -> None:
        """Never called: a client does not listen."""

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

    def on_flushed(self, token: Hashable) -> None:
        """Never called: a client has no disk."""
