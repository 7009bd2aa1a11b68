"""Listening addresses of a lab's parts."""

from __future__ import annotations

from typing import NamedTuple

from ...plan import Address


class LinkPorts(NamedTuple):
    """A link's addresses: for its client (a tap), of its proxy, and behind the proxy (the other tap)."""

    near: Address
    proxy: Address
    far: Address
