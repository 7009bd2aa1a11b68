"""RPO and RTO of one trial, and how long a slave needs to catch up: defined by events, so that labs can be compared.

A *loss of the master* is its ``crash``, ``stop`` or ``wipe``. At that moment:

- **RPO** is what would be missing if the slaves had to go on alone: the sends *at stake* that no slave's log holds.
  At stake is a send that was answered with a stored status before that moment and whose bytes the master's log still
  held (what an earlier loss, or retention, took is not counted twice). A slave's log holds it if it spans [lo, hi) with
  the master's bytes: what a slave keeps above a point at which the master's log was cut is a history of its own, until
  the slave's log is cut there too. A slave that is down counts, less the bytes that its crash took: it can be started.
  In messages, in bytes (of their records), and in ns: how long ago the oldest of them was answered. 0 if all are held,
  None where no slave's log was ever seen.
- **RTO** is the time from that moment to the first ``ok`` of a send that began after it. Clients see nothing between
  two sends, so it is an upper bound. None: none came before the history ended (it is open).

A slave *returns* with its ``start`` after a loss of its own, or its ``resume`` after a ``pause``. **Catch-up** is the
time from there until its log, free of bytes that the master has not, reaches the master's end; 0 if it returns so, None
if it goes down again, or the history ends, before.

``fault`` is the fault that did it: of those active, the last that began on this node, else the last that began at all.
Left out: other broker names and name servers, which no slave stands in for; answers that were on their way when the
master was lost, and bytes that a slave reads from a connection to a master that is no more. Source: the usual meaning
of the two objectives; statuses are the durability contract's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from pairproof.harness.history import BY_THEMSELVES, Event
from pairproof.harness.rocketmq.contract import STORED
from pairproof.harness.rocketmq.places import MASTER, NAMES, OTHER
from pairproof.harness.rocketmq.settings import parse

APART = frozenset((NAMES, OTHER))
"""Nodes whose losses are none of the pair's. A fault there may still be what hurt the pair."""
HURT = frozenset(("crash", "stop", "wipe", "pause"))
"""Kinds without which a trial has no row."""
MAX_ROWS = 1_000
"""Of one trial; later losses are not measured."""
NO_FAULT = "none"
SEVERAL = "several faults"
"""In a fault's place where faults overlap: the cause is not known."""


class Row(NamedTuple):
    """One loss of the master, or one return of a slave: the columns of table ``objectives`` after run and trial."""

    node: str
    cause: str
    """process, machine (crashes), stop, wipe, image (an older one), promotion (a slave's store instead), pause."""
    fault: str
    role: str
    """The master's brokerRole."""
    flush: str
    """The master's flushDiskType."""
    seq: int
    at_ns: int
    answered: int | None = None
    """Sends at stake, held by a slave or not."""
    rpo_messages: int | None = None
    rpo_bytes: int | None = None
    rpo_ns: int | None = None
    rto_ns: int | None = None
    catch_up_ns: int | None = None


def measure(events: Sequence[Event]) -> list[Row]:
    """The rows of one trial's events, in ``seq`` order: usually none, which costs a look at the kinds."""
    if HURT.isdisjoint([event.kind for event in events]):
        return []
    seen = _Seen()
    told = seen.told
    for event in events:
        if (hear := told.get(event.kind)) is not None and (event.node not in APART or event.kind == "fault"):
            hear(event)
    return seen.rows


class _Log:
    """What is known of a slave's log: [start, end), and ``common``, where its bytes stop being the master's."""

    __slots__ = ("common", "end", "start")

    def __init__(self) -> None:
        self.start: int | None = None
        self.end = 0
        self.common: int | None = None

    def holds(self, lo: int, hi: int) -> bool:
        end = self.end if self.common is None else min(self.common, self.end)
        return self.start is not None and self.start <= lo and hi <= end

    def ends(self, end: int) -> None:
        self.end = end
        if self.common is not None and end <= self.common:
            self.common = None


class _Send(NamedTuple):
    lo: int
    hi: int
    answered_ns: int


