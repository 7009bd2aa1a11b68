"""Non-blocking TCP sockets for the shell: connections, listening ports, connecting.

As in RocketMQ: TCP_NODELAY on both ends, SO_REUSEADDR on listening ports, five seconds for a connect. IPv4 only.
"""

import asyncio
import socket
from collections.abc import Hashable
from contextlib import ExitStack

from ..errors import ConfigError
from . import reach

BACKLOG = 1_024
CONNECT_TIMEOUT_S = 5

NOT_CONNECTED = (OSError, ValueError, OverflowError)
"""Errors of :func:`connect`: refused, or a malformed address, perhaps from a name server."""
OF_CLIENTS = ("main", "fast")


class Connection:
    """An open connection, compared by identity. ``port``: the node's name for its listening port, or empty."""

    __slots__ = ("_loopback", "address", "blocked", "fd", "last_used", "open", "port", "sock", "waiting")

    def __init__(self, sock: socket.socket, address: tuple[str, int], port: str, now: float) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = sock
        self.fd = sock.fileno()
        self.address = address
        self.port = port
        self.last_used = now
        self._loopback = reach.is_loopback(address[0])
        self.open = True
        self.blocked = False
        # Sent by the node, not yet by the socket.
        self.waiting = bytearray()

    def __str__(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"

    @property
    def peer(self) -> Hashable:
        """The remote address. On loopback all machines share it: there every connection is its own peer."""
        return self if self._loopback else self.address[0]

    @property
    def yields(self) -> bool:
        """Whether reading pauses while the connection is ``blocked`` (does not take its answers): clients only.

        Replicas are always read, or both ends could wait for each other.
        """
        return self.port in OF_CLIENTS


def listen(host: str, ports: list[int], stack: ExitStack) -> list[socket.socket]:
    """Listening sockets, closed with ``stack``; ConfigError, with the port, if one is not available."""
    found = []
    for port in ports:
        sock = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        try:
            sock.bind((host, port))
            sock.listen(BACKLOG)
        except OSError as why:
            raise ConfigError(
                f"cannot listen on {host}:{port}: {why.strerror}; a broker takes listenPort, two below and one above"
            ) from None
        found.append(sock)
    return found


async def connect(address: str, anywhere: bool = False) -> tuple[socket.socket, tuple[str, int]]:
    """A socket connected to ``host:port``, and the remote address; a suffix after ``#`` distinguishes connections.

    Only to this machine's loopback, unless ``anywhere``. OSError if refused or not allowed; ValueError or OverflowError
    for a malformed address.
    """
    host, _, port = address.partition("#")[0].rpartition(":")
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            found = await reach.resolve(host, anywhere)
            await asyncio.get_running_loop().sock_connect(sock, (found, int(port)))
        # Now: after a reset by the peer it is not available.
        peer = sock.getpeername()
        if sock.getsockname() == peer:
            # TCP lets a socket connect to itself if a port of the ephemeral range has no listener.
            raise ConnectionRefusedError(f"{address} is the address of this socket itself")
    except BaseException:
        sock.close()
        raise
    return sock, peer
