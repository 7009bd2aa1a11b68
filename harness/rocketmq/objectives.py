"""RPO and RTO of one trial, and the catch-up time of a slave, defined by events so that labs can be compared.

A *loss of the master* is its ``crash``, ``stop`` or ``wipe``. At that moment:

- **RPO** is the loss if the slaves had to continue alone: the sends *at stake* that no slave's log holds. A send is at
  stake if it was answered with a stored status before and the master's log still held its bytes (so earlier losses and
  retention are not counted twice). A slave's log holds it if it spans [lo, hi) with the master's bytes: bytes above a
  truncation of the master's log have diverged until the slave's log is truncated there, too. A slave that is down
  counts, less the bytes that its crash took, since it can be started. In messages, in bytes (of their records), and in
  ns: the age of the oldest answer. 0 if all are held, None if no slave's log was observed.
- **RTO** is the time from that moment to the first ``ok`` of a send that began after it. An upper bound, since only
  sends show it. None: none came before the history ended.

A slave *returns* with its ``start`` after its own loss, or its ``resume`` after a ``pause``. **Catch-up** is the
time until its log, without diverged bytes, reaches the master's end; 0 if it returns so, None if it ends again, or the
history ends, before.

``fault`` is the cause: of the active faults the last that began on this node, else the last that began at all. Left
out: other broker names and name servers, which no slave replaces; answers in flight when the master was lost, and bytes
that a slave reads from a connection to an ended master. Source: the usual meaning of the two objectives; statuses are
the durability contract's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..event_types.client import Invoke, Ok
from ..event_types.machine import Pause, Resume
from ..event_types.node import Crash, Start, Stop, Wipe
from ..history import BY_THEMSELVES, Event
from .contract import STORED
from .event_types.log import Append, Expire
from .known.kept import Kept
from .known.model import Known
from .known.replay import Reader
from .known.stores import promotes
from .settings import flush_mode
from .topology import MASTER, NAMES, OTHER

APART = frozenset((NAMES, OTHER))
"""Nodes whose losses are not the pair's. A fault there may still affect the pair."""
HURT = frozenset(("crash", "stop", "wipe", "pause"))
"""A trial without these event types has no row."""
MAX_ROWS = 1_000
"""For one trial; later losses are not measured."""
NO_FAULT = "none"
SEVERAL = "several faults"
"""Replaces a fault if several overlap: the cause is unknown."""


class Row(NamedTuple):
    """One loss of the master, or one return of a slave: the columns of table ``objectives`` after run and trial."""

    node: str
    cause: str
    """process, machine (crashes), stop, wipe, image (an older one), promotion (a slave's store instead), pause."""
    fault: str
    role: str
    flush: str
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
    """The rows of one trial's events, in ``seq`` order: usually none, which only needs the event types."""
    if HURT.isdisjoint([event.kind for event in events]):
        return []
    return _Measured().read(events).rows


class _Send(NamedTuple):
    lo: int
    hi: int
    answered_ns: int


