"""Long-running conversations with simulated nodes: see ``pairproof.harness.rocketmq.conversations.long``.

They start after all other questions to all nodes; the rest of the world continues meanwhile. In some trials one node
has such a conversation, since a minute of a whole cluster costs as much as a small trial. Its time and events are
removed from the history, except for the received answers and for nodes that end: laws would miss the clients' and
brokers' actions in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from ...harness.history import MS, UNREADABLE
from ...harness.rocketmq.conversations import IN_TIME
from ...harness.rocketmq.conversations.served import NOTHING, TOLD
from ...harness.rocketmq.conversations.steps import CLOSES, HEARS, POSTS, Conversation, Step
from ...reference.core.broker import Broker
from ...reference.core.namesrv import NameServer
from ..labs.sim.host import Host
from ..labs.sim.world import World
from ..observers.remoting_codes import STATUSES, Request
from ..observers.remoting_tap import RESPONSE, Header, RemotingTap
from . import conversations
from .frames import FORMS, Form
from .questions import CLOSED, ENDED, Answered
from .sim_caller import ANSWER_MS, GONE, OPAQUE, UNANSWERED, remove_events
from .sim_questions import type_of

SHARE = 1 / 5
"""Fraction of trials with conversations that have a long one."""
LONG_MS = 25_000
"""A conversation with a longer wait is half as likely."""


class Line:
    def __init__(self) -> None:
        self.tap = RemotingTap()
        self.came: list[Header] = []
        self.posted: dict[int, int] = {}
        """By number: codes of requests whose answers a later step reads."""
        self.is_stray = False
        self.is_closed = False

    def take(self, data: bytes, asked: int | None) -> None:
        """Bytes arrived; ``asked``: the number of the request that waits right now."""
        for each in self.tap.feed(data):
            if each.flag & RESPONSE and each.opaque != asked and each.opaque not in self.posted:
                self.is_stray = True
            else:
                self.came.append(each)
        self.is_stray |= self.tap.broken is not None

    def has(self, opaque: int) -> bool:
        """Whether the answer to this request, or an invalid one, has arrived."""
        return self.is_stray or any(is_answer(each, opaque) for each in self.came)

    def has_received(self, code: int) -> bool:
        """Whether a frame for :meth:`received` has arrived."""
        return self.is_stray or any(self._is_heard(each, code) for each in self.came)

    def _is_heard(self, header: Header, code: int) -> bool:
        return (self.posted.get(header.opaque) if header.flag & RESPONSE else header.code) == code

    def answer(self, opaque: int) -> Answered:
        """To the request of this number."""
        if self.is_stray:
            return Answered(UNREADABLE, {}, b"", self.tap.broken)
        for each in self.came:
            if is_answer(each, opaque):
                self.came.remove(each)
                return answered(each)
        return Answered(CLOSED if self.is_closed else UNANSWERED, {}, b"")

    def received(self, code: int) -> Answered:
        """The first received frame with this code, or in answer to a request with it; the others are dropped."""
        came, self.came = self.came, []
        if self.is_stray:
            return Answered(UNREADABLE, {}, b"", self.tap.broken)
        for each in came:
            is_heard = self._is_heard(each, code)
            if each.flag & RESPONSE:
                self.posted.pop(each.opaque, None)
            if is_heard:
                return answered(each) if each.flag & RESPONSE else Answered(TOLD, each.fields, each.body, each.remark)
        return Answered(CLOSED if self.is_closed else NOTHING, {}, b"")


def is_answer(header: Header, opaque: int) -> bool:
    """Whether this is an answer to the request of this number."""
    return bool(header.flag & RESPONSE) and header.opaque == opaque


def answered(header: Header) -> Answered:
    """An answer, by its status name."""
    return Answered(STATUSES.get(header.code, f"code {header.code}"), header.fields, header.body, header.remark)


class Conversing:
    """All connections of a conversation, and meanwhile the effects port of the node's connections."""

    def __init__(self, world: World, host: Host, node: Broker | NameServer, form: Form) -> None:
        self.world, self.host, self.node, self.form = world, host, node, form
        self.lines: dict[int, Line] = {}
        self.answers: list[Answered] = []
        self.asked: int | None = None
        self._since = world.kernel.now
        """End of the last step: the next one's wait counts from here, whenever it is answered."""

    # Effects of the node's connections.

    def send(self, conn: object, data: bytes) -> int:
        if not isinstance(conn, Line):
            return int(self.host.send(conn, data))  # type: ignore[arg-type]
        conn.take(data, self.asked)
        return len(data)

    def close(self, conn: object) -> None:
        if isinstance(conn, Line):
            conn.is_closed = True
        else:
            self.host.close(conn)  # type: ignore[arg-type]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.host, name)

    # Actions of the client.

    def hold(self, steps: Conversation) -> None:
        self.node.peers.io = self
        for number, step in enumerate(steps):
            if step.wait_ms:
                self._run(lambda: False, self._since + step.wait_ms * MS - self.world.kernel.now)
            self._since = self.world.kernel.now
            if self.host.node is not self.node or not self._does(number, step):
                break
        if self.host.node is self.node:
            for line in self.lines.values():
                self._close(line)
            self.node.peers.io = self.host

    def _does(self, number: int, step: Step) -> bool:
        line = self.lines.get(step.conn)
        if line is None:
            line = self.lines[step.conn] = Line()
            self.host.call(self.node.on_accepted, line, "main")
        if step.does == CLOSES:
            self._close(line)
            self.answers.append(Answered(CLOSED, {}, b""))
            return self.host.node is self.node
        code = Request[step.asks.code]
        if step.does == HEARS:
            if not step.may_be_silent:
                self._run(lambda: line.is_closed or line.has_received(code), ANSWER_MS * MS)
            self.answers.append(line.received(code))
            return self.host.node is self.node
        opaque = OPAQUE + number
        try:
            data = conversations.framed(step, self.form, opaque, self.answers)
        except (LookupError, ValueError):
            # It depends on a failed answer.
            return False
        if step.does == POSTS:
            line.posted[opaque] = code
        self.asked = opaque
        if not line.is_closed:
            self.host.call(self.node.on_bytes, line, data)
            if step.does != POSTS and not step.may_be_silent:
                self._run(lambda: line.is_closed or line.has(opaque), ANSWER_MS * MS)
        self.asked = None
        if self.host.node is not self.node:
            self.answers.append(Answered(ENDED, {}, b""))
            return False
        self.answers.append(Answered(NOTHING, {}, b"") if step.does == POSTS else line.answer(opaque))
        if self.answers[-1].status == UNANSWERED:
            # Not yet: it waits for a slave, or a disk.
            line.posted[opaque] = code
        return not line.is_closed

    def _run(self, reached: Callable[[], bool], ns: int) -> None:
        """Let time pass until the condition holds, the node ends, or the limit."""
        self.world.run_until(lambda: self.host.node is not self.node or reached(), ns)

    def _close(self, line: Line) -> None:
        if not line.is_closed:
            line.is_closed = True
            self.host.call(self.node.on_closed, line)


