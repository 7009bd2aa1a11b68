"""What brokers owe groups of consumers: pulls answered, queues shared out, progress as committed, topics told of."""

from __future__ import annotations

import json

import pytest
from consuming import C, Q

from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.delivery.group_shared import GroupShared
from pairproof.harness.rocketmq.laws.delivery.pull_answered import PullAnswered
from pairproof.harness.rocketmq.laws.progress.progress_as_committed import ProgressAsCommitted
from pairproof.harness.rocketmq.laws.routing.route_told import RouteTold
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged


def world() -> C:
    history = C()
    history.config("master").config("slave").start("master").start("slave").after(20_000)
    return history


# pull-answered


def waiting(history: C | None = None, node: str = "master", asked: int = 0) -> C:
    """A consumer's pull is under way."""
    history = history or world()
    return history.come().call(1, "pull", node, phase="", value=asked)


def answered(history: C, after: float, phase: str = "ok", node: str = "master") -> C:
    call = next(each for each in reversed(history.events) if each.kind == "invoke" and each.f == "pull")
    history.after(after)
    return history.add(phase, node=node, process=1, op=call.op, f="pull", queue=Q, group="G", queue_offset=0)


def test_a_pull_is_answered_when_a_message_has_come() -> None:
    assert_holds(PullAnswered, answered(waiting().store("m0"), 1_000))
    late = "a pull for T/0 waited at master for 1001 ms after a message had come for it"
    assert_broken(PullAnswered, answered(waiting().store("m0"), 1_001), late)
    assert_broken(PullAnswered, answered(waiting().store("m0"), 1_001, "info"), late)
    assert_broken(PullAnswered, waiting().store("m0").after(1_001).mark("end"), late)


def test_a_pull_without_a_message_is_answered_when_its_time_is_up() -> None:
    assert_holds(PullAnswered, answered(waiting(), 20_000))
    for node in ("master", "slave"):
        late = answered(waiting(node=node), 21_000, node=node)
        assert_broken(PullAnswered, late, f"a pull for T/0 waited at {node} for 21001 ms")


def test_messages_that_are_not_for_it_wake_no_pull() -> None:
    assert_holds(PullAnswered, answered(waiting(asked=1).store("m0"), 10_000))
    assert_holds(PullAnswered, answered(waiting().store("m0", queue="T/1"), 10_000))
    assert_holds(PullAnswered, answered(waiting().store("m0", detail='{"level": 3}'), 10_000))
    assert_holds(PullAnswered, answered(waiting().store("m0", detail='{"half": true}'), 10_000))
    assert_holds(PullAnswered, answered(waiting(node="slave").store("m0"), 10_000, node="slave"))
    assert_broken(PullAnswered, answered(waiting(asked=1).store("m0").store("m1"), 10_000), "after a message had come")


def test_java_may_overlook_a_message_until_its_next_look_and_no_longer() -> None:
    def java() -> C:
        history = world()
        history.stop("master").add("start", node="master", lo=0, hi=0, f="unknown").after(6_000)
        return waiting(history).store("m0")

    assert_holds(PullAnswered, answered(java(), 6_000))
    assert_broken(PullAnswered, answered(java(), 6_001), "after a message had come")


@pytest.mark.parametrize("place", ["master", "client-master"])
def test_what_a_fault_holds_up_accuses_nobody(place: str) -> None:
    assert_vacuous(PullAnswered, answered(waiting().fault("slow", place).store("m0"), 30_000))
    ended = world().fault("slow", place).fault("slow", place, "off").after(4_000)
    assert_vacuous(PullAnswered, answered(waiting(ended).store("m0"), 900))
    elsewhere = waiting().fault("slow", "ha").store("m0")
    assert_broken(PullAnswered, answered(elsewhere, 1_001), "after a message had come")


