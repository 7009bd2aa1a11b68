"""Names of what a trial has: one master and up to three slaves, and the links between them and their clients.

A link goes from a client, or from a slave (``ha``), to a port of a broker. The first slave's names carry no number, so
that a pair reads as a pair. How many slaves a trial has, its setting ``lab.slaves`` says.
"""

from __future__ import annotations

from functools import cache

from pairproof.harness.schedule import Args, Scalar

MASTER = "master"
MAX_SLAVES = 3
SLAVES = ("slave", "slave2", "slave3")
NODES = (MASTER, *SLAVES)
HA_LINKS = ("ha", "ha2", "ha3")
CLIENT_LINKS = tuple(f"client-{node}" for node in NODES)
LINKS = (HA_LINKS[0], CLIENT_LINKS[0], CLIENT_LINKS[1], *HA_LINKS[1:], *CLIENT_LINKS[2:])
"""A pair's own links first: searches and documents name those."""


def slaves(settings: Args) -> int:
    """How many slaves a trial with these settings has."""
    return int(settings.get("lab.slaves", 1))


def nodes(count: int) -> tuple[str, ...]:
    """The brokers of a trial with ``count`` slaves, master first."""
    return NODES[: count + 1]


def within(args: Args, count: int) -> Args:
    """``args`` with the first slave's names in place of those that a trial with ``count`` slaves does not have."""
    missing = absent(count)
    if not any(value in missing for value in args.values()):
        return args
    return {key: _FIRST.get(value, value) if value in missing else value for key, value in args.items()}


_FIRST: dict[Scalar, Scalar] = {
    **dict.fromkeys(SLAVES, SLAVES[0]),
    **dict.fromkeys(HA_LINKS, HA_LINKS[0]),
    **dict.fromkeys(CLIENT_LINKS[1:], CLIENT_LINKS[1]),
}


@cache
def absent(count: int) -> frozenset[str]:
    """Names that a trial with ``count`` slaves does not have."""
    return frozenset((*SLAVES[count:], *HA_LINKS[count:], *CLIENT_LINKS[count + 1 :]))
