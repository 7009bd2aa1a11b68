"""Mutants: the reference with one wrong decision, outside the reference's own files."""

import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeVar

from ...reference.client.consumer import Consumer
from ...reference.client.producer import Producer
from ...reference.core.broker import Broker
from ...reference.core.commit_log import CommitLog
from ...reference.core.ha_master import HaMaster
from ...reference.core.namesrv import NameServer
from ...reference.core.processors.pulling import Pulling
from ...reference.core.store import MessageStore

CONSUMER = "consumer"
"""The ``node`` of a mutant of every consumer."""
PRODUCER = "producer"
"""The ``node`` of a mutant of every producer that chooses queues."""


class Mutant(NamedTuple):
    """One seeded bug. ``node_class`` replaces ``node``'s; ``law`` itself must catch it, not only another law."""

    name: str
    node: str
    """``master``, ``slave`` (every one), ``names``, :data:`CONSUMER` or :data:`PRODUCER`."""
    node_class: type[Broker] | type[NameServer] | type[Consumer] | type[Producer]
    law: str
    breaks: str
    seen_in: str = ""
    """The versions of RocketMQ with this bug; empty for an invented one. A search that must find their bugs by itself
    leaves such mutants' programs out.
    """


PART = "_class"
"""Suffix of attributes with a part's class."""

WHOLES: tuple[tuple[str, type], ...] = (
    ("log_class", CommitLog),
    ("store_class", MessageStore),
    ("master_class", HaMaster),
    ("pulling_class", Pulling),
)
"""Parts that have parts themselves, the innermost first."""


@cache
def composed(*classes: type) -> type:
    """A class with the bugs of all: of a part that several replace, all replacements are combined."""
    if len(classes) == 1:
        return classes[0]
    parts = {name for each in classes for name in dir(each) if name.endswith(PART)}
    others = {name: dict.fromkeys(getattr(each, name) for each in classes) for name in sorted(parts)}
    # A part equal to the original's is not a replacement: a replacement extends it.
    made = {
        name: composed(*(each for each in found if not any(issubclass(one, each) for one in found if one is not each)))
        for name, found in others.items()
    }
    return type("And".join(each.__name__ for each in classes), classes, made)


PLAYED: dict[str, type[Any]] = {"names": NameServer, CONSUMER: Consumer, PRODUCER: Producer}
"""By ``node``: its class; all others are brokers."""

Part = TypeVar("Part")

_seeded: dict[str, list[Mutant]] = defaultdict(list)
"""By module, in the order of their classes."""


def seeded(
    node: str, law: str, breaks: str, whole: type[Any] | None = None, seen_in: str = "", **others: Any
) -> Callable[[type[Part]], type[Part]]:
    """Makes a mutant of a class: ``node`` has it in place of the reference's class that it derives from.

    The mutant has the class's name, in lower case with underscores. ``whole``: the node's class around it, by default
    the reference's; ``others``: further parts, as for :func:`with_parts`. For the rest see :class:`Mutant`. TypeError
    if the class derives from no part of ``whole``.
    """

    def seed(part: type[Part]) -> type[Part]:
        name = re.sub("(?<!^)(?=[A-Z])", "_", part.__name__).lower()
        around = whole or PLAYED.get(node, Broker)
        node_class: type[Any] = part
        if not issubclass(part, around):
            node_class = with_parts(around, **{_slot(around, part): part}, **others)
        _seeded[part.__module__].append(Mutant(name, node, node_class, law, breaks, seen_in))
        return part

    return seed


def seeded_in(module: str) -> tuple[Mutant, ...]:
    """The mutants made by :func:`seeded` from classes in this module."""
    return tuple(_seeded[module])


def _slot(whole: type, part: type) -> str:
    """The attribute of ``whole``, or of a part of it, with the class from which ``part`` derives."""
    for each in (whole, *(inner for _, inner in WHOLES)):
        for name in dir(each):
            if name.endswith(PART) and issubclass(part, getattr(each, name)):
                return name
    raise TypeError(f"{part.__name__} derives from no part of a {whole.__name__}")


def with_parts(whole: type[Any] = Broker, /, **parts: Any) -> type[Any]:
    """A subclass with parts replaced: its own (``sending_class``, ...) or those of a part (``log_class``, ...)."""
    for name, inner_whole in WHOLES:
        inner = {each: parts.pop(each) for each in list(parts) if hasattr(inner_whole, each)}
        if inner:
            parts[name] = type(f"Mutant{inner_whole.__name__}", (parts.get(name, inner_whole),), inner)
    return type(f"Mutant{whole.__name__}", (whole,), parts)
