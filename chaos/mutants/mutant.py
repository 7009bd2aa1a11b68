"""What a mutant is: the reference with one decision made wrongly, outside the reference's own files."""

from typing import Any, NamedTuple

from pairproof.reference.client.consumer import Consumer
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.commit_log import CommitLog
from pairproof.reference.core.ha_master import HaMaster
from pairproof.reference.core.namesrv import NameServer
from pairproof.reference.core.processors.pulling import Pulling
from pairproof.reference.core.store import MessageStore

CONSUMER = "consumer"
"""The ``node`` of a mutant that plays every consumer."""


class Mutant(NamedTuple):
    """One seeded bug. ``node_class`` plays ``node``; ``law`` must catch it, not only a neighbour."""

    name: str
    node: str
    """``master``, ``slave`` (every one), ``names`` or :data:`CONSUMER`."""
    node_class: type[Broker] | type[NameServer] | type[Consumer]
    law: str
    breaks: str
    """What it does wrong, and where a bug like it was seen."""


WHOLES: tuple[tuple[str, type], ...] = (
    ("log_class", CommitLog),
    ("store_class", MessageStore),
    ("master_class", HaMaster),
    ("pulling_class", Pulling),
)
"""Parts that have parts themselves, the innermost first."""


def with_parts(**parts: Any) -> type[Broker]:
    """A broker in which some parts, its own (``sending_class``, ...) or those of a part (``log_class``, ...), are
    others."""
    for name, whole in WHOLES:
        inner = {each: parts.pop(each) for each in list(parts) if hasattr(whole, each)}
        if inner:
            parts[name] = type(f"Mutant{whole.__name__}", (parts.get(name, whole),), inner)
    return type("MutantBroker", (Broker,), parts)


def consumer_with(**parts: Any) -> type[Consumer]:
    """A consumer in which some parts (``pulling_class``, ...) are others."""
    return type("MutantConsumer", (Consumer,), parts)


def name_server_with(**parts: Any) -> type[NameServer]:
    """A name server in which some parts (``routes_class``) are others."""
    return type("MutantNameServer", (NameServer,), parts)
