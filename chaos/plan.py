"""The interface of targets and labs: a target describes the nodes and links of a trial, a lab runs them.

A node has one or more *forms*: ``InProcess`` for simulated labs, ``Program`` for labs that start processes, and with it
``Image`` for container labs. A lab supports a target if it can run a form of each of its nodes. Neither side imports
the other; nothing here is specific to brokers.
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
from ..harness.trials.schedule import Args
from ..reference.ports import Effects, Node

OWN, OTHER = "own", "other"
"""Names of a node's own program or image, and of its replacement."""
CLIENT = "client"
"""The harness, where links of clients begin."""
MAIN = "main"
"""The port from which a node's other ports are counted."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
SETTINGS_SUFFIX = ".conf"
"""Suffix of a program's settings file: ``NODE.conf`` in the trial's folder."""
READY_S = 60
OUTSIDE = frozenset(
    (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE, signal.SIGALRM)
)
"""Signals that a process never causes itself."""
SIGNALLED = 128
"""Some programs exit with this plus the number of the signal that ended them."""

Row = list[Any]
"""[CLOCK_MONOTONIC in ns, event type, ...columns]: one observation of a node."""
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
    state: str
    """``running``, ``stopped`` (by a signal), ``exited`` or ``killed``."""
    number: int | None = None
    """The exit status, or the signal that stopped or killed it."""

    @property
    def over(self) -> bool:
        return self.state in ("exited", "killed")


class Cause(Enum):
    OWN = "own"
    DISK = "disk"
    REFUSED = "refused"
    """It refuses to start on its store."""
    FAULT = "fault"
    LAB = "lab"
    """The lab or an outsider: no evidence about the node."""


class Command(NamedTuple):
    argv: Sequence[str]
    environment: Mapping[str, str] | None = None
    """None: as the lab's own processes."""


class Fork(NamedTuple):
    """A function of this project's Python to run in a process: ``module:name``, called with ``spec``, returns the exit
    status. A lab with a warm interpreter forks it within milliseconds.
    """

    run: str
    spec: Mapping[str, Any]


class Net(Protocol):
    def address(self, node: str, port: str = MAIN) -> Address:
        """The real listening address of a node's port, which bypasses all proxies; observers and faults use it."""

    def dials(self, link: str) -> Address:
        """The address to which the near side of a link connects."""


class Place(Net, Protocol):
    """A lab's environment for one node. Paths are the same for the lab and the node."""

    name: str
    folder: Path
    """The trial's folder: for configuration; shared by a node's incarnations."""
    incarnation: int
    """Number of the present start, from 1."""

    @property
    def is_up(self) -> bool:
        """Whether its process runs."""

    @property
    def is_stopping(self) -> bool:
        """Whether it was requested to stop and may still run."""

    @property
    def path(self) -> Path:
        """Its store, initially with the plan's files only; LabError for a node without one."""

    @property
    def is_failing(self) -> bool:
        """Whether its disk refuses writes or is full."""

    @property
    def is_read_only(self) -> bool:
        """Whether its disk refuses writes."""

    @property
    def bind(self) -> str:
        """The address to listen on."""

    @property
    def anywhere(self) -> bool:
        """Whether it may connect to other addresses than loopback's."""

    @property
    def control(self) -> Path | None:
        """The control file that an instrumented program obeys, see :mod:`pairproof.chaos.labs.real.control`."""

    @property
    def output(self) -> Path:
        """The file to which its stdout and stderr are appended."""

    def printed(self) -> str:
        """Its output since its last start."""


class View(Protocol):
    """Observations of a node's process, by itself or from outside."""

    def read(self) -> list[Row]:
        """New rows. Every view reports ``start`` (recovery, and the log's range or None, None), then ``ready``."""


