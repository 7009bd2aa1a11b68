"""A request for processors, and its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..errors import CodecError
from ..ports import Conn
from ..wire import headers, remoting
from ..wire.remoting import Command
from .command_peers import CommandPeers
from .processors.limits import check_body


class Refused(Exception):
    """Ends a handler: the broker answers with ``code`` and the reason."""

    def __init__(self, code: int, remark: str) -> None:
        super().__init__(remark)
        self.code = code


class Request(NamedTuple):
    peers: CommandPeers
    conn: Conn
    command: Command
    header: dict[str, Any]

    def answer(
        self,
        code: int = remoting.SUCCESS,
        values: Mapping[str, Any] | None = None,
        body: bytes = b"",
        remark: str | None = None,
    ) -> None:
        """Answer with header values by long names. Call it now, later, or never if the connection has ended."""
        fields = headers.encode_response(self.command.code, values, code) if values else {}
        self.peers.answer(self.conn, self.command, code, fields, body, remark)

    def refuse(self, code: int, remark: str) -> None:
        self.peers.answer(self.conn, self.command, code, None, b"", remark)

    def kept(self, *names: str) -> Request:
        """The request as stored until its answer: without its body, and only these header fields."""
        peers, conn, command, header = self
        waiting = Command(command.code, command.opaque, command.flag, {}, binary=command.binary)
        return Request(peers, conn, waiting, {name: header[name] for name in names})


Handler = Callable[[Request], None]
"""Answers one request, now or later. Its errors: see :func:`serve`."""


def serve(handler: Handler, peers: CommandPeers, conn: Conn, command: Command) -> None:
    """Call the handler; answer a refused or malformed request with its code and reason."""
    try:
        check_body(command)
        handler(Request(peers, conn, command, headers.decode_request(command)))
    except Refused as why:
        peers.answer(conn, command, why.code, remark=str(why))
    except CodecError as why:
        peers.answer(conn, command, remoting.SYSTEM_ERROR, remark=str(why))
