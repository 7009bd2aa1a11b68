"""What a mutant is: the reference with one decision made wrongly, outside the reference's own files."""

from __future__ import annotations

from typing import Any, NamedTuple

from pairproof.reference.core.broker import Broker


class Mutant(NamedTuple):
    """One seeded bug. ``broker`` replaces the class of ``node``; ``law`` must catch it, not only a neighbour."""

    name: str
    node: str
    broker: type[Broker]
    law: str
    breaks: str
    """What it does wrong, and where a bug like it was seen."""


def with_parts(**parts: Any) -> type[Broker]:
    """A broker in which some parts (``master_class``, ``slave_class``, ...) or methods are other ones."""
    return type("MutantBroker", (Broker,), parts)
