"""Taps on links: between a client or slave and its link's proxy, and between that proxy and the server.

Only addresses change on the way, see :mod:`pairproof.chaos.labs.real.wires`. The proxy does not reveal which of its two
connections belong together, so connections are accepted one at a time. The proxy holds, or has lost, the bytes that one
tap received and the other has not forwarded.

A :class:`StraightDoor` has no proxy behind it and observes both ends: rogue peers use one to reach the master, and
``capture`` uses one for a pair outside any lab.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Protocol

from ...plan import NOTHING, Address, LinkPlan
from .addresses import LinkPorts
from .wires import CLIENTS, FLUSHED_S, ITSELF, SERVERS, Forwarder, Wire, nothing

PAIRED_S = 3.0
"""Time for the proxy to lead a new connection to the other tap."""
MAX_WAITING = 256
"""Connections of one link, or of all rogue peers, that wait to be accepted."""


class Listener(Protocol):
    """Receives the bytes of overheard links, see :attr:`pairproof.chaos.plan.Plan.listener`."""

    def forwarder(self, who: str, link: str, replaced: Mapping[str, str] = NOTHING) -> Forwarder:
        """The forwarder of a new connection of this link, whose client is this node or a rogue peer, and replaces these
        addresses in the server's answers.
        """


class Sink(Protocol):
    add: Callable[..., None]
    """Records an event, see :meth:`pairproof.harness.history.Recorder.add`."""

    def now(self) -> int:
        """The time of events, ns."""

    def note(self, kind: str, *columns: object) -> None:
        """Record a row now for the driver's trace reader."""


def forwarders(link: LinkPlan, listener: Listener | None, replaced: Mapping[str, str]) -> Callable[[], Forwarder]:
    """Makes the connections of a link."""
    if listener is None or not link.is_overheard:
        return Forwarder
    return partial(listener.forwarder, link.near, link.name, replaced)


