"""Names to things: ``reference+early_ack`` to a target, ``sim`` to a lab, every registered fault."""

from __future__ import annotations

from functools import cache
from typing import Protocol, cast, runtime_checkable

from pairproof.harness import abilities, registry
from pairproof.harness.errors import UsageError
from pairproof.harness.ports import SCARCE, Fault, Lab, Target


@runtime_checkable
class CanMutate(Protocol):
    """A target with seeded bugs."""

    def mutant(self, name: str) -> Target:
        """The target with one bug; UsageError that lists the valid ones."""


def target(name: str) -> Target:
    """A target by name, ``base+mutant`` for one with a seeded bug."""
    base, _, mutant = name.partition("+")
    found = cast(Target, registry.find("targets", base))
    if not mutant:
        return found
    if not isinstance(found, CanMutate):
        raise UsageError(f"target {base!r} has no mutants")
    return found.mutant(mutant)


def lab(name: str) -> Lab:
    """A lab by name."""
    return cast(Lab, registry.find("labs", name))


@cache
def faults() -> dict[str, Fault]:
    """Every registered fault by name."""
    return {name: cast(Fault, registry.find("faults", name)) for name in registry.names("faults")}


def drawn(lab: Lab | None = None) -> dict[str, Fault]:
    """Those that searches draw, by name: of what this lab can do (any, unless told) not what hardly any other can."""
    common = {name: fault for name, fault in faults().items() if fault.needs not in SCARCE}
    return common if lab is None else abilities.injectable(lab, common)
