"""Names to things: ``reference+early_ack`` to a target, ``sim`` to a lab, every registered fault."""

from __future__ import annotations

from functools import cache
from typing import Protocol, cast, runtime_checkable

from pairproof.harness import abilities, registry
from pairproof.harness.errors import UsageError
from pairproof.harness.operation import Operation
from pairproof.harness.ports import Fault, Lab, Target
from pairproof.harness.ports.nodes import SCARCE
from pairproof.harness.system import PLAIN, System


@runtime_checkable
class CanMutate(Protocol):
    """A target with seeded bugs."""

    def mutant(self, name: str) -> Target:
        """The target with one bug; UsageError that lists the valid ones."""


@runtime_checkable
class IsParticular(Protocol):
    """A lab that cannot run every target."""

    def takes(self, target: Target) -> bool:
        """Whether it knows how to run this target. Asked before anything is made."""


def takes(lab: Lab, target: Target) -> bool:
    """Whether the lab runs the target; a lab that says nothing of it does."""
    return not isinstance(lab, IsParticular) or lab.takes(target)


def check_pair(lab: Lab, target: Target) -> None:
    """UsageError, with the labs that do, if the lab does not run the target."""
    if not takes(lab, target):
        others = [name for name in registry.names("labs") if takes(find_lab(name), target)]
        raise UsageError(
            f"lab {lab.name} does not run target {target.name}; labs that do: {', '.join(others) or 'none'}"
        )


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


find_lab = lab
"""The same where a parameter has that name."""


def system(name: str) -> System:
    """A system by name; the plain one where there is none."""
    return cast(System, registry.find("systems", name)) if name else PLAIN


def system_of(target: Target) -> System:
    """The system that a target names."""
    return system(str(getattr(target, "system", "")))


@cache
def faults() -> dict[str, Fault]:
    """Every registered fault by name."""
    return {name: cast(Fault, registry.find("faults", name)) for name in registry.names("faults")}


@cache
def operations() -> dict[str, Operation]:
    """Every registered operation by name."""
    return {name: cast(Operation, registry.find("operations", name)) for name in registry.names("operations")}


def drawn(lab: abilities.Place | None = None) -> dict[str, Fault]:
    """Those that searches draw, by name: of what this lab can do (any, unless told) not what hardly any other can."""
    common = {name: fault for name, fault in faults().items() if fault.needs not in SCARCE}
    return common if lab is None else abilities.injectable(lab, common)


def doable(lab: abilities.Place | None = None) -> dict[str, Operation]:
    """The operations that searches draw, by name: of what this lab can do (any, unless told)."""
    known = {name: each for name, each in operations().items() if each.drawn is not None}
    return known if lab is None else abilities.doable(lab, known)