def chosen(
    seed: str, nodes: Sequence[str], found: Callable[[str], Sequence[Conversation]]
) -> tuple[str, Conversation] | None:
    """The node and its conversation in this trial, if any; ``found``: the possible conversations of a node."""
    dice = Random(f"{seed}/visit-in-time")
    if not nodes or dice.random() >= SHARE:
        return None
    node = dice.choice(nodes)
    drawn = found(node)
    weights = [1 if sum(step.wait_ms for step in steps) > LONG_MS else 2 for steps in drawn]
    return node, dice.choices(drawn, weights)[0]


def put(world: World, names: Sequence[str], seed: str) -> None:
    """In some trials, as the seed says, hold a long conversation with one of these nodes."""
    running = [name for name in names if isinstance(world.hosts[name].node, Broker | NameServer)]
    drawn = chosen(seed, running, lambda name: IN_TIME[type_of(world.hosts[name].node)])
    if drawn is None:
        return
    host, evidence, kernel = world.hosts[drawn[0]], world.evidence, world.kernel
    node, incarnation = host.node, host.incarnation
    assert isinstance(node, Broker | NameServer)
    form = FORMS[Random(f"{seed}/form/{host.name}").randrange(len(FORMS))]
    began, before = kernel.now, len(world.recorder.events)
    conversing = Conversing(world, host, node, form)
    conversing.hold(drawn[1])
    # Nothing runs now: the trial ends at the time when the conversation began.
    remove_events(evidence, before, GONE, began)
    kernel.now = began
    for number, (step, answered_) in enumerate(zip(drawn[1], conversing.answers, strict=False)):
        if step.does not in (POSTS, CLOSES):
            conversations.record(
                evidence.add, began, host.name, incarnation, step, answered_, conversing.answers[:number]
            )
