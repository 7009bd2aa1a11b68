"""Taps on links: between a client, or a slave, and the proxy of its link, and between that proxy and the server.

Bytes pass unchanged, see :mod:`pairproof.chaos.labs.real.wires`. The proxy in between gives no hint which of its two
connections belong together, so connections are let in one at a time. What one tap took and the other has not given is
what the proxy holds, or has lost.

A :class:`StraightDoor` has no proxy behind it and sees both ends at once: strangers come to the master by one,
and a pair that no lab started is captured by one.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol

from ...plan import Address, LinkPlan
from .addresses import LinkPorts
from .wires import CLIENTS, FLUSHED_S, ITSELF, SERVERS, Passage, Wire, nothing

PAIRED_S = 3.0
"""How long the proxy has to lead a new connection to the other tap."""
MAX_WAITING = 256
"""Connections of one link that are not let in yet, or of all strangers."""


class Ears(Protocol):
    """Who hears what passes overheard links, see :attr:`pairproof.chaos.plan.Plan.ears`."""

    def passage(self, who: str, link: str) -> Passage:
        """One more connection of this link, whose client is this node, or a stranger."""


class Teller(Protocol):
    """Who is told of what ears hear."""

    add: Callable[..., None]
    """Records an event, see :meth:`pairproof.harness.history.Recorder.add`."""

    def now(self) -> int:
        """The time of events, ns."""

    def note(self, kind: str, *columns: object) -> None:
        """A row for the driver's reader of traces, now."""


def passages(link: LinkPlan, ears: Ears | None) -> Callable[[], Passage]:
    """What makes the connections of a link."""
    if ears is None or not link.is_overheard:
        return Passage
    return partial(ears.passage, link.near, link.name)


class Door:
    """Where somebody can connect, and connections that lead on from there to ``to``."""

    def __init__(self, address: Address, to: Address) -> None:
        self.address = address
        self.to = to
        self.passages: list[Passage] = []
        self.connections = 0
        """Those that were let in so far."""
        self.gone = {"up": [0, 0], "down": [0, 0]}
        """Bytes of connections that are over."""
        self.severed = 0
        """Connections that neither side ended first."""
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
        for passage in list(self.passages):
            lost += passage.up[0] - passage.up[1] + passage.down[0] - passage.down[1]
            closed += passage.reset()
        return {"connections_closed": closed, "bytes_lost": max(0, lost)}

    def standing(self) -> int:
        return sum(1 for each in self.passages if any(each.open.values()))

    def moved(self, direction: str) -> tuple[int, int]:
        taken, given = self.gone[direction]
        for each in self.passages:
            amounts = each.up if direction == "up" else each.down
            taken, given = taken + amounts[0], given + amounts[1]
        return taken, given

    def came(self) -> Wire:
        raise NotImplementedError

    def over(self, passage: Passage, side: str, how: str) -> None:
        if passage.has_server and not passage.is_over:
            self.severed += how != ITSELF
        passage.is_over = True
        passage.closed(side, how)
        if side == CLIENTS and passage in self.passages:
            self.passages.remove(passage)
            for name, amounts in (("up", passage.up), ("down", passage.down)):
                self.gone[name][0] += amounts[0]
                self.gone[name][1] += amounts[1]

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Tap(Door):
    """Both taps of one link. ``to``: its server. ``buffer``: of its sockets, bytes; 0: the system decides."""

    def __init__(self, way: LinkPorts, to: Address, passage: Callable[[], Passage], buffer: int = 0) -> None:
        super().__init__(way.near, to)
        self.way = way
        self.passage = passage
        self.buffer = buffer
        self.is_impostor = False
        """Whether it leads to somebody in its server's place."""
        self._far_listener: asyncio.Server | None = None
        self._waiting: deque[Passage] = deque()
        self._lets_in = False
        self._let_in: Passage | None = None
        self._paired = asyncio.Event()

    def lead(self, to: Address, is_impostor: bool) -> None:
        self.to, self.is_impostor = to, is_impostor

    async def start(self) -> None:
        self._far_listener = await asyncio.get_running_loop().create_server(self._from_proxy, *self.way.far)

    def stop(self) -> None:
        super().stop()
        if self._far_listener is not None:
            self._far_listener.close()

    def came(self) -> Wire:
        passage = self.passage()
        near = Wire(passage.client_said, lambda wire: self._queue(passage), self.buffer)
        near.gives = passage.client_hears
        near.stalls = lambda: passage.stalled(CLIENTS)
        near.ended = lambda how: self.over(passage, CLIENTS, how)
        passage.wires.append(near)
        return near

    def _queue(self, passage: Passage) -> None:
        self.passages.append(passage)
        if len(self._waiting) >= MAX_WAITING:
            passage.reset()
            return
        self._waiting.append(passage)
        if not self._lets_in:
            self._lets_in = True
            self.spawn(self._let_all_in())

    async def _let_all_in(self) -> None:
        while self._waiting:
            self._let_in = passage = self._waiting.popleft()
            self._paired.clear()
            near, far = passage.wires[0], Wire(nothing, buffer=self.buffer)
            far.other, near.other = near, far
            passage.wires.append(far)
            try:
                await asyncio.get_running_loop().create_connection(lambda far=far: far, *self.way.proxy)  # type: ignore[misc]
                async with asyncio.timeout(PAIRED_S):
                    await self._paired.wait()
                if passage.has_server:
                    # Not before: bytes for a wire that is not connected yet would be lost.
                    self.connections += 1
                    passage.stand()
                else:
                    # The proxy accepted for a server that is not there, as it does, and hung up.
                    near.end("peer")
            except OSError:
                # TimeoutError, too.
                passage.reset()
            finally:
                self._let_in = None
        self._lets_in = False

    def _from_proxy(self) -> Wire:
        passage = self._let_in
        wire = Wire(passage.server_hears if passage is not None else nothing, buffer=self.buffer)
        # Told of what goes on to the server, before it does.
        wire.opened = lambda wire: self.spawn(self._reach_server(passage, wire))
        return wire

    async def _reach_server(self, passage: Passage | None, wire: Wire) -> None:
        if passage is None or passage is not self._let_in or len(passage.wires) != len((CLIENTS, SERVERS)):
            wire.end("reset")
            return
        far = Wire(passage.server_said, buffer=self.buffer)
        far.other, wire.other = wire, far
        far.stalls = lambda: passage.stalled(SERVERS)
        far.ended = lambda how: self.over(passage, SERVERS, how)
        passage.wires += [wire, far]
        passage.tapped = not self.is_impostor
        try:
            await asyncio.get_running_loop().create_connection(lambda: far, *self.to)
        except OSError:
            wire.end("peer")
        else:
            passage.has_server = True
        finally:
            self._paired.set()


