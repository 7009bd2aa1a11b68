"""Tests of ``live-newcomers``."""

import json

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare

from pairproof.harness.rocketmq.laws.liveness.live_newcomers import LiveNewcomers


def newcomers(story: H, **effect: int) -> H:
    return story.after(1_000).fault("rogue_client", "master", "off", json.dumps(effect))


def test_newcomers_that_are_answered_beside_a_crowd_satisfy_the_law() -> None:
    there = bare().fault("rogue_client", "master")
    assert assert_holds(LiveNewcomers, newcomers(there, newcomers_answered=3)).judged == 3


def test_one_newcomer_that_a_crowd_keeps_out_is_one_too_many() -> None:
    there = bare().fault("rogue_client", "master")
    mixed = newcomers(there, newcomers_answered=2, newcomers_refused=1)
    assert_broken(LiveNewcomers, mixed, "master: 1 of 3 newcomers were not let in")


@pytest.mark.parametrize("what", ["crash", "pause", "fault"])
def test_newcomers_to_a_node_with_another_disturbance_are_not_judged(what: str) -> None:
    there = bare().fault("rogue_client", "master")
    disturbed = there.fault("disk_stall", "master") if what == "fault" else there.add(what, node="master", f="process")
    assert_vacuous(LiveNewcomers, newcomers(disturbed, newcomers_refused=1))
    before = bare().fault("disk_stall", "master").fault("rogue_client", "master")
    assert_vacuous(LiveNewcomers, newcomers(before, newcomers_refused=1))
    two = bare().fault("rogue_client", "master").add("fault", op=1, f="rogue_client", status="on", node="master")
    assert_broken(LiveNewcomers, newcomers(two, newcomers_refused=1), "1 of 1")
    for crowd in ({"character": "crowd"}, {"character": "crowd", "port": "fast"}):
        second = {"op": 1, "f": "rogue_client", "status": "on", "detail": json.dumps(crowd)}
        crowds = bare().fault("rogue_client", "master").add("fault", node="master", **second)
        assert_vacuous(LiveNewcomers, newcomers(crowds, newcomers_refused=1))
        other_node = bare().fault("rogue_client", "master").add("fault", node="slave", **second)
        assert_broken(LiveNewcomers, newcomers(other_node, newcomers_refused=1), "1 of 1")
    elsewhere = bare().fault("rogue_client", "master").fault("disk_stall", "slave")
    assert_broken(LiveNewcomers, newcomers(elsewhere, newcomers_refused=1), "1 of 1")
