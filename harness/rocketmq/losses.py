"""The loss of one trial, by class of its faults: the only measure of losses for ``check``, scenarios and reports.

A trial has one class, a fault and its target (:func:`.outlook.classes`): that of the faults that ended a broker of the
pair, else of all faults with an effect. If a fault of another class overlaps them, or they are of several classes, the
class is :data:`~pairproof.harness.rocketmq.objectives.SEVERAL`. All slaves are ``slave``.

Messages are counted by their answers and their final positions:

- **lost**: in no broker's log, and not removed by retention. Retention has removed a message if the master deleted its
  file and had not lost the message before.
- **slave_only**: only a slave holds it; **master_only**: only the master of a pair does. Messages that retention
  removed on one side count as neither.
- **unavailable**: the longest time, since the fault began, from the first to the last of consecutive sends to the pair
  that were not answered as stored. A lower bound, since only sends show it; **not_back** if the last sends were not.

Left out: messages of another broker name, whose store no lab reads (they count as kept), and faults at that broker and
at name servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..event_types.client import Deliver, Invoke, Ok
from ..event_types.machine import Fault, Pause
from ..event_types.node import Crash, Start, Stop, Wipe
from ..exploration.losses import SUMS, Loss
from ..history import Event
from .contract import PUT_OK, STORED
from .event_types.log import Audit, Expire
from .known.replay import Reader
from .objectives import SEVERAL
from .outlook import BOTH, FULL, KILL, LINK, PARTITION, POWER, PROMOTION, READ_ONLY, SLAVE, WIPED
from .settings import Settings, flush_mode
from .topology import CLIENT_LINKS, HA_LINKS, MASTER, NAMES, NODES, OTHER, OTHERS_LINKS, ROGUE, SLAVES

CALLED: Mapping[str, str] = {
    **dict.fromkeys(("stall", "timeout", "disconnect", "reset", "reset_peer", "limit_data", "down"), PARTITION),
    **dict.fromkeys(("latency", "jitter", "bandwidth", "slicer", "slow_close"), "slow link"),
    **dict.fromkeys(("disk_stall", "slow_disk"), "slow disk"),
    "disk_full": FULL, "read_only": READ_ONLY, "lying_flush": "disk that lies", "half_open": PARTITION,
    **dict.fromkeys(("rogue_slave", "rogue_master", "rogue_client"), "strangers"),
    "kill": KILL, "power_loss": POWER, "wipe": WIPED, "promotion": PROMOTION,
}  # fmt: skip
"""By fault. Others have their own name."""
ELSEWHERE = frozenset((NAMES, OTHER, *OTHERS_LINKS))


class _Span(NamedTuple):
    """A fault: from ``lo`` to ``hi`` by ``seq``, and its beginning, ns."""

    lo: int
    hi: int
    t: int
    begun: Fault

    def meets(self, other: _Span) -> bool:
        return self.lo <= other.hi and other.lo <= self.hi


def measure(events: Sequence[Event]) -> Loss | None:
    """The loss in one trial, from its events in ``seq`` order; None if no fault had an effect on the pair."""
    if not any(each.kind == "fault" for each in events):
        return None
    return _Measured(events).read(events).loss()


def mode(config: Mapping[str, Settings]) -> str:
    """The deployment of brokers with these settings: the master's role and flush mode, and whether it has a pool or no
    slave.
    """
    own = config.get(MASTER, {})
    alone = "" if any(node in SLAVES for node in config) else ", no slave"
    return f"{own.get('brokerRole', 'ASYNC_MASTER')} {flush_mode(own)}{alone}"


class _Measured(Reader):
    """Bounded by the sends, deliveries and faults of one trial."""

    asks = frozenset(("config", "record", "audit"))

    def __init__(self, events: Sequence[Event]) -> None:
        super().__init__()
        self.end = events[-1].seq + 1
        """A fault without an end lasts beyond the last event."""
        self.faults: dict[int, _Span] = {}
        self.hurt: set[int] = set()
        """Faults, by number, that ended a broker."""
        self.tried: dict[int, int] = {}
        self.answers: list[Ok] = []
        """Answers that mean stored."""
        self.kept: dict[str | None, int] = {}
        """Messages that the master's log has held since their answers, with their first offsets."""
        self.removed: set[str | None] = set()
        """Messages that retention removed from it."""
        self.slaves_start = 0
        """The start of slaves' logs by retention."""
        self.reads: list[Deliver | Invoke] = []
        self.sends: list[Invoke] = []

    def loss(self) -> Loss | None:
        chosen = [self.faults[number] for number in sorted(self.hurt) if number in self.faults]
        chosen = chosen or list(self.faults.values())
        if not chosen:
            return None
        fault, of = _class(chosen)
        if any(each not in chosen and each.meets(own) for each in self.faults.values() for own in chosen):
            fault, of = SEVERAL, ""
        lo, hi = min(each.lo for each in chosen), max(each.hi for each in chosen)
        began = min(each.t for each in chosen)
        tried = {op for op, seq in self.tried.items() if lo < seq < hi}
        put_ok = [each for each in self.answers if each.status == PUT_OK]
        before = {each.message for each in put_ok if each.seq < lo}
        reads = [each for each in self.reads if lo < each.seq < hi]
        read = len(before & {each.message for each in reads if each.kind == "deliver"}) if reads else None
        acknowledged = {each.message for each in put_ok}
        stored = {each.message for each in self.answers} - acknowledged
        longest, not_back = self._unavailable(began)
        found = Loss(
            fault, of, mode(self.known.config), len(acknowledged), len(before), None, None, None, len(stored), None, 0,
            len(tried), sum(each.op in tried for each in put_ok),
            sum(each.message in stored and each.op in tried for each in self.answers), read, longest, not_back,
        )  # fmt: skip
        return self._located(found, acknowledged, stored)

    def _located(self, found: Loss, acknowledged: set[str | None], stored: set[str | None]) -> Loss:
        audits = self.known.audits
        if MASTER not in audits.final:
            return found
        read = audits.final[MASTER].read
        if read is not None:
            self._starts_at(read.lo)
        on_master, on_slaves = audits.held(MASTER), audits.held_elsewhere(MASTER)
        elsewhere = {each.message for each in self.answers if each.node == OTHER}
        gone = (acknowledged | stored) - elsewhere - on_master - on_slaves
        lost = gone - self.removed
        expired = {each.message for each in self.answers if (each.lo or 0) < self.slaves_start}
        return found._replace(
            lost=len(lost & acknowledged),
            slave_only=len((acknowledged & on_slaves) - on_master - self.removed),
            master_only=len((acknowledged & on_master) - on_slaves - expired) if len(audits.final) > 1 else 0,
            other_lost=len(lost & stored),
            removed=len(gone & self.removed),
        )

    def _unavailable(self, began: int) -> tuple[int, int]:
        """The longest time in which no send was served, ns, and whether none was at the end."""
        served = {each.op for each in self.answers}
        longest, first = 0, None
        for each in (each for each in self.sends if each.t >= began):
            if each.op in served:
                first = None
            else:
                first = each.t if first is None else first
                longest = max(longest, each.t - first)
        return longest, int(first is not None)

    def on_fault(self, event: Fault) -> None:
        number = event.number
        if event.status == "on":
            if (event.node or event.link) not in ELSEWHERE:
                self.faults[number] = _Span(event.seq, self.end, event.t, event)
        elif number in self.faults:
            if event.effects == 0:
                del self.faults[number]
            else:
                self.faults[number] = self.faults[number]._replace(hi=event.seq)

    def on_crash(self, event: Crash | Pause | Stop | Wipe) -> None:
        if event.node in NODES:
            lasting = [number for number, each in self.faults.items() if each.hi == self.end]
            self.hurt.update(number for number in lasting if self.faults[number].begun.node in NODES)
        if event.node == MASTER and event.kind == "wipe":
            # The new store may never have held them.
            self.kept.clear()

    on_stop = on_wipe = on_pause = on_crash

    def on_start(self, event: Start) -> None:
        if event.node == MASTER and event.hi is not None:
            self._ends_at(event.hi)

    def on_audit(self, event: Audit) -> None:
        if event.node == MASTER and event.f == "recovery":
            self._ends_at(event.hi)

    def on_expire(self, event: Expire) -> None:
        if event.node == MASTER:
            self._starts_at(event.new_start)
        else:
            self.slaves_start = max(self.slaves_start, event.new_start)

    def _ends_at(self, end: int) -> None:
        """Retention can no longer remove messages that the master's log lost above ``end``."""
        self.kept = {message: lo for message, lo in self.kept.items() if lo < end}

    def _starts_at(self, start: int) -> None:
        self.removed.update(message for message, lo in self.kept.items() if lo < start)

    def on_invoke(self, event: Invoke) -> None:
        if event.f == "send":
            self.tried[event.op] = event.seq
            if event.node in NODES:
                self.sends.append(event)
        elif event.f == "pull":
            self.reads.append(event)

    def on_deliver(self, event: Deliver) -> None:
        self.reads.append(event)

    def on_ok(self, event: Ok) -> None:
        if event.f != "send" or event.status not in STORED:
            return
        self.answers.append(event)
        if event.node == MASTER and event.lo is not None:
            self.kept[event.message] = event.lo