def test_a_pull_that_left_while_its_broker_had_no_power_may_never_have_reached_it() -> None:
    def back(left_early: bool) -> C:
        """The master's machine loses power, and is back for long when a message comes for the pull."""
        history = world().crash("master", "machine")
        if left_early:
            waiting(history)
        history.restart("master", 0).after(6_000)
        return (history if left_early else waiting(history)).store("m0")

    assert_vacuous(PullAnswered, answered(back(left_early=True), 15_000))
    assert_broken(PullAnswered, answered(back(left_early=False), 15_000), "after a message had come")


def test_pulls_of_nodes_and_consumers_that_went_are_not_measured() -> None:
    assert_vacuous(PullAnswered, answered(waiting().crash("master"), 30_000))
    assert_vacuous(PullAnswered, answered(waiting().go(), 30_000))
    plain = world().add("invoke", node="master", process=1, op=9, f="pull", queue=Q, value=0)
    assert_vacuous(PullAnswered, plain.after(30_000).mark("end"))


def test_a_stall_makes_a_late_answer_unknown() -> None:
    history = answered(waiting().stall(900).store("m0"), 1_001)
    assert judged(PullAnswered, history.events).verdict is Verdict.UNKNOWN


# group-shared


def two(second: int = 2) -> C:
    history = world().come().assign(0)
    return history.come(second)


def hand_over(history: C) -> C:
    return history.assign(0, status="off").assign(0, process=2)


def test_each_queue_is_held_by_one_when_a_member_has_come() -> None:
    assert_holds(GroupShared, hand_over(two().after(3_000)).after(1).mark("end"))
    assert_holds(GroupShared, two().after(3_001).mark("end"))
    twice = two().assign(0, process=2).after(3_001).mark("end")
    assert_broken(GroupShared, twice, "2 members hold T/0 in G, 3001 ms after")
    assert_broken(GroupShared, two().assign(0, status="off").after(3_001).mark("end"), "nobody holds T/0 in G")


def test_a_topic_that_is_somewhere_else_now_is_shared_out_once_all_have_heard() -> None:
    def held_by_two(*told: str | None) -> C:
        history = two().assign(0, process=2)
        for number, nodes in enumerate(told):
            status = "none" if nodes is None else "answered"
            detail = None if nodes is None else json.dumps({"B": {"0": nodes}})
            known = {"node": "names", "process": 1, "op": number, "message": "c1", "group": "G", "queue": "T"}
            history.add("ask", f="route", status=status, detail=detail, **known)
        return history

    for told in ((None, "master"), ("master", "other"), ("master", "master", "other", "other")):
        assert_vacuous(GroupShared, held_by_two(*told).after(53_000).mark("end"))
        assert_broken(GroupShared, held_by_two(*told).after(53_001).mark("end"), "2 members hold T/0 in G")
    for told in ((), ("master",), ("master", "master"), (None, None)):
        assert_broken(GroupShared, held_by_two(*told).after(3_001).mark("end"), "2 members hold T/0 in G")


def test_a_group_whose_members_know_the_way_takes_queues() -> None:
    nobody = "G holds no queue, 3001 ms after a member learned the way to a master"
    assert_broken(GroupShared, world().come().learn({"0": "master"}).after(3_001).mark("end"), nobody)
    assert_broken(GroupShared, world().come().learn({"0": "master"}).come(2).after(3_001).mark("end"), nobody)
    assert_holds(GroupShared, world().come().learn({"0": "master"}).after(3_000).assign(0).after(1).mark("end"))
    assert_vacuous(GroupShared, world().come().learn({"0": "master"}).after(3_000).mark("end"))
    for nodes, status in (({"1": "slave"}, "found"), ({}, "none")):
        assert_vacuous(GroupShared, world().come().learn(nodes, status=status).after(9_000).mark("end"))
        lost = world().come().learn({"0": "master"}).learn(nodes, status=status).after(9_000)
        assert_vacuous(GroupShared, lost.mark("end"))
    assert_vacuous(GroupShared, world().come().learn({"0": "master"}).go().after(9_000).mark("end"))
    broadcasting = world().come(f="broadcasting").learn({"0": "master"}).after(9_000).mark("end")
    assert_vacuous(GroupShared, broadcasting)


