"""Visits to simulated nodes in which time passes: see ``pairproof.harness.rocketmq.conversations.long``.

They come when all nodes have been asked everything else: the rest of the world goes on meanwhile. In some trials one
node has such a visit, since a minute of a whole cluster costs as much as a small trial. Nothing of what happens then
stands in the history, but for what the visitor hears and for nodes that end; and of the time that passes neither, since
laws would miss what clients and brokers do in it.
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
from .sim_caller import ANSWER_MS, GONE, OPAQUE, UNANSWERED, unseen
from .sim_questions import kind_of

SHARE = 1 / 5
"""How many of the trials with visits have such a one."""
LONG_MS = 25_000
"""A visit that waits longer is half as likely as another one."""


class Line:
    """One of a visitor's connections: keeps what comes back."""

    def __init__(self) -> None:
        self.tap = RemotingTap()
        self.came: list[Header] = []
        self.posted: dict[int, int] = {}
        """Codes of requests that a later step hears the answers of, by their numbers."""
        self.is_stray = False
        """Whether an answer came that nobody asked for, or bytes that are no frame."""
        self.is_closed = False

    def take(self, data: bytes, asked: int | None) -> None:
        """Bytes came; ``asked``: the number under which an answer is awaited right now."""
        for each in self.tap.feed(data):
            if each.flag & RESPONSE and each.opaque != asked and each.opaque not in self.posted:
                self.is_stray = True
            else:
                self.came.append(each)
        self.is_stray |= self.tap.broken is not None

    def has(self, opaque: int) -> bool:
        """Whether the answer to what was asked under that number has come, or something that is no answer."""
        return self.is_stray or any(is_answer(each, opaque) for each in self.came)

    def has_heard(self, code: int) -> bool:
        """Whether something has come that :meth:`heard` looks for."""
        return self.is_stray or any(self._is_heard(each, code) for each in self.came)

    def _is_heard(self, told: Header, code: int) -> bool:
        return (self.posted.get(told.opaque) if told.flag & RESPONSE else told.code) == code

    def answer(self, opaque: int) -> Answered:
        """To what was asked under that number."""
        if self.is_stray:
            return Answered(UNREADABLE, {}, b"", self.tap.broken)
        for each in self.came:
            if is_answer(each, opaque):
                self.came.remove(each)
                return answered(each)
        return Answered(CLOSED if self.is_closed else UNANSWERED, {}, b"")

    def heard(self, code: int) -> Answered:
        """The first of what came that has the code, or answers a request that has; the rest is forgotten."""
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


def is_answer(told: Header, opaque: int) -> bool:
    """Whether this is an answer, and to what was asked under that number."""
    return bool(told.flag & RESPONSE) and told.opaque == opaque


def answered(told: Header) -> Answered:
    """An answer, by its name."""
    return Answered(STATUSES.get(told.code, f"code {told.code}"), told.fields, told.body, told.remark)


class Conversing:
    """All connections of a visitor, and meanwhile what the node's connections act through."""

    def __init__(self, world: World, host: Host, node: Broker | NameServer, form: Form) -> None:
        self.world, self.host, self.node, self.form = world, host, node, form
        self.lines: dict[int, Line] = {}
        self.told: list[Answered] = []
        """By step."""
        self.asked: int | None = None
        self._since = world.kernel.now
        """When the last step was done: from then on the next one waits, whenever that is answered."""

    # What the node's connections do.

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

    # What the visitor does.

    def pay(self, steps: Conversation) -> None:
        """Do the steps, until the node, or a connection that is asked, ends."""
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
        """Whether the visit goes on."""
        line = self.lines.get(step.conn)
        if line is None:
            line = self.lines[step.conn] = Line()
            self.host.call(self.node.on_accepted, line, "main")
        if step.does == CLOSES:
            self._close(line)
            self.told.append(Answered(CLOSED, {}, b""))
            return self.host.node is self.node
        code = Request[step.asks.code]
        if step.does == HEARS:
            if not step.may_be_silent:
                self._run(lambda: line.is_closed or line.has_heard(code), ANSWER_MS * MS)
            self.told.append(line.heard(code))
            return self.host.node is self.node
        opaque = OPAQUE + number
        try:
            data = conversations.framed(step, self.form, opaque, self.told)
        except (LookupError, ValueError):
            # It follows from an answer that was none.
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
            self.told.append(Answered(ENDED, {}, b""))
            return False
        self.told.append(Answered(NOTHING, {}, b"") if step.does == POSTS else line.answer(opaque))
        if self.told[-1].status == UNANSWERED:
            # Not yet: it waits for a slave, or a disk.
            line.posted[opaque] = code
        return not line.is_closed

    def _run(self, reached: Callable[[], bool], ns: int) -> None:
        """Let time pass until then, or until the node ends, or for so long."""
        self.world.run_until(lambda: self.host.node is not self.node or reached(), ns)

    def _close(self, line: Line) -> None:
        if not line.is_closed:
            line.is_closed = True
            self.host.call(self.node.on_closed, line)


def chosen(
    seed: str, nodes: Sequence[str], found: Callable[[str], Sequence[Conversation]]
) -> tuple[str, Conversation] | None:
    """Which node has which visit in this trial, if one has; ``found``: the visits that may be paid to a node."""
    dice = Random(f"{seed}/visit-in-time")
    if not nodes or dice.random() >= SHARE:
        return None
    node = dice.choice(nodes)
    drawn = found(node)
    weights = [1 if sum(step.wait_ms for step in steps) > LONG_MS else 2 for steps in drawn]
    return node, dice.choices(drawn, weights)[0]


def put(world: World, names: Sequence[str], seed: str) -> None:
    """Pay a visit in which time passes to one of these nodes, in some trials, as the seed says."""
    running = [name for name in names if isinstance(world.hosts[name].node, Broker | NameServer)]
    drawn = chosen(seed, running, lambda name: IN_TIME[kind_of(world.hosts[name].node)])
    if drawn is None:
        return
    host, evidence, kernel = world.hosts[drawn[0]], world.evidence, world.kernel
    node, incarnation = host.node, host.incarnation
    assert isinstance(node, Broker | NameServer)
    form = FORMS[Random(f"{seed}/form/{host.name}").randrange(len(FORMS))]
    began, before = kernel.now, len(world.recorder.events)
    conversing = Conversing(world, host, node, form)
    conversing.pay(drawn[1])
    # Nothing runs any more: the trial ends when the visit began.
    unseen(evidence, before, GONE, began)
    kernel.now = began
    for number, (step, answered_) in enumerate(zip(drawn[1], conversing.told, strict=False)):
        if step.does not in (POSTS, CLOSES):
            conversations.record(evidence.add, began, host.name, incarnation, step, answered_, conversing.told[:number])
