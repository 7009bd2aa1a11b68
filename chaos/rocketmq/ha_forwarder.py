"""One HA connection through its link's taps: bytes as frames and reports, observed at both ends."""

from __future__ import annotations

from typing import Protocol

from ..labs.real.wires import CLIENTS, Forwarder
from ..observers.ha_tap import FrameTap, ReportTap
from .ha_events import MASTERS, SLAVES


class Listener(Protocol):
    def connected(self, forwarder: HaForwarder) -> None:
        """A connection is open."""

    def frames(self, forwarder: HaForwarder, side: str, data: bytes) -> None:
        """Bytes left the master, or are about to reach the slave."""

    def reports(self, forwarder: HaForwarder, side: str, data: bytes) -> None:
        """Bytes left the slave, or are about to reach the master."""

    def stalled(self, forwarder: HaForwarder, side: str) -> None:
        """The sender at this side has more bytes, which are not accepted for now."""

    def closed(self, forwarder: HaForwarder, side: str, how: str) -> None:
        """A side's connection ended: ``local``, by itself; ``peer``, by the other side; ``reset``, by a RST."""


class HaForwarder(Forwarder):
    """``who``: the node at the slave's side, or a rogue peer."""

    def __init__(self, who: str, listener: Listener) -> None:
        super().__init__()
        self.who = who
        self.label = ""
        self.sent, self.got = FrameTap(), FrameTap()
        self.reported, self.received = ReportTap(), ReportTap()
        self.claimed: int | None = None
        """The last one that left the slave."""
        self._listener = listener

    @property
    def address(self) -> str:
        """The master's peer address: ``ip:port``."""
        transport = self.wires[-1].transport
        host, port = transport.get_extra_info("sockname")[:2] if transport is not None else ("", 0)
        return f"{host}:{port}"

    def stand(self) -> None:
        self._listener.connected(self)
        super().stand()

    def client_sent(self, data: bytes) -> None:
        super().client_sent(data)
        self._listener.reports(self, SLAVES, data)

    def server_receives(self, data: bytes) -> None:
        super().server_receives(data)
        self._listener.reports(self, MASTERS, data)

    def server_sent(self, data: bytes) -> None:
        super().server_sent(data)
        self._listener.frames(self, MASTERS, data)

    def client_receives(self, data: bytes) -> None:
        super().client_receives(data)
        self._listener.frames(self, SLAVES, data)

    def stalled(self, side: str) -> None:
        """The tap pauses reading from this side."""
        self._listener.stalled(self, _named(side))

    def closed(self, side: str, how: str) -> None:
        if self.open[side]:
            super().closed(side, how)
            self._listener.closed(self, _named(side), how)


def _named(side: str) -> str:
    return SLAVES if side == CLIENTS else MASTERS