def test_what_a_member_held_that_went_is_taken_at_once() -> None:
    for status in ("off", "lost"):
        assert_broken(GroupShared, two().go(status=status).after(3_001).mark("end"), "nobody holds T/0 in G")
        taken = two().go(status=status).after(10).assign(0, process=2)
        assert_holds(GroupShared, taken.after(3_001).mark("end"))


def test_a_member_that_leaves_gives_its_queues_up_before_it_says_goodbye() -> None:
    leaves = two().after(3_000).assign(0, status="off").after(2)
    assert_vacuous(GroupShared, leaves.go())
    stays = two().after(3_000).assign(0, status="off").after(3_001).mark("end")
    assert_broken(GroupShared, stays, "nobody holds T/0 in G, 6001 ms after")
    others_turn = two().after(2_000).assign(0, status="off").after(2_000).mark("tick").assign(0, process=2)
    assert_holds(GroupShared, others_turn.after(1).mark("end"))
    # That one queue was just given up excuses no other.
    history = world().come().assign(0)
    history.add("assign", process=1, group="G", queue="T/1", status="on", value=0).come(2).assign(0, process=2)
    history.after(3_000).add("assign", process=1, group="G", queue="T/1", status="off", value=0)
    assert_broken(GroupShared, history.after(1).mark("end"), "2 members hold T/0")


def test_a_group_that_changes_is_given_its_time() -> None:
    assert_vacuous(GroupShared, two().after(3_000).mark("end"))
    again = two().assign(0, process=2).after(2_000).come(3).after(2_000)
    assert_vacuous(GroupShared, again.mark("end"))
    alone = world().come().assign(0).go().after(60_000)
    assert_holds(GroupShared, world().come().assign(0).after(3_001).mark("end"))
    assert_vacuous(
        GroupShared, alone.add("mark", f="end") if not alone else world().come().go().after(9_000).mark("end")
    )


@pytest.mark.parametrize(
    "place", ["client-master", "client-slave", "names-client", "names-master", "names-other", "slave"]
)
def test_a_world_that_was_disturbed_accuses_nobody_for_150_s(place: str) -> None:
    def disturbed(ms: int) -> C:
        history = world().fault("slow", place).fault("slow", place, "off").come().assign(0).come(2).assign(0, process=2)
        return history.after(ms).mark("end")

    assert_vacuous(GroupShared, disturbed(150_000))
    assert_broken(GroupShared, disturbed(150_001), "2 members hold T/0")
    assert_vacuous(GroupShared, two().assign(0, process=2).crash("slave").after(3_001).mark("end"))
    for link in ("ha2", "meta", "meta-fast2"):
        between_brokers = two().assign(0, process=2).fault("slow", link).after(3_001).mark("end")
        assert_broken(GroupShared, between_brokers, "2 members hold T/0")


@pytest.mark.parametrize("returns", [True, False])
def test_while_a_broker_is_down_nobody_knows_which_queues_there_are(returns: bool) -> None:
    history = two().assign(0, process=2).crash("slave")
    history = (history.start("slave") if returns else history).after(150_001)
    if returns:
        assert_broken(GroupShared, history.mark("end"), "2 members hold T/0")
    else:
        assert_vacuous(GroupShared, history.mark("end"))


def test_members_of_a_broadcasting_group_hold_every_queue_each() -> None:
    history = world().come(f="broadcasting").assign(0).come(2, f="broadcasting").assign(0, process=2)
    assert_vacuous(GroupShared, history.after(3_001).mark("end"))


def test_queues_of_another_master_are_shared_too_and_what_befalls_it_disturbs_the_world() -> None:
    def others(status: str) -> C:
        history = world().come()
        history.add("assign", node="other", process=1, group="G", queue=Q, status="on", value=0)
        return history.add("assign", node="other", process=1, group="G", queue=Q, status=status, value=0)

    assert_holds(GroupShared, others("on").assign(0).after(3_001).mark("end"))
    assert_broken(GroupShared, others("off").assign(0).after(3_001).mark("end"), "nobody holds T/0 of other in G")
    assert_vacuous(GroupShared, others("off").crash("other").after(3_001).mark("end"))


# progress-as-committed


