"""Seeded bugs by name: what the harness is measured with, and what a replay of a finding may name.

Each file has some of one subject, a tuple. A third party registers a tuple of its own under the entry points
``pairproof.mutants``. Ours need no entry point: in a container nothing is installed, and its node is a mutant all the
same.
"""

from collections.abc import Mapping
from functools import cache
from typing import cast

from pairproof.chaos.mutants.acks import ACKS
from pairproof.chaos.mutants.administrators import ADMINISTRATORS
from pairproof.chaos.mutants.by_tag import BY_TAG
from pairproof.chaos.mutants.client_port import CLIENT_PORT
from pairproof.chaos.mutants.contents import CONTENTS
from pairproof.chaos.mutants.delivery import DELIVERY
from pairproof.chaos.mutants.fan_out import FAN_OUT
from pairproof.chaos.mutants.garbled import GARBLED
from pairproof.chaos.mutants.groups import GROUPS
from pairproof.chaos.mutants.lives import LIVES
from pairproof.chaos.mutants.locks import LOCKS
from pairproof.chaos.mutants.master import MASTER
from pairproof.chaos.mutants.metadata import METADATA
from pairproof.chaos.mutants.mutant import Mutant
from pairproof.chaos.mutants.other_sends import OTHER_SENDS
from pairproof.chaos.mutants.paces import PACES
from pairproof.chaos.mutants.pieces import PIECES
from pairproof.chaos.mutants.producers import PRODUCERS
from pairproof.chaos.mutants.progress import PROGRESS
from pairproof.chaos.mutants.pulls import PULLS
from pairproof.chaos.mutants.questions import QUESTIONS
from pairproof.chaos.mutants.queues import QUEUES
from pairproof.chaos.mutants.recoveries import RECOVERIES
from pairproof.chaos.mutants.replicas import REPLICAS
from pairproof.chaos.mutants.roles import ROLES
from pairproof.chaos.mutants.routing import ROUTING
from pairproof.chaos.mutants.sent_back import SENT_BACK
from pairproof.chaos.mutants.slave import SLAVE
from pairproof.chaos.mutants.storage import STORAGE
from pairproof.chaos.mutants.store import STORE
from pairproof.chaos.mutants.stream import STREAM
from pairproof.chaos.mutants.transactions import TRANSACTIONS
from pairproof.chaos.mutants.visits import VISITS
from pairproof.chaos.mutants.visits_in_time import VISITS_IN_TIME
from pairproof.harness import registry
from pairproof.harness.errors import UsageError

OWN: tuple[Mutant, ...] = (
    *MASTER, *ACKS, *REPLICAS, *SLAVE, *STORE, *STREAM, *CLIENT_PORT, *CONTENTS, *FAN_OUT, *STORAGE, *PACES, *PIECES,
    *METADATA, *ROLES, *ROUTING, *QUEUES, *DELIVERY, *PROGRESS, *LIVES, *GARBLED, *QUESTIONS, *OTHER_SENDS,
    *GROUPS, *ADMINISTRATORS, *PRODUCERS, *LOCKS, *PULLS, *SENT_BACK, *BY_TAG, *TRANSACTIONS, *VISITS,
    *VISITS_IN_TIME, *RECOVERIES,
)  # fmt: skip


@cache
def catalogue() -> Mapping[str, Mutant]:
    """All of them; UsageError if two have one name."""
    found = {each.name: each for each in OWN}
    for group in registry.names("mutants"):
        for each in cast(tuple[Mutant, ...], registry.find("mutants", group)):
            if each.name in found:
                raise UsageError(f"two mutants are called {each.name!r}; one is in the entry point {group!r}")
            found[each.name] = each
    return found


__all__ = ["OWN", "Mutant", "catalogue"]
