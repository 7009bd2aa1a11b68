"""What share of bugs would we catch? Every mutant, by the law that it declares; and no alarm without a mutant."""

from __future__ import annotations

import json
from importlib import import_module
from itertools import islice
from pathlib import Path
from pkgutil import iter_modules

import pytest

from pairproof.chaos import mutants
from pairproof.chaos.commands.mutants import control, hunt, schedules, violated
from pairproof.chaos.mutants import Mutant, catalogue
from pairproof.chaos.mutants.mutant import CONSUMER, PRODUCER, seeded, seeded_in
from pairproof.chaos.targets.reference import ReferenceTarget
from pairproof.harness import registry
from pairproof.harness.errors import UsageError
from pairproof.harness.judging import judge
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq import topology
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule_json import from_json
from pairproof.reference.client.consumer import Consumer
from pairproof.reference.client.producer import Producer
from pairproof.reference.core.broker import Broker
from pairproof.reference.core.namesrv import NameServer

LAB = resolve.lab("sim")
TRIALS = 6_000


KILLS = {each["mutant"]: each for each in map(json.loads, Path(__file__).with_name("kills.jsonl").open())}
"""By mutant: the law that caught it, a small program that does it again, and after how many trials of which seed it was
found. Made by tests/control/find_kills.py."""
SHRUNK_LONG = {"follows_suggestions", "indexes_first_key"}
"""Found soon, but their programs are shrunk for half a minute."""
DAILY = {
    each["law"]: name
    for name, each in sorted(KILLS.items(), key=lambda found: -found[1]["trials"])
    if each["trials"] <= 30 and name not in SHRUNK_LONG
}
"""By law: the mutant that is found soonest, if that is soon. Only these are hunted on every commit, at night all. An
operation that only the simulation has is in no story, with which each search begins, and so is met late."""
LONG = {"looks_in_newest_file": 17, "copies_no_reset": 7, "saves_no_reset": 7}
"""By mutant: the steps of its program, if more than six: sends that fill a file of the index, with 16 entries; a
consumer that commits and leaves before the reset."""


def test_every_mutant_has_a_stored_program() -> None:
    assert {name: each["law"] for name, each in KILLS.items()} == {
        name: each.law for name, each in catalogue().items()
    }, "run tests/control/find_kills.py"


@pytest.mark.parametrize("name", catalogue())
def test_mutant_is_killed_by_its_declared_law_in_its_stored_program_and_the_reference_is_not(name: str) -> None:
    schedule, laws = from_json(KILLS[name]["schedule"]), judge.laws([KILLS[name]["law"]])

    def verdict(target: str) -> Verdict:
        return run_trial(LAB, resolve.target(target), schedule, laws=laws).judgements[0].verdict

    assert verdict(f"reference+{name}") is Verdict.VIOLATED, "run tests/control/find_kills.py"
    assert verdict("reference") is not Verdict.VIOLATED


# Slow only all together: minutes.
@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=[] if each in DAILY.values() else [pytest.mark.nightly]) for each in catalogue()],
)
def test_mutant_is_killed_by_its_declared_law_with_a_small_program(name: str) -> None:
    kill = hunt(LAB, catalogue()[name], KILLS[name]["seed"], TRIALS)
    assert kill.killed, f"{kill.law} did not catch {name} in {TRIALS} trials"
    # Consumers come, share and settle before anything can happen to them.
    assert len(kill.program) <= LONG.get(name, 9 if kill.origin == "whole" else 6), kill.program


@pytest.mark.parametrize("mutant", catalogue().values(), ids=lambda mutant: mutant.name)
def test_mutant_takes_the_place_of_its_node_and_of_no_other(mutant: Mutant) -> None:
    kinds = {"master": Broker, "slave": Broker, topology.NAMES: NameServer, CONSUMER: Consumer, PRODUCER: Producer}
    assert issubclass(mutant.node_class, kinds[mutant.node]) and mutant.node_class not in kinds.values()
    target = ReferenceTarget((mutant,))
    played = {
        **{node: target.broker_class(node) for node in (*topology.NODES, topology.OTHER)},
        topology.NAMES: target.name_server_class(),
        CONSUMER: target.consumer_class(),
        PRODUCER: target.producer_class(),
    }
    taken = {node for node, its in played.items() if its is mutant.node_class}
    assert taken == (set(topology.SLAVES) if mutant.node == "slave" else {mutant.node})
    assert all(its is kinds.get(node, Broker) for node, its in played.items() if node not in taken)


def test_every_mutant_of_every_module_is_listed_under_a_name_of_its_own() -> None:
    names = [found.name for found in iter_modules(mutants.__path__, mutants.__name__ + ".")]
    for name in names:
        import_module(name)
    assert sorted(each.name for name in names for each in seeded_in(name)) == sorted(catalogue())


def test_two_mutants_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    once = (catalogue()["skips_crc"],)
    monkeypatch.setattr(registry, "names", lambda group: ["mine"])
    monkeypatch.setattr(registry, "find", lambda group, name: once)
    with pytest.raises(UsageError, match="two mutants are called 'skips_crc'; one is in the entry point 'mine'"):
        catalogue.__wrapped__()


def test_every_law_has_a_mutant_of_its_own_on_every_commit() -> None:
    # Its stored program is played on every commit, be it hunted then or not.
    assert {each["law"] for each in KILLS.values()} == {
        law.id for law in judge.all_laws() if law.needs <= LAB.observes(resolve.target("reference"))
    }


def test_unmutated_reference_raises_no_alarm_over_the_same_schedules() -> None:
    # `make nightly` plays thousands.
    assert control(LAB, "mutants", 100) == []


def test_hunt_that_finds_nothing_says_so() -> None:
    # One trial of the sweep does not reach a power loss with a hole.
    assert not hunt(LAB, catalogue()["skips_crc"], "mutants", 1).killed


def test_schedules_take_turns_until_an_enumerated_search_has_ended() -> None:
    origins = [origin for origin, _ in islice(schedules(LAB, resolve.target("reference"), "s"), 50_000)]
    plain = ["moments", "sweep", "truncation", "swarm"]
    assert origins[:22] == [*plain, "cluster", *plain * 4, "cluster"]
    assert 1_000 < origins.count("truncation") < origins.count("sweep") < origins.count("swarm")
    assert set(origins[-100:]) == {"swarm", "cluster"}


def test_mutant_leaves_the_correct_pair_alone() -> None:
    drawn = schedules(LAB, resolve.target("reference"), "mutants")
    broken = next(s for _, s in drawn if violated(LAB, resolve.target("reference+acks_at_once"), s))
    assert not violated(LAB, resolve.target("reference"), broken)


def test_a_mistyped_mutant_is_told_the_one_that_is_meant() -> None:
    with pytest.raises(UsageError, match=r"unknown mutant 'repeat_frame'; did you mean repeats_frame\?"):
        resolve.target("reference+repeat_frame")
    with pytest.raises(
        UsageError, match=r"valid are acks_at_once, .*, \.\.\. \(pairproof mutants tries all"
    ) as refused:
        resolve.target("reference+zzzzzz")
    assert len(str(refused.value)) < 200


def test_only_a_part_of_its_node_can_be_a_mutant() -> None:
    with pytest.raises(TypeError, match="Mutant derives from no part of a Broker"):
        seeded("master", "node-lives", "is no part of a broker")(Mutant)
