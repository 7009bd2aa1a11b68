"""Choose the fixed corpus: ``python -m pairproof.harness.rocketmq.make_corpus [FILE]`` writes ``corpus.json``.

Plays the present corpus, the workload templates and a sample of every other search on the correct pair in the
simulation. Then repeatedly adds the schedule in which most laws, and parts of laws, have something to judge that the
corpus lacks, relative to its events, until each has one. From an empty corpus, a law gets :data:`TIMES` schedules,
since one may be lost when the reference or a law changes. Takes a minute or two. A law that no candidate reaches is
named: it needs a template (:mod:`pairproof.harness.rocketmq.workloads`), or an operation.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from .. import registry
from ..errors import PairproofError
from ..judging import judge
from ..judging.law import JUDGED
from ..judging.verdict import Verdict
from ..ports import Lab, Target
from ..search import sweep
from ..trials import resolve
from ..trials.interpreter import run_trial
from ..trials.schedule import Schedule
from . import cluster, swarm, truncation
from .corpus import FILE, corpus, to_text
from .workloads import TEMPLATES

SEED = "corpus"
TIMES = 2
SWEPT, CUT, SWARMED, CLUSTER = 250, 250, 150, 2 * len(TEMPLATES)
"""Candidates from each search; the first cluster trials are the templates."""


class Candidate(NamedTuple):
    """A schedule, the cost of its trial, and the laws and parts of laws that had something to judge."""

    schedule: Schedule
    events: int
    laws: frozenset[str]


def candidates(lab: Lab, target: Target) -> Iterator[Schedule]:
    """The candidates; the same each time."""
    yield from islice(sweep.schedules(lab, target, SEED), SWEPT)
    yield from islice(truncation.schedules(lab, target, SEED), CUT)
    yield from (swarm.schedule(SEED, number, lab) for number in range(SWARMED))
    yield from (cluster.schedule(SEED, number, lab) for number in range(CLUSTER))


def played(lab: Lab, target: Target, schedule: Schedule) -> Candidate:
    """A candidate; PairproofError if a law does not hold, since the corpus must be clean."""
    trial = run_trial(lab, target, schedule, origin="corpus", laws=judge.all_laws())
    bad = [each.law for each in trial.judgements if each.verdict in (Verdict.VIOLATED, Verdict.UNKNOWN)]
    if bad:
        raise PairproofError(f"{', '.join(bad)} not green on {target.name}, seed {schedule.seed}: fix that first")
    held = [each for each in trial.judgements if each.verdict is Verdict.HOLDS]
    parts = (f"{each.law} {note}" for each in held for note in each.notes if note.startswith(JUDGED))
    return Candidate(schedule, len(trial.events), frozenset((*(each.law for each in held), *parts)))


def chosen(found: list[Candidate], kept: Sequence[Candidate] = ()) -> list[Candidate]:
    """Candidates that give every reachable law something to judge, :data:`TIMES` times if possible, and every part of
    a law once; or only what ``kept`` lacks.
    """
    reach = Counter(law for each in found for law in each.laws)
    wanted = Counter({law: min(1 if kept or " " in law else TIMES, times) for law, times in reach.items()})
    for each in kept:
        wanted.subtract(each.laws)
    taken: list[Candidate] = []
    left = list(found)
    while +wanted:
        best = max(left, key=lambda each: sum(wanted[law] > 0 for law in each.laws) / (each.events + 100))
        left.remove(best)
        taken.append(best)
        wanted.subtract(best.laws)
    return taken


def make() -> list[Schedule]:
    """The corpus for the registered laws; PairproofError names unreachable ones."""
    lab, target = resolve.lab("sim"), resolve.target("reference")
    kept = [played(lab, target, each) for each in corpus()]
    found = [played(lab, target, each) for each in candidates(lab, target)]
    taken = [*kept, *chosen(found, kept)]
    laws = frozenset[str]().union(*(each.laws for each in taken))
    seen = {law.id for law in judge.all_laws() if law.needs <= lab.observes(target)}
    missing = sorted((registry.own("laws") & seen) - laws)
    if missing:
        raise PairproofError(f"no candidate lets {', '.join(missing)} judge anything: write a template that does")
    return [each.schedule for each in taken]


if __name__ == "__main__":
    place = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).with_name(FILE)
    place.write_text(to_text(make()), encoding="utf-8")