class _Measured(Reader):
    """Bounded by the sends and nodes of one trial."""

    asks = frozenset(("config", "fault"))

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.asked: dict[int, int] = {}
        self.sends: dict[int, _Send] = {}
        self.kept = Kept()
        self.lost_seq = -1
        self.away: dict[str, tuple[str, str]] = {}
        """Slaves that are down or paused: cause and fault."""
        self.waiting: list[int] = []
        """Rows whose RTO is open."""
        self.catching: dict[str, int] = {}
        """Slaves that have returned, and their rows."""

    def on_invoke(self, event: Invoke) -> None:
        if event.f == "send":
            self.asked[event.op] = event.seq

    def on_ok(self, event: Ok) -> None:
        if event.f != "send" or event.status not in STORED or event.node != MASTER:
            return
        if self.asked.get(event.op, -1) < self.lost_seq:
            # Promised by a master that has ended: the answer was too late to count.
            return
        if event.lo is not None and event.hi is not None:
            self.sends[event.op] = _Send(event.lo, event.hi, event.t)
        for at in self.waiting:
            self.rows[at] = self.rows[at]._replace(rto_ns=event.t - self.rows[at].at_ns)
        self.waiting.clear()

    def on_append(self, event: Append) -> None:
        if event.node not in APART:
            self.kept.append(event)
            if self.catching and event.node != MASTER:
                self._caught_up(event.t)

    def on_start(self, event: Start) -> None:
        if event.node in APART:
            return
        self._move(event)
        if event.node == MASTER:
            self._begins_at(event.lo or 0)
        else:
            self._returned(event)
        self._caught_up(event.t)

    def on_resume(self, event: Resume) -> None:
        if event.node != MASTER and event.node not in APART:
            self._returned(event)
            self._caught_up(event.t)

    def on_expire(self, event: Expire) -> None:
        if event.node == MASTER:
            self._begins_at(event.new_start)
        elif (log := self.kept.logs.get(event.node)) is not None:
            log.start = event.new_start

    def on_pause(self, event: Pause) -> None:
        if event.node != MASTER and event.node not in APART:
            self._goes_away(event, "pause")

    def on_crash(self, event: Crash | Stop | Wipe) -> None:
        if event.node in APART:
            return
        if event.node == MASTER:
            self._lose(event, cause_of(event))
        else:
            self._goes_away(event, cause_of(event))
        self._move(event)

    on_stop = on_wipe = on_crash

    def _lose(self, event: Event, cause: str) -> None:
        self.lost_seq = event.seq
        if len(self.rows) >= MAX_ROWS:
            return
        row = self._row(MASTER, cause, blamed(self.known, MASTER), event)._replace(answered=len(self.sends))
        if logs := list(self.kept.slaves()):
            bare = [each for each in self.sends.values() if not any(log.holds(each.lo, each.hi) for log in logs)]
            oldest = min((each.answered_ns for each in bare), default=event.t)
            size = sum(each.hi - each.lo for each in bare)
            row = row._replace(rpo_messages=len(bare), rpo_bytes=size, rpo_ns=event.t - oldest)
        self.waiting.append(len(self.rows))
        self.rows.append(row)

    def _row(self, node: str, cause: str, fault: str, event: Event) -> Row:
        config = self.known.config.get(MASTER, {})
        role = str(config.get("brokerRole", "ASYNC_MASTER"))
        return Row(node, cause, fault, role, flush_mode(config), event.seq, event.t)

    def _move(self, event: Crash | Start | Stop | Wipe) -> None:
        """A log may have a new end; sends that the master's log lost are no longer at stake."""
        before = self.kept.end()
        self.kept.move(event)
        if (end := self.kept.end()) < before:
            self.sends = {op: send for op, send in self.sends.items() if send.hi <= end}

    def _begins_at(self, start: int) -> None:
        if start:
            self.sends = {op: send for op, send in self.sends.items() if send.lo >= start}

    def _goes_away(self, event: Event, cause: str) -> None:
        node = event.node or ""
        self.catching.pop(node, None)
        self.away[node] = (cause, blamed(self.known, node))

    def _returned(self, event: Event) -> None:
        node = event.node or ""
        went = self.away.pop(node, None)
        if went is not None and len(self.rows) < MAX_ROWS:
            self.catching[node] = len(self.rows)
            self.rows.append(self._row(node, *went, event))

    def _caught_up(self, now: int) -> None:
        for node, at in list(self.catching.items()):
            log = self.kept.logs.get(node)
            if log is not None and log.common is None and log.end >= self.kept.end():
                self.rows[at] = self.rows[at]._replace(catch_up_ns=now - self.rows[at].at_ns)
                del self.catching[node]


def blamed(known: Known, node: str) -> str:
    """The active fault that affected this node, by the order in which they began."""
    found = NO_FAULT
    on_node = False
    for event in known.disturbances.active.values():
        if event.node == node or not on_node:
            found, on_node = event.f or found, event.node == node
    return found


def cause_of(event: Event) -> str:
    """The column ``cause`` of a ``crash``, ``stop`` or ``wipe``."""
    if event.kind == "crash":
        return "own" if event.status in BY_THEMSELVES else event.f or "process"
    if event.kind == "wipe":
        image = "promotion" if promotes(event) else "image"
        return image if event.f == "image" else "wipe"
    return event.kind
