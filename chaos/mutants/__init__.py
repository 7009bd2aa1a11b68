"""Seeded bugs by name: they measure the harness, and a replay of a finding may name one.

Each file has the mutants of one subject. A third party registers a tuple under the entry points ``pairproof.mutants``.
Ours need none: a container's node may be a mutant, and no package is installed there.
"""

from collections.abc import Mapping
from functools import cache
from typing import cast

from ...harness import registry
from ...harness.errors import UsageError
from . import (
    acks,
    administrators,
    by_tag,
    client_port,
    contents,
    conversations,
    delivery,
    failover,
    fan_out,
    garbled,
    groups,
    incarnations,
    locks,
    long_conversations,
    master,
    metadata,
    moments,
    other_sends,
    pacing,
    pieces,
    pools,
    producers,
    progress,
    pulls,
    queries,
    questions,
    queues,
    recoveries,
    replicas,
    roles,
    routing,
    sent_back,
    slave,
    storage,
    store,
    stream,
    transactions,
)
from .mutant import Mutant, seeded_in

_MODULES = (
    master, acks, replicas, slave, store, stream, client_port, contents, fan_out, storage, pacing, pieces,
    metadata, roles, routing, queues, delivery, progress, incarnations, garbled, questions, other_sends, groups,
    administrators, producers, locks, pulls, sent_back, by_tag, transactions, conversations, long_conversations,
    recoveries, queries, moments, failover, pools,
)  # fmt: skip
OWN: tuple[Mutant, ...] = tuple(each for module in _MODULES for each in seeded_in(module.__name__))


@cache
def catalogue() -> Mapping[str, Mutant]:
    """All mutants; UsageError if two have one name."""
    found = {each.name: each for each in OWN}
    for group in registry.names("mutants"):
        for each in cast(tuple[Mutant, ...], registry.find("mutants", group)):
            if each.name in found:
                raise UsageError(f"two mutants are called {each.name!r}; one is in the entry point {group!r}")
            found[each.name] = each
    return found


__all__ = ["OWN", "Mutant", "catalogue"]
