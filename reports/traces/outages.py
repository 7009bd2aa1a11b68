"""What it cost to lose a broker, and what each trial lost at last: the rows behind "what each deployment loses".

An *outage* begins when a node of the pair goes down (killed, out of power, stopped) or its store is replaced, and ends
with its next start; what happens to it meanwhile is a part of the same outage, whose cause is the worst of it. It is
told under the fault that did it (:func:`pairproof.harness.rocketmq.objectives.blamed`). What stores lost is
:mod:`pairproof.harness.rocketmq.losses`': of the messages that producers were told are stored (PUT_OK). A message that
is on no broker at the end is told at the last outage in which a node lost it.

The master is *unavailable* from the beginning of its outage to the first stored answer to a send that began after it.
As clients see nothing between two sends, that is an upper bound. *Meanwhile* is until then, or for a slave until it is
back. Left out: the brokers of another name, but for what clients got from them meanwhile.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ...harness.history import Event
from ...harness.kinds.client import Deliver, Fail, Info, Invoke, Ok
from ...harness.kinds.node import Crash, Start, Stop, Wipe
from ...harness.rocketmq import losses
from ...harness.rocketmq.contract import PUT_OK, STORED
from ...harness.rocketmq.known.replay import Reader
from ...harness.rocketmq.objectives import blamed, cause_of
from ...harness.rocketmq.places import MASTER, NODES, SLAVES
from .faults import idle, label

CAUSES = ("stop", "process", "own", "machine", "wipe", "image", "promotion")
"""What can end a node, mildest first: stopped, killed, ended by itself, out of power; its store emptied, replaced by an
older one, or by that of a slave which takes its place."""

SLAVE = SLAVES[0]


class Outage(NamedTuple):
    """One node away."""

    node: str
    """master or slave: slaves are alike."""
    cause: str
    fault: str
    outages: int
    """1: the sums count them."""
    acknowledged: int
    """Messages that producers had been told are stored, at its beginning."""
    gone: int
    """How many of them this node's log lost."""
    gone_bytes: int
    lost: int
    """How many of those are on no broker at the end; 0 where that is not known."""
    unknown: int
    """1 where it is not known, since no final audit lists what the master has."""
    not_back: int
    """1 if it did not start again."""
    put_ok: int
    """Meanwhile: sends that began and were answered with PUT_OK by any broker;"""
    stored: int
    """as stored, with a doubt about the disk or the slaves;"""
    failed: int
    """refused, or not answered;"""
    read: int
    """messages that consumers and readers got."""
    unavailable_ns: int | None
    """Of a master; None if no send was stored afterwards."""


class Loss(NamedTuple):
    """One trial."""

    fault: str
    """The fault that took effect in it, or several, or none."""
    acknowledged: int
    lost: int
    """Acknowledged messages that are on no broker at the end; 0 where that is not known."""
    unknown: int
    losing: int
    """1 if it lost one."""


class _Away:
    """An outage under way."""

    def __init__(self, event: Event, fault: str, acknowledged: int) -> None:
        self.node, self.seq, self.t = event.node or "", event.seq, event.t
        self.cause, self.fault = cause_of(event), fault
        self.acknowledged = acknowledged
        self.ops: set[int | None] = set()
        self.gone_bytes = self.lost = 0
        self.is_back = False
        self.unavailable_ns: int | None = None
        self.put_ok = self.stored = self.failed = self.read = 0

    @property
    def is_over(self) -> bool:
        """Whether clients' answers do not count for it any more."""
        return self.unavailable_ns is not None if self.node == MASTER else self.is_back

    def hear(self, event: Event, asked: int, lost: int) -> None:
        """Take in an answer to a send, or a delivery; ``asked``: the ``seq`` at which it was asked for; ``lost``: that
        of the master's last loss, after which an answer from before says nothing of the master."""
        if event.kind == "deliver":
            self.read += 1
        elif asked > self.seq:
            kept = event.kind == "ok" and event.status in STORED
            self.put_ok += kept and event.status == PUT_OK
            self.stored += kept and event.status != PUT_OK
            self.failed += not kept
            if kept and event.node == self.node == MASTER and asked > lost:
                self.unavailable_ns = event.t - self.t

    def row(self, unknown: bool) -> Outage:
        return Outage(
            MASTER if self.node == MASTER else SLAVE, self.cause, self.fault, 1, self.acknowledged, len(self.ops),
            self.gone_bytes, self.lost, int(unknown), int(not self.is_back), self.put_ok, self.stored, self.failed,
            self.read, self.unavailable_ns,
        )  # fmt: skip


def measure(events: Sequence[Event]) -> tuple[list[Outage], Loss]:
    """The outages of one trial's events, in ``seq`` order, and what the trial lost."""
    seen = _Measured().read(events)
    found = losses.trace(events)
    seen.attribute(found)
    hit_nothing = idle(events)
    names = {str(each.f) for each in events if each.kind == "fault" and each.op not in hit_nothing}
    unknown, lost = found.losses.nowhere is None, found.losses.nowhere or 0
    whole = Loss(label(names), found.losses.acknowledged, lost, int(unknown), int(lost > 0))
    return [each.row(unknown) for each in seen.outages], whole


class _Measured(Reader):
    """Bounded by the sends, faults and outages of one trial."""

    asks = frozenset(("fault",))

    def __init__(self) -> None:
        super().__init__()
        self.outages: list[_Away] = []
        self.down: dict[str, _Away] = {}
        self.asked: dict[int, int] = {}
        self.acknowledged = 0
        self.lost = -1

    def on_crash(self, event: Crash | Stop | Wipe) -> None:
        node = event.node
        if node not in NODES:
            return
        self.lost = event.seq if node == MASTER else self.lost
        away = self.down.get(node)
        if away is None:
            away = self.down[node] = _Away(event, blamed(self.known, node), self.acknowledged)
            self.outages.append(away)
        away.cause = max(away.cause, cause_of(event), key=CAUSES.index)

    on_stop = on_wipe = on_crash

    def on_start(self, event: Start) -> None:
        if (away := self.down.pop(event.node, None)) is not None:
            away.is_back = True

    def on_invoke(self, event: Invoke) -> None:
        if event.f == "send":
            self.asked[event.op] = event.seq

    def on_deliver(self, event: Deliver) -> None:
        self._answered(event, event.seq)

    def on_ok(self, event: Fail | Info | Ok) -> None:
        if event.f == "send":
            self._answered(event, self.asked.pop(event.op, event.seq))
            if event.kind == "ok" and event.status == PUT_OK and event.node == MASTER:
                self.acknowledged += 1

    on_fail = on_info = on_ok

    def _answered(self, event: Event, asked: int) -> None:
        for away in self.outages:
            if not away.is_over:
                away.hear(event, asked, self.lost)

    def attribute(self, found: losses.Traced) -> None:
        """Say at which outage what was lost: a message that is nowhere at the last one in which a node lost it."""
        last: dict[int | None, _Away] = {}
        for taken in found.taken:
            before = [each for each in self.outages if each.node == taken.node and each.seq <= taken.seq]
            if before:
                before[-1].ops |= taken.ops
                before[-1].gone_bytes += taken.bytes
                last |= dict.fromkeys(taken.ops, before[-1])
        for op in found.missing:
            if op in last:
                last[op].lost += 1
