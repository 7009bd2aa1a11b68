"""What targets and labs meet on: a target says which nodes and links a trial has, a lab says where they run.

A node is described in one or more *forms*: ``InProcess`` for labs that simulate, ``Program`` for labs that start
processes, and beside it ``Image`` for labs of containers. A lab takes a target if it can host a form of each of its
nodes. Neither side imports the other, and nothing here knows a broker.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeVar

from ..harness import registry
from ..harness.errors import LabError, UsageError
from ..harness.event_types.node import UNKNOWN
from ..harness.history import own_kinds
from ..harness.ports import Target
from ..harness.ports.timing import POINTS
from ..harness.trials import resolve
from ..reference.ports import Effects, Node

OWN, OTHER = "own", "other"
"""Names of a node's own program, or image, and of the one that takes its place."""
CLIENT = "client"
"""Where links of clients begin: the harness."""
MAIN = "main"
"""The port of a node whose other ports are counted from it."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
SETTINGS_SUFFIX = ".conf"
"""Of the file that a program's settings are in, if it has one: ``NODE.conf`` in the trial's folder."""
READY_S = 60
OUTSIDE = frozenset(
    (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM)
)
"""Signals that no process gets for what it does itself."""
SIGNALLED = 128
"""What is added to the signal's number in the exit code of some programs that a signal has ended."""

Row = list[Any]
"""[CLOCK_MONOTONIC in ns, kind, ...columns]: what is told of a node."""
T = TypeVar("T")


class Address(NamedTuple):
    """An IPv4 address and a port; as text ``host:port``."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def beside(self, distance: int) -> Address:
        """The port that is ``distance`` above this one."""
        return Address(self.host, self.port + distance)


class Status(NamedTuple):
    """What a process does."""

    state: str
    """``running``, ``stopped`` (it stands still), ``exited`` or ``killed``."""
    number: int | None = None
    """The exit code, or the signal that stopped or killed it."""

    @property
    def over(self) -> bool:
        return self.state in ("exited", "killed")


class Cause(Enum):
    """What is behind the end of a node that the trial had not asked for."""

    OWN = "own"
    """Its own code."""
    DISK = "disk"
    """Its disk, which fails it."""
    REFUSED = "refused"
    """It declares that it will not start on its store."""
    FAULT = "fault"
    """Another fault of the trial."""
    LAB = "lab"
    """The lab, or somebody else: that says nothing about the node."""


class Command(NamedTuple):
    """A program to execute, found on PATH."""

    argv: Sequence[str]
    environment: Mapping[str, str] | None = None
    """None: what the lab's own processes have."""


class Fork(NamedTuple):
    """A function of this project's Python to run in a process: ``module:name``, called with ``spec``, gives the exit
    code. A lab that keeps an interpreter ready forks it, which takes milliseconds."""

    run: str
    spec: Mapping[str, Any]
    """JSON as it stands."""


class Net(Protocol):
    """The addresses of one trial."""

    def address(self, node: str, port: str = MAIN) -> Address:
        """Where a node's port really listens: past all proxies, as observers and faults reach it."""

    def dials(self, link: str) -> Address:
        """Where the near side of a link connects to."""


class Place(Net, Protocol):
    """Where a lab runs one node. Paths are the same for the lab and for the node."""

    name: str
    folder: Path
    """Of the trial: for configuration, kept over a node's lives."""
    incarnation: int
    """Counts its starts, from 1."""

    @property
    def is_up(self) -> bool:
        """Whether its process lives."""

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to stop, and its process may still be there."""

    @property
    def path(self) -> Path:
        """Of its store, empty but for the plan's files at first; LabError for a node that has none."""

    @property
    def is_failing(self) -> bool:
        """Whether its disk takes no writes, or has no room."""

    @property
    def is_read_only(self) -> bool:
        """Whether its disk takes no writes."""

    @property
    def bind(self) -> str:
        """The address to listen on."""

    @property
    def anywhere(self) -> bool:
        """Whether other addresses than loopback's are to be connected to."""

    @property
    def control(self) -> Path | None:
        """The file of numbers that a program with seams obeys, see :mod:`pairproof.chaos.labs.real.control`."""

    @property
    def output(self) -> Path:
        """Where its stdout and stderr go: lines are added."""

    def said(self) -> str:
        """What it has said since its last start."""


