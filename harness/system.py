"""A family of targets, as the engine sees it: the settings and searches that it adds, and the measurements of its
trials.

A target names its system (``system = "rocketmq"``), which is an entry point ``pairproof.systems``. A target without one
has :data:`PLAIN`: a master and a slave, neither own settings nor own searches, and no measurements beyond the laws.
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
"""Arguments that name a node or link if an operation or a fault has them; others may use these words differently."""

Enumerate = Callable[[Lab, Target, str], list[Schedule]]
"""A search that ends: lists its schedules, which the seed shuffles."""
Draw = Callable[[str, int, Place | None], Schedule]
"""An endless search: makes the schedule with this seed and number from what a lab can do (None: anything)."""
Circumstance = Callable[[Sequence[Event], Violation], bool]
"""Whether something is true of a violation in the trial with these events."""


class Mode(NamedTuple):
    """Settings of the sweep of single faults, and its nodes and links."""

    settings: Args = {}
    places: frozenset[Scalar] = PAIR
    """Nodes and links of the swept faults; a fault without one counts as a fault of the master."""
    every_number: bool = True
    """Whether the sweep tries all listed numbers of a fault, or only its defaults."""


def two_writes(settings: Args) -> tuple[Op, ...]:
    """Two writes of two clients, in flight at once."""
    return tuple(Op("write", {"client": each, "copies": each}) for each in range(2))


class Swept(NamedTuple):
    """The programs of the sweep of single faults. Faults are keyed by name."""

    modes: tuple[Mode, ...] = (Mode(),)
    program: Callable[[Args], tuple[Op, ...]] = two_writes
    """The base program under these settings; a fault begins at each event boundary after it."""
    during: tuple[Op, ...] = (Op("write", {"client": 1, "copies": 1}),)
    first_only: tuple[str, ...] = ()
    """Arguments of which the sweep takes the first value; other searches draw the others."""
    at_any_time: tuple[str, ...] = ()
    """Faults whose moment makes no difference: only the other searches draw them."""
    brief: tuple[str, ...] = ()
    """Faults that are also swept with an immediate end, followed by the base program again."""
    quick: Args = {}
    also_under: Mapping[str, Args] = {}
    """Further settings under which a fault is swept again."""
    sequels: Mapping[str, tuple[Op, ...]] = {}
    """The operations after a fault that has its worst effect only together with another."""


class KnownBug(NamedTuple):
    name: str
    law: str
    seen_in: str
    """The releases of a real system that have it; empty if it was invented."""
    schedule: Schedule


class System:
    """The plain system, and the base class of all others."""

    name: ClassVar[str] = ""
    nodes: ClassVar[tuple[str, ...]] = ("master", "slave")
    """Nodes at which a fault can be armed."""
    names: ClassVar[frozenset[Scalar]] = PAIR
    """Nodes and links of all trials."""
    settings: ClassVar[tuple[Mapping[str, Sequence[Scalar]], ...]] = ({},)
    """Settings that searches draw, by type of trial, each with its values, the simplest first. The swarm draws from the
    first dictionary, the machine from each as often as it is listed.
    """
    varied: ClassVar[Mapping[str, Collection[Scalar]]] = {}
    """Further settings of some trials, with the drawn values; shrinking tries to drop them."""
    starts: ClassVar[tuple[tuple[Op, ...], ...]] = ((),)
    """First operations of the swarm's schedules, each drawn as often as it is listed."""
    traffic: ClassVar[tuple[Op, ...]] = (
        Op("write", {"client": 0, "copies": 1}),
        Op("read", {"client": 0, "node": "slave"}),
        Op("advance", {"ms": 300}),
    )
    """Operations that use every link of a pair, so that a fault of a link has an effect."""
    awaits: ClassVar[tuple[str, ...]] = ()
    """Conditions that real-time trials wait for (``await``) instead of the simulation's next events."""
    swept: ClassVar[Swept] = Swept()
    enumerated: ClassVar[Mapping[str, Enumerate]] = {}
    """Its further searches that end, by name."""
    seeded: ClassVar[Mapping[str, Draw]] = {}
    """Its further endless searches, by name."""

    circumstances: ClassVar[Mapping[str, Circumstance]] = {}
    """Conditions of its known deviations (:mod:`harness.judging.deviations`) on a trial, by name."""

    minimums: ClassVar[Minimums] = Minimums(trials={"machine": 20})

    def listed(self, schedule: Schedule, number: int) -> Schedule:
        """Schedule ``number`` of the sweep, in virtual time; parts that not every schedule needs may depend on it."""
        return schedule

    def corpus(self) -> Sequence[Schedule]:
        """The schedules that every run in a deterministic lab plays first."""
        return ()

    def known_bugs(self) -> Sequence[KnownBug]:
        """Seeded bugs with their programs, which real-time labs play after the single faults."""
        return ()

    def fit(self, settings: Args, own: Collection[str] = ()) -> Args:
        """Drawn settings, made compatible. ``own``: names of the user's settings, which do not change."""
        return settings

    def of_line(self, settings: Args, line: str) -> Args:
        """Drawn settings for this version line."""
        return settings

    def of_a_pair(self, values: Iterable[Scalar]) -> tuple[Scalar, ...]:
        """The nodes and links among an argument's values that every trial has; all values of other arguments."""
        values = tuple(values)
        return tuple(each for each in values if each in PAIR) or values

    def within(self, args: Args, settings: Args) -> Args:
        """``args`` with a similar node or link for each that a trial with these settings does not have."""
        return {key: _first(value) if key in PLACED else value for key, value in args.items()}

    def under(self, schedule: Schedule, settings: Args) -> Schedule:
        """The schedule under other settings; operations on a slave that these remove go to the first slave."""
        ops = tuple(op._replace(args=self.within(op.args, settings)) for op in schedule.ops)
        return schedule._replace(settings=settings, ops=ops)

    def is_whole(self, settings: Args) -> bool:
        """Whether a trial with these settings has the parts that operations of cluster trials need
        (``Drawn.whole``).
        """
        return False

    def opening(self, settings: Args) -> tuple[Op, ...]:
        """The first operations of most programs of the machine."""
        return ()

    def short(self, settings: Args) -> Args:
        """The settings for real-time trials: short intervals, and none that only a simulation has."""
        return settings

    overheard: ClassVar[frozenset[str]] = frozenset((
        "invoke", "ok", "fail", "info", "promise", "fault", "start", "crash", "abort", "stop", "wipe", "pause",
        "resume",
    ))  # fmt: skip
    """Event types that a write-up shows around a violation: outputs of nodes and clients, and their disturbances."""

    def the(self, node: str | None) -> str:
        """A node in a sentence."""
        name = node or "an unknown node"
        return name if name[-1:].isdigit() or " " in name else f"the {name}"

    def message_of(self, events: Sequence[Event], seq: int | None, text: str) -> str | None:
        """The message, or write, of a violation: from its event (``seq``), or from its ``text``."""
        return next((each.message for each in events if each.seq == seq), None) if seq is not None else None

    has_autopsy: ClassVar[bool] = False
    """Whether ``pairproof autopsy`` can trace its messages."""

    def steps_of(self, events: Sequence[Event], message: str) -> Sequence[tuple[int, str]]:
        """The events of one message, as times (ns) and sentences in order, as far as this system can trace them."""
        return ()

    def whereabouts(self, events: Sequence[Event]) -> Mapping[str, Mapping[str, str]]:
        """The messages of each node that was read at the end, with their positions ("" for none)."""
        held: dict[tuple[str, int | None], dict[str, str]] = {}
        final: dict[str, Mapping[str, str]] = {}
        for event in events:
            key = (event.node or "", event.op)
            if event.kind == "held" and event.message is not None:
                offset = event.queue_offset
                held.setdefault(key, {})[event.message] = "" if offset is None else f"at place {offset}"
            elif event.kind == "scanned" and event.f == "final":
                final[event.node or ""] = held.get(key, {})
        return final

    def replicated(self, events: Sequence[Event]) -> bool | None:
        """Whether a slave held a record of the workload; None if the trial has no slave, or none was read."""
        held = self.whereabouts(events).get("slave")
        return None if held is None else bool(held)

    def cover(self, events: Sequence[Event]) -> CoverageTable:
        """The event types that one trial met in each state of the system, by fault."""
        return CoverageTable()

    acknowledged: ClassVar[str] = "acknowledged"
    """The status of an answer with the strongest promise."""

    def loss(self, events: Sequence[Event]) -> Loss | None:
        """The losses of one trial; None if no fault had an effect, or losses are not measured."""
        return None

    def loss_programs(self, settings: Args) -> Iterable[LossProgram]:
        """The corpus of losses of a pair with these settings: a program for each class of faults."""
        return ()

    def objectives(self, events: Sequence[Event]) -> Sequence[tuple[object, ...]]:
        """Rows of table ``objectives`` for one trial, without run and trial."""
        return ()


def _first(place: Scalar) -> Scalar:
    """A plain pair has only the first of several, which has no number: slave for slave2."""
    first = str(place).rstrip("0123456789")
    return first if first in PAIR else place


PLAIN = System()
