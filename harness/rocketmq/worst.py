"""What one trial lost, and the class of its faults: of a configuration, an operator asks what each class can cost it.

Counted are the sends of the whole trial that were answered with PUT_OK, so also what was promised while a disk was full
or a link was cut, and at the end:

- **lost**: no broker's log holds them.
- **stranded**: the master does not hold them, and a slave does.
- **single**: only the master holds them, though the pair has a slave whose log was read.

A trial has one class. Its faults are those that had an effect, by kind and not by argument (the program says those);
where brokers of the pair were away at the same time, that is the class. Faults of several classes in one trial are
:data:`~pairproof.harness.rocketmq.objectives.SEVERAL`: which of them cost what is not known.

Left out: messages of another broker name, whose store no lab reads; trials without a fault that had an effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..history import Event
from ..kinds.client import Ok
from ..kinds.machine import Fault, Pause, Resume
from ..kinds.node import Crash, Start, Stop, Wipe
from .contract import PUT_OK
from .known.replay import Reader
from .naming import the
from .objectives import SEVERAL
from .places import MASTER, NODES, OTHER

BOTH_MACHINES, BOTH_BROKERS = "both machines at once", "both brokers at once"
CLASSES: Mapping[str, str] = {
    **dict.fromkeys(("stall", "timeout", "disconnect", "reset", "reset_peer", "limit_data", "down"), "partition"),
    **dict.fromkeys(("latency", "jitter", "bandwidth", "slicer", "slow_close"), "slow link"),
    **dict.fromkeys(("disk_stall", "slow_disk"), "slow disk"),
    "disk_full": "full disk", "read_only": "read-only disk", "lying_flush": "disk that lies",
    **dict.fromkeys(("hostile", "impostor", "intruder"), "strangers"),
}  # fmt: skip
"""By fault. Others are their own class, with the node."""
MACHINE = "machine"


class Loss(NamedTuple):
    """Of one trial; a number is None where no final audit tells."""

    fault: str
    """The class."""
    acknowledged: int
    lost: int | None
    stranded: int | None
    single: int | None


def measure(events: Iterable[Event]) -> Loss | None:
    """The loss of one trial, of its events in ``seq`` order; None where no fault had an effect."""
    return _Measured().read(events).loss()


class _Measured(Reader):
    """Bounded by the sends and faults of one trial."""

    asks = frozenset(("record", "audit"))

    def __init__(self) -> None:
        super().__init__()
        self.faults: dict[int, Fault] = {}
        """Those that are going on, or had an effect."""
        self.acknowledged: set[str | None] = set()
        self.away: dict[str, str] = {}
        """Brokers of the pair that do not serve, and how they went."""
        self.both: set[str] = set()

    def on_fault(self, event: Fault) -> None:
        if event.status == "on":
            self.faults[event.number] = event
        elif event.value == 0:
            self.faults.pop(event.number, None)

    def on_ok(self, event: Ok) -> None:
        if event.f == "send" and event.status == PUT_OK and event.node != OTHER:
            self.acknowledged.add(event.message)

    def on_crash(self, event: Crash | Pause | Stop | Wipe) -> None:
        if event.node in NODES and self.faults:
            self.away[event.node] = event.f or event.kind
            if MASTER in self.away and len(self.away) > 1:
                self.both.add(BOTH_MACHINES if set(self.away.values()) == {MACHINE} else BOTH_BROKERS)

    on_stop = on_wipe = on_pause = on_crash

    def on_start(self, event: Resume | Start) -> None:
        self.away.pop(event.node, None)

    on_resume = on_start

    def loss(self) -> Loss | None:
        if not self.faults:
            return None
        classes = self.both or {_class(each) for each in self.faults.values()}
        fault = classes.pop() if len(classes) == 1 else SEVERAL
        audits = self.known.audits
        if MASTER not in audits.final:
            return Loss(fault, len(self.acknowledged), None, None, None)
        on_master = audits.held(MASTER)
        on_slaves = audits.held_elsewhere(MASTER)
        single = len((self.acknowledged & on_master) - on_slaves) if len(audits.final) > 1 else None
        return Loss(
            fault, len(self.acknowledged), len(self.acknowledged - on_master - on_slaves),
            len((self.acknowledged & on_slaves) - on_master), single,
        )  # fmt: skip


def _class(fault: Event) -> str:
    name = fault.f or ""
    return CLASSES.get(name) or f"{name} of {the(fault.node or fault.link)}"
