"""The plan of a campaign: the trials of ``check --trials``, in chunks that are the same for every engine."""

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
"""Trials of a chunk: at least a second's work, and at most a minute's, the loss if a machine fails."""
CHUNKS = 500
"""The approximate number, within those limits: each is a file in every table."""


class Plan(NamedTuple):
    """The parameters of a campaign's trials and verdicts, all of which are facts of its run."""

    target: str
    lab: str
    profile: str
    seed: str
    trials: int
    laws: tuple[str, ...]
    keep: str
    code: str

    @classmethod
    def of_facts(cls, facts: dict[str, Any]) -> Plan | None:
        """The plan of a campaign's run; None for another run."""
        fact = facts.get("campaign")
        if not isinstance(fact, dict) or not isinstance(fact.get("trials"), int):
            return None
        target, lab, chosen, seed = (str(facts.get(name, "")) for name in ("target", "lab", "profile", "seed"))
        laws = tuple(map(str, facts.get("laws") or ()))
        return cls(target, lab, chosen, seed, fact["trials"], laws, str(facts.get("keep")), str(fact.get("code")))

    @property
    def fact(self) -> dict[str, object]:
        return {"trials": self.trials, "code": self.code, "plan": self.digest}

    @property
    def digest(self) -> str:
        """Equal exactly for campaigns that play the same trials with the same code."""
        return digest(json.dumps(self).encode())


class Chunk(NamedTuple):
    """Trials ``first`` to ``first + trials - 1`` of a search. ``part``: its number in every table; ``number``: that of
    its first trial in the run.
    """

    part: int
    origin: str
    first: int
    trials: int
    number: int


class Environment(NamedTuple):
    lab: Lab
    target: Target
    laws: Laws
    listed: dict[str, Sequence[Schedule]]
    code: str


@lru_cache(maxsize=2)
def environment(plan: Plan) -> Environment:
    """Made once per process, since enumerating the sweep takes a second. UsageError for unknown names."""
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
    return Environment(lab, target, laws, {CORPUS: system.corpus(), **listed}, code.of(lab, target, laws))


def chunks(plan: Plan) -> list[Chunk]:
    """The whole campaign, the corpus first; a search's unused share goes to the later ones."""
    found, spent = environment(plan), 0
    system = resolve.system_of(found.target)
    budget = Budget.of(profile(plan.profile), found.lab, trials=plan.trials)
    budget = budget.of_searches({*found.listed, *seeded(system), MACHINE})
    size = max(LEAST_CHUNK, min(MOST_CHUNK, plan.trials // CHUNKS))
    # Only whole batches of the machine can be played separately.
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
