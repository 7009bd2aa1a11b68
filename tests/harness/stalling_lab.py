"""A lab that is not deterministic: the simulation on a machine that stalls all through its first trials."""

from __future__ import annotations

from pairproof.chaos.labs.sim.session import SimSession
from pairproof.harness.ports import Target
from pairproof.harness.trials import resolve
from pairproof.harness.trials.schedule import Args

SIM = resolve.lab("sim")
LONG_NS = 10**13


class StallingLab:
    """``spoils``: how many trials the machine stalls in."""

    name = "stalling"
    deterministic = False

    def __init__(self, spoils: int) -> None:
        self.spoils = spoils
        self.opened = 0

    def parts(self, target: Target | None) -> tuple[type, ...]:
        return SIM.parts(target)  # type: ignore[attr-defined,no-any-return]

    def observes(self, target: Target) -> frozenset[str]:
        return SIM.observes(target)

    def open(self, target: Target, settings: Args, seed: str) -> SimSession:
        session = SIM.open(target, settings, seed)
        self.opened += 1
        if self.opened <= self.spoils:
            session.recorder.add(session.now(), "stall", f="proxy", value=LONG_NS, detail="waited for a CPU")
        return session
