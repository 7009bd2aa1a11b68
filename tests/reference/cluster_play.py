"""A tiny network in memory: brokers and a name server on machines that can be killed and started again.

Bytes take a millisecond, a flush too. Everything a node is told comes from one heap, so every run is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from pairproof.chaos.labs.sim.disk import SimDisk
from pairproof.chaos.labs.sim.kernel import Entry, Kernel
from pairproof.harness.history import MS
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.calls import Calls, Outcome
from pairproof.reference.core.config import BrokerConfig
from pairproof.reference.core.namesrv import NameServer
from pairproof.reference.ports import Node
from pairproof.reference.wire import headers, remoting

SECOND = 1_000 * MS
NAMES = "127.0.0.1:9876"
SMALL = {
    "mappedFileSizeCommitLog": 4_096,
    "mappedFileSizeConsumeQueue": 200,
    "maxHashSlotNum": 8,
    "maxIndexNum": 16,
    "registerNameServerPeriod": 10_000,
}


class End:
    """One end of a connection."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.open = True
        self.peer: End = self


class Machine:
    """Effects and watcher of one node; ``ports`` are its addresses and what the node calls each."""

    def __init__(self, world: World, ports: Mapping[str, str], build: Callable[[Machine], Node]) -> None:
        self.world = world
        self.disk = SimDisk()
        self.build = build
        self.node: Any = None
        self.life = 0
        self.timers: dict[Hashable, Entry] = {}
        self.ends: list[End] = []
        self.syncs: list[tuple[int, str, str]] = []
        self.persists: list[str] = []
        self.registrations: list[Mapping[str, str] | None] = []
        world.ports.update({address: (self, port) for address, port in ports.items()})

    # Life.

    def start(self) -> Any:
        self.life += 1
        self.node = self.build(self)
        self.node.on_start()
        return self.node

    def kill(self) -> None:
        """kill -9: the kernel closes its sockets."""
        self.life += 1
        self.node = None
        self.timers.clear()
        for end in list(self.ends):
            self.close(end)

    def lose_power(self) -> None:
        """And with it all that was not flushed."""
        self.kill()
        self.disk.lose_power("none")

    def stop(self) -> None:
        self.node.on_stop()
        self.kill()

    def later(self, at: int, function: Callable[..., Any], *arguments: Any) -> Entry:
        """Tell the node, unless its process has ended by then."""
        return self.world.kernel.at(at, self._tell, self.life, function, *arguments)

    def _tell(self, life: int, function: Callable[..., Any], *arguments: Any) -> None:
        if life == self.life:
            function(*arguments)

    # Effects.

    def now(self) -> int:
        return self.world.kernel.now

    def wall_ms(self) -> int:
        return 1_700_000_000_000 + self.now() // MS

    def connect(self, address: str) -> None:
        self.later(self.now() + MS, self._connect, address)

    def _connect(self, address: str) -> None:
        server, port = self.world.ports.get(address, (None, ""))
        if server is None or server.node is None or address in self.world.cut:
            self.node.on_connect_failed(address)
            return
        near, far = End(self), End(server)
        near.peer, far.peer = far, near
        self.ends.append(near)
        server.ends.append(far)
        server.node.on_accepted(far, port)
        if near.open:
            self.node.on_connected(address, near)

    def send(self, end: End, data: bytes) -> int:
        peer = end.peer
        if data and end.open and peer.machine.node is not None:
            peer.machine.later(self.now() + MS, self._arrive, peer, data)
        return len(data)

    @staticmethod
    def _arrive(end: End, data: bytes) -> None:
        if end.open:
            end.machine.node.on_bytes(end, data)

    def close(self, end: End) -> None:
        if end.open:
            end.open = False
            end.machine.ends.remove(end)
            peer = end.peer.machine
            if end.peer.open and peer.node is not None:
                peer.later(self.now() + MS, self._hear_close, end.peer)

    @staticmethod
    def _hear_close(end: End) -> None:
        if end.open:
            end.open = False
            end.machine.ends.remove(end)
            end.machine.node.on_closed(end)

    def peer(self, end: End) -> Hashable:
        return end.peer.machine

    def address(self, end: End) -> tuple[str, int]:
        return "127.0.0.1", 1

    def timer(self, key: Hashable, at: int) -> None:
        self.cancel(key)
        self.timers[key] = self.later(at, self._ring, key)

    def _ring(self, key: Hashable) -> None:
        del self.timers[key]
        self.node.on_timer(key)

    def cancel(self, key: Hashable) -> None:
        entry = self.timers.pop(key, None)
        if entry is not None:
            entry[2] = None

    def runs(self, thread: Hashable) -> bool:
        return True

    def flush(self, names: list[str], token: Hashable) -> None:
        self.later(self.now() + MS, self._flushed, self.disk.begin_flush(names), token)

    def _flushed(self, flush: Any, token: Hashable) -> None:
        self.disk.finish_flush(flush)
        self.node.on_flushed(token)

    # What a broker's watcher hears.

    def synced(self, table: str, status: str) -> None:
        self.syncs.append((self.now() // MS, table, status))

    def persisted(self, table: str) -> None:
        self.persists.append(table)

    def registered(self, answer: Mapping[str, str] | None, asked: Mapping[str, str]) -> None:
        self.registrations.append(answer)

    def dispatched(self, upto: int) -> None: ...
    def appended(self, lo: int, hi: int, data: bytes, f: str) -> None: ...
    def flushed(self, upto: int) -> None: ...
    def expired(self, lo: int) -> None: ...
    def misfits(self, why: str) -> None: ...

    def refused(self, conn: End, reported: int, end: int, why: str) -> None: ...


class Asker:
    """A node that only asks."""

    def __init__(self, io: Machine) -> None:
        self.calls = Calls(io)
        self.on_connected = self.calls.on_connected
        self.on_connect_failed = self.calls.on_connect_failed
        self.on_bytes = self.calls.on_bytes
        self.on_closed = self.calls.on_closed
        self.on_timer = self.calls.on_timer

    def on_start(self) -> None: ...


class World:
    """Machines by address. ``cut``: addresses that nobody can connect to."""

    def __init__(self) -> None:
        self.kernel = Kernel()
        self.ports: dict[str, tuple[Machine, str]] = {}
        self.cut: set[str] = set()
        self.client = Machine(self, {}, Asker)  # type: ignore[arg-type]
        self.client.start()

    def names(self, address: str = NAMES) -> Machine:
        """A name server, not started yet."""
        return Machine(self, {address: "main"}, NameServer)

    def broker(self, port: int, kind: type[Broker] = Broker, **settings: Any) -> Machine:
        """A broker, not started yet."""
        config = BrokerConfig(listenPort=port, **{"namesrvAddr": NAMES, **SMALL, **settings})
        ports = {f"127.0.0.1:{port + distance}": name for distance, name in ((-2, "fast"), (0, "main"), (1, "ha"))}
        return Machine(self, ports, lambda io: kind(config, io, io))

    def run(self, seconds: float) -> None:
        self.kernel.run_until(self.kernel.now + int(seconds * SECOND))

    def ask(self, port: int, code: int, body: bytes = b"", **fields: Any) -> Outcome:
        """What a client is answered, within a second."""
        ended: list[Outcome] = []
        texts = headers.encode_request(code, fields)
        calls = self.client.node.calls
        calls.call(f"127.0.0.1:{port}", code, texts, body, ended.append, SECOND)
        self.run(1)
        return ended[0]

    def send(self, port: int, topic: str = "T", queue_id: int = 0, body: bytes = b"body", properties: str = "") -> None:
        """Send a message that must be stored. Properties: ``KEY=value KEY=value``."""
        ended: list[Outcome] = []
        calls = self.client.node.calls
        opaque = calls.next_opaque()
        frame = remoting.send_request(
            opaque, producer_group="g", topic=topic, queue_id=queue_id, born_ms=1, body=body,
            properties=properties.replace("=", "\x01").replace(" ", "\x02"),
        )  # fmt: skip
        calls.call_frame(f"127.0.0.1:{port}", opaque, frame, ended.append)
        self.run(0.02)
        assert [each.phase for each in ended] == ["ok"], ended


def pair(world: World, **settings: Any) -> tuple[Machine, Machine, Machine]:
    """A name server, a master on port 10911 and its slave on 10921, none of them started."""
    slave = {"brokerRole": "SLAVE", "brokerId": 1, **settings}
    return world.names(), world.broker(10911, **settings), world.broker(10921, **slave)
