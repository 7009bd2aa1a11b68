"""Tests of ``ha-admits-slave``."""

import json

from histories import H, assert_broken, assert_holds, assert_vacuous

from pairproof.harness.rocketmq.laws.replication.ha_admits_slave import HaAdmitsSlave

TOLD = {"haMasterAddress": "m:10912"}


def crowded(strangers: int = 3, **slave: object) -> H:
    """A pair that is up, and rogue peers on the HA port."""
    story = H().config("master").config("slave", **{**TOLD, **slave}).start("master").start("slave")
    for _ in range(strangers):
        story.connect("rogue_slave").report(0, peer="rogue_slave")
    return story


def test_a_slave_whose_report_arrives_in_time_is_admitted() -> None:
    assert_holds(HaAdmitsSlave, crowded().after(5_000).connect().after(5_000).report(0))
    # Dropped once, then admitted.
    once = crowded().connect().close("ms").after(5_000).connect().after(5_000).report(0)
    assert_holds(HaAdmitsSlave, once)


def test_a_slave_kept_out_by_rogue_peers_is_caught() -> None:
    out = crowded()
    for _ in range(3):
        out.connect().close("ms").after(5_000)
    why = "the master has no report of slave for 15.0 s, beside 3 rogue peers"
    assert_broken(HaAdmitsSlave, out.mark("end"), why)


def test_two_crowds_at_once_take_every_place() -> None:
    def second(ms: int, ended: int) -> H:
        out, crowd = crowded().after(5_000), json.dumps({"character": "crowd"})
        for op, status in ((1, "on"), (2, "on"), (2, "off")):
            out.add("fault", op=op, f="rogue_slave", status=status, detail=crowd).after(ms if op == 2 else 0)
        return out.after(ended - ms).mark("end")

    assert_vacuous(HaAdmitsSlave, second(9_000, 10_900))
    assert_broken(HaAdmitsSlave, second(9_000, 11_001), "the master has no report of slave for 11.0 s")
    other = crowded().after(5_000).add("fault", op=1, f="rogue_slave", status="on", detail='{"character": "silent"}')
    assert_broken(HaAdmitsSlave, other.after(7_000).mark("end"), "has no report of slave")


def test_a_dropped_slave_must_be_admitted_again() -> None:
    heard = crowded().connect().report(0)
    assert_broken(HaAdmitsSlave, heard.close("ms").after(11_500).mark("end"), "for 11.5 s")


def test_other_obstacles_are_not_judged() -> None:
    long = 30_000
    assert_vacuous(HaAdmitsSlave, crowded(0).after(long).mark("end"))
    assert_vacuous(HaAdmitsSlave, crowded().fault("down", "ha").after(long).mark("end"))
    assert_vacuous(HaAdmitsSlave, crowded().after(100).stop("slave").after(long).mark("end"))
    assert_vacuous(HaAdmitsSlave, crowded().after(100).stop("master").after(long).mark("end"))
    assert_vacuous(HaAdmitsSlave, crowded(haMasterAddress="").after(long).mark("end"))
    assert_vacuous(HaAdmitsSlave, crowded(mappedFileSizeCommitLog=500).after(long).mark("end"))
    promoted = crowded().add("wipe", node="master", f="image", detail="slave").after(long).mark("end")
    assert_vacuous(HaAdmitsSlave, promoted)
    # A rogue master: the real one does not have this connection.
    elsewhere = crowded().add("connect", node="slave", f="slave", link="ha:9", side="s")
    assert_vacuous(HaAdmitsSlave, elsewhere.after(long).mark("end"))
