"""A real toxiproxy-server for tests, and a way through it: a proxy with a listening socket of ours behind it.

The server is the one that pairproof finds, or builds: a test that needs it fails where neither works.
"""

from __future__ import annotations

import ctypes
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import requests

from pairproof.chaos.toxiproxy import server
from pairproof.chaos.toxiproxy.install import TOOL
from pairproof.chaos.toxiproxy.proxies import HOST, Proxies

READY_S = 20
QUIET_S = 10
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
ATTRIBUTES: dict[str, dict[str, int]] = {
    "bandwidth": {"rate": 7},
    "latency": {"latency": 3, "jitter": 2},
    "limit_data": {"bytes": 7},
    "reset_peer": {"timeout": 5},
    "slicer": {"average_size": 4, "size_variation": 1, "delay": 9},
    "slow_close": {"delay": 8},
    "timeout": {"timeout": 6},
}
"""Every kind of toxic with attributes of its own."""


@cache
def binary() -> Path:
    """Where the server is; built if it is nowhere."""
    return TOOL.install()


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listening:
        return int(listening.getsockname()[1])


class Server:
    """A running server, and its proxies."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.process = subprocess.Popen(
            server.command(binary(), port),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # It dies with the test process, whatever happens.
            preexec_fn=lambda: LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
        )
        self.proxies = Proxies(port)

    def alive(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.proxies.close()


@contextmanager
def running(port: int | None = None) -> Iterator[Server]:
    """A server that is ready; it ends with the block."""
    made = Server(port or free_port())
    try:
        server.wait_ready(made.port, READY_S, made.alive)
        yield made
    finally:
        made.kill()


class Way:
    """The proxy ``name`` and the socket behind it."""

    def __init__(self, proxies: Proxies, name: str) -> None:
        self.proxies = proxies
        self.name = name
        self.listening = socket.create_server((HOST, 0))
        self.listening.settimeout(QUIET_S)
        self.upstream = address(self.listening)
        self.listen = proxies.create(name, f"{HOST}:0", self.upstream).listen

    @property
    def port(self) -> int:
        return int(self.listen.rpartition(":")[2])

    def connect(self) -> tuple[socket.socket, socket.socket]:
        """A new connection through the proxy: the client's end and the server's."""
        client = socket.create_connection((HOST, self.port), QUIET_S)
        behind, _ = self.listening.accept()
        behind.settimeout(QUIET_S)
        return client, behind

    def close(self) -> None:
        self.listening.close()
        destroy(self.proxies, self.name)


def destroy(proxies: Proxies, name: str) -> None:
    """Remove a proxy; its connections end."""
    response = requests.delete(f"http://{HOST}:{proxies.port}/proxies/{name}", timeout=QUIET_S)
    assert response.status_code == 204, response.text


@contextmanager
def way(proxies: Proxies, name: str = "way") -> Iterator[Way]:
    """A proxy that is destroyed with the block."""
    made = Way(proxies, name)
    try:
        yield made
    finally:
        made.close()


def address(listening: socket.socket) -> str:
    """``host:port``."""
    host, port = listening.getsockname()
    return f"{host}:{port}"


def nothing_comes(end: socket.socket) -> bool:
    end.settimeout(0.2)
    try:
        end.recv(1)
    except TimeoutError:
        return True
    finally:
        end.settimeout(10)
    return False


def read(end: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size and (data := end.recv(size - len(found))):
        found += data
    return found
