"""Campaigns for tests: a small plan, its facts, and one process that plays it in view of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pairproof.harness.campaign import chunks as playing
from pairproof.harness.campaign import code
from pairproof.harness.campaign.campaign import Campaign
from pairproof.harness.campaign.plan import Plan
from pairproof.harness.judging import judge
from pairproof.harness.runs.writer import RunWriter
from pairproof.harness.trials import resolve


def planned(target: str, trials: int, laws: Sequence[str], seed: str = "s", keep: str = "50") -> Plan:
    """A plan in the simulation, of the code that is here."""
    here = code.of(resolve.lab("sim"), resolve.target(target), judge.laws(laws))
    return Plan(target, "sim", "deep", seed, trials, tuple(laws), keep, here)


def facts_of(plan: Plan) -> dict[str, object]:
    """The facts of its run."""
    return {
        "target": plan.target, "lab": plan.lab, "system": "rocketmq", "profile": plan.profile, "seed": plan.seed,
        "laws": list(plan.laws), "keep": int(plan.keep), "campaign": plan.fact,
    }  # fmt: skip


def play(folder: Path, plan: Plan) -> Path:
    """The folder, in which one process has played the plan."""
    campaign = Campaign(RunWriter(folder, facts_of(plan)), plan)
    campaign.lead(Counting())
    campaign.close()
    return folder


class Counting:
    """One process, which counts what it plays, and gives up after so many tasks."""

    def __init__(self, give_up: int | None = None) -> None:
        self.played: list[int] = []
        self.give_up = give_up

    def play(self, do: Callable[..., Any], tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        for task in reversed(tasks):
            if len(self.played) == self.give_up:
                raise KeyboardInterrupt
            if do is playing.play_chunk:
                self.played.append(task[-1].part)
            yield do(*task)
