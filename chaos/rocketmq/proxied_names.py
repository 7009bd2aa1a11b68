"""The lab's name server: the reference's, but it gives each asker the addresses of that asker's own proxies.

It listens on one port per asker, since behind proxies only the port identifies the asker. Brokers register their real
addresses; a view maps them to the addresses that an asker receives.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...reference.core.namesrv import NameServer
from ...reference.core.requests import Request
from ...reference.ports import Conn, Effects

Views = Mapping[str, Mapping[str, str]]
"""By asker, which is the name of a port: real addresses, and their replacements."""


def name_server(base: type[NameServer], views: Views) -> type[NameServer]:
    """The class ``base``, answering by ``views``; askers and addresses outside them get the real ones."""

    class HandsOutProxies(base):  # type: ignore[misc, valid-type]
        """Only the returned addresses differ."""

        def __init__(self, io: Effects) -> None:
            super().__init__(io)
            self._askers: dict[Conn, str] = {}

        def on_accepted(self, conn: Conn, port: str) -> None:
            self._askers[conn] = port
            super().on_accepted(conn, port)

        def on_closed(self, conn: Conn) -> None:
            self._askers.pop(conn, None)
            super().on_closed(conn)

        def _answer(self, request: Request, values: Mapping[str, Any] | None = None, body: bytes = b"") -> None:
            view = views.get(self._askers.get(request.conn, ""), {})
            told = {key: view.get(str(value), value) for key, value in (values or {}).items()}
            # In JSON an address is a whole string.
            for real, proxied in view.items():
                body = body.replace(f'"{real}"'.encode(), f'"{proxied}"'.encode())
            super()._answer(request, told, body)

    return HandsOutProxies
