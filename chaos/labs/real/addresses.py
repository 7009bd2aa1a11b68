"""Where the parts of a lab listen."""

from __future__ import annotations

from typing import NamedTuple

FAST_BELOW = 2
"""How far a broker's fast port is below its main one."""
HA_ABOVE = 1


class Address(NamedTuple):
    """An IPv4 address and a port; as text ``host:port``."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    def beside(self, distance: int) -> Address:
        """The port that is ``distance`` above this one."""
        return Address(self.host, self.port + distance)

    @property
    def fast(self) -> Address:
        """A broker's fast port, where this is its main one."""
        return self.beside(-FAST_BELOW)

    @property
    def ha(self) -> Address:
        """A broker's HA port, where this is its main one."""
        return self.beside(HA_ABOVE)


class Way(NamedTuple):
    """Where a link's client connects (a tap), where its proxy listens, and where that leads (the other tap)."""

    near: Address
    proxy: Address
    far: Address
