"""A connection to a simulated node that is no connection: bytes go in by a call, and come back by one.

Half of the callers take what comes at once. The others are slow: their requests come in pieces, what changes nothing is
asked several at a time, and of the answers they take a few bytes at a time. A node must serve both alike. It may answer
several requests in any order, and later: as long as an answer is missing the node goes on, alone, for a while. Nothing
else in the trial moves then, so what others have is still what their audits found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any, NamedTuple

from ...harness.history import MS, UNREADABLE
from ...reference.core.broker import Broker
from ...reference.core.namesrv import NameServer
from ..labs.sim.evidence import Evidence
from ..labs.sim.host import Host
from ..observers.remoting_codes import STATUSES, Request
from ..observers.remoting_tap import RESPONSE, RemotingTap
from .questions import CLOSED, ENDED, Answered

OPAQUE = 1_000_003
"""Under which the first answer is awaited; each further one under the next number."""
UNANSWERED = "UNANSWERED"
"""No answer came in time."""
ANSWER_MS = 3_000
"""How long a node may take for an answer: sendMsgTimeout, the shortest timeout of RocketMQ's clients by default."""
GONE = ("crash", "abort")
"""What stays in the history of what a node does while its answer is awaited. Connections close as time passes."""
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
    may_wait: bool = False
    """Whether a correct node may answer it only after a slave, or a disk, has: nobody waits for that."""


class Caller:
    """A connection to a node, and meanwhile what the node's connections act through: keeps what comes back.

    ``dice``: of a slow caller.
    """

    def __init__(self, io: Any, dice: Random | None = None) -> None:
        self._io = io
        self._tap = RemotingTap()
        self._dice = dice
        self._room = 0
        self._came: dict[int, Answered] = {}
        """By the number of the request."""
        self._given_up: set[int] = set()
        self.asked = 0
        """Requests so far."""
        self.owed = False
        """Whether the node has bytes left that it was not asked for yet."""
        self.closed = False

    @property
    def answered(self) -> list[Answered]:
        """What came for the first requests, up to one that is still without an answer."""
        return [self._came[number] for number in range(self._next())]

    def lacks(self, number: int) -> bool:
        return number not in self._came

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
            number, status = told.opaque - OPAQUE, STATUSES.get(told.code, f"code {told.code}")
            if told.flag & RESPONSE and number in self._given_up:
                continue
            if not told.flag & RESPONSE or number not in range(self.asked) or number in self._came:
                number, status = self._next(), UNREADABLE
            self._came[number] = Answered(status, told.fields, told.body, told.remark)
        if self._tap.broken is not None:
            self.ends(UNREADABLE, self._tap.broken)
        return len(data)

    def close(self, conn: object) -> None:
        if conn is not self:
            self._io.close(conn)
            return
        self.closed = True
        self.ends(CLOSED)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._io, name)

    def ends(self, status: str, why: str | None = None) -> None:
        """This came instead of the next answer."""
        self._came[self._next()] = Answered(status, {}, b"", why)

    def give_up(self, number: int) -> None:
        """Wait no longer for this answer; if it comes nevertheless, it counts for nothing."""
        self._came[number] = Answered(UNANSWERED, {}, b"")
        self._given_up.add(number)

    def _next(self) -> int:
        return next(number for number in range(len(self._came) + 1) if number not in self._came)

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


def answers(evidence: Evidence, host: Host, frames: Sequence[Frame], dice: Random, began: int) -> list[Answered]:
    """One answer to each of the frames, which come over one connection; fewer if that, or the node, ends.

    ``began``: the history's present time. The node's own is later afterwards if it took some for its answers.
    """
    node = host.node
    if not isinstance(node, Broker | NameServer):
        return []
    peers, caller = node.peers, Caller(host, dice if dice.random() < SLOW else None)
    since = len(evidence.recorder.events)
    peers.io = caller
    # The node's own code: what it raises is its crash.
    host.call(_ask, node, caller, frames, partial(_await, host, caller))
    peers.io = host
    if host.kernel.now > began:
        unseen(evidence, since, GONE, began)
    return caller.answered


def unseen(evidence: Evidence, since: int, kept: Sequence[str], t: int) -> None:
    """Take back what was recorded since there were so many events; only such ones stay, as of ``t``."""
    events = evidence.recorder.events
    if evidence.recorder.is_stopped:
        # Nothing comes behind it.
        return
    stays = [each for each in events[since:] if each.kind in kept]
    del events[since:]
    for each in stays:
        evidence.add(t, *each[2:])


def _await(host: Host, caller: Caller, awaited: Sequence[int]) -> bool:
    """Let the node go on alone until these answers have come, or its time for them is over; whether it still runs."""
    node, until = host.node, host.kernel.now + ANSWER_MS * MS
    assert node is not None
    while any(map(caller.lacks, awaited)) and not caller.closed and host.kernel.step_of(host, until):
        while host.node is node and caller.takes_more():
            host.call(node.on_writable, caller)
        if host.node is not node:
            return False
    return True


def _ask(
    node: Broker | NameServer, caller: Caller, frames: Sequence[Frame], still_runs: Callable[[Sequence[int]], bool]
) -> None:
    node.on_accepted(caller, "main")
    at = 0
    while at < len(frames) and not caller.closed:
        asked = caller.together(frames[at:])
        try:
            data = b"".join(_bytes(each, at + number, caller.answered) for number, each in enumerate(asked))
        except (LookupError, ValueError):
            # It follows from an answer that was none.
            break
        caller.asked = at + len(asked)
        try:
            _hear(node, caller, data)
        except Exception:
            caller.ends(ENDED)
            raise
        numbers = range(at, caller.asked)
        if not still_runs([each for each in numbers if caller.lacks(each) and not frames[each].may_wait]):
            caller.ends(ENDED)
            return
        at = caller.asked
        for number in numbers if not caller.closed else ():
            if caller.lacks(number):
                caller.give_up(number)
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
