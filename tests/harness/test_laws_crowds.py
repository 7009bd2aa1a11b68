"""Laws about strangers that crowd a port: who must be let in all the same, and what their word is worth."""

from __future__ import annotations

import json

import pytest

from pairproof.harness.rocketmq.laws.acks.ack_replicated import AckReplicated
from pairproof.harness.rocketmq.laws.durability.contract import Contract
from pairproof.harness.rocketmq.laws.liveness.live_newcomers import LiveNewcomers
from pairproof.harness.rocketmq.laws.replication.ha_ack_identity import HaAckIdentity
from pairproof.harness.rocketmq.laws.replication.ha_admits_slave import HaAdmitsSlave
from pairproof.harness.rocketmq.laws.replication.ha_housekeeping import MANY, HaHousekeeping
from pairproof.harness.rocketmq.testing import H, bare, pair
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous

TOLD = {"haMasterAddress": "m:10912"}

# ha-admits-slave


def crowded(strangers: int = 3, **slave: object) -> H:
    """A pair that is up, and strangers on the HA port."""
    story = H().config("master").config("slave", **{**TOLD, **slave}).start("master").start("slave")
    for _ in range(strangers):
        story.connect("hostile").report(0, peer="hostile")
    return story


def test_a_slave_that_is_heard_beside_strangers_in_time_is_admitted() -> None:
    assert_holds(HaAdmitsSlave, crowded().after(5_000).connect().after(5_000).report(0))
    # Thrown out once, and let in the next time.
    once = crowded().connect().close("ms").after(5_000).connect().after(5_000).report(0)
    assert_holds(HaAdmitsSlave, once)


def test_a_slave_that_strangers_keep_out_is_named() -> None:
    out = crowded()
    for _ in range(3):
        out.connect().close("ms").after(5_000)
    why = "the master has not heard slave for 15.0 s, beside 3 strangers"
    assert_broken(HaAdmitsSlave, out.mark("end"), why)


def test_two_crowds_at_once_take_every_place() -> None:
    def second(ms: int, ended: int) -> H:
        out, crowd = crowded().after(5_000), json.dumps({"character": "crowd"})
        for op, status in ((1, "on"), (2, "on"), (2, "off")):
            out.add("fault", op=op, f="hostile", status=status, detail=crowd).after(ms if op == 2 else 0)
        return out.after(ended - ms).mark("end")

    assert_vacuous(HaAdmitsSlave, second(9_000, 10_900))
    assert_broken(HaAdmitsSlave, second(9_000, 11_001), "the master has not heard slave for 11.0 s")
    other = crowded().after(5_000).add("fault", op=1, f="hostile", status="on", detail='{"character": "silent"}')
    assert_broken(HaAdmitsSlave, other.after(7_000).mark("end"), "has not heard slave")


def test_a_slave_that_was_heard_and_thrown_out_must_be_heard_again() -> None:
    heard = crowded().connect().report(0)
    assert_broken(HaAdmitsSlave, heard.close("ms").after(11_500).mark("end"), "for 11.5 s")


def test_what_else_keeps_a_slave_away_is_nothing_to_judge() -> None:
    long = 30_000
    assert_vacuous(HaAdmitsSlave, crowded(0).after(long).mark("end"))
    assert_vacuous(HaAdmitsSlave, crowded().fault("down", "ha").after(long).mark("end"))
    assert_vacuous(HaAdmitsSlave, crowded().after(100).stop("slave").after(long).mark("end"))
    assert_vacuous(HaAdmitsSlave, crowded().after(100).stop("master").after(long).mark("end"))
    assert_vacuous(HaAdmitsSlave, crowded(haMasterAddress="").after(long).mark("end"))
    assert_vacuous(HaAdmitsSlave, crowded(mappedFileSizeCommitLog=500).after(long).mark("end"))
    promoted = crowded().add("wipe", node="master", f="image", detail="slave").after(long).mark("end")
    assert_vacuous(HaAdmitsSlave, promoted)
    # An impostor in the master's place: its end is nobody's that the master knows.
    elsewhere = crowded().add("connect", node="slave", f="slave", link="ha:9", side="s")
    assert_vacuous(HaAdmitsSlave, elsewhere.after(long).mark("end"))


# live-newcomers


def newcomers(story: H, **effect: int) -> H:
    return story.after(1_000).fault("intruder", "master", "off", json.dumps(effect))


def test_newcomers_that_are_answered_beside_a_crowd_are_let_in() -> None:
    there = bare().fault("intruder", "master")
    assert assert_holds(LiveNewcomers, newcomers(there, newcomers_answered=3)).judged == 3


