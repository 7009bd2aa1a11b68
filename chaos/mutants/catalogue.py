"""The catalogue of mutants: each a small override of one decision, and the law that must catch it."""

from __future__ import annotations

from typing import NamedTuple

from pairproof.reference.core.broker import Broker


class Mutant(NamedTuple):
    """One seeded bug. ``broker`` replaces the class of ``node``; ``law`` must catch it, not only a neighbour."""

    name: str
    node: str
    broker: type[Broker]
    law: str
    breaks: str


MUTANTS: dict[str, Mutant] = {}