class View(Protocol):
    """What a node's process tells of itself, or somebody else of it."""

    def read(self) -> list[Row]:
        """What is new. Every view tells ``start`` (recovery, and the log's range or None, None), then ``ready``."""


class SeenFromOutside:
    """A view of a program that traces nothing: that it has started, once it is ready."""

    def __init__(self, at: Place, is_ready: Callable[[], bool]) -> None:
        self.at = at
        self.incarnation = at.incarnation
        self._is_ready = is_ready
        self.has_started = False

    @property
    def lives(self) -> bool:
        """Whether its process is there; its files are the next one's otherwise."""
        return self.at.incarnation == self.incarnation and (self.at.is_up or self.at.is_stopping)

    def read(self) -> list[Row]:
        if self.has_started or not (self.lives and self._is_ready()):
            return []
        self.has_started = True
        now = time.monotonic_ns()
        return [[now, "start", UNKNOWN, None, None], [now, "ready"]]


class Program:
    """The form of a node that runs in a process of its own. A target's own class says at least the first two."""

    ready_s: int = READY_S
    """Until it serves, at the longest. What takes longer does not come up."""
    orderly: Status = Status("exited", 0)
    """How it ends when it is told to stop by SIGTERM."""
    hooks: frozenset[str] = frozenset()
    """Which of the numbers of the lab's control file it obeys, see :mod:`pairproof.chaos.labs.real.control`."""
    tells: frozenset[str] = frozenset()
    """The kinds of row that its own process traces; the others of its kinds somebody else tells, or nobody."""

    def start(self, at: Place) -> Command | Fork:
        """Write what it needs into ``at.folder``; what to run. Called before each start."""
        raise NotImplementedError

    def is_ready(self, at: Place) -> bool:
        """Whether it serves. Asked every few milliseconds: at once, and without waiting."""
        raise NotImplementedError

    def view(self, at: Place) -> View:
        """What it tells, from its start on."""
        return SeenFromOutside(at, lambda: self.is_ready(at))

    def cause(self, at: Place, status: Status) -> Cause:
        """What is behind an end that the trial had not asked for."""
        number = status.number or 0
        signalled = number if status.state == "killed" else number - SIGNALLED
        return Cause.LAB if signalled in OUTSIDE else self.own_or_disk(at)

    def is_bug(self, status: Status) -> bool:
        """Whether only its own code can have ended it so, be it at the first start."""
        return False

    def own_or_disk(self, at: Place) -> Cause:
        """A failing disk explains nearly every end."""
        return Cause.DISK if at.is_failing else Cause.OWN

    def has_stopped(self, at: Place, status: Status) -> bool:
        """Whether it has ended in an orderly way, everything flushed."""
        return status == self.orderly and not at.is_read_only


class InProcess(NamedTuple):
    """The form of a sans-IO node that runs in a lab's own process. ``build`` gets its effects and its watcher."""

    build: Callable[[Effects, Any], Node]


class Image(NamedTuple):
    """What a container needs to run a node: beside its :class:`Program`, a Debian base with these packages."""

    packages: tuple[str, ...] = ()
    """None: the lab's own image, which has this project and Python."""
    mounts: tuple[Path, ...] = ()
    """Folders of this machine that the node reads, at the same path; those that are not there are left out."""
    memory_mb: int = 512
    named: Mapping[str, str] = NOTHING
    """Full names of images to take instead: ``own``, and ``other`` for its replacement."""


class NodePlan(NamedTuple):
    """One node of a trial."""

    name: str
    forms: tuple[object, ...]
    ports: Mapping[str, int] = MappingProxyType({MAIN: 0})
    """How far each port lies from the main one."""
    has_store: bool = True
    """Whether it has a disk of its own, which outlives its process."""
    fresh: Mapping[str, bytes] = NOTHING
    """Files that an operator puts into its fresh store."""
    others: Mapping[str, tuple[object, ...]] = NOTHING
    """Forms of programs that can take its place on its store, by name."""
    stage: int = 0
    """Nodes of a stage start once those of the stage before serve, and the driver says that they ``stand``."""

    def form(self, kind: type[T], other: str = "") -> T | None:
        """Its form of this kind, or that of another program by name; None if there is none."""
        forms = self.others.get(other, ()) if other else self.forms
        return next((each for each in forms if isinstance(each, kind)), None)


