"""Finds slaves that bypass the tap: connections to the master's HA port from outside this process.

Their reports are not recorded, so a PUT_OK that waited for them would check unjustified. Before the slave connects
through the tap its own connection is one of them, temporarily. A master on another machine, or in its own network
namespace, is invisible from here.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ..labs.real.proc import PROC, sockets_of
from ..plan import Address

ESTABLISHED = "01"
SELF = "self"


class Bypass:
    def __init__(self, to: Address, proc: Path = PROC) -> None:
        self.to = to
        self.proc = proc
        self.standing = 0
        """Open connections at the last check."""
        self._once: set[Address] = set()
        self._known: set[Address] = set()

    def check(self, counts: bool = True) -> int:
        """Check once; returns the number of new connections. One counts when it is seen in two counted checks: the
        kernel's tables are not read atomically, and a new or closed connection may be in one row only.
        """
        there = self._others()
        self.standing = len(there)
        if not counts:
            return 0
        new = (there & self._once) - self._known
        self._once, self._known = there, (self._known & there) | new
        return len(new)

    def _others(self) -> set[Address]:
        every = sockets_of(SELF, ("tcp", "tcp6"), self.proc)
        standing = [each for each in every if each.state == ESTABLISHED]
        inodes = self._inodes()
        own = {each.local for each in standing if each.inode in inodes}
        return {each.remote for each in standing if each.local == self.to} - own

    def _inodes(self) -> set[str]:
        found = set()
        for each in (self.proc / SELF / "fd").iterdir():
            with suppress(OSError):
                found.add(str(each.readlink()).removeprefix("socket:[").removesuffix("]"))
        return found
