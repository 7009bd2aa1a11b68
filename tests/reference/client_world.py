"""A small network in memory with virtual time: nodes that listen, nodes that connect, machines that die or fall silent.

Any sans-IO node lives on it. Bytes take 1 ms; what is asked for at one moment happens in the order asked.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from pairproof.reference.ports import Node

MS = 1_000_000
SECOND = 1_000 * MS
DELAY = 1 * MS
CONNECT_TIMEOUT = 5 * SECOND
MAX_EVENTS = 200_000


class End:
    """One end of a connection."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.peer: End
        self.open = True


class World:
    """All machines. Addresses are texts."""

    def __init__(self) -> None:
        self.time = 0
        self.hosts: dict[str, Host] = {}
        self.ports: dict[str, tuple[Host, str]] = {}
        self.serial = itertools.count()
        self.events: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []

    def at(self, when: int, function: Callable[..., None], *arguments: Any) -> None:
        heapq.heappush(self.events, (max(when, self.time), next(self.serial), function, arguments))

    def host(self, name: str, disk: Any = None, ports: Mapping[str, str] | None = None) -> Host:
        """A machine that listens at its name, as ``main``, and at the addresses given: name of the port to address."""
        host = self.hosts[name] = Host(self, name, disk)
        self.ports[name] = host, "main"
        self.ports |= {address: (host, port) for port, address in (ports or {}).items()}
        return host

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.time + int(seconds * SECOND)
        for _ in range(MAX_EVENTS):
            if not self.events or self.events[0][0] > end:
                self.time = end
                return
            self.time, _, function, arguments = heapq.heappop(self.events)
            function(*arguments)
        raise AssertionError(f"more than {MAX_EVENTS} events in {seconds} s: somebody spins")

    def until(self, holds: Callable[[], bool], seconds: float) -> float:
        """Let time pass until this holds; how many seconds that took."""
        began, end = self.time, self.time + int(seconds * SECOND)
        while not holds():
            assert self.time < end, f"it does not hold after {seconds} s"
            self.run(min(0.1, (end - self.time) / SECOND))
        return (self.time - began) / SECOND


class Host:
    """A machine with one process: the effects port of its node."""

    def __init__(self, world: World, name: str, disk: Any) -> None:
        self.world = world
        self.name = name
        self.disk = disk
        self.node: Node | None = None
        self.silent = False
        """Nothing reaches it, nothing leaves it."""
        self.timers: dict[Hashable, int] = {}
        self.ends: list[End] = []
        self.connects: list[tuple[int, str]] = []

    # Life.

    def start(self, build: Callable[[Host], Node]) -> Any:
        self.node = build(self)
        self.node.on_start()
        return self.node

    def stop(self) -> None:
        assert self.node is not None
        self.node.on_stop()
        self.kill()

    def kill(self) -> None:
        """As kill -9: its sockets are closed."""
        self.node = None
        self.timers.clear()
        for end in list(self.ends):
            self.close(end)

    # Effects.

    def now(self) -> int:
        return self.world.time

    def wall_ms(self) -> int:
        return 1_700_000_000_000 + self.world.time // MS

    def connect(self, address: str) -> None:
        self.connects.append((self.world.time, address))
        server, _ = self.world.ports.get(address, (None, ""))
        lost = self.silent or (server is not None and server.silent)
        wait = CONNECT_TIMEOUT if lost else DELAY
        self.world.at(self.world.time + wait, self._connect, address, self.node)

    def _connect(self, address: str, node: Node | None) -> None:
        if self.node is None or self.node is not node:
            return
        server, port = self.world.ports.get(address, (None, ""))
        if server is None or server.node is None or server.silent or self.silent:
            self.node.on_connect_failed(address)
            return
        near, far = End(self), End(server)
        near.peer, far.peer = far, near
        self.ends.append(near)
        server.ends.append(far)
        server.node.on_accepted(far, port)
        self.node.on_connected(address, near)

    def send(self, conn: End, data: bytes) -> int:
        if conn.open and data:
            self.world.at(self.world.time + DELAY, self._deliver, conn.peer, data)
        return len(data)

    def _deliver(self, end: End, data: bytes) -> None:
        host = end.host
        if end.open and host.node is not None and not host.silent and not self.silent:
            host.node.on_bytes(end, data)

    def close(self, conn: End) -> None:
        if conn.open:
            conn.open = False
            self.ends.remove(conn)
            self.world.at(self.world.time + DELAY, self._closed, conn.peer)

    def _closed(self, end: End) -> None:
        host = end.host
        if end.open and not host.silent and not self.silent:
            end.open = False
            host.ends.remove(end)
            if host.node is not None:
                host.node.on_closed(end)

    def peer(self, conn: End) -> str:
        return conn.peer.host.name

    def address(self, conn: End) -> tuple[str, int]:
        return "127.0.0.1", 0

    def timer(self, key: Hashable, at: int) -> None:
        self.timers[key] = at
        self.world.at(at, self._ring, key, at, self.node)

    def _ring(self, key: Hashable, at: int, node: Node | None) -> None:
        # A node arms its first timers while it is being built.
        if self.node is not None and node in (None, self.node) and self.timers.get(key) == at:
            del self.timers[key]
            self.node.on_timer(key)

    def cancel(self, key: Hashable) -> None:
        self.timers.pop(key, None)

    def runs(self, thread: Hashable) -> bool:
        return True

    def flush(self, names: list[str], token: Hashable) -> None:
        self.world.at(self.world.time + DELAY, self._flushed, token, self.node)

    def _flushed(self, token: Hashable, node: Node | None) -> None:
        if self.node is not None and node is self.node:
            self.node.on_flushed(token)
