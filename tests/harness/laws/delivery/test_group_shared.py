"""Tests of ``group-shared``."""

import json

import pytest
from histories import Q, Story, assert_broken, assert_holds, assert_vacuous
from histories.consumers import consuming

from pairproof.harness.rocketmq.laws.delivery.group_shared import GroupShared


def two(second: int = 2) -> Story:
    history = consuming().come().assign(0)
    return history.come(second)


def hand_over(history: Story) -> Story:
    return history.assign(0, status="off").assign(0, process=2)


def test_exactly_one_member_holds_each_queue_after_a_member_joined() -> None:
    assert_holds(GroupShared, hand_over(two().after(3_000)).after(1).mark("end"))
    assert_holds(GroupShared, two().after(3_001).mark("end"))
    twice = two().assign(0, process=2).after(3_001).mark("end")
    assert_broken(GroupShared, twice, "2 members hold T/0 in G, 3001 ms after")
    assert_broken(GroupShared, two().assign(0, status="off").after(3_001).mark("end"), "nobody holds T/0 in G")


def test_a_topic_with_a_new_route_is_judged_after_all_members_have_it() -> None:
    def held_by_two(*routes: str | None) -> Story:
        history = two().assign(0, process=2)
        for number, nodes in enumerate(routes):
            status = "none" if nodes is None else "answered"
            detail = None if nodes is None else json.dumps({"B": {"0": nodes}})
            known = {"node": "names", "process": 1, "op": number, "message": "c1", "group": "G", "queue": "T"}
            history.add("ask", f="route", status=status, detail=detail, **known)
        return history

    for routes in ((None, "master"), ("master", "other"), ("master", "master", "other", "other")):
        assert_vacuous(GroupShared, held_by_two(*routes).after(53_000).mark("end"))
        assert_broken(GroupShared, held_by_two(*routes).after(53_001).mark("end"), "2 members hold T/0 in G")
    for routes in ((), ("master",), ("master", "master"), (None, None)):
        assert_broken(GroupShared, held_by_two(*routes).after(3_001).mark("end"), "2 members hold T/0 in G")


def test_a_group_with_a_route_takes_queues() -> None:
    nobody = "G holds no queue, 3001 ms after a member learned the way to a master"
    assert_broken(GroupShared, consuming().come().learn({"0": "master"}).after(3_001).mark("end"), nobody)
    assert_broken(GroupShared, consuming().come().learn({"0": "master"}).come(2).after(3_001).mark("end"), nobody)
    assert_holds(GroupShared, consuming().come().learn({"0": "master"}).after(3_000).assign(0).after(1).mark("end"))
    assert_vacuous(GroupShared, consuming().come().learn({"0": "master"}).after(3_000).mark("end"))
    for nodes, status in (({"1": "slave"}, "found"), ({}, "none")):
        assert_vacuous(GroupShared, consuming().come().learn(nodes, status=status).after(9_000).mark("end"))
        lost = consuming().come().learn({"0": "master"}).learn(nodes, status=status).after(9_000)
        assert_vacuous(GroupShared, lost.mark("end"))
    assert_vacuous(GroupShared, consuming().come().learn({"0": "master"}).go().after(9_000).mark("end"))
    broadcasting = consuming().come(f="broadcasting").learn({"0": "master"}).after(9_000).mark("end")
    assert_vacuous(GroupShared, broadcasting)


def test_the_queues_of_a_member_that_left_are_taken_at_once() -> None:
    for status in ("off", "lost"):
        assert_broken(GroupShared, two().go(status=status).after(3_001).mark("end"), "nobody holds T/0 in G")
        taken = two().go(status=status).after(10).assign(0, process=2)
        assert_holds(GroupShared, taken.after(3_001).mark("end"))


def test_a_leaving_member_releases_its_queues_before_its_goodbye() -> None:
    leaves = two().after(3_000).assign(0, status="off").after(2)
    assert_vacuous(GroupShared, leaves.go())
    stays = two().after(3_000).assign(0, status="off").after(3_001).mark("end")
    assert_broken(GroupShared, stays, "nobody holds T/0 in G, 6001 ms after")
    others_turn = two().after(2_000).assign(0, status="off").after(2_000).mark("tick").assign(0, process=2)
    assert_holds(GroupShared, others_turn.after(1).mark("end"))
    # One released queue excuses no other.
    history = consuming().come().assign(0)
    history.add("assign", process=1, group="G", queue="T/1", status="on", value=0).come(2).assign(0, process=2)
    history.after(3_000).add("assign", process=1, group="G", queue="T/1", status="off", value=0)
    assert_broken(GroupShared, history.after(1).mark("end"), "2 members hold T/0")


def test_a_changing_group_is_judged_later() -> None:
    assert_vacuous(GroupShared, two().after(3_000).mark("end"))
    again = two().assign(0, process=2).after(2_000).come(3).after(2_000)
    assert_vacuous(GroupShared, again.mark("end"))
    alone = consuming().come().assign(0).go().after(60_000)
    assert_holds(GroupShared, consuming().come().assign(0).after(3_001).mark("end"))
    assert_vacuous(
        GroupShared, alone.add("mark", f="end") if not alone else consuming().come().go().after(9_000).mark("end")
    )


@pytest.mark.parametrize(
    "place", ["client-master", "client-slave", "names-client", "names-master", "names-other", "slave"]
)
def test_nothing_is_judged_for_150_s_after_a_disturbance(place: str) -> None:
    def disturbed(ms: int) -> Story:
        history = (
            consuming().fault("slow", place).fault("slow", place, "off").come().assign(0).come(2).assign(0, process=2)
        )
        return history.after(ms).mark("end")

    assert_vacuous(GroupShared, disturbed(150_000))
    assert_broken(GroupShared, disturbed(150_001), "2 members hold T/0")
    assert_vacuous(GroupShared, two().assign(0, process=2).crash("slave").after(3_001).mark("end"))
    for link in ("ha2", "meta", "meta-fast2"):
        between_brokers = two().assign(0, process=2).fault("slow", link).after(3_001).mark("end")
        assert_broken(GroupShared, between_brokers, "2 members hold T/0")


@pytest.mark.parametrize("returns", [True, False])
def test_nothing_is_judged_while_a_broker_is_down(returns: bool) -> None:
    history = two().assign(0, process=2).crash("slave")
    history = (history.start("slave") if returns else history).after(150_001)
    if returns:
        assert_broken(GroupShared, history.mark("end"), "2 members hold T/0")
    else:
        assert_vacuous(GroupShared, history.mark("end"))


def test_members_of_a_broadcasting_group_hold_every_queue_each() -> None:
    history = consuming().come(f="broadcasting").assign(0).come(2, f="broadcasting").assign(0, process=2)
    assert_vacuous(GroupShared, history.after(3_001).mark("end"))


def test_queues_of_another_master_are_judged_and_its_disturbances_count() -> None:
    def others(status: str) -> Story:
        history = consuming().come()
        history.add("assign", node="other", process=1, group="G", queue=Q, status="on", value=0)
        return history.add("assign", node="other", process=1, group="G", queue=Q, status=status, value=0)

    assert_holds(GroupShared, others("on").assign(0).after(3_001).mark("end"))
    assert_broken(GroupShared, others("off").assign(0).after(3_001).mark("end"), "nobody holds T/0 of other in G")
    assert_vacuous(GroupShared, others("off").crash("other").after(3_001).mark("end"))