class SeenFromOutside:
    """A view of a program without a trace: reports its start once it is ready."""

    def __init__(self, at: Place, is_ready: Callable[[], bool]) -> None:
        self.at = at
        self.incarnation = at.incarnation
        self._is_ready = is_ready
        self.has_started = False

    @property
    def is_running(self) -> bool:
        """Whether its process still runs; otherwise its files may belong to the next incarnation."""
        return self.at.incarnation == self.incarnation and (self.at.is_up or self.at.is_stopping)

    def read(self) -> list[Row]:
        if self.has_started or not (self.is_running and self._is_ready()):
            return []
        self.has_started = True
        now = time.monotonic_ns()
        return [[now, "start", UNKNOWN, None, None], [now, "ready"]]


class Program:
    """The form of a node that runs in its own process. A target's own class defines at least the first two methods."""

    ready_s: int = READY_S
    """Most seconds until it serves. A slower start counts as failed."""
    orderly: Status = Status("exited", 0)
    """Its exit status after SIGTERM."""
    hooks: frozenset[str] = frozenset()
    """The numbers of the lab's control file that it obeys, see :mod:`pairproof.chaos.labs.real.control`."""
    tells: frozenset[str] = frozenset()
    """Event types that its own process traces. Others come from outside or are not observed."""

    def start(self, at: Place) -> Command | Fork:
        """Write its files into ``at.folder``; returns the program to run. Called before each start."""
        raise NotImplementedError

    def is_ready(self, at: Place) -> bool:
        """Whether it serves. Called every few milliseconds; must not block."""
        raise NotImplementedError

    def view(self, at: Place) -> View:
        """Its observations, from its start on."""
        return SeenFromOutside(at, lambda: self.is_ready(at))

    def cause(self, at: Place, status: Status) -> Cause:
        number = status.number or 0
        signalled = number if status.state == "killed" else number - SIGNALLED
        return Cause.LAB if signalled in OUTSIDE else self.own_or_disk(at)

    def is_bug(self, status: Status) -> bool:
        """Whether only a bug in its own code explains this status, even at the first start."""
        return False

    def own_or_disk(self, at: Place) -> Cause:
        """A failing disk explains nearly every end."""
        return Cause.DISK if at.is_failing else Cause.OWN

    def has_stopped(self, at: Place, status: Status) -> bool:
        return status == self.orderly and not at.is_read_only


class InProcess(NamedTuple):
    """The form of a sans-IO node in a lab's own process. ``build`` receives its effects and its watcher."""

    build: Callable[[Effects, Any], Node]


class Image(NamedTuple):
    """A container for a node's :class:`Program`: a Debian base with these packages."""

    packages: tuple[str, ...] = ()
    """None: the lab's own image, with this project and Python."""
    mounts: tuple[Path, ...] = ()
    """Folders of this machine that the node reads, at the same path; missing folders are left out."""
    memory_mb: int = 512
    named: Mapping[str, str] = NOTHING
    """Full names of images to use instead: ``own``, and ``other`` for its replacement."""


class NodePlan(NamedTuple):
    name: str
    forms: tuple[object, ...]
    ports: Mapping[str, int] = MappingProxyType({MAIN: 0})
    has_store: bool = True
    """Whether it has its own disk, which outlives its process."""
    fresh: Mapping[str, bytes] = NOTHING
    others: Mapping[str, tuple[object, ...]] = NOTHING
    """Forms of programs that can replace it on its store, by name."""
    stage: int = 0
    """A node starts after all nodes of the stage before serve and the driver reports that they ``stand``."""
    waits: bool = False
    """Whether only a fault starts it, on a store of the fault's; in simulated labs alone."""

    def form(self, kind: type[T], other: str = "") -> T | None:
        """Its form of this type, or that of a named other program; None if it has none."""
        forms = self.others.get(other, ()) if other else self.forms
        return next((each for each in forms if isinstance(each, kind)), None)


