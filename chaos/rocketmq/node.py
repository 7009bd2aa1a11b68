"""One node of a lab, in a separate process.

A broker or a name server of the reference, as ``pairproof broker`` and ``pairproof namesrv`` run it, from the same
properties file, or a mutant in its place. It adds a trace, and, if the spec names a control file, a disk and a wall
clock that obey it (see :mod:`pairproof.chaos.labs.real.control`). Exit status: 0 stopped by SIGTERM, 5 it refuses its
store, 4 it cannot use its store or cannot continue, 1 its own code raised; 2 and 3 prove nothing about the node:
unusable ports or settings, a trace that cannot be written, a bug of the lab's. Sources: BrokerStartup, NamesrvStartup.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import traceback
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from typing import NotRequired, TypedDict

from ...harness.errors import LabError
from ...reference.core.broker import Broker
from ...reference.errors import EXIT_FAILED, BrokerError, ConfigError, StoreError, StoreRefused, exit_code
from ...reference.ports import Node
from ...reference.shell import properties
from ...reference.shell.disk import RealDisk
from ...reference.shell.log import Log
from ...reference.shell.serve import BrokerFailed, Classes, Process, serve
from ...reference.shell.serve import run as run_process
from ...reference.shell.settings import name_settings, settings
from ...reference.shell.shell import Limits, Shell
from ...reference.shell.sockets import Connection
from ..labs.blame import described, is_the_labs
from ..labs.real.control import Control
from ..labs.real.trace import Trace
from ..targets.reference import TARGET, ReferenceTarget
from .controlled_disk import ControlledDisk
from .programs import EXIT_BUG, EXIT_LAB
from .traced import TraceWatcher

POLL_S = 0.005
"""Interval at which a held thread checks whether it may run."""


class NodeSpec(TypedDict):
    """The program to run; a JSON object. Paths are text."""

    program: str
    """``broker`` or ``names``."""
    target: str
    """The target's name: ``reference`` or ``reference+mutant``."""
    node: str
    """Its node in the trial, such as ``slave``."""
    conf: str
    trace: str
    """The file of its trace, one per incarnation."""
    control: NotRequired[str]
    """The file of its :class:`Control`; without it disk and clock are undisturbed."""
    anywhere: NotRequired[bool]


class NodeWatcher(TraceWatcher):
    """Traces, and stops behind an append if ``control`` requires it."""

    def __init__(self, trace: Trace, control: Control | None, log: Log, name_servers: int) -> None:
        super().__init__(trace, log, name_servers)
        self.control = control

    def appended(self, lo: int, hi: int, data: bytes, f: str) -> None:
        super().appended(lo, hi, data, f)
        if self.control is not None:
            self.control.pass_point("append")


class NodeShell(Shell):
    """The traced shell; ``control`` sets its wall clock's skew."""

    def __init__(self, trace: Trace, control: Control | None, disk: RealDisk, log: Log, limits: Limits) -> None:
        super().__init__(disk, log, limits)
        self.trace = trace
        self.control = control
        self.held: set[Hashable] = set()
        """Threads of the node that wait until they may run."""

    def start(self, node: Node) -> None:
        """Start the node: a broker has recovered its log then."""
        super().start(node)
        if isinstance(node, Broker):
            self.trace.note("start", node.store.recovery, node.log.start, node.log.end)
            control = self.control
            if control is not None:
                self.loop.add_signal_handler(signal.SIGUSR1, lambda: node.expire(control.get("keep_files")))
        else:
            self.trace.note("start", "empty", None, None)
        # The ports are served before the loop turns.
        self.loop.call_soon(self.trace.note, "ready")

    def stop(self) -> None:
        self.trace.note("stopping")
        super().stop()
        self.trace.note("stopped")

    def connect_failed(self, address: str) -> None:
        self.trace.note("unreached", address)
        super().connect_failed(address)

    # Other points for armed faults, besides appends: see NodeWatcher.

    def send(self, conn: Connection, data: bytes) -> int:
        self._pass("send")
        return super().send(conn, data)

    def receive(self, conn: Connection, data: bytes) -> None:
        self._pass("recv")
        super().receive(conn, data)

    def flush_ended(self, token: Hashable) -> None:
        self._pass("flush")
        super().flush_ended(token)

    def _pass(self, point: str) -> None:
        if self.control is not None:
            self.control.pass_point(point)

    def peer(self, conn: Connection) -> Hashable:
        """The connection itself: every connection comes from a tap."""
        return conn

    def runs(self, thread: Hashable) -> bool:
        """True unless ``control`` stops dispatch; no other thread asks."""
        control = self.control
        if control is None or not control.get("undispatched"):
            return True
        control.count("dispatches_held")
        if thread not in self.held:
            self.held.add(thread)
            self.loop.call_later(POLL_S, self._poll, control, thread)
        return False

    def _poll(self, control: Control, thread: Hashable) -> None:
        if control.get("undispatched"):
            self.loop.call_later(POLL_S, self._poll, control, thread)
        elif not self._over:
            self.held.discard(thread)
            self.timer(thread, self.now())

    def wall_ms(self) -> int:
        skew_ms = self.control.get("skew_ms") if self.control is not None else 0
        if skew_ms and self.control is not None:
            self.control.count("skewed")
        return super().wall_ms() + skew_ms


