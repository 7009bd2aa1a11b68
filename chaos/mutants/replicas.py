"""Mutants of counting in-sync replicas: visible only if a send waits for more than one slave."""

from collections.abc import Hashable
from typing import Any

from ...reference.core.ha_master import HaConnection, HaMaster
from .mutant import Mutant, seeded, with_parts


class CountsConnections(HaMaster):
    def replica_of(self, peer: HaConnection) -> Hashable:
        return id(peer)


@seeded("master", "ack-replicated", "waits for one slave although inSyncReplicas is two", seen_in="4.x")
class CountsOneAck(HaMaster):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.needed = min(self.needed, 1)


COUNTS_CONNECTIONS = Mutant(
    "counts_connections", "master", with_parts(master_class=CountsConnections), "ack-replicated",
    "counts one slave's two connections as two replicas (5.x)",
)  # fmt: skip
"""Not in the catalogue: it takes three concurrent faults, which no search draws in its time. A test shows it."""
