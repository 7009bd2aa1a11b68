"""What a campaign plays: the trials of ``check --trials``, in chunks that are the same for every engine."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..errors import UsageError
from ..exploration.budget import Budget
from ..exploration.profiles import profile
from ..exploration.slices import MACHINE, enumerated, seeded
from ..judging import judge as judging
from ..judging.verdict import CORPUS
from ..ports import Lab, Target
from ..runs.sampling import sampling
from ..runs.wholeness import digest
from ..search import machine
from ..trials import resolve
from ..trials.interpreter import Laws
from ..trials.schedule import Schedule
from . import code

LEAST_CHUNK, MOST_CHUNK = 64, 2_048
"""Trials of a chunk: a second's work at least, and a minute's at most, which is what a machine that fails takes with
it."""
CHUNKS = 500
"""About so many, between those bounds: each is a file in every table."""


class Plan(NamedTuple):
    """What decides a campaign's trials, and their verdicts. All of it is in the facts of its run."""

    target: str
    lab: str
    profile: str
    seed: str
    trials: int
    laws: tuple[str, ...]
    keep: str
    code: str
    """Digest of what plays it: :func:`pairproof.harness.campaign.code.of`."""

    @classmethod
    def of_facts(cls, facts: dict[str, Any]) -> Plan | None:
        """The plan of a run that a campaign made; None of any other."""
        told = facts.get("campaign")
        if not isinstance(told, dict) or not isinstance(told.get("trials"), int):
            return None
        target, lab, chosen, seed = (str(facts.get(name, "")) for name in ("target", "lab", "profile", "seed"))
        laws = tuple(map(str, facts.get("laws") or ()))
        return cls(target, lab, chosen, seed, told["trials"], laws, str(facts.get("keep")), str(told.get("code")))

    @property
    def fact(self) -> dict[str, object]:
        """The fact ``campaign``."""
        return {"trials": self.trials, "code": self.code, "plan": self.digest}

    @property
    def digest(self) -> str:
        """The same for campaigns that play the same trials with the same code, and for no others."""
        return digest(json.dumps(self).encode())


class Chunk(NamedTuple):
    """Trials ``first`` to ``first + trials - 1`` of a search. ``part``: its number in every table; ``number``: that of
    its first trial in the run."""

    part: int
    origin: str
    first: int
    trials: int
    number: int


class Bench(NamedTuple):
    """What a process plays a plan with."""

    lab: Lab
    target: Target
    laws: Laws
    listed: dict[str, Sequence[Schedule]]
    """By origin, the schedules of what is enumerated."""
    code: str
    """Digest of what this process plays with."""


@lru_cache(maxsize=2)
def bench(plan: Plan) -> Bench:
    """Made once in a process: to enumerate the sweep takes a second. UsageError for names that are not known."""
    lab, target = resolve.lab(plan.lab), resolve.target(plan.target)
    resolve.check_pair(lab, target)
    if not lab.deterministic:
        raise UsageError(
            f"a campaign is for labs that are deterministic, not for {lab.name}; use pairproof check there"
        )
    sampling(plan.keep, plan.seed)
    system = resolve.system_of(target)
    listed = {name: listing(lab, target, plan.seed) for name, listing in enumerated(system).items()}
    laws = judging.laws(plan.laws)
    return Bench(lab, target, laws, {CORPUS: system.corpus(), **listed}, code.of(lab, target, laws))


def chunks(plan: Plan) -> list[Chunk]:
    """The whole campaign, the corpus first; what a search leaves over goes to those after it."""
    found, spent = bench(plan), 0
    system = resolve.system_of(found.target)
    budget = Budget.of(profile(plan.profile), found.lab, trials=plan.trials)
    budget = budget.of_searches({*found.listed, *seeded(system), MACHINE})
    size = max(LEAST_CHUNK, min(MOST_CHUNK, plan.trials // CHUNKS))
    # Only whole batches of the machine can be played apart.
    sizes = {MACHINE: size - size % machine.BATCH}
    cut: list[Chunk] = []
    number = 0
    for origin in (CORPUS, *budget.shares):
        allowed = len(found.listed[CORPUS]) if origin == CORPUS else budget.allowance(origin, spent, lambda: 0.0).trials
        trials = min(allowed, len(found.listed[origin])) if origin in found.listed else allowed
        spent += trials if origin != CORPUS else 0
        for first in range(0, trials, sizes.get(origin, size)):
            count = min(sizes.get(origin, size), trials - first)
            cut.append(Chunk(len(cut), origin, first, count, number))
            number += count
    return cut
