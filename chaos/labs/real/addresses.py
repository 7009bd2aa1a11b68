"""Where the parts of a lab listen."""

from __future__ import annotations

from typing import NamedTuple

from ...plan import Address


class LinkPorts(NamedTuple):
    """Where a link's client connects (a tap), where its proxy listens, and where that leads (the other tap)."""

    near: Address
    proxy: Address
    far: Address
