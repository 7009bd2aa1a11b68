"""One process: lock the store, listen, recover, serve until SIGTERM or SIGINT.

A failed start is a BrokerError, one line for the user. A later failure is a :class:`BrokerFailed`; the abort file then
remains, and the next start recovers as after a crash.
"""

from __future__ import annotations

import asyncio
import resource
import signal
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from ..core.broker import Broker
from ..core.namesrv import NameServer
from ..errors import BrokerError, StoreError
from ..ports import Node, Watcher
from . import reach, sockets
from .disk import RealDisk, locked
from .log import Log, LogWatcher
from .settings import NameSettings, Settings, describe_ignored
from .shell import Limits, Shell

DESCRIPTORS = 4_096
"""Descriptors to request; the usual limit of a process is 1,024."""
SPARE = 64
"""Descriptors not available to connections: a broker opens a file to create, map or flush it."""


class BrokerFailed(BrokerError):
    """A running broker cannot continue."""


class Process(NamedTuple):
    """A process's node, its disk and its ports."""

    disk: RealDisk
    bind: str
    ports: list[tuple[int, str]]
    """Port numbers, and the node's names for them."""
    limits: Limits
    build: Callable[[Shell], Node]
    started: Callable[[], str]
    """Log lines for the start and the stop."""
    stopped: Callable[[], str]
    ignored: tuple[str, ...]
    shell: Callable[[RealDisk, Log, Limits], Shell] = Shell


class Classes(NamedTuple):
    """The classes of a broker's process; tests replace some."""

    broker: type[Broker] = Broker
    watcher: Callable[[Log, int], Watcher] = LogWatcher
    disk: Callable[[Path, Path], RealDisk] = RealDisk
    shell: Callable[[RealDisk, Log, Limits], Shell] = Shell


PLAIN = Classes()


def serve(settings: Settings, log: Log, classes: Classes = PLAIN) -> None:
    """Run the broker until a signal stops it; BrokerError if it cannot start, BrokerFailed if it cannot continue."""
    broker: Broker
    if not settings.anywhere:
        # Before anything is written to the disk.
        reach.check(settings.connects)

    def build(shell: Shell) -> Node:
        nonlocal broker
        broker = classes.broker(settings.config, shell, classes.watcher(log, len(settings.config.name_servers)))
        return broker

    with locked(settings.root):
        run(
            Process(
                disk=classes.disk(settings.root, settings.commit_log),
                bind=settings.bind,
                ports=settings.ports,
                limits=Limits(idle_s=settings.idle_s, anywhere=settings.anywhere),
                build=build,
                started=lambda: _started(settings, broker),
                stopped=lambda: f"stopped; the log ends at {broker.log.end}",
                ignored=settings.ignored,
                shell=classes.shell,
            ),
            log,
        )


def serve_names(settings: NameSettings, log: Log) -> None:
    """Run a name server; as :func:`serve`. It stores nothing."""
    nowhere = Path("/nonexistent")
    run(
        Process(
            disk=RealDisk(nowhere, nowhere),
            bind=settings.bind,
            ports=[(settings.port, "main")],
            limits=Limits(idle_s=settings.idle_s),
            build=NameServer,
            started=lambda: f"name server listens on {settings.bind}, port {settings.port}",
            stopped=lambda: "stopped",
            ignored=settings.ignored,
        ),
        log,
    )


def run(process: Process, log: Log) -> None:
    """Run a node until a signal stops it; errors as :func:`serve`."""
    most = min(process.limits.connections, _descriptors_for_connections())
    asyncio.run(_run(process._replace(limits=process.limits._replace(connections=most)), log))


async def _run(process: Process, log: Log) -> None:
    with ExitStack() as stack:
        listeners = sockets.listen(process.bind, [number for number, _ in process.ports], stack)
        shell = process.shell(process.disk, log, process.limits)
        stack.callback(shell.abandon)
        for each in (signal.SIGTERM, signal.SIGINT):
            shell.loop.add_signal_handler(each, shell.end)
        try:
            shell.start(process.build(shell))
        except OSError as why:
            raise StoreError(f"cannot use the store: {why.strerror}") from why
        for listener, (_, port) in zip(listeners, process.ports, strict=True):
            shell.serve(listener, port)
        if process.ignored:
            log.say(describe_ignored(process.ignored))
        log.say(process.started())
        try:
            await shell.ended
            log.say("stopping")
            shell.stop()
        except (BrokerError, OSError) as why:
            raise BrokerFailed(str(why)) from why
        log.say(process.stopped())


def _started(settings: Settings, broker: Broker) -> str:
    config = settings.config
    numbers = ", ".join(str(number) for number, _ in settings.ports)
    copies = ""
    if config.is_slave:
        names = f"the master that {config.namesrvAddr} knows" if config.name_servers else "nobody"
        copies = f", copies {config.haMasterAddress or names}"
    return (
        f"{config.brokerName} ({config.brokerRole} {config.brokerId}) listens on {settings.bind}, ports {numbers}"
        f"{copies}; store {settings.root}: {broker.store.recovery} recovery, log [{broker.log.start}, {broker.log.end})"
        + (f"; {cut}" if (cut := broker.store.recovered.describe()) else "")
    )


def _descriptors_for_connections() -> int:
    """Descriptors for connections, after raising the process's limit; of few, half are spare."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return DESCRIPTORS
    if soft < DESCRIPTORS:
        soft = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(soft // 2, soft - SPARE)
