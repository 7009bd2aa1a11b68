"""One connection through the taps of a link: its sockets, and what it tells of whatever passes.

A wire forwards every byte unchanged, says so before it does, reads no faster than the other side takes, and holds no
more than :data:`HELD` for it. When one side ends the other one does, behind what waits; a RST goes on as a RST.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from typing import Any

HELD = 64 * 1024
"""Bytes that wait in a tap for the other side, each direction."""
FLUSHED_S = 5.0
"""How long an ended connection's last bytes may wait for the other side to take them."""
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a close is a RST."""
ITSELF = "local"
"""How a side ended that was not ended by the other one."""
CLIENTS, SERVERS = "client", "server"
"""The two sides of a link."""


class Wire(asyncio.Protocol):
    """One socket of a tap. What it reads goes out at ``other``."""

    def __init__(
        self, side: Callable[[bytes], None], opened: Callable[[Wire], None] | None = None, buffer: int = 0,
        patience_s: float | None = FLUSHED_S,
    ) -> None:  # fmt: skip
        """``buffer``: bytes of its socket's two buffers; 0: the system decides, and lets them grow. ``patience_s``: how
        long last bytes may wait once the other side has ended; None: until they are taken."""
        self.came = side
        self.opened = opened
        self.buffer = buffer
        self.patience_s = patience_s
        self.other: Wire | None = None
        self.transport: asyncio.Transport | None = None
        self.gives: Callable[[bytes], None] = nothing
        self.stalls: Callable[[], None] = nobody
        self.ended: Callable[[str], None] = nothing
        self._goes = False
        self.told = ""
        """How the other side ended, once that has closed this one."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It stands; nothing is read before it leads somewhere."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(min(HELD, self.buffer or HELD))
        if self.buffer:
            sock = transport.get_extra_info("socket")
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                sock.setsockopt(socket.SOL_SOCKET, option, self.buffer)
        # Until 3.11.2 Python starts to read after this, whatever is said here, and takes it for paused then.
        asyncio.get_running_loop().call_soon(self._hold)
        if self.opened is not None:
            self.opened(self)

    def _hold(self) -> None:
        if self.transport is not None and not self._goes:
            self.transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        self.came(data)
        if self.other is not None:
            self.other.give(data)

    def give(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.gives(data)
            self.transport.write(data)

    def pause_writing(self) -> None:
        """The peer takes no more: read no more for it."""
        if self.other is not None and self.other.transport is not None:
            self.other.transport.pause_reading()
            self.other.stalls()

    def resume_writing(self) -> None:
        if self.other is not None:
            self.other.go_on()

    def go_on(self) -> None:
        self._goes = True
        if self.transport is not None and not self.transport.is_closing():
            self.transport.resume_reading()

    def connection_lost(self, why: Exception | None) -> None:
        """It ended; so does the other side, behind what waits there."""
        how = self.told or ITSELF
        self.ended(how)
        if self.other is not None:
            self.other.end("reset" if self.told == "reset" or (why is not None and not self.told) else "peer")

    def end(self, how: str) -> None:
        """Close it, with a RST if that is how the other side ended."""
        transport = self.transport
        if transport is None or self.told or transport.is_closing():
            return
        self.told = how
        if how == "reset":
            reset(transport)
        else:
            transport.close()
            if self.patience_s is not None:
                asyncio.get_running_loop().call_later(self.patience_s, transport.abort)


class Forwarder:
    """One connection of a link, from its client's end to its server's, and the bytes that each tap took and gave."""

    def __init__(self) -> None:
        self.up, self.down = [0, 0], [0, 0]
        """Bytes taken by one tap, and given by the other."""
        self.open = {CLIENTS: False, SERVERS: False}
        self.has_server = False
        """Whether its way to the server is there."""
        self.tapped = True
        """Whether it leads to the link's server, and not to an impostor."""
        self.is_over = False
        """Whether one of its sides has ended."""
        self.wires: list[Wire] = []

    def stand(self) -> None:
        self.open = dict.fromkeys(self.open, True)
        for wire in self.wires:
            wire.go_on()

    def client_said(self, data: bytes) -> None:
        self.up[0] += len(data)

    def server_hears(self, data: bytes) -> None:
        self.up[1] += len(data)

    def server_said(self, data: bytes) -> None:
        self.down[0] += len(data)

    def client_hears(self, data: bytes) -> None:
        self.down[1] += len(data)

    def stalled(self, side: str) -> None:
        """The tap takes no more from this side for now."""

    def closed(self, side: str, how: str) -> None:
        self.open[side] = False

    def reset(self) -> bool:
        """End both sides by a RST; whether there was something to end."""
        stood = any(self.open.values())
        for wire in self.wires:
            wire.end("reset")
        return stood


def reset(transport: asyncio.Transport) -> None:
    """Close a connection by a RST; what waits is lost."""
    sock = transport.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    transport.abort()


def nothing(data: Any) -> None:
    """Nobody is told."""


def nobody() -> None:
    """Nobody is told."""
