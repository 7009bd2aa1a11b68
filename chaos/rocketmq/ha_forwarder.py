"""One HA connection through its link's taps: bytes as frames and reports, observed at both ends."""

from __future__ import annotations

from collections.abc import Iterator

from ...harness.rocketmq import topology
from ..labs.real.taps import Sink
from ..labs.real.wires import CLIENTS, Forwarder
from ..observers.ha_tap import FrameTap, ReportTap
from .ha_events import MASTERS, SLAVES, HaEvents


class HaForwarder(Forwarder):
    """``who``: the node at the slave's side, or a rogue peer. Takes its label from ``labels``."""

    def __init__(self, who: str, sink: Sink, events: HaEvents, labels: Iterator[str]) -> None:
        super().__init__()
        self.who = who
        self.label = ""
        self._sent, self._got = FrameTap(), FrameTap()
        self._reported, self._received = ReportTap(), ReportTap()
        self._claimed: int | None = None
        """The last report that left the slave."""
        self._sink = sink
        self._events = events
        self._labels = labels

    @property
    def address(self) -> str:
        """The master's peer address: ``ip:port``."""
        transport = self.wires[-1].transport
        host, port = transport.get_extra_info("sockname")[:2] if transport is not None else ("", 0)
        return f"{host}:{port}"

    def stand(self) -> None:
        self.label = next(self._labels)
        if self.tapped:
            self._sink.note("met", self.address, self.label, self.who)
            self._events.connect(self.who, self.label, MASTERS)
        self._events.connect(self.who, self.label, SLAVES)
        super().stand()

    def client_sent(self, data: bytes) -> None:
        super().client_sent(data)
        self._reports(SLAVES, data)

    def server_receives(self, data: bytes) -> None:
        super().server_receives(data)
        self._reports(MASTERS, data)

    def server_sent(self, data: bytes) -> None:
        super().server_sent(data)
        self._frames(MASTERS, data)

    def client_receives(self, data: bytes) -> None:
        super().client_receives(data)
        self._frames(SLAVES, data)

    def stalled(self, side: str) -> None:
        """The tap pauses reading from this side: the sender has more bytes, which are not accepted for now."""
        if side == CLIENTS:
            self._reports(SLAVES, b"")
        else:
            self._frames(MASTERS, b"")

    def closed(self, side: str, how: str) -> None:
        if not self.open[side]:
            return
        super().closed(side, how)
        if side == CLIENTS:
            self._events.close(self.who, self.label, SLAVES, how, self._reported, self._got)
        elif self.tapped:
            self._events.close(topology.MASTER, self.label, MASTERS, how, self._sent, self._received)

    def _frames(self, side: str, data: bytes) -> None:
        if side == SLAVES:
            self._events.frames(self.who, self.label, side, self._got, data)
        elif self.tapped:
            self._events.frames(topology.MASTER, self.label, side, self._sent, data)

    def _reports(self, side: str, data: bytes) -> None:
        if side == MASTERS and not self.tapped:
            return
        node, tap = (self.who, self._reported) if side == SLAVES else (topology.MASTER, self._received)
        for offset in tap.feed(data):
            if side == MASTERS:
                self._sink.note("heard", self.who)
            elif offset != self._claimed:
                self._claimed = offset
                self._sink.note("claimed", self.who, offset)
            self._events.report(node, self.label, side, offset)
        self._events.reported(node, self.label, side, tap, data)
