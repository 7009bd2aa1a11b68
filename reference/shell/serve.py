"""One process: lock the store, listen, recover, serve until SIGTERM or SIGINT.

What keeps it from starting is a BrokerError, one line for whoever started it. So is what ends it later, as
:class:`BrokerFailed`; the abort file then stays, and the next start recovers as after a crash.
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
from .settings import NameSettings, Settings, told
from .shell import Limits, Shell

DESCRIPTORS = 4_096
"""Connections and some more; the usual limit of a process is 1,024."""
SPARE = 64
"""Of them no connection gets: a broker opens a file to make it, to map it, or to flush it."""


class BrokerFailed(BrokerError):
    """The broker was running and cannot go on."""


class Process(NamedTuple):
    """What one process runs: a node on its disk, and where it listens."""

    disk: RealDisk
    bind: str
    ports: list[tuple[int, str]]
    """Port numbers, and what the node calls each."""
    limits: Limits
    build: Callable[[Shell], Node]
    started: Callable[[], str]
    """What to say once it runs, and once it has stopped."""
    stopped: Callable[[], str]
    ignored: tuple[str, ...]
    shell: Callable[[RealDisk, Log, Limits], Shell] = Shell


class Classes(NamedTuple):
    """What a broker's process is made of: others than these for whoever tests with it."""

    broker: type[Broker] = Broker
    watcher: Callable[[Log, int], Watcher] = LogWatcher
    disk: Callable[[Path, Path], RealDisk] = RealDisk
    shell: Callable[[RealDisk, Log, Limits], Shell] = Shell


PLAIN = Classes()


def serve(settings: Settings, log: Log, classes: Classes = PLAIN) -> None:
    """Run the broker until a signal stops it; BrokerError if it cannot start, BrokerFailed if it cannot go on."""
    broker: Broker
    if not settings.anywhere:
        # Before anything is on the disk.
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
    """Run a name server; as :func:`serve`. It keeps nothing on disk."""
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
            log.say(told(process.ignored))
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
        f"{copies}; store {settings.root}: {broker.recovery} recovery, log [{broker.log.start}, {broker.log.end})"
        + (f"; {cut}" if (cut := broker.store.recovered.describe()) else "")
    )


def _descriptors_for_connections() -> int:
    """How many there are, once the process's limit is as high as it may be; of few, half are kept."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return DESCRIPTORS
    if soft < DESCRIPTORS:
        soft = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(soft // 2, soft - SPARE)
