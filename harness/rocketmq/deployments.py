"""What a fault costs a deployment, of what producers were told is stored: the measure of one trial.

Counted are the sends that were answered with PUT_OK before the fault began, whichever broker name they went to:

- **lost**: no broker's log holds them when the trial ends.
- **stranded**: the pair's master does not hold them when the trial ends, and a slave does: consumers of a master that
  is back do not get them.
- **readable**: delivered to some reader or consumer while the fault lasted; **unavailable**: all others. A trial in
  which nobody read meanwhile knows neither.

Of the sends that were invoked while the fault lasted: how many were **tried**, **accepted** (PUT_OK), and only
**stored** (another status that says so: there was no second copy, or no flush, in time).

A trial has one cost at most: of its faults at brokers of the pair that took one of them down or had it stand still.
Where there were several of them, the time from the first one's begin to the last one's end counts. Where any other
fault overlaps that time the cost goes by the name :data:`SEVERAL`: the cost of each is not known.

Left out: how long readers took to find a broker that serves (``rto_ns`` and law ``role-read-failover`` look at that);
what became of messages of the other broker name, whose store no lab reads: they count as kept. That name's master goes
on, it stands for all the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from pairproof.harness.history import Event
from pairproof.harness.rocketmq.contract import PUT_OK, STORED
from pairproof.harness.rocketmq.known.audits import Audits
from pairproof.harness.rocketmq.naming import the
from pairproof.harness.rocketmq.objectives import SEVERAL
from pairproof.harness.rocketmq.places import MASTER, NODES, OTHER, SLAVES
from pairproof.harness.rocketmq.settings import parse

DOWN = frozenset(("crash", "stop", "wipe", "pause"))
"""Kinds of event by which a fault takes a broker away."""
NAMES = tuple(
    f"{masters}{slaves}"
    for slaves in ("", ", asynchronous slaves", ", synchronous slaves")
    for masters in ("single master", "several masters")
)
"""Of deployments, those that keep the least first."""
OUTCOMES = ("lost", "stranded", "unavailable", "readable", "tried", "accepted", "stored")
"""What is counted, beside ``acknowledged``."""
UNTOLD = {"unaudited": ("lost", "stranded"), "unread": ("unavailable", "readable")}
"""The columns that say a trial does not tell, and which outcomes are then 0 and mean nothing."""


class Cost(NamedTuple):
    """One trial's; a row that engines can sum."""

    deployment: str
    """See :func:`deployment`."""
    mode: str
    """The master's flushDiskType."""
    fault: str
    """Its name and its node, or :data:`SEVERAL`."""
    acknowledged: int
    lost: int
    stranded: int
    unaudited: int
    """1 where no final audit lists what the master has."""
    unavailable: int
    readable: int
    unread: int
    """1 where nobody read while the fault lasted."""
    tried: int
    accepted: int
    stored: int

    def outcome(self, name: str) -> int | None:
        """One of :data:`OUTCOMES`; None where the trial does not tell."""
        untold = any(getattr(self, each) and name in outcomes for each, outcomes in UNTOLD.items())
        return None if untold else int(getattr(self, name))


def measure(events: Iterable[Event]) -> Cost | None:
    """The cost in one trial, of its events in ``seq`` order; None where no fault took a broker of the pair away."""
    seen = _Seen()
    for event in events:
        if (hear := seen.told.get(event.kind)) is not None:
            hear(event)
        seen.last = event
    return seen.cost()


def deployment(roles: Sequence[tuple[str, str]]) -> str:
    """RocketMQ's name for what these brokers are together: ``roles`` has each one's node and brokerRole."""
    slaves = ""
    if any(node in SLAVES for node, _ in roles):
        slaves = ", synchronous slaves" if (MASTER, "SYNC_MASTER") in roles else ", asynchronous slaves"
    return f"{'several masters' if any(node == OTHER for node, _ in roles) else 'single master'}{slaves}"


