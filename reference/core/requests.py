"""A request as processors see it, and how it is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..ports import Conn
from ..wire import headers, remoting
from ..wire.remoting import Command
from .command_peers import CommandPeers


class Request(NamedTuple):
    """One request: who asks, the frame, and its header by long names and with its types."""

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
        """Answer with header values by long names. May be called later, or never if the asker is gone by then."""
        fields = headers.encode_response(self.command.code, values, code) if values else {}
        self.peers.answer(self.conn, self.command, code, fields, body, remark)

    def refuse(self, code: int, remark: str) -> None:
        """Answer with a code that is not SUCCESS and says why."""
        self.peers.answer(self.conn, self.command, code, None, b"", remark)

    def kept(self, *names: str) -> Request:
        """The request while its answer waits: of its header only ``names``, and without its body."""
        peers, conn, command, header = self
        kept = Command(command.code, command.opaque, command.flag, {}, binary=command.binary)
        return Request(peers, conn, kept, {name: header[name] for name in names})


Handler = Callable[[Request], None]
"""Answers one request, now or later. CodecError: the request is answered with code 1 and that text."""
