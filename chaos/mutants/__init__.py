"""Seeded bugs by name: what the harness is measured with, and what a replay of a finding may name."""

from pairproof.chaos.mutants.client_port import CLIENT_PORT
from pairproof.chaos.mutants.master import MASTER
from pairproof.chaos.mutants.mutant import Mutant
from pairproof.chaos.mutants.slave import SLAVE
from pairproof.chaos.mutants.store import STORE

MUTANTS: dict[str, Mutant] = {each.name: each for each in (*MASTER, *SLAVE, *STORE, *CLIENT_PORT)}

__all__ = ["MUTANTS", "Mutant"]
