"""Nodes in the harness's own process: clients, consumers, rogue peers, each on real sockets."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...harness.errors import LabError
from ...reference.ports import Node
from ...reference.shell.disk import RealDisk
from ...reference.shell.log import Log
from ...reference.shell.shell import Limits, Shell
from ..labs.real.world import World
from ..plan import Address

NOWHERE = Path("/nonexistent")
NOBODY = -1
"""A log without readers."""


class Machine:
    """See :class:`pairproof.chaos.rocketmq.context.Machine`. Its own shell replaces its node's process.

    ``anywhere``: whether it may connect to other addresses than loopback. ``unreached`` is called with each address
    that it could not connect to.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, name: str, anywhere: bool, unreached: Callable[[str], None]
    ) -> None:
        self.loop = loop
        self.name = name
        self.anywhere = anywhere
        self.unreached = unreached
        self.node: Node | None = None
        self._shell: Shell | None = None
        self._listener: socket.socket | None = None

    @property
    def io(self) -> Shell:
        if self._shell is None:
            self._shell = self.loop.run_until_complete(_shell(self.anywhere, self.unreached))
        return self._shell

    def start(self, build: Callable[[], Node]) -> None:
        io, handler = self.io, self.loop.get_exception_handler()
        self.node = build()
        io.start(self.node)
        # Its shell's own handler would outlive it, and receive other tasks' errors of this loop.
        self.loop.set_exception_handler(handler)

    def call(self, function: Callable[..., Any], *arguments: Any) -> None:
        function(*arguments)

    def listen(self, address: Address, name: str) -> None:
        """Let others connect to an address, by the node's ``name`` for it. LabError if it is taken."""
        try:
            self._listener = socket.create_server(address)
        except OSError as why:
            raise LabError(f"{self.name} cannot listen on {address}: {why.strerror}") from None
        self._listener.setblocking(False)
        self.io.serve(self._listener, name)

    def kill(self) -> None:
        if self._shell is not None:
            self._shell.abandon()
        if self._listener is not None:
            self._listener.close()
        self._shell = self._listener = None
        self.node = None


class _ClientShell(Shell):
    unreached: Callable[[str], None]

    def connect_failed(self, address: str) -> None:
        self.unreached(address)
        super().connect_failed(address)


async def _shell(anywhere: bool, unreached: Callable[[str], None]) -> Shell:
    # A shell needs a running loop.
    shell = _ClientShell(RealDisk(NOWHERE), Log(fd=NOBODY), Limits(anywhere=anywhere))
    shell.unreached = unreached
    return shell


class Machines:
    def __init__(self, world: World) -> None:
        self.world = world
        self.all: list[Machine] = []

    def machine(self, name: str) -> Machine:
        world = self.world
        made = Machine(world.loop, name, world.environment.anywhere, world.evidence.unreached_at)
        self.all.append(made)
        return made

    def close(self) -> None:
        for machine in self.all:
            machine.kill()
