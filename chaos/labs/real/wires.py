"""One connection through the taps of a link: its sockets, and reports on its bytes.

A wire forwards every byte, reports it first, lets its forwarder replace it, reads no faster than the other side
accepts, and holds at most :data:`HELD`. When one side ends, so does the other, after its pending bytes; a RST is
forwarded as a RST.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from typing import Any

HELD = 64 * 1024
"""Bytes that a tap holds for the other side, each direction."""
FLUSHED_S = 5.0
"""Time limit for the other side to accept an ended connection's last bytes."""
RESET = struct.pack("ii", 1, 0)
"""SO_LINGER: a close is a RST."""
ITSELF = "local"
"""The end of a side that the other side did not cause."""
CLIENTS, SERVERS = "client", "server"


class Wire(asyncio.Protocol):
    """One socket of a tap. Its received bytes are written to ``other``."""

    def __init__(
        self, side: Callable[[bytes], None], opened: Callable[[Wire], None] | None = None, buffer: int = 0,
        patience_s: float | None = FLUSHED_S,
    ) -> None:  # fmt: skip
        """``buffer``: size of its socket's two buffers in bytes; 0: the system's default, which grows. ``patience_s``:
        limit for the last bytes after the other side has ended; None: no limit.
        """
        self.came = side
        self.opened = opened
        self.buffer = buffer
        self.patience_s = patience_s
        self.other: Wire | None = None
        self.transport: asyncio.Transport | None = None
        self.gives: Callable[[bytes], None] = nothing
        self.changes: Callable[[bytes], bytes] = same
        self.stalls: Callable[[], None] = nobody
        self.ended: Callable[[str], None] = nothing
        self._goes = False
        self.cause = ""
        """How the other side ended, once that has closed this one."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected; reading starts when its other side is connected."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(min(HELD, self.buffer or HELD))
        if self.buffer:
            sock = transport.get_extra_info("socket")
            for option in (socket.SO_RCVBUF, socket.SO_SNDBUF):
                sock.setsockopt(socket.SOL_SOCKET, option, self.buffer)
        # Until 3.11.2 Python starts to read after this, ignoring an earlier pause, and considers it paused then.
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
            self.transport.write(self.changes(data))

    def pause_writing(self) -> None:
        """The peer accepts no more: stop reading for it."""
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
        how = self.cause or ITSELF
        self.ended(how)
        if self.other is not None:
            self.other.end("reset" if self.cause == "reset" or (why is not None and not self.cause) else "peer")

    def end(self, how: str) -> None:
        """Close it, with a RST if the other side ended by one."""
        transport = self.transport
        if transport is None or self.cause or transport.is_closing():
            return
        self.cause = how
        if how == "reset":
            reset(transport)
        else:
            transport.close()
            if self.patience_s is not None:
                asyncio.get_running_loop().call_later(self.patience_s, transport.abort)


class Forwarder:
    """One connection of a link, from its client's end to its server's, with byte counts of each tap."""

    def __init__(self) -> None:
        self.up, self.down = [0, 0], [0, 0]
        self.open = {CLIENTS: False, SERVERS: False}
        self.has_server = False
        self.tapped = True
        self.is_over = False
        self.wires: list[Wire] = []

    def stand(self) -> None:
        self.open = dict.fromkeys(self.open, True)
        for wire in self.wires:
            wire.go_on()

    def client_sent(self, data: bytes) -> None:
        self.up[0] += len(data)

    def server_receives(self, data: bytes) -> None:
        self.up[1] += len(data)

    def server_sent(self, data: bytes) -> None:
        self.down[0] += len(data)

    def client_receives(self, data: bytes) -> None:
        self.down[1] += len(data)

    def changed(self, data: bytes) -> bytes:
        """The bytes that the client receives instead; it receives held ones with later ones."""
        return data

    def stalled(self, side: str) -> None:
        """The tap pauses reading from this side."""

    def closed(self, side: str, how: str) -> None:
        self.open[side] = False

    def reset(self) -> bool:
        """Reset both sides; returns whether any was open."""
        stood = any(self.open.values())
        for wire in self.wires:
            wire.end("reset")
        return stood


def reset(transport: asyncio.Transport) -> None:
    """Close a connection by a RST; pending bytes are lost."""
    sock = transport.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    transport.abort()


def same(data: bytes) -> bytes:
    """Replaces nothing."""
    return data


def nothing(data: Any) -> None:
    """Ignores the report."""


def nobody() -> None:
    """Ignores the call."""
