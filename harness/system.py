"""What a family of targets is to the engine: what searches draw and list for it, and what is measured of its trials.

A target names its system (``system = "rocketmq"``), which is registered under the entry points ``pairproof.systems``.
A target that names none has :data:`PLAIN`: a master and a slave, no settings to draw, no searches of its own, and
nothing measured but what laws judge.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from .exploration.coverage_table import CoverageTable
from .exploration.losses import Loss, LossProgram
from .exploration.minimums import Minimums
from .history import Event
from .judging.law import Violation
from .ports import Lab, Target
from .trials.abilities import Place
from .trials.schedule import Args, Op, Scalar, Schedule

PAIR = frozenset({"master", "slave", "ha", "client-master", "client-slave"})
"""Nodes and links that every pair has."""
PLACED = ("node", "link")
"""Arguments of operations and faults that name a place; others may use the same words for something else."""

Enumerate = Callable[[Lab, Target, str], list[Schedule]]
"""A search that ends: lists its schedules, in an order that is shuffled by the seed."""
Draw = Callable[[str, int, Place | None], Schedule]
"""A search that never ends: makes the schedule with this seed and number, of what a lab can do (anything, if None)."""
Circumstance = Callable[[Sequence[Event], Violation], bool]
"""Whether something is true of a violation in the trial with these events."""


class Mode(NamedTuple):
    """Settings under which single faults are swept, and where."""

    settings: Args = {}
    places: frozenset[Scalar] = PAIR
    """Nodes and links at which faults are swept; a fault that has no place counts as being at the master."""
    every_number: bool = True
    """Whether all listed numbers of a fault are tried, or its defaults only."""


def two_writes(settings: Args) -> tuple[Op, ...]:
    """Two writes from two clients, in flight at once."""
    return tuple(Op("write", {"client": each, "copies": each}) for each in range(2))


class Swept(NamedTuple):
    """What the sweep of single faults executes. Faults are keyed by name."""

    modes: tuple[Mode, ...] = (Mode(),)
    program: Callable[[Args], tuple[Op, ...]] = two_writes
    """The base program under these settings: a fault begins at each event boundary that follows it."""
    during: tuple[Op, ...] = (Op("write", {"client": 1, "copies": 1}),)
    """What falls into the fault."""
    at_any_time: tuple[str, ...] = ()
    """Faults whose moment makes no difference: the other searches draw them."""
    brief: tuple[str, ...] = ()
    """Faults that are also swept as over at once, with the base program once more behind them."""
    quick: Args = {}
    """Further settings of those trials."""
    also_under: Mapping[str, Args] = {}
    """Settings under which a fault is swept once more."""
    sequels: Mapping[str, tuple[Op, ...]] = {}
    """What follows a fault that shows its worst only together with another."""


class KnownBug(NamedTuple):
    """A bug, and a program that shows it."""

    name: str
    law: str
    """That it breaks."""
    seen_in: str
    """The releases of a real system that have it; empty where it was invented."""
    schedule: Schedule


class System:
    """The plain system, and the base of the others."""

    name: ClassVar[str] = ""
    nodes: ClassVar[tuple[str, ...]] = ("master", "slave")
    """Nodes at which a fault can be armed."""
    names: ClassVar[frozenset[Scalar]] = PAIR
    """Every node and link that some trial has."""
    settings: ClassVar[tuple[Mapping[str, Sequence[Scalar]], ...]] = ({},)
    """Settings that searches draw, each with its values, the simplest first: one dictionary per kind of trial. The
    swarm draws from the first, the machine from each as often as it stands here."""
    varied: ClassVar[Mapping[str, Collection[Scalar]]] = {}
    """What some trials set beside these, with the values that are drawn: shrinking tries to do without it."""
    starts: ClassVar[tuple[tuple[Op, ...], ...]] = ((),)
    """What the swarm's schedules begin with, each as often as it stands here."""
    traffic: ClassVar[tuple[Op, ...]] = (
        Op("write", {"client": 0, "copies": 1}),
        Op("read", {"client": 0, "node": "slave"}),
        Op("advance", {"ms": 300}),
    )
    """What uses every link of a pair, so that a fault of a link meets something."""
    awaits: ClassVar[tuple[str, ...]] = ()
    """What real-time trials wait for in place of the simulation's next events (``await``)."""
    swept: ClassVar[Swept] = Swept()
    enumerated: ClassVar[Mapping[str, Enumerate]] = {}
    """Its further searches that end, by name."""
    seeded: ClassVar[Mapping[str, Draw]] = {}
    """Its further searches that never end, by name."""

    circumstances: ClassVar[Mapping[str, Circumstance]] = {}
    """By name, what its known deviations (:mod:`harness.judging.deviations`) ask of a trial."""

    minimums: ClassVar[Minimums] = Minimums(trials={"machine": 20})
    """What the searches of a profile with coverage minimums must have met."""

    def listed(self, schedule: Schedule, number: int) -> Schedule:
        """A schedule of the sweep, in virtual time, under this number: what not all of them need may differ."""
        return schedule

    def corpus(self) -> Sequence[Schedule]:
        """Schedules that every run in a deterministic lab begins with."""
        return ()

    def known_bugs(self) -> Sequence[KnownBug]:
        """Seeded bugs with their programs, which labs with real time play after the single faults."""
        return ()

    def fit(self, settings: Args, own: Collection[str] = ()) -> Args:
        """Drawn settings, made to go together. ``own``: names of those that a user brought, which stay as they are."""
        return settings

    def of_a_pair(self, values: Iterable[Scalar]) -> tuple[Scalar, ...]:
        """Those of an argument's values that every trial has; all where they name no places."""
        values = tuple(values)
        return tuple(each for each in values if each in PAIR) or values

    def within(self, args: Args, settings: Args) -> Args:
        """``args`` with a similar place in place of each that a trial with these settings does not have."""
        return {key: _first(value) if key in PLACED else value for key, value in args.items()}

    def under(self, schedule: Schedule, settings: Args) -> Schedule:
        """The schedule under other settings; what it does to a slave that is no more, it does to the first one."""
        ops = tuple(op._replace(args=self.within(op.args, settings)) for op in schedule.ops)
        return schedule._replace(settings=settings, ops=ops)

    def is_whole(self, settings: Args) -> bool:
        """Whether a trial with these settings has what operations of cluster trials need (``Drawn.whole``)."""
        return False

    def opening(self, settings: Args) -> tuple[Op, ...]:
        """What most programs of the machine begin with."""
        return ()

    def short(self, settings: Args) -> Args:
        """The settings as real-time trials need them: short intervals, nothing that only a simulation has."""
        return settings

    overheard: ClassVar[frozenset[str]] = frozenset((
        "invoke", "ok", "fail", "info", "promise", "fault", "start", "crash", "abort", "stop", "wipe", "pause",
        "resume",
    ))  # fmt: skip
    """Kinds of event that a write-up shows around a violation: what nodes and clients said and suffered."""

    def the(self, node: str | None) -> str:
        """A node in a sentence."""
        name = node or "an unknown node"
        return name if name[-1:].isdigit() or " " in name else f"the {name}"

    def message_of(self, events: Sequence[Event], seq: int | None, text: str) -> str | None:
        """The message, or write, that a violation is about: its event's (by ``seq``), or that of its ``text``."""
        return next((each.message for each in events if each.seq == seq), None) if seq is not None else None

    has_autopsy: ClassVar[bool] = False
    """Whether ``pairproof autopsy`` can tell what became of its messages."""

    def story(self, events: Sequence[Event], message: str) -> Sequence[tuple[int, str]]:
        """What happened to one message: times (ns) and sentences, in order; as much as this system can tell."""
        return ()

    def whereabouts(self, events: Sequence[Event]) -> Mapping[str, Mapping[str, str]]:
        """Of each node that was read at the end, its messages and where they lie ("" where there is no place)."""
        held: dict[tuple[str, int | None], dict[str, str]] = {}
        final: dict[str, Mapping[str, str]] = {}
        for event in events:
            key = (event.node or "", event.op)
            if event.kind == "held" and event.message is not None:
                place = event.queue_offset
                held.setdefault(key, {})[event.message] = "" if place is None else f"at place {place}"
            elif event.kind == "scanned" and event.f == "final":
                final[event.node or ""] = held.get(key, {})
        return final

    def replicated(self, events: Sequence[Event]) -> bool | None:
        """Whether a slave held a record of the workload in this trial; None where the trial has no slave, or where
        nobody read what it holds."""
        held = self.whereabouts(events).get("slave")
        return None if held is None else bool(held)

    def cover(self, events: Sequence[Event]) -> CoverageTable:
        """Which kinds of event one trial met in which states of the system, by fault."""
        return CoverageTable()

    acknowledged: ClassVar[str] = "acknowledged"
    """What an answer says that promises the most."""

    def loss(self, events: Sequence[Event]) -> Loss | None:
        """What was lost in one trial; None where no fault had an effect, or nothing is measured."""
        return None

    def loss_programs(self, settings: Args) -> Iterable[LossProgram]:
        """The corpus of losses of a pair with these settings: a program for each class of faults."""
        return ()

    def objectives(self, events: Sequence[Event]) -> Sequence[tuple[object, ...]]:
        """Rows of table ``objectives`` for one trial, without run and trial."""
        return ()


def _first(place: Scalar) -> Scalar:
    """Of several of a kind a plain pair has the first, which has no number: slave of slave2."""
    first = str(place).rstrip("0123456789")
    return first if first in PAIR else place


PLAIN = System()