def test_one_newcomer_that_a_crowd_keeps_out_is_one_too_many() -> None:
    there = bare().fault("intruder", "master")
    mixed = newcomers(there, newcomers_answered=2, newcomers_refused=1)
    assert_broken(LiveNewcomers, mixed, "master: 1 of 3 newcomers were not let in")


@pytest.mark.parametrize("what", ["crash", "pause", "fault"])
def test_newcomers_to_a_node_with_other_trouble_are_nothing_to_judge(what: str) -> None:
    there = bare().fault("intruder", "master")
    disturbed = there.fault("disk_stall", "master") if what == "fault" else there.add(what, node="master", f="process")
    assert_vacuous(LiveNewcomers, newcomers(disturbed, newcomers_refused=1))
    before = bare().fault("disk_stall", "master").fault("intruder", "master")
    assert_vacuous(LiveNewcomers, newcomers(before, newcomers_refused=1))
    two = bare().fault("intruder", "master").add("fault", op=1, f="intruder", status="on", node="master")
    assert_broken(LiveNewcomers, newcomers(two, newcomers_refused=1), "1 of 1")
    for crowd in ({"character": "crowd"}, {"character": "crowd", "port": "fast"}):
        second = {"op": 1, "f": "intruder", "status": "on", "detail": json.dumps(crowd)}
        crowds = bare().fault("intruder", "master").add("fault", node="master", **second)
        assert_vacuous(LiveNewcomers, newcomers(crowds, newcomers_refused=1))
        other_node = bare().fault("intruder", "master").add("fault", node="slave", **second)
        assert_broken(LiveNewcomers, newcomers(other_node, newcomers_refused=1), "1 of 1")
    elsewhere = bare().fault("intruder", "master").fault("disk_stall", "slave")
    assert_broken(LiveNewcomers, newcomers(elsewhere, newcomers_refused=1), "1 of 1")


# What a stranger's word is worth.


def test_an_acknowledgement_that_only_a_believable_stranger_covers_is_noted_and_is_no_violation() -> None:
    story = bare().put("m0").connect("hostile").report(100, peer="hostile").ok("m0")
    assert assert_holds(AckReplicated, story).notes == {"strangers_word": 1}
    honest = pair().sent("m0").connect("hostile").report(100, peer="hostile")
    assert assert_holds(AckReplicated, honest).notes == {}


def test_a_stranger_excuses_no_acknowledgement_that_it_did_not_cover() -> None:
    below = bare().put("m0").connect("hostile").report(99, peer="hostile").ok("m0")
    assert_broken(AckReplicated, below, "m0")
    ahead = bare().put("m0").connect("hostile").report(101, peer="hostile").ok("m0")
    assert_broken(AckReplicated, ahead, "m0")
    assert_broken(HaAckIdentity, ahead, "m0")
    another_life = bare().put("m0").connect("hostile").report(100, peer="hostile").crash("master", "process")
    assert_broken(AckReplicated, another_life.restart("master", 100).put("m1").ok("m1"), "m1")
    forgotten = bare().put("m0").connect("hostile").report(100, peer="hostile").crash("master", "process")
    assert_broken(AckReplicated, forgotten.restart("master", 100).ok("m0"), "m0")


def test_two_slaves_are_not_made_of_one_slave_and_one_report_of_a_stranger_too_low() -> None:
    three = {"rocketmqVersion": "5.5.0", "inSyncReplicas": 3}
    one = pair(**three).put("m0").replicate()
    assert_broken(AckReplicated, one.connect("hostile").report(0, peer="hostile").ok("m0"), "1 of 2 slaves")
    two = pair(**three).put("m0").replicate()
    assert assert_holds(AckReplicated, two.connect("hostile").report(100, peer="hostile").ok("m0")).notes


# ha-housekeeping


def test_a_master_may_drop_one_of_many_peers_and_none_of_few() -> None:
    def dropped(others: int) -> H:
        story = bare().connect("hostile")
        first = story.link
        for _ in range(others):
            story.connect("hostile")
        return story.after(1_000).close("m", f="local", link=first)

    assert_holds(HaHousekeeping, dropped(MANY))
    assert_broken(HaHousekeeping, dropped(MANY - 1), "dropped its peer after 1000 ms of silence")


# contract


def lost(story: H) -> H:
    """What the master had and had not flushed is gone; the slave's store is unhurt."""
    return story.crash("master", "machine").restart("master", 0).audit()


def test_a_message_that_only_a_stranger_vouched_for_may_be_lost_with_the_master() -> None:
    vouched = bare().put("m0").connect("hostile").report(100, peer="hostile").ok("m0")
    assert assert_holds(Contract, lost(vouched)).notes["permitted_losses"] == 1
    replicated = pair().sent("m0")
    assert_broken(Contract, lost(replicated), "is on no broker")