class Door:
    def __init__(self, address: Address, to: Address) -> None:
        self.address = address
        self.to = to
        self.forwarders: list[Forwarder] = []
        self.connections = 0
        self.gone = {"up": [0, 0], "down": [0, 0]}
        """Bytes of ended connections."""
        self.severed = 0
        self._listener: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()

    async def open(self) -> None:
        if self._listener is None:
            self._listener = await asyncio.get_running_loop().create_server(self.came, *self.address)

    def shut(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def stop(self) -> None:
        self.shut()
        self.reset()
        for task in self._tasks:
            task.cancel()

    def reset(self) -> dict[str, int]:
        closed = lost = 0
        for forwarder in list(self.forwarders):
            lost += forwarder.up[0] - forwarder.up[1] + forwarder.down[0] - forwarder.down[1]
            closed += forwarder.reset()
        return {"connections_closed": closed, "bytes_lost": max(0, lost)}

    def standing(self) -> int:
        return sum(1 for each in self.forwarders if any(each.open.values()))

    def moved(self, direction: str) -> tuple[int, int]:
        taken, given = self.gone[direction]
        for each in self.forwarders:
            amounts = each.up if direction == "up" else each.down
            taken, given = taken + amounts[0], given + amounts[1]
        return taken, given

    def came(self) -> Wire:
        raise NotImplementedError

    def over(self, forwarder: Forwarder, side: str, how: str) -> None:
        if forwarder.has_server and not forwarder.is_over:
            self.severed += how != ITSELF
        forwarder.is_over = True
        forwarder.closed(side, how)
        if side == CLIENTS and forwarder in self.forwarders:
            self.forwarders.remove(forwarder)
            for name, amounts in (("up", forwarder.up), ("down", forwarder.down)):
                self.gone[name][0] += amounts[0]
                self.gone[name][1] += amounts[1]

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Tap(Door):
    """Both taps of one link. ``to``: its server. ``buffer``: of its sockets, bytes; 0: the system's default."""

    def __init__(self, way: LinkPorts, to: Address, forwarder: Callable[[], Forwarder], buffer: int = 0) -> None:
        super().__init__(way.near, to)
        self.way = way
        self.forwarder = forwarder
        self.buffer = buffer
        self.is_rogue_master = False
        self._far_listener: asyncio.Server | None = None
        self._waiting: deque[Forwarder] = deque()
        self._lets_in = False
        self._let_in: Forwarder | None = None
        self._paired = asyncio.Event()

    def lead(self, to: Address, is_rogue_master: bool) -> None:
        self.to, self.is_rogue_master = to, is_rogue_master

    async def start(self) -> None:
        self._far_listener = await asyncio.get_running_loop().create_server(self._from_proxy, *self.way.far)

    def stop(self) -> None:
        super().stop()
        if self._far_listener is not None:
            self._far_listener.close()

    def came(self) -> Wire:
        forwarder = self.forwarder()
        near = Wire(forwarder.client_sent, lambda wire: self._queue(forwarder), self.buffer)
        near.gives, near.changes = forwarder.client_receives, forwarder.changed
        near.stalls = lambda: forwarder.stalled(CLIENTS)
        near.ended = lambda how: self.over(forwarder, CLIENTS, how)
        forwarder.wires.append(near)
        return near

    def _queue(self, forwarder: Forwarder) -> None:
        self.forwarders.append(forwarder)
        if len(self._waiting) >= MAX_WAITING:
            forwarder.reset()
            return
        self._waiting.append(forwarder)
        if not self._lets_in:
            self._lets_in = True
            self.spawn(self._let_all_in())

    async def _let_all_in(self) -> None:
        while self._waiting:
            self._let_in = forwarder = self._waiting.popleft()
            self._paired.clear()
            near, far = forwarder.wires[0], Wire(nothing, buffer=self.buffer)
            far.other, near.other = near, far
            forwarder.wires.append(far)
            try:
                await asyncio.get_running_loop().create_connection(lambda far=far: far, *self.way.proxy)  # type: ignore[misc]
                async with asyncio.timeout(PAIRED_S):
                    await self._paired.wait()
                if forwarder.has_server:
                    # Not before: bytes for a wire that is not connected yet would be lost.
                    self.connections += 1
                    forwarder.stand()
                else:
                    # The proxy accepted for an absent server, as it does, and closed the connection.
                    near.end("peer")
            except OSError:
                # Includes TimeoutError.
                forwarder.reset()
            finally:
                self._let_in = None
        self._lets_in = False

    def _from_proxy(self) -> Wire:
        forwarder = self._let_in
        wire = Wire(forwarder.server_receives if forwarder is not None else nothing, buffer=self.buffer)
        # Receives the bytes for the server before the server does.
        wire.opened = lambda wire: self.spawn(self._reach_server(forwarder, wire))
        return wire

    async def _reach_server(self, forwarder: Forwarder | None, wire: Wire) -> None:
        if forwarder is None or forwarder is not self._let_in or len(forwarder.wires) != len((CLIENTS, SERVERS)):
            wire.end("reset")
            return
        far = Wire(forwarder.server_sent, buffer=self.buffer)
        far.other, wire.other = wire, far
        far.stalls = lambda: forwarder.stalled(SERVERS)
        far.ended = lambda how: self.over(forwarder, SERVERS, how)
        forwarder.wires += [wire, far]
        forwarder.tapped = not self.is_rogue_master
        try:
            await asyncio.get_running_loop().create_connection(lambda: far, *self.to)
        except OSError:
            wire.end("peer")
        else:
            forwarder.has_server = True
        finally:
            self._paired.set()


class StraightDoor(Door):
    def __init__(
        self, address: Address, to: Address, forwarder: Callable[[], Forwarder],
        unreached: Callable[[OSError], None] = nothing, patience_s: float | None = FLUSHED_S,
    ) -> None:  # fmt: skip
        """``unreached``: called with the reason when a connect fails; ``patience_s``: see :class:`Wire`."""
        super().__init__(address, to)
        self.forwarder = forwarder
        self.unreached = unreached
        self.patience_s = patience_s

    def came(self) -> Wire:
        forwarder = self.forwarder()

        def received(data: bytes) -> None:
            forwarder.client_sent(data)
            forwarder.server_receives(data)

        near = Wire(received, lambda wire: self.spawn(self._reach(forwarder)), patience_s=self.patience_s)
        near.ended = lambda how: self.over(forwarder, CLIENTS, how)
        forwarder.wires.append(near)
        return near

    def far(self, received: Callable[[bytes], None]) -> Wire:
        return Wire(received, patience_s=self.patience_s)

    async def _reach(self, forwarder: Forwarder) -> None:
        if len(self.forwarders) >= MAX_WAITING:
            forwarder.reset()
            return
        self.forwarders.append(forwarder)

        def received(data: bytes) -> None:
            forwarder.server_sent(data)
            forwarder.client_receives(data)

        near, far = forwarder.wires[0], self.far(received)
        far.other, near.other = near, far
        far.ended = lambda how: self.over(forwarder, SERVERS, how)
        forwarder.wires.append(far)
        try:
            await asyncio.get_running_loop().create_connection(lambda: far, *self.to)
        except OSError as why:
            self.unreached(why)
            near.end("reset")
        else:
            if forwarder.is_over:
                # The client closed before.
                far.end("reset")
                return
            self.connections += 1
            forwarder.stand()
