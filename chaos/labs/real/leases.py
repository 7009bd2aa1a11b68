"""Ports for labs that run concurrently: each lab owns blocks of ports while it runs.

A block is locked by a Unix socket with an abstract name, which one process per network namespace can own. So all labs
that could collide see each other, whatever their TMPDIR, and a killed lab frees its blocks at once and leaves nothing
behind. Blocks lie below the kernel's ports for outgoing connections. A port is given only if nothing on the machine
uses it, not even a connection that has just ended (a bind without SO_REUSEADDR). It stays bound, and refuses
connections, until a server, which sets SO_REUSEADDR, listens there.
"""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Sequence
from pathlib import Path

from ....harness.errors import LabError

HOST = "127.0.0.1"
BLOCK = 64
FIRST = 10_240
LAST = 32_768
"""Ports are in [FIRST, LAST), or end at the first outgoing port, if that is lower."""
MAX_BLOCKS = 8
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOCK = "\0pairproof-ports-{}"
"""The abstract name that locks a block, by its first port."""


class Leases:
    """The ports of one lab. Keep the object as long as they are used."""

    def __init__(self) -> None:
        self._blocks: dict[int, socket.socket] = {}
        self._left: list[int] = []
        self._held: list[socket.socket] = []

    def take(self, count: int = 1, neighbours: Sequence[int] = ()) -> list[int]:
        """``count`` free ports. ``neighbours``: distances, such as (-2, 1), at which each needs one more free port.

        LabError if too few are free.
        """
        return [self._take_one((0, *neighbours)) for _ in range(count)]

    def close(self) -> None:
        for sock in (*self._held, *self._blocks.values()):
            sock.close()
        self._held.clear()
        self._blocks.clear()
        self._left.clear()

    def _take_one(self, distances: Sequence[int]) -> int:
        while True:
            for port in self._left:
                wanted = [port + each for each in distances]
                if all(each in self._left and _is_free(each) for each in wanted):
                    self._left = [each for each in self._left if each not in wanted]
                    self._hold(wanted)
                    return port
            self._take_block()

    def _hold(self, ports: Sequence[int]) -> None:
        for port in ports:
            sock = socket.socket()
            self._held.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind((HOST, port))
            except OSError as why:
                raise LabError(f"port {port} was just taken by another process: {why.strerror}; try again") from why

    def _take_block(self) -> None:
        ends = _end()
        for first in range(FIRST, ends - BLOCK + 1, BLOCK):
            if len(self._blocks) < MAX_BLOCKS and first not in self._blocks and self._lock(first):
                self._left += range(first, first + BLOCK)
                return
        raise LabError(f"no free ports are left from {FIRST} to {ends}: end other labs, or other listeners there")

    def _lock(self, first: int) -> bool:
        lock = socket.socket(socket.AF_UNIX)
        try:
            lock.bind(_LOCK.format(first))
        except OSError as why:
            lock.close()
            if why.errno == errno.EADDRINUSE:
                return False
            raise LabError(f"cannot lock ports from {first}: {why.strerror}") from why
        self._blocks[first] = lock
        return True


def _end() -> int:
    try:
        return min(LAST, int(_EPHEMERAL.read_text().split()[0]))
    except OSError:
        return LAST


def _is_free(port: int) -> bool:
    with contextlib.closing(socket.socket()) as sock:
        try:
            sock.bind(("0.0.0.0", port))
        except OSError as why:
            if why.errno == errno.EADDRINUSE:
                return False
            raise LabError(f"cannot check whether port {port} is free: {why.strerror}") from why
    return True
