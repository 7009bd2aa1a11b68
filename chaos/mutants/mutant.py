"""What a mutant is: the reference with one decision made wrongly, outside the reference's own files."""

from typing import Any, NamedTuple

from pairproof.reference.client.consumer import Consumer
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.namesrv import NameServer
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


def with_parts(**parts: Any) -> type[Broker]:
    """A broker in which some parts, its own (``master_class``, ...) or its store's (``log_class``, ...), are others."""
    inner = {name: part for name, part in parts.items() if hasattr(MessageStore, name)}
    outer = {name: part for name, part in parts.items() if name not in inner}
    if inner:
        outer["store_class"] = type("MutantStore", (MessageStore,), inner)
    return type("MutantBroker", (Broker,), outer)


def consumer_with(**parts: Any) -> type[Consumer]:
    """A consumer in which some parts (``pulling_class``, ...) are others."""
    return type("MutantConsumer", (Consumer,), parts)


def name_server_with(**parts: Any) -> type[NameServer]:
    """A name server in which some parts (``routes_class``) are others."""
    return type("MutantNameServer", (NameServer,), parts)