class _Seen:
    """Bounded by the sends, faults and nodes of one trial."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.role, self.flush = "ASYNC_MASTER", "ASYNC_FLUSH"
        self.faults: dict[int | None, Event] = {}
        self.asked: dict[int | None, int] = {}
        self.sends: dict[int | None, _Send] = {}
        self.master_end = 0
        self.lost_seq = -1
        self.slaves: dict[str, _Log] = {}
        self.away: dict[str, tuple[str, str]] = {}
        """Slaves that are down or paused: cause and fault."""
        self.waiting: list[int] = []
        """Rows whose RTO is open."""
        self.catching: dict[str, int] = {}
        """Slaves that are back, and their rows."""
        self.told: dict[str, Callable[[Event], None]] = {
            "config": self.on_config, "fault": self.on_fault, "invoke": self.on_invoke, "ok": self.on_ok,
            "start": self.on_start, "append": self.on_append, "expire": self.on_expire, "resume": self.on_resume,
            "crash": self.on_loss, "stop": self.on_loss, "wipe": self.on_loss, "pause": self.on_pause,
        }  # fmt: skip

    def on_config(self, event: Event) -> None:
        if event.node == MASTER:
            said = parse(event.detail or "{}")
            self.role = str(said.get("brokerRole", self.role))
            self.flush = str(said.get("flushDiskType", self.flush))

    def on_fault(self, event: Event) -> None:
        if event.status == "on":
            self.faults[event.op] = event
        else:
            self.faults.pop(event.op, None)

    def on_invoke(self, event: Event) -> None:
        if event.f == "send":
            self.asked[event.op] = event.seq

    def on_ok(self, event: Event) -> None:
        if event.f != "send" or event.status not in STORED or event.node != MASTER:
            return
        asked = self.asked.get(event.op, -1)
        if asked < self.lost_seq:
            # Promised by a master that is no more: it arrived too late to count.
            return
        if event.lo is not None and event.hi is not None:
            self.sends[event.op] = _Send(event.lo, event.hi, event.t)
        for at in self.waiting:
            self.rows[at] = self.rows[at]._replace(rto_ns=event.t - self.rows[at].at_ns)
        self.waiting.clear()

    def on_append(self, event: Event) -> None:
        node, hi = event.node or "", event.hi or 0
        if node == MASTER:
            self.master_end = hi
            return
        log = self.slaves.setdefault(node, _Log())
        if log.start is None:
            log.start = event.lo
        log.end = hi
        if self.catching:
            self._caught_up(event.t)

    def on_start(self, event: Event) -> None:
        node, lo, hi = event.node or "", event.lo, event.hi
        if node == MASTER:
            if hi is not None:
                self._master_ends(hi)
            self.on_expire(event)
        else:
            log = self.slaves.setdefault(node, _Log())
            if hi is not None:
                log.ends(hi)
                # An empty log begins wherever its first bytes go.
                log.start = lo if hi != lo else None
            self._returned(event)
        self._caught_up(event.t)

    def on_resume(self, event: Event) -> None:
        if event.node != MASTER:
            self._returned(event)
            self._caught_up(event.t)

    def on_expire(self, event: Event) -> None:
        lo = event.lo or 0
        if event.node == MASTER:
            if lo:
                self.sends = {op: send for op, send in self.sends.items() if send.lo >= lo}
        elif (log := self.slaves.get(event.node or "")) is not None:
            log.start = lo

    def on_pause(self, event: Event) -> None:
        if event.node != MASTER:
            self._goes_away(event, "pause")

    def on_loss(self, event: Event) -> None:
        cause = cause_of(event)
        if event.node == MASTER:
            self._lose(event, cause)
            if event.kind == "wipe":
                self._master_ends(event.hi or 0)
            elif event.value:
                self._master_ends(max(0, self.master_end - event.value))
            return
        self._goes_away(event, cause)
        log = self.slaves.setdefault(event.node or "", _Log())
        if event.kind == "wipe":
            log.ends(event.hi or 0)
            log.start = log.start if log.end else None
            if log.end > self.master_end:
                # What was the master's before a promotion.
                log.common = self.master_end
        elif event.value:
            log.ends(max(0, log.end - event.value))

    def _lose(self, event: Event, cause: str) -> None:
        self.lost_seq = event.seq
        if len(self.rows) >= MAX_ROWS:
            return
        row = Row(
            MASTER, cause, self._blamed(MASTER), self.role, self.flush, event.seq, event.t, answered=len(self.sends)
        )
        if self.slaves:
            logs = self.slaves.values()
            bare = [each for each in self.sends.values() if not any(log.holds(each.lo, each.hi) for log in logs)]
            oldest = min((each.answered_ns for each in bare), default=event.t)
            size = sum(each.hi - each.lo for each in bare)
            row = row._replace(rpo_messages=len(bare), rpo_bytes=size, rpo_ns=event.t - oldest)
        self.waiting.append(len(self.rows))
        self.rows.append(row)

    def _master_ends(self, end: int) -> None:
        if end < self.master_end:
            self.sends = {op: send for op, send in self.sends.items() if send.hi <= end}
            for log in self.slaves.values():
                if log.end > end:
                    log.common = end if log.common is None else min(log.common, end)
        self.master_end = end

    def _goes_away(self, event: Event, cause: str) -> None:
        node = event.node or ""
        self.catching.pop(node, None)
        self.away[node] = (cause, self._blamed(node))

    def _returned(self, event: Event) -> None:
        node = event.node or ""
        went = self.away.pop(node, None)
        if went is not None and len(self.rows) < MAX_ROWS:
            self.catching[node] = len(self.rows)
            self.rows.append(Row(node, *went, self.role, self.flush, event.seq, event.t))

    def _caught_up(self, now: int) -> None:
        for node, at in list(self.catching.items()):
            log = self.slaves.get(node)
            if log is not None and log.common is None and log.end >= self.master_end:
                self.rows[at] = self.rows[at]._replace(catch_up_ns=now - self.rows[at].at_ns)
                del self.catching[node]

    def _blamed(self, node: str) -> str:
        return blamed(self.faults.values(), node)


def blamed(active: Iterable[Event], node: str) -> str:
    """The fault, among the active ones (their events, in the order in which they began), that hurt this node."""
    found = NO_FAULT
    on_node = False
    for event in active:
        if event.node == node or not on_node:
            found, on_node = event.f or found, event.node == node
    return found


def cause_of(event: Event) -> str:
    """What a ``crash``, ``stop`` or ``wipe`` is: the column ``cause``."""
    if event.kind == "crash":
        return "own" if event.status in BY_THEMSELVES else event.f or "process"
    if event.kind == "wipe":
        image = "promotion" if event.node == MASTER and event.detail is not None else "image"
        return image if event.f == "image" else "wipe"
    return event.kind
