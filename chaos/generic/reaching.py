"""Finds the trials that reach a site: the unmutated target plays the corpus and all searches, with probes.

The schedules are those of ``check``, without Hypothesis: the corpus, then the searches of the target's system in turn.
A trial in which the unmutated target violates a law is an alarm, and no mutant plays it. A process with probes imports
this behind the hook.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, count, islice, repeat, zip_longest

from ...harness.judging import judge
from ...harness.judging.cause import violated
from ...harness.judging.verdict import CORPUS
from ...harness.ports import Lab, Target
from ...harness.search import swarm, sweep
from ...harness.trials import resolve
from ...harness.trials.abilities import Hosted
from ...harness.trials.interpreter import run_trial
from ...harness.trials.schedule import Schedule
from .playing import digest

CACHED = type(lru_cache(len))


def schedules(lab: Lab, target: Target, seed: str) -> Iterator[tuple[str, Schedule]]:
    """The corpus, then all searches in turn, each with its name."""
    system = resolve.system_of(target)
    yield from ((CORPUS, each) for each in system.corpus())
    listing = {"sweep": sweep.schedules, **system.enumerated}
    listed = [[(name, each) for each in listing[name](lab, target, seed)] for name in listing]
    for number, found in zip(count(), chain(zip_longest(*listed), repeat(())), strict=False):
        yield from (each for each in found if each is not None)
        yield "swarm", swarm.schedule(system, seed, number, Hosted(lab, target))
        for name, draw in system.seeded.items():
            if name != "swarm":
                yield name, draw(seed, number, Hosted(lab, target))


def recorded(
    lab_name: str, target_name: str, seed: str, trials: int, modules: Iterable[str], reached: set[int]
) -> Iterator[dict[str, object]]:
    """Play so many trials beyond the corpus, and return each one's reached sites. The last line has all of them.

    The probes fill ``reached``; ``modules`` have the probes.
    """
    lab, target = resolve.lab(lab_name), resolve.target(target_name)
    laws = judge.laws_for(target)
    first = len(resolve.system_of(target).corpus())
    ever: set[int] = set()
    for number, (origin, schedule) in enumerate(islice(schedules(lab, target, seed), first + trials)):
        ever |= reached
        reached.clear()
        _forget(modules)
        trial = run_trial(lab, target, schedule, number=number, origin=origin, laws=laws)
        yield {
            "number": number, "origin": origin, "events": len(trial.events), "schedule": schedule.to_json(),
            "digest": digest(trial.events), "reached": sorted(reached),
            "alarms": [each.law for each in violated(trial)],
        }  # fmt: skip
    yield {"ever": sorted(ever | reached)}


def _forget(modules: Iterable[str]) -> None:
    """Empty the caches of functions: an earlier trial's entries would hide sites that this one reaches."""
    for module in (sys.modules[each] for each in modules if each in sys.modules):
        for value in list(vars(module).values()):
            for each in (value, *(vars(value).values() if isinstance(value, type) else ())):
                if isinstance(each, CACHED):
                    each.cache_clear()


def chosen(trials: Sequence[tuple[int, str, int]], most: int) -> list[int]:
    """At most so many of the trials (number, origin, events), all origins in turn; the cheapest first."""
    by_origin: dict[str, list[tuple[int, str, int]]] = {}
    for each in trials:
        by_origin.setdefault(each[1], []).append(each)
    turns = [each for turn in zip_longest(*by_origin.values()) for each in turn if each is not None]
    return [number for number, _, _ in sorted(turns[:most], key=lambda each: (each[2], each[0]))]
