"""Seeded bugs by name: what the harness is measured with, and what a replay of a finding may name."""

from pairproof.chaos.mutants.acks import ACKS
from pairproof.chaos.mutants.client_port import CLIENT_PORT
from pairproof.chaos.mutants.contents import CONTENTS
from pairproof.chaos.mutants.delivery import DELIVERY
from pairproof.chaos.mutants.fan_out import FAN_OUT
from pairproof.chaos.mutants.garbled import GARBLED
from pairproof.chaos.mutants.lives import LIVES
from pairproof.chaos.mutants.master import MASTER
from pairproof.chaos.mutants.metadata import METADATA
from pairproof.chaos.mutants.mutant import Mutant
from pairproof.chaos.mutants.pieces import PIECES
from pairproof.chaos.mutants.progress import PROGRESS
from pairproof.chaos.mutants.queues import QUEUES
from pairproof.chaos.mutants.replicas import REPLICAS
from pairproof.chaos.mutants.roles import ROLES
from pairproof.chaos.mutants.routing import ROUTING
from pairproof.chaos.mutants.slave import SLAVE
from pairproof.chaos.mutants.storage import STORAGE
from pairproof.chaos.mutants.store import STORE
from pairproof.chaos.mutants.stream import STREAM

MUTANTS: dict[str, Mutant] = {
    each.name: each
    for each in (
        *MASTER, *ACKS, *REPLICAS, *SLAVE, *STORE, *STREAM, *CLIENT_PORT, *CONTENTS, *FAN_OUT, *STORAGE, *PIECES,
        *METADATA, *ROLES, *ROUTING, *QUEUES, *DELIVERY, *PROGRESS, *LIVES, *GARBLED,
    )
}  # fmt: skip

__all__ = ["MUTANTS", "Mutant"]
