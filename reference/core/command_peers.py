"""Connections that bring remoting commands: frames in, answers out, both bounded.

A peer that sends what is no frame is dropped, since nothing tells whom to answer; so is one that lets its answers pile
up. What a command means is its node's business. Source: NettyRemotingServer; its limits on memory are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pairproof.reference.errors import CodecError
from pairproof.reference.ports import Conn, Effects
from pairproof.reference.wire import remoting
from pairproof.reference.wire.remoting import Command, CommandReader

MAX_PEERS = 1_000
MAX_UNSENT = 4 * 1024 * 1024


class CommandPeers:
    """The open connections of one port. ``on_gone`` hears of each that ends, whoever ended it."""

    def __init__(
        self, io: Effects, on_command: Callable[[Conn, Command], None], on_gone: Callable[[Conn], None]
    ) -> None:
        self.io = io
        self.on_command = on_command
        self.on_gone = on_gone
        self._readers: dict[Conn, CommandReader] = {}
        self._unsent: dict[Conn, bytes] = {}

    def __contains__(self, conn: Conn) -> bool:
        return conn in self._readers

    def accept(self, conn: Conn) -> None:
        """Somebody connected; one too many is closed at once."""
        if len(self._readers) >= MAX_PEERS:
            self.io.close(conn)
        else:
            self._readers[conn] = CommandReader()

    def feed(self, conn: Conn, data: bytes) -> None:
        """Bytes came: hand over the commands that are complete now."""
        if conn not in self:
            return
        try:
            for command in self._readers[conn].feed(data):
                self.on_command(conn, command)
                if conn not in self:
                    return
        except CodecError:
            self.drop(conn)

    def writable(self, conn: Conn) -> None:
        """The socket takes bytes again."""
        if conn in self._unsent:
            self.send(conn, b"")

    def answer(
        self,
        conn: Conn,
        request: Command,
        code: int,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        remark: str | None = None,
    ) -> None:
        """Answer the request, unless it is one-way."""
        if not request.is_oneway:
            self.send(conn, remoting.response(request, code, fields or {}, body, remark))

    def send(self, conn: Conn, data: bytes) -> None:
        """Send a frame; nothing if the connection has ended."""
        if conn not in self:
            return
        data = self._unsent.pop(conn, b"") + data
        rest = data[self.io.send(conn, data) :]
        if len(rest) > MAX_UNSENT:
            self.drop(conn)
        elif rest:
            self._unsent[conn] = rest

    def drop(self, conn: Conn) -> None:
        """End the connection."""
        if conn in self:
            self.io.close(conn)
            self.closed(conn)

    def drop_all(self) -> None:
        """End all connections."""
        for conn in list(self._readers):
            self.drop(conn)

    def closed(self, conn: Conn) -> None:
        """The peer ended the connection."""
        if self._readers.pop(conn, None) is not None:
            self._unsent.pop(conn, None)
            self.on_gone(conn)