def _class(faults: Sequence[_Span]) -> tuple[str, str]:
    names = {CALLED.get(each.begun.f or "", (each.begun.f or "").replace("_", " ")) for each in faults}
    at = {_target_of(each.begun) for each in faults}
    if len(names) > 1:
        return SEVERAL, ""
    (name,) = names
    if len(at) == 1:
        return name, at.pop()
    together = any(a.meets(b) for a in faults for b in faults if _target_of(a.begun) != _target_of(b.begun))
    if together and at == {MASTER, SLAVE}:
        return name, BOTH
    if together and name == PARTITION and at <= {MASTER, LINK, CLIENT_LINKS[0]}:
        return name, MASTER
    return SEVERAL, ""


def _target_of(begun: Fault) -> str:
    target = begun.node or begun.link or ""
    if begun.node == ROGUE or begun.f in ("rogue_slave", "rogue_master", "rogue_client"):
        return ""
    if target in HA_LINKS:
        return LINK
    return SLAVE if target in SLAVES else target


def total(found: Iterable[Loss]) -> dict[str, int]:
    """The sums of several trials."""
    own = list(found)
    return {name: sum(getattr(each, name) or 0 for each in own) for name in SUMS}


def words(sums: Mapping[str, int]) -> str:
    """The sums in words; empty if nothing was lost and no message is on one broker only."""
    counts = [f"{sums[name]:,} {where}" for name, where in WORDS.items() if sums[name]]
    return f"{sums['acknowledged']:,} {PUT_OK}: {', '.join(counts)}" if counts else ""


WORDS = {
    "lost": "lost", "slave_only": "on a slave only", "master_only": "on the master only",
    "other_lost": "lost of those with another answer that says stored", "removed": "removed by retention",
}  # fmt: skip
OUTCOMES = ("lost", "stranded", "unavailable", "readable", "tried", "accepted", "stored")
"""The measures of a loss that a scenario may limit."""


def outcome(found: Loss, name: str) -> int | None:
    """One of :data:`OUTCOMES`; None if the trial does not show it."""
    if name == "unavailable":
        return None if found.readable is None else found.before - found.readable
    value: int | None = getattr(found, {"stranded": "slave_only", "stored": "accepted_other"}.get(name, name))
    return value
