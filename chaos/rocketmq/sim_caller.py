"""A connection to a simulated node that is no connection: bytes go in by a call, and come back by one.

Half of the callers take what comes at once. The others are slow: their requests come in pieces, what changes nothing is
asked several at a time, and of the answers they take a few bytes at a time. A node must serve both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from pairproof.chaos.labs.sim.host import Host
from pairproof.chaos.observers.remoting_codes import STATUSES, Request
from pairproof.chaos.observers.remoting_tap import RESPONSE, RemotingTap
from pairproof.chaos.rocketmq.questions import CLOSED, ENDED, Answered
from pairproof.harness.history import UNREADABLE
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.namesrv import NameServer

OPAQUE = 1_000_003
"""Under which the first answer is awaited; each further one under the next number."""
UNANSWERED = "UNANSWERED"
"""Nothing came back, although time stands still: nothing can come any more."""
SLOW = 0.5
"""How many of the callers are slow."""
MOST_TOGETHER = 4
"""Requests that a slow caller asks before it has an answer."""
MOST_CUTS = 3
ROOMS = tuple(1 << power for power in range(13))
"""Bytes of answers that a slow caller takes at a time."""


class Frame(NamedTuple):
    """A request."""

    made: bytes | Callable[[int, Sequence[Answered]], bytes]
    """Its bytes, or what makes them of the number under which it is to be answered and of the answers before."""
    is_read: bool = False
    """Whether it changes nothing, and follows from no answer: such requests may come together."""


class Caller:
    """A connection to a node, and meanwhile what the node's connections act through: keeps what comes back.

    ``dice``: of a slow caller.
    """

    def __init__(self, io: Any, dice: Random | None = None) -> None:
        self._io = io
        self._tap = RemotingTap()
        self._dice = dice
        self._room = 0
        self.owed = False
        """Whether the node has bytes left that it was not asked for yet."""
        self.answered: list[Answered] = []
        self.closed = False

    def send(self, conn: object, data: bytes) -> int:
        if conn is not self:
            return int(self._io.send(conn, data))
        if self._dice is not None and len(data) > self._room:
            data, self.owed = data[: self._room], True
        self._room -= len(data)
        for told in self._tap.feed(data):
            if told.code == Request.NOTIFY_CONSUMER_IDS_CHANGED and not told.flag & RESPONSE:
                # A group that the caller is in has changed; nobody answers that.
                continue
            status = STATUSES.get(told.code, f"code {told.code}")
            if not told.flag & RESPONSE or told.opaque != OPAQUE + len(self.answered):
                status = UNREADABLE
            self.answered.append(Answered(status, told.fields, told.body, told.remark))
        if self._tap.broken is not None:
            self.answered.append(Answered(UNREADABLE, {}, b"", self._tap.broken))
        return len(data)

    def close(self, conn: object) -> None:
        if conn is not self:
            self._io.close(conn)
            return
        self.closed = True
        self.answered.append(Answered(CLOSED, {}, b""))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._io, name)

    def together(self, frames: Sequence[Frame]) -> Sequence[Frame]:
        """Those that are asked next."""
        most = 1 if self._dice is None else self._dice.randint(1, MOST_TOGETHER)
        reads = next((at for at, each in enumerate(frames[:most]) if not each.is_read), most)
        return frames[: max(1, reads)]

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """In which they come."""
        at = 0
        cuts = [] if self._dice is None else [self._dice.randrange(len(data) + 1) for _ in range(MOST_CUTS)]
        for end in (*sorted(cuts), len(data)):
            if end > at or not data:
                yield data[at:end]
            at = end

    def takes_more(self) -> bool:
        """Whether the node can go on with what it owes."""
        owed, self.owed = self.owed and not self.closed, False
        if owed and self._dice is not None:
            self._room = self._dice.choice(ROOMS)
        return owed


def answers(host: Host, frames: Sequence[Frame], dice: Random) -> list[Answered]:
    """One answer to each of the frames, which come over one connection; fewer if that, or the node, ends."""
    node = host.node
    if not isinstance(node, Broker | NameServer):
        return []
    peers, caller = node.peers, Caller(host, dice if dice.random() < SLOW else None)
    peers.io = caller
    # The node's own code: what it raises is its crash.
    host.call(_ask, node, caller, frames)
    peers.io = host
    return caller.answered


def _ask(node: Broker | NameServer, caller: Caller, frames: Sequence[Frame]) -> None:
    node.on_accepted(caller, "main")
    at = 0
    while at < len(frames) and not caller.closed:
        asked = caller.together(frames[at:])
        try:
            data = b"".join(_bytes(each, at + number, caller.answered) for number, each in enumerate(asked))
        except (LookupError, ValueError):
            # It follows from an answer that was none.
            break
        try:
            _hear(node, caller, data)
        except Exception:
            caller.answered.append(Answered(ENDED, {}, b""))
            raise
        at += len(asked)
        if not caller.closed:
            caller.answered += [Answered(UNANSWERED, {}, b"")] * (at - len(caller.answered))
    if not caller.closed:
        node.on_closed(caller)


def _hear(node: Broker | NameServer, caller: Caller, data: bytes) -> None:
    for piece in caller.pieces(data):
        if caller.closed:
            return
        node.on_bytes(caller, piece)
        while caller.takes_more():
            node.on_writable(caller)


def _bytes(frame: Frame, number: int, before: Sequence[Answered]) -> bytes:
    return frame.made(OPAQUE + number, before) if callable(frame.made) else frame.made