class StraightDoor(Door):
    """Connections lead straight on to ``to``."""

    def __init__(
        self, address: Address, to: Address, passage: Callable[[], Passage],
        unreached: Callable[[OSError], None] = nothing, patience_s: float | None = FLUSHED_S,
    ) -> None:  # fmt: skip
        """``unreached``: told why nobody could be reached; ``patience_s``: see :class:`Wire`."""
        super().__init__(address, to)
        self.passage = passage
        self.unreached = unreached
        self.patience_s = patience_s

    def came(self) -> Wire:
        passage = self.passage()

        def said(data: bytes) -> None:
            passage.client_said(data)
            passage.server_hears(data)

        near = Wire(said, lambda wire: self.spawn(self._reach(passage)), patience_s=self.patience_s)
        near.ended = lambda how: self.over(passage, CLIENTS, how)
        passage.wires.append(near)
        return near

    def far(self, said: Callable[[bytes], None]) -> Wire:
        """The server's side of a connection."""
        return Wire(said, patience_s=self.patience_s)

    async def _reach(self, passage: Passage) -> None:
        if len(self.passages) >= MAX_WAITING:
            passage.reset()
            return
        self.passages.append(passage)

        def said(data: bytes) -> None:
            passage.server_said(data)
            passage.client_hears(data)

        near, far = passage.wires[0], self.far(said)
        far.other, near.other = near, far
        far.ended = lambda how: self.over(passage, SERVERS, how)
        passage.wires.append(far)
        try:
            await asyncio.get_running_loop().create_connection(lambda: far, *self.to)
        except OSError as why:
            self.unreached(why)
            near.end("reset")
        else:
            if passage.is_over:
                # The client did not wait.
                far.end("reset")
                return
            self.connections += 1
            passage.stand()
