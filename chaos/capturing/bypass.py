"""Finds slaves that bypass the tap: connections to the master's HA port that this process did not make.

Their reports are never seen, so a PUT_OK that waited for them would look unfounded. Before the slave has come through
the tap its own connection is one of them, and is none that remains. A master on another machine, or in a network
namespace of its own, is not seen from here.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ..labs.real.proc import PROC, sockets_of
from ..plan import Address

ESTABLISHED = "01"
SELF = "self"


class Bypass:
    """Watches ``to``, the master's HA port."""

    def __init__(self, to: Address, proc: Path = PROC) -> None:
        self.to = to
        self.proc = proc
        self.standing = 0
        """Connections that stood when it looked last."""
        self._once: set[Address] = set()
        self._known: set[Address] = set()

    def look(self, counts: bool = True) -> int:
        """Look once; how many connections are new. One counts when it is seen twice while looks count: the kernel's
        tables are not read in one moment, and a connection that is just made, or over, may be in one row only."""
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
        """Of this process's sockets."""
        found = set()
        for each in (self.proc / SELF / "fd").iterdir():
            with suppress(OSError):
                found.add(str(each.readlink()).removeprefix("socket:[").removesuffix("]"))
        return found
