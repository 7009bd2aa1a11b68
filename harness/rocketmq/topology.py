"""Names of a trial's nodes and links: one master and at most three slaves, and the links between them and their
clients.

A link leads from a client, or from a slave (``ha``), to a port of a broker. The first slave's names have no number, so
that a pair reads as a pair. The setting ``lab.slaves`` is the number of slaves.

With ``lab.nameServer`` there is a name server, ``names``, with a link from each broker and from the clients; slaves
then fetch their master's tables over ``meta`` (its main port) and ``meta-fast``. With ``lab.others`` there is one more
master, ``other``: 1 has another broker name; 2 has the pair's, its own address, and starts only by the fault
``second_master``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from ..trials.schedule import Args, Scalar

MASTER = "master"
MASTER_ID = "0"
"""The broker id of a master in routes, which are JSON."""
MAX_SLAVES = 3
SLAVES = ("slave", "slave2", "slave3")
NODES = (MASTER, *SLAVES)
HA_LINKS = ("ha", "ha2", "ha3")
CLIENT_LINKS = tuple(f"client-{node}" for node in NODES)

NAMES = "names"
OTHER = "other"
PROCESSES = (*NODES, NAMES, OTHER)
"""Processes that can be killed, stopped and paused."""
ROGUE = "rogue_slave"
NO_SLAVES = (None, MASTER, NAMES, OTHER, ROGUE)
"""Nodes that are not slaves. In a capture slaves have any names."""
META_LINKS = ("meta", "meta2", "meta3")
FAST_LINKS = ("meta-fast", "meta-fast2", "meta-fast3")
NAMES_CLIENT = "names-client"
NAMES_LINKS = tuple(f"names-{node}" for node in NODES)
OTHERS_LINKS = ("client-other", "names-other")

LINKS = (
    HA_LINKS[0], CLIENT_LINKS[0], CLIENT_LINKS[1], *HA_LINKS[1:], *CLIENT_LINKS[2:],
    NAMES_CLIENT, *NAMES_LINKS[:2], META_LINKS[0], FAST_LINKS[0],
    *NAMES_LINKS[2:], *META_LINKS[1:], *FAST_LINKS[1:], *OTHERS_LINKS,
)  # fmt: skip
"""A pair's own links first: searches and documents name those."""

PLACED = ("node", "link")
"""Arguments that name a node or link if an operation or a fault has them; others may use these words differently."""

CLUSTER_ONLY = frozenset((NAMES, *META_LINKS, *FAST_LINKS, NAMES_CLIENT, *NAMES_LINKS, OTHER, *OTHERS_LINKS))
"""Names that only a trial with a name server, or with another broker name, has."""


def masters_of(routes: Iterable[Mapping[str, str]]) -> set[str]:
    """The masters that routes name: each maps broker ids of a name to nodes."""
    return {nodes[MASTER_ID] for nodes in routes if MASTER_ID in nodes}


def slaves(settings: Args) -> int:
    """The number of slaves in a trial with these settings."""
    return int(settings.get("lab.slaves", 1))


def has_names(settings: Args) -> bool:
    """Whether it has a name server."""
    return bool(settings.get("lab.nameServer", 0))


def has_other(settings: Args) -> bool:
    """Whether it has a master beside the pair."""
    return bool(settings.get("lab.others", 0))


def has_second_master(settings: Args) -> bool:
    """Whether that one may become a second master of the pair's broker name."""
    return settings.get("lab.others", 0) == 2


def chosen_by_user(settings: Args) -> int | None:
    """The broker id that consumers' users have fixed; None if consumers follow the brokers' suggestions."""
    return int(settings.get("lab.defaultBrokerId", 0)) if settings.get("lab.connectBrokerByUser", 0) else None


def nodes(count: int) -> tuple[str, ...]:
    """The brokers of a trial with ``count`` slaves, master first."""
    return NODES[: count + 1]


@cache
def links_of(node: str) -> frozenset[str]:
    """The links of a node in any trial."""
    if node == NAMES:
        return frozenset((NAMES_CLIENT, *NAMES_LINKS, OTHERS_LINKS[1]))
    if node == OTHER:
        return frozenset(OTHERS_LINKS)
    if node == MASTER:
        return frozenset((*HA_LINKS, *META_LINKS, *FAST_LINKS, CLIENT_LINKS[0], NAMES_LINKS[0]))
    if node not in SLAVES:
        return frozenset()
    number = SLAVES.index(node)
    own = (HA_LINKS[number], META_LINKS[number], FAST_LINKS[number])
    return frozenset((*own, CLIENT_LINKS[number + 1], NAMES_LINKS[number + 1]))


def ha_link(slave: str) -> str:
    """A slave's HA link; empty for a slave of another name, in a capture."""
    return HA_LINKS[SLAVES.index(slave)] if slave in SLAVES else ""


def of_a_pair(values: Iterable[Scalar]) -> tuple[Scalar, ...]:
    """Without the names that only cluster trials have."""
    return tuple(each for each in values if each not in CLUSTER_ONLY)


def within(args: Args, settings: Args) -> Args:
    """``args`` with a similar name for each that a trial with these settings does not have."""
    missing = absent(slaves(settings), has_names(settings), has_other(settings))
    if not any(args.get(key) in missing for key in PLACED):
        return args
    return {key: _similar(value, missing) if key in PLACED else value for key, value in args.items()}


def _similar(name: Scalar, missing: frozenset[str]) -> Scalar:
    # The first slave's name; if a pair lacks that too, the pair's own.
    while name in missing:
        name = _SIMILAR[name]
    return name


_SIMILAR: dict[Scalar, Scalar] = {
    **dict.fromkeys(SLAVES[1:], SLAVES[0]),
    **dict.fromkeys(HA_LINKS[1:], HA_LINKS[0]),
    **dict.fromkeys(CLIENT_LINKS[2:], CLIENT_LINKS[1]),
    # For a master without slaves.
    SLAVES[0]: MASTER,
    HA_LINKS[0]: CLIENT_LINKS[0],
    CLIENT_LINKS[1]: CLIENT_LINKS[0],
    **dict.fromkeys((NAMES_LINKS[0], *NAMES_LINKS[2:]), NAMES_LINKS[1]),
    **dict.fromkeys(META_LINKS[1:], META_LINKS[0]),
    **dict.fromkeys(FAST_LINKS[1:], FAST_LINKS[0]),
    NAMES_LINKS[1]: HA_LINKS[0],
    META_LINKS[0]: HA_LINKS[0],
    FAST_LINKS[0]: HA_LINKS[0],
    NAMES_CLIENT: CLIENT_LINKS[0],
    OTHERS_LINKS[0]: CLIENT_LINKS[0],
    OTHERS_LINKS[1]: NAMES_LINKS[0],
    NAMES: MASTER,
    OTHER: MASTER,
}


@cache
def absent(count: int, names: bool = False, other: bool = False) -> frozenset[str]:
    """Names that a trial with ``count`` slaves, and with or without a name server and another broker name, lacks."""
    found = [*SLAVES[count:], *HA_LINKS[count:], *CLIENT_LINKS[count + 1 :]]
    begin = count if names else 0
    found += [*META_LINKS[begin:], *FAST_LINKS[begin:], *NAMES_LINKS[count + 1 if names else 0 :]]
    found += [] if names else [NAMES, NAMES_CLIENT]
    found += [] if other else [OTHER, OTHERS_LINKS[0]]
    found += [] if other and names else [OTHERS_LINKS[1]]
    return frozenset(found)
