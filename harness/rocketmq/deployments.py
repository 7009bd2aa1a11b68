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

from collections.abc import Sequence
from typing import NamedTuple

from ..history import Event
from ..kinds.client import Deliver, Invoke, Ok
from ..kinds.machine import Fault, Pause
from ..kinds.node import Crash, Stop, Wipe
from .contract import PUT_OK, STORED
from .known.replay import Reader
from .naming import the
from .objectives import SEVERAL
from .places import MASTER, NODES, OTHER, SLAVES

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


def measure(events: Sequence[Event]) -> Cost | None:
    """The cost in one trial, of its events in ``seq`` order; None where no fault took a broker of the pair away."""
    return _Measured(events).read(events).cost()


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


class _Measured(Reader):
    """Bounded by the sends, deliveries and faults of one trial."""

    asks = frozenset(("config", "record", "audit"))

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__()
        self.end = events[-1].seq + 1 if events else 0
        """A fault that the trial did not outlive lasts beyond its last event."""
        self.faults: dict[int, _Span] = {}
        self.began: dict[int, Fault] = {}
        self.hurt: set[int] = set()
        """Faults, by number, that took a broker away."""
        self.tried: dict[int, int] = {}
        """Sends, and the ``seq`` of their invocation."""
        self.answers: list[Ok] = []
        """Those that say the message is stored."""
        self.reads: list[Deliver | Invoke] = []
        """Pulls, by their invocation, and deliveries."""

    def cost(self) -> Cost | None:
        if not self.hurt:
            return None
        spans = [self.faults[number] for number in self.hurt]
        span = _Span(min(each.lo for each in spans), max(each.hi for each in spans))
        audits = self.known.audits
        before = [each for each in self.answers if each.seq < span.lo and each.status == PUT_OK]
        kept = {each.message for each in before if each.node == OTHER}
        acknowledged = {each.message for each in before}
        lost = stranded = 0
        if MASTER in audits.final:
            held = audits.held_elsewhere()
            lost = len(acknowledged - kept - held)
            stranded = len((acknowledged - kept) & held - audits.held(MASTER))
        meanwhile = [each for each in self.reads if span.lo < each.seq < span.hi]
        readable = len(acknowledged & {each.message for each in meanwhile if each.kind == "deliver"})
        unavailable = len(acknowledged) - readable if meanwhile else 0
        tried = {op for op, seq in self.tried.items() if span.lo < seq < span.hi}
        told = [each.status for each in self.answers if each.op in tried]
        config = self.known.config
        roles = [(node, str(said.get("brokerRole", ""))) for node, said in config.items()]
        flush = str(config.get(MASTER, {}).get("flushDiskType", "ASYNC_FLUSH"))
        accepted = told.count(PUT_OK)
        return Cost(
            deployment(roles), flush, self._name(span), len(acknowledged),
            lost, stranded, int(MASTER not in audits.final), unavailable, readable, int(not meanwhile),
            len(tried), accepted, len(told) - accepted,
        )  # fmt: skip

    def _name(self, span: _Span) -> str:
        during = [number for number, own in self.faults.items() if own.lo <= span.hi and span.lo <= own.hi]
        if len(during) > 1:
            return SEVERAL
        begin = self.began[during[0]]
        return f"{begin.f} of {the(begin.node)}"

    def on_fault(self, event: Fault) -> None:
        number = event.number
        if event.status == "on":
            self.began[number] = event
            self.faults[number] = _Span(event.seq, self.end)
        elif number in self.faults:
            self.faults[number] = self.faults[number]._replace(hi=event.seq)

    def on_crash(self, event: Crash | Pause | Stop | Wipe) -> None:
        if event.node in NODES:
            lasting = (number for number, each in self.faults.items() if each.hi == self.end)
            self.hurt.update(number for number in lasting if self.began[number].node in NODES)

    on_stop = on_wipe = on_pause = on_crash

    def on_invoke(self, event: Invoke) -> None:
        if event.f == "send":
            self.tried[event.op] = event.seq
        elif event.f == "pull":
            self.reads.append(event)

    def on_deliver(self, event: Deliver) -> None:
        self.reads.append(event)

    def on_ok(self, event: Ok) -> None:
        if event.f == "send" and event.status in STORED:
            self.answers.append(event)
