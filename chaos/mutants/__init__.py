"""Seeded bugs by name: they measure the harness, and a replay of a finding may name one.

Each file has a tuple with the mutants of one subject. A third party registers its own tuple under the entry points
``pairproof.mutants``. Ours need none: a container's node may be a mutant, and no package is installed there.
"""

from collections.abc import Mapping
from functools import cache
from typing import cast

from ...harness import registry
from ...harness.errors import UsageError
from .acks import ACKS
from .administrators import ADMINISTRATORS
from .by_tag import BY_TAG
from .client_port import CLIENT_PORT
from .contents import CONTENTS
from .conversations import CONVERSATIONS
from .delivery import DELIVERY
from .fan_out import FAN_OUT
from .garbled import GARBLED
from .groups import GROUPS
from .incarnations import LIVES
from .locks import LOCKS
from .long_conversations import LONG_CONVERSATIONS
from .master import MASTER
from .metadata import METADATA
from .moments import MOMENTS
from .mutant import Mutant
from .other_sends import OTHER_SENDS
from .pacing import PACES
from .pieces import PIECES
from .producers import PRODUCERS
from .progress import PROGRESS
from .pulls import PULLS
from .queries import QUERIES
from .questions import QUESTIONS
from .queues import QUEUES
from .recoveries import RECOVERIES
from .replicas import REPLICAS
from .roles import ROLES
from .routing import ROUTING
from .sent_back import SENT_BACK
from .slave import SLAVE
from .storage import STORAGE
from .store import STORE
from .stream import STREAM
from .transactions import TRANSACTIONS

OWN: tuple[Mutant, ...] = (
    *MASTER, *ACKS, *REPLICAS, *SLAVE, *STORE, *STREAM, *CLIENT_PORT, *CONTENTS, *FAN_OUT, *STORAGE, *PACES, *PIECES,
    *METADATA, *ROLES, *ROUTING, *QUEUES, *DELIVERY, *PROGRESS, *LIVES, *GARBLED, *QUESTIONS, *OTHER_SENDS,
    *GROUPS, *ADMINISTRATORS, *PRODUCERS, *LOCKS, *PULLS, *SENT_BACK, *BY_TAG, *TRANSACTIONS, *CONVERSATIONS,
    *LONG_CONVERSATIONS, *RECOVERIES, *QUERIES, *MOMENTS,
)  # fmt: skip


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
