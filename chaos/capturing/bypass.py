"""Slaves that go round the tap, as far as this machine's kernel tells: whoever is connected to the master's HA port.

Their reports are never seen, so a PUT_OK that waited for them would look unfounded. A master on another machine, or in
a network namespace of its own, is not seen from here. Source: proc_net(5), /proc/net/tcp and tcp6.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pairproof.chaos.labs.real.proc import PROC
from pairproof.chaos.plan import Address

ESTABLISHED = "01"
MAPPED = "0000000000000000FFFF0000"
"""Before an IPv4 address in tcp6, where Java's sockets are."""


class _Row(NamedTuple):
    local: str
    remote: str
    inode: str


class Bypass:
    """Counts connections to ``to`` that this process has not made."""

    def __init__(self, to: Address, proc: Path = PROC) -> None:
        self.to = _of_kernel(to)
        self.proc = proc
        self.count = 0
        self._once: set[str] = set()
        self._known: set[str] = set()

    def look(self) -> bool:
        """Look once; whether there are more than before. One counts when it is seen twice: the tables are not read in
        one moment, and a connection that is just made, or over, may be in one row only."""
        there = self._others()
        new = (there & self._once) - self._known
        self._once, self._known = there, (self._known & there) | new
        self.count += len(new)
        return bool(new)

    def _others(self) -> set[str]:
        rows = list(self._rows())
        inodes = self._own()
        own = {each.local for each in rows if each.inode in inodes}
        return {each.remote for each in rows if each.local == self.to} - own

    def _rows(self) -> Iterator[_Row]:
        for name in ("tcp", "tcp6"):
            with suppress(OSError):
                for line in (self.proc / "net" / name).read_text().splitlines()[1:]:
                    fields = line.split()
                    if fields[3] == ESTABLISHED:
                        yield _Row(fields[1].removeprefix(MAPPED), fields[2].removeprefix(MAPPED), fields[9])

    def _own(self) -> set[str]:
        found = set()
        for each in (self.proc / "self" / "fd").iterdir():
            with suppress(OSError):
                found.add(str(each.readlink()).removeprefix("socket:[").removesuffix("]"))
        return found


def _of_kernel(address: Address) -> str:
    """An IPv4 address and port as the kernel's tables write them."""
    host = int.from_bytes(socket.inet_aton(address.host), "little")
    return f"{host:08X}:{address.port:04X}"
