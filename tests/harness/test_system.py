"""A target that names no system is explored like any other, with what every pair has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pairproof.harness import registry
from pairproof.harness.errors import UsageError
from pairproof.harness.exploration import profiles
from pairproof.harness.exploration.explore import Explorer
from pairproof.harness.ports import Lab, Session, Target
from pairproof.harness.search import swarm, sweep
from pairproof.harness.search.pacing import paced
from pairproof.harness.system import PAIR, PLAIN
from pairproof.harness.trials import resolve
from pairproof.harness.trials.abilities import Hosted
from pairproof.harness.trials.schedule import Args, Op, Schedule
from pairproof.harness.trials.trial import Trial

LAB, REFERENCE = resolve.lab("sim"), resolve.target("reference")


class Plain:
    """The reference, but for its name and its system."""

    name = "plain"
    system = ""

    def settings(self, schedule: Args) -> Args:
        return REFERENCE.settings(schedule)


class Hosting:
    """The simulation, which takes it for the reference."""

    name, deterministic = "hosting", True

    def observes(self, target: Target) -> frozenset[str]:
        return LAB.observes(REFERENCE)

    def open(self, target: Target, settings: Args, seed: str) -> Session:
        return LAB.open(REFERENCE, settings, seed)


def explored(lab: Lab, target: Target) -> tuple[list[Trial], Explorer]:
    trials: list[Trial] = []
    counts = {"sweep": 25, "truncation": 5, "cluster": 5, "swarm": 25, "machine": 12}
    profile = profiles.profile("quick")._replace(seconds=None, counts=counts)
    explorer = Explorer(lab, target, profile, "plain", (), on_trial=trials.append)
    explorer.run()
    return trials, explorer


def test_a_target_without_a_system_is_swept_swarmed_and_driven_by_the_machine_and_nothing_else() -> None:
    trials, explorer = explored(Hosting(), Plain())
    assert {each.origin for each in trials} == {"sweep", "swarm", "machine"}
    assert explorer.totals["sweep"] > 100 and not explorer.summary().coverage.pairs()
    assert {repr(each.schedule.settings) for each in trials} == {"{}"}
    assert {op.do for each in trials for op in each.schedule.ops} >= {"send", "pull", "advance", "step", "fault", "arm"}


def test_of_a_target_without_a_system_minimums_demand_trials_alone() -> None:
    explorer = Explorer(Hosting(), Plain(), profiles.profile("proof"), "s", ())
    assert [(each.what, each.met >= each.least) for each in explorer.run().minimums] == [
        ("trials of the machine", True)
    ]


def placed(schedules: Iterator[Schedule]) -> set[object]:
    ops = [op.args for each in schedules for op in each.ops]
    return {args[name] for args in ops for name in ("node", "link") if name in args}


def test_it_meets_faults_at_the_places_of_a_pair_only() -> None:
    assert placed(swarm.schedule(PLAIN, "s", number) for number in range(300)) - {"all"} == PAIR
    assert placed(iter(sweep.schedules(Hosting(), Plain(), "s"))) - {"all"} == PAIR


def test_a_place_that_a_pair_has_once_stands_for_those_of_its_kind_and_a_stranger_s_stays() -> None:
    args = {"node": "slave2", "link": "client-slave3", "image": "slave2"}
    assert PLAIN.within(args, {}) == {"node": "slave", "link": "client-slave", "image": "slave2"}
    assert PLAIN.within({"node": "west2"}, {}) == {"node": "west2"}


def test_its_schedules_are_paced_without_waiting_for_what_a_system_would_show() -> None:
    steps = tuple(Op("step", {"events": each}) for each in range(1, 9))
    found = paced(Hosted(Hosting(), Plain()), Schedule({"own": 1}, "s", steps))
    assert {op.do for op in found.ops} == {"advance"} and found.settings == {"own": 1}


def test_a_system_that_is_not_registered_is_a_usage_error_that_lists_the_known_ones() -> None:
    target = Plain()
    target.system = "rocketmk"
    with pytest.raises(UsageError, match=r"unknown system 'rocketmk'; did you mean 'rocketmq'"):
        resolve.system_of(target)


def test_every_system_is_registered_under_its_name() -> None:
    found = {name: resolve.system(name).name for name in registry.own("systems")}
    assert found == {"rocketmq": "rocketmq"}
