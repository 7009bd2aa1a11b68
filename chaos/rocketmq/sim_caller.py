"""Replaces a connection to a simulated node: calls pass bytes in and out.

Half of the callers take answers at once. The others are slow: their requests arrive in pieces, several read-only
requests are in flight at a time, and they take answers a few bytes at a time. A node must serve both alike. It may
answer several requests in any order, and later: while an answer is missing only the node itself continues for a while.
The rest of the trial is frozen, so the other nodes' audits stay valid.
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
"""The number of the first request; later ones count up from it."""
UNANSWERED = "UNANSWERED"
"""No answer came in time."""
ANSWER_MS = 3_000
"""Time for an answer: sendMsgTimeout, the shortest timeout of RocketMQ's clients by default."""
GONE = ("crash", "abort")
"""The node's events during a wait that stay in the history. Connections close as time passes."""
SLOW = 0.5
MOST_TOGETHER = 4
"""Requests that a slow caller has in flight."""
MOST_CUTS = 3
ROOMS = tuple(1 << power for power in range(13))
"""Bytes of answers that a slow caller takes at a time."""


class Frame(NamedTuple):
    made: bytes | Callable[[int, Sequence[Answered]], bytes]
    """Its bytes, or a function from its number and the previous answers to its bytes."""
    is_read: bool = False
    """Whether it changes nothing and depends on no answer: such requests may be in flight together."""
    may_wait: bool = False
    """Whether a correct node may answer it only after a slave or a disk has: the caller does not wait for that."""


class Caller:
    """A connection to a node, and meanwhile the effects port of the node's connections: collects its answers.

    ``dice``: of a slow caller.
    """

    def __init__(self, io: Any, dice: Random | None = None) -> None:
        self._io = io
        self._tap = RemotingTap()
        self._dice = dice
        self._room = 0
        self._answers: dict[int, Answered] = {}
        self._given_up: set[int] = set()
        self.requests = 0
        self.has_unsent = False
        self.closed = False

    @property
    def answered(self) -> list[Answered]:
        """The answers to the first requests, up to the first unanswered one."""
        return [self._answers[number] for number in range(self._next())]

    def lacks(self, number: int) -> bool:
        return number not in self._answers

    def send(self, conn: object, data: bytes) -> int:
        if conn is not self:
            return int(self._io.send(conn, data))
        if self._dice is not None and len(data) > self._room:
            data, self.has_unsent = data[: self._room], True
        self._room -= len(data)
        for header in self._tap.feed(data):
            if header.code == Request.NOTIFY_CONSUMER_IDS_CHANGED and not header.flag & RESPONSE:
                # A group of the caller has changed; this needs no answer.
                continue
            number, status = header.opaque - OPAQUE, STATUSES.get(header.code, f"code {header.code}")
            if header.flag & RESPONSE and number in self._given_up:
                continue
            if not header.flag & RESPONSE or number not in range(self.requests) or number in self._answers:
                number, status = self._next(), UNREADABLE
            self._answers[number] = Answered(status, header.fields, header.body, header.remark)
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
        """The next answer is missing for this reason."""
        self._answers[self._next()] = Answered(status, {}, b"", why)

    def give_up(self, number: int) -> None:
        self._answers[number] = Answered(UNANSWERED, {}, b"")
        self._given_up.add(number)

    def _next(self) -> int:
        return next(number for number in range(len(self._answers) + 1) if number not in self._answers)

    def next_frames(self, frames: Sequence[Frame]) -> Sequence[Frame]:
        most = 1 if self._dice is None else self._dice.randint(1, MOST_TOGETHER)
        reads = next((at for at, each in enumerate(frames[:most]) if not each.is_read), most)
        return frames[: max(1, reads)]

    def pieces(self, data: bytes) -> Iterator[bytes]:
        at = 0
        cuts = [] if self._dice is None else [self._dice.randrange(len(data) + 1) for _ in range(MOST_CUTS)]
        for end in (*sorted(cuts), len(data)):
            if end > at or not data:
                yield data[at:end]
            at = end

    def takes_more(self) -> bool:
        """Whether the node can continue with its unsent bytes."""
        has_unsent, self.has_unsent = self.has_unsent and not self.closed, False
        if has_unsent and self._dice is not None:
            self._room = self._dice.choice(ROOMS)
        return has_unsent


def answers(evidence: Evidence, host: Host, frames: Sequence[Frame], dice: Random, began: int) -> list[Answered]:
    """One answer to each of the frames, which arrive over one connection; fewer if that, or the node, ends.

    ``began``: the history's present time. The node's own time is later if it needed some for its answers.
    """
    node = host.node
    if not isinstance(node, Broker | NameServer):
        return []
    peers, caller = node.peers, Caller(host, dice if dice.random() < SLOW else None)
    since = len(evidence.recorder.events)
    peers.io = caller
    # The node's own code: an exception is its crash.
    host.call(_ask, node, caller, frames, partial(_await, host, caller))
    peers.io = host
    if host.kernel.now > began:
        remove_events(evidence, since, GONE, began)
    return caller.answered


def remove_events(evidence: Evidence, since: int, kept: Sequence[str], t: int) -> None:
    """Remove the events recorded since ``since``, except for the ``kept`` types, which get time ``t``."""
    events = evidence.recorder.events
    if evidence.recorder.is_stopped:
        # It is the last event.
        return
    stays = [each for each in events[since:] if each.kind in kept]
    del events[since:]
    for each in stays:
        evidence.add(t, *each[2:])


def _await(host: Host, caller: Caller, awaited: Sequence[int]) -> bool:
    """Run the node alone until these answers arrive, or their time is over; returns whether it still runs."""
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
        requests = caller.next_frames(frames[at:])
        try:
            data = b"".join(_bytes(each, at + number, caller.answered) for number, each in enumerate(requests))
        except (LookupError, ValueError):
            # It depends on a failed answer.
            break
        caller.requests = at + len(requests)
        try:
            _hear(node, caller, data)
        except Exception:
            caller.ends(ENDED)
            raise
        numbers = range(at, caller.requests)
        if not still_runs([each for each in numbers if caller.lacks(each) and not frames[each].may_wait]):
            caller.ends(ENDED)
            return
        at = caller.requests
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