class _Span(NamedTuple):
    """When a fault lasts: from ``lo`` to ``hi`` by ``seq``."""

    lo: int
    hi: int


class _Seen:
    """Bounded by the sends, deliveries and faults of one trial."""

    def __init__(self) -> None:
        self.roles: list[tuple[str, str]] = []
        self.flush = "ASYNC_FLUSH"
        self.last: Event | None = None
        self.began: dict[int | None, Event] = {}
        self.ended: dict[int | None, Event] = {}
        """Faults by number."""
        self.hurt: set[int | None] = set()
        """Those that took a broker away."""
        self.asked: dict[int | None, Event] = {}
        """Sends, by their invocation."""
        self.answers: list[Event] = []
        """Those that say the message is stored."""
        self.reads: list[Event] = []
        """Pulls, by their invocation, and deliveries."""
        self.audits = Audits()
        self.told: dict[str, Callable[[Event], None]] = {
            "config": self._configured, "fault": self._fault, "invoke": self._invoked, "ok": self._answered,
            "deliver": self.reads.append, "record": self.audits.record, "audit": self.audits.audit,
            **dict.fromkeys(DOWN, self._went),
        }  # fmt: skip

    def cost(self) -> Cost | None:
        spans = [self._span(op) for op in self.hurt]
        if not spans:
            return None
        span = _Span(min(each.lo for each in spans), max(each.hi for each in spans))
        before = [each for each in self.answers if each.seq < span.lo and each.status == PUT_OK]
        kept = {each.message for each in before if each.node == OTHER}
        acknowledged = {each.message for each in before}
        lost = stranded = 0
        if MASTER in self.audits.final:
            held = self.audits.held_elsewhere()
            lost = len(acknowledged - kept - held)
            stranded = len((acknowledged - kept) & held - self.audits.held(MASTER))
        meanwhile = [each for each in self.reads if span.lo < each.seq < span.hi]
        readable = len(acknowledged & {each.message for each in meanwhile if each.kind == "deliver"})
        unavailable = len(acknowledged) - readable if meanwhile else 0
        tried = {op for op, each in self.asked.items() if span.lo < each.seq < span.hi}
        told = [each.status for each in self.answers if each.op in tried]
        accepted = told.count(PUT_OK)
        return Cost(
            deployment(self.roles), self.flush, self._name(span), len(acknowledged),
            lost, stranded, int(MASTER not in self.audits.final), unavailable, readable, int(not meanwhile),
            len(tried), accepted, len(told) - accepted,
        )  # fmt: skip

    def _span(self, op: int | None) -> _Span:
        """A fault that the trial did not outlive lasts beyond its last event."""
        begin, end, last = self.began[op], self.ended.get(op), self.last
        assert last is not None
        return _Span(begin.seq, end.seq if end else last.seq + 1)

    def _name(self, span: _Span) -> str:
        during = [op for op in self.began if (own := self._span(op)).lo <= span.hi and span.lo <= own.hi]
        if len(during) > 1:
            return SEVERAL
        begin = self.began[during[0]]
        return f"{begin.f} of {the(begin.node)}"

    def _configured(self, event: Event) -> None:
        said = parse(event.detail or "{}")
        self.roles.append((event.node or "", str(said.get("brokerRole", ""))))
        if event.node == MASTER:
            self.flush = str(said.get("flushDiskType", self.flush))

    def _fault(self, event: Event) -> None:
        (self.began if event.status == "on" else self.ended)[event.op] = event

    def _went(self, event: Event) -> None:
        if event.node in NODES:
            self.hurt |= {op for op, each in self.began.items() if op not in self.ended and each.node in NODES}

    def _invoked(self, event: Event) -> None:
        if event.f == "send":
            self.asked[event.op] = event
        elif event.f == "pull":
            self.reads.append(event)

    def _answered(self, event: Event) -> None:
        if event.f == "send" and event.status in STORED:
            self.answers.append(event)