class LinkPlan(NamedTuple):
    """A way from one node, or from ``CLIENT``, to a port of another one, on which faults can act."""

    name: str
    near: str
    far: str
    port: str = MAIN
    addresses: tuple[str, ...] = ()
    """In a simulation: addresses that lead over it from ``near``, beside its name."""
    is_overheard: bool = False
    """Whether the plan's ``listener`` hear what passes."""
    buffer: int = 0
    """Bytes of its sockets' buffers; 0: the system decides."""
    beside: tuple[str, int] | None = None
    """Another link, and how far above that one's this one's near port has to lie."""


class Plan(NamedTuple):
    """The nodes and links of one trial, in the order in which they are made."""

    nodes: tuple[NodePlan, ...]
    links: tuple[LinkPlan, ...]
    replicas: tuple[str, ...] = ()
    """Nodes that hold the same data, the master first."""
    listener: str = ""
    """``module:name`` of who hears overheard links, wherever their taps run: called with a teller, the stores' paths by
    node, a label for connections, and ``notes``. See :class:`pairproof.chaos.labs.real.taps.Listener`."""
    notes: Mapping[str, Any] = NOTHING
    """JSON as it stands."""

    @property
    def master(self) -> str:
        """The first of the replicas, or of the nodes where a plan names none."""
        return (*self.replicas, self.nodes[0].name)[0]

    def node(self, name: str) -> NodePlan:
        """A node's plan; KeyError for one that there is not."""
        return {each.name: each for each in self.nodes}[name]

    def link(self, name: str) -> LinkPlan:
        """A link's plan; KeyError for one that there is not."""
        return {each.name: each for each in self.links}[name]


def forms(target: Target) -> frozenset[type]:
    """The kinds of form that every node of a target has, in a trial without settings; none of one without a plan."""
    plan = getattr(target, "plan", None)
    if plan is None:
        return frozenset()
    return frozenset(
        kind
        for kind in (InProcess, Program, Image)
        if all(each.form(kind) is not None for each in plan(target.settings({})).nodes)
    )


def hooks(target: Target) -> frozenset[str]:
    """The numbers of a lab's control file that some node of the target's obeys, of those that store something."""
    plan = getattr(target, "plan", None)
    if plan is None:
        return frozenset()
    programs = (each.form(Program) for each in plan(target.settings({})).nodes if each.has_store)
    return frozenset(chain.from_iterable(each.hooks for each in programs if each is not None))


def has_others(target: Target | None) -> bool:
    """Whether another program can take a node's place. Few targets have one, so of no particular target it cannot."""
    plan = getattr(target, "plan", None)
    return target is not None and plan is not None and any(each.others for each in plan(target.settings({})).nodes)


def abilities(target: Target | None, simulated: bool = False) -> tuple[type, ...]:
    """What a target's drivers can do, and what besides where all is ``simulated``; of any registered target, unless
    told."""
    if target is None:
        return _any_abilities(simulated)
    return (*getattr(target, "abilities", ()), *(getattr(target, "simulated_abilities", ()) if simulated else ()))


@cache
def _any_abilities(simulated: bool) -> tuple[type, ...]:
    found = (abilities(resolve.target(name), simulated) for name in registry.names("targets"))
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def observed(target: Target) -> frozenset[str]:
    """The kinds of event that a lab which sees all that passes can record of a target: all, unless that says less."""
    observes = getattr(target, "observes", None)
    return own_kinds() if observes is None else observes()


def check_place(name: str, places: Iterable[str], what: str) -> None:
    """UsageError, with the valid ones, for a node or link that this trial does not have."""
    places = list(places)
    if name not in places:
        valid = ", ".join(places)
        raise UsageError(f"there is no {what} {name!r} in this trial; valid: {valid}")


def check_point(plan: Plan, node: str, point: str) -> None:
    """UsageError, with what is valid, where nothing can be armed."""
    if node not in plan.replicas or point not in POINTS:
        nodes, points = ", ".join(plan.replicas), ", ".join(POINTS)
        raise UsageError(f"no trigger at {node}/{point}; nodes (lab.slaves): {nodes}; points: {points}")


def load(name: str) -> Any:
    """What ``module:name`` names. LabError if it is not there."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as why:
        raise LabError(f"there is no {name}: {why}") from None