class LinkPlan(NamedTuple):
    """A path from one node, or from ``CLIENT``, to a port of another one, on which faults can act."""

    name: str
    near: str
    far: str
    port: str = MAIN
    addresses: tuple[str, ...] = ()
    """In a simulation: addresses that use this link from ``near``, besides its name."""
    is_overheard: bool = False
    buffer: int = 0
    """Socket buffer size in bytes; 0: the system's default."""
    beside: tuple[str, int] | None = None
    """Another link, and the distance of this near port above that one's."""
    leads: Mapping[str, str] = NOTHING
    """Other links whose near addresses replace their far addresses in what this link's server answers. By link: the
    host of the far address; empty: the node's own.
    """


class Plan(NamedTuple):
    nodes: tuple[NodePlan, ...]
    links: tuple[LinkPlan, ...]
    replicas: tuple[str, ...] = ()
    listener: str = ""
    """``module:name`` of the listener on overheard links, in the process of their taps. Called with a reporter, the
    stores' paths by node, a label for connections, and ``notes``. See :class:`pairproof.chaos.labs.real.taps.Listener`.
    """
    notes: Mapping[str, Any] = NOTHING
    points: tuple[str, ...] = POINTS
    """Points for triggers at the replicas."""

    @property
    def master(self) -> str:
        """The first of the replicas, or of the nodes if a plan has none."""
        return (*self.replicas, self.nodes[0].name)[0]

    def node(self, name: str) -> NodePlan:
        """KeyError for an unknown name."""
        return {each.name: each for each in self.nodes}[name]

    def link(self, name: str) -> LinkPlan:
        """KeyError for an unknown name."""
        return {each.name: each for each in self.links}[name]


def forms(target: Target) -> frozenset[type]:
    """The form types that every node of a target has in a trial without settings; empty without a plan."""
    nodes = _nodes(target)
    kinds = (InProcess, Program, Image) if nodes else ()
    return frozenset(kind for kind in kinds if all(each.form(kind) is not None for each in nodes))


def hooks(target: Target) -> frozenset[str]:
    """The numbers of a lab's control file that at least one storing node of the target obeys."""
    programs = (each.form(Program) for each in _nodes(target) if each.has_store)
    return frozenset(chain.from_iterable(each.hooks for each in programs if each is not None))


def has_others(target: Target | None) -> bool:
    """Whether a node of the target has a replacement program. False without a target: few have one."""
    return any(each.others for each in _nodes(target))


def _nodes(target: Target | None) -> tuple[NodePlan, ...]:
    """The nodes of a target in a trial without settings; none without a plan."""
    plan: Callable[[Args], Plan] | None = getattr(target, "plan", None)
    return () if target is None or plan is None else plan(target.settings({})).nodes


def abilities(target: Target | None) -> tuple[type, ...]:
    """Abilities of a target's drivers; without a target, those of any registered one."""
    return _any_abilities() if target is None else tuple(getattr(target, "abilities", ()))


@cache
def _any_abilities() -> tuple[type, ...]:
    found = (abilities(resolve.target(name)) for name in registry.names("targets"))
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def observed(target: Target) -> frozenset[str]:
    """Event types that a lab with full observation can record of a target: all, unless the target restricts them."""
    observes = getattr(target, "observes", None)
    return own_kinds() if observes is None else observes()


def check_target(name: str, places: Iterable[str], what: str) -> None:
    """UsageError, with the valid names, for an unknown node or link."""
    places = list(places)
    if name not in places:
        valid = ", ".join(places)
        raise UsageError(f"there is no {what} {name!r} in this trial; valid: {valid}")


def check_point(plan: Plan, node: str, point: str) -> None:
    """UsageError, with the valid values, if no trigger exists there."""
    if node not in plan.replicas or point not in plan.points:
        nodes, points = ", ".join(plan.replicas), ", ".join(plan.points)
        raise UsageError(f"no trigger at {node}/{point}; nodes (lab.slaves): {nodes}; points: {points}")


def load(name: str) -> Any:
    """The object that ``module:name`` refers to. LabError if there is none."""
    module, _, attribute = name.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as why:
        raise LabError(f"there is no {name}: {why}") from None