def run(spec: NodeSpec) -> int:
    """Run the node until a signal stops it; returns the exit status."""
    trace = Trace(Path(spec["trace"]))
    try:
        _PROGRAMS[spec["program"]](spec, trace, Log())
    except BrokerError as why:
        line = " ".join(str(why).split())
        print(f"pairproof {spec['program']}: {line}", file=sys.stderr, flush=True)
        _trace_end(trace, line)
        return _exit_code(why)
    except BaseException as why:
        traceback.print_exc()
        # A history records the last line.
        print(described(why), file=sys.stderr, flush=True)
        _trace_end(trace, described(why))
        return EXIT_LAB if is_the_labs(why) else EXIT_BUG
    return 0


def _exit_code(why: BrokerError) -> int:
    if isinstance(why, ConfigError):
        return EXIT_LAB
    unusable = isinstance(why, StoreError) and not isinstance(why, StoreRefused)
    return EXIT_FAILED if unusable or isinstance(why, BrokerFailed) else exit_code(why)


def _trace_end(trace: Trace, line: str) -> None:
    # The failed trace may be the very reason.
    with contextlib.suppress(LabError):
        trace.note("failed", line)


def target_of(name: str) -> ReferenceTarget:
    """The target of this name; UsageError for an unknown mutant."""
    _, _, mutant = name.partition("+")
    return TARGET.mutant(mutant) if mutant else TARGET


def _broker(spec: NodeSpec, trace: Trace, log: Log) -> None:
    control = _control(spec)
    classes = Classes(
        broker=target_of(spec["target"]).broker_class(spec["node"]),
        watcher=partial(NodeWatcher, trace, control),
        disk=RealDisk if control is None else partial(ControlledDisk, control),
        shell=partial(NodeShell, trace, control),
    )
    serve(settings(properties.read(Path(spec["conf"])), {}, spec.get("anywhere", False)), log, classes)


def _names(spec: NodeSpec, trace: Trace, log: Log) -> None:
    found = name_settings(properties.read(Path(spec["conf"])))
    nowhere = Path("/nonexistent")
    run_process(
        Process(
            disk=RealDisk(nowhere, nowhere),
            bind=found.bind,
            ports=[(found.port, "main")],
            limits=Limits(idle_s=found.idle_s),
            build=target_of(spec["target"]).name_server_class(),
            started=lambda: f"name server listens on {found.bind}:{found.port}",
            stopped=lambda: "stopped",
            ignored=found.ignored,
            shell=partial(NodeShell, trace, _control(spec)),
        ),
        log,
    )


def _control(spec: NodeSpec) -> Control | None:
    return Control(Path(spec["control"])) if "control" in spec else None


_PROGRAMS: dict[str, Callable[[NodeSpec, Trace, Log], None]] = {"broker": _broker, "names": _names}