def test_progress_is_one_that_was_committed() -> None:
    assert_holds(ProgressAsCommitted, world().come().commit(3).commit(5).table(3))
    assert_holds(ProgressAsCommitted, world().come().commit(3, phase="info").table(3, "slave"))
    for history in (world().come(), world().come().commit(3), world().come().pull(0)):
        assert_broken(ProgressAsCommitted, history.table(0), "master has G at 0 of T/0, which nobody committed")
    assert_broken(ProgressAsCommitted, world().come().commit(3).table(4, "slave"), "slave has G at 4 of T/0")


def test_progress_of_groups_that_nobody_saw_is_not_judged() -> None:
    assert_vacuous(ProgressAsCommitted, world().table(4))
    assert_vacuous(ProgressAsCommitted, world().come().table(4, group="other"))
    assert_vacuous(ProgressAsCommitted, world().come().table(None))


# route-told


def changed(history: H, queues: int = 2, phase: str = "ok", name: str = "t1") -> H:
    op, history.ops = history.ops, history.ops + 1
    call = {"node": "master", "process": 3, "op": op, "f": "topic", "message": name}
    history.add("invoke", **call, detail=json.dumps({"queues": queues})).after(2)
    return history.add(phase, **call, status="PUT_OK")


def registered(history: H, after: float = 0, status: str = "ok", node: str = "master") -> H:
    return history.after(after).add("register", node=node, status=status)


def listed() -> H:
    """A master that the name server knows."""
    return registered(world()).after(1)


def test_a_changed_topic_is_registered_within_a_second() -> None:
    assert_holds(RouteTold, registered(changed(listed()), 1_000))
    assert_broken(RouteTold, registered(changed(listed()), 1_001), "t1 was changed, and not registered for 1001 ms")
    assert_broken(RouteTold, changed(listed()).after(1_001).mark("end"), "t1 was changed")
    for other in ({"status": "failed"}, {"node": "slave"}):
        assert_broken(RouteTold, registered(changed(listed()), **other).after(1_001).mark("end"), "t1 was changed")


def test_a_registration_may_come_before_the_answer_to_the_change_and_not_before_the_question() -> None:
    def call(history: H, kind: str) -> H:
        return history.add(kind, node="master", process=3, op=77, f="topic", message="t1", detail="{}")

    assert_holds(RouteTold, call(registered(call(listed(), "invoke"), 1), "ok").after(9_000).mark("end"))
    assert_broken(RouteTold, changed(registered(listed()).after(1)).after(1_001).mark("end"), "t1 was changed")


def test_a_change_that_changes_nothing_or_that_may_not_be_owes_nothing() -> None:
    once = registered(changed(listed())).after(10)
    assert_holds(RouteTold, changed(once).after(9_000).mark("end"))
    again = registered(changed(listed())).after(10)
    assert_broken(RouteTold, changed(again, 3).after(1_001).mark("end"), "t1 was changed")
    for phase in ("fail", "info"):
        assert_vacuous(RouteTold, changed(changed(listed(), phase=phase)).after(9_000).mark("end"))
    moved = registered(changed(listed())).wipe("master", "image").start("master").after(20_000)
    assert_holds(RouteTold, changed(moved, 3).after(9_000).mark("end"))


@pytest.mark.parametrize("place", ["master", "names-master"])
def test_a_topic_in_a_disturbed_world_is_not_judged(place: str) -> None:
    assert_vacuous(RouteTold, changed(listed().fault("slow", place)).after(9_000).mark("end"))
    ended = changed(listed().fault("slow", place).fault("slow", place, "off").after(9_000))
    assert_vacuous(RouteTold, ended.after(9_000).mark("end"))
    assert_vacuous(RouteTold, changed(listed()).after(900).crash("master").after(9_000).mark("end"))
    assert_broken(RouteTold, changed(listed().fault("slow", "ha")).after(1_001).mark("end"), "t1 was changed")


def test_a_master_that_never_registered_may_have_no_name_server() -> None:
    assert_vacuous(RouteTold, changed(world()).after(42_000).mark("end"))
