"""A lab that is not deterministic: the simulation, in which each n-th trial runs a target with a seeded bug."""

from __future__ import annotations

from pairproof.chaos.labs.sim.session import SimSession
from pairproof.harness.ports import Target
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Args

SIM = resolve.lab("sim")


class ShakyLab:
    """``bad``: the target with the bug; every ``nth`` trial runs it, whatever was asked for."""

    name = "shaky"
    deterministic = False

    def __init__(self, bad: str, nth: int) -> None:
        self.bad = resolve.target(bad)
        self.nth = nth
        self.executed = 0

    def parts(self, target: Target | None) -> tuple[type, ...]:
        return SIM.parts(target)  # type: ignore[attr-defined,no-any-return]

    def observes(self, target: Target) -> frozenset[str]:
        return SIM.observes(target)

    def open(self, target: Target, settings: Args, seed: str) -> SimSession:
        self.executed += 1
        return SIM.open(target if self.executed % self.nth else self.bad, settings, seed)
