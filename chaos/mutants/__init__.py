"""Seeded bugs by name: what the harness is measured with, and what a replay of a finding may name.

Each file has some of one subject, a tuple that is registered under the entry points ``pairproof.mutants``; a third
party registers its own in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import cast

from pairproof.chaos.mutants.mutant import Mutant
from pairproof.harness import registry
from pairproof.harness.errors import UsageError


@cache
def catalogue() -> Mapping[str, Mutant]:
    """Every registered mutant; UsageError if two have one name."""
    found: dict[str, Mutant] = {}
    for group in registry.names("mutants"):
        for each in cast(tuple[Mutant, ...], registry.find("mutants", group)):
            if each.name in found:
                raise UsageError(f"two mutants are called {each.name!r}; one is in the entry point {group!r}")
            found[each.name] = each
    return found


__all__ = ["Mutant", "catalogue"]
