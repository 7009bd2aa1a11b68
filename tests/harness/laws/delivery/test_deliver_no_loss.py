"""Tests of ``deliver-no-loss``."""

import pytest
from histories import SIZE, G, Q, Story, assert_broken, assert_holds, assert_vacuous
from histories.consumers import consuming, ended, grouped, healed, transaction
from histories.tags import BY_TAG, pulled, subscribing

from pairproof.harness.rocketmq.laws.delivery.deliver_no_loss import DeliverNoLoss


def test_every_group_receives_everything() -> None:
    assert assert_holds(DeliverNoLoss, ended(healed("m0", "m1").pull(0, "m0", "m1"))).judged == 2
    both = healed("m0").pull(0, "m0").come(2, "H").take(None, process=2).pull(0, "m0", process=2)
    assert assert_holds(DeliverNoLoss, ended(both)).judged == 1


@pytest.mark.parametrize("status", ["PUT_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE"])
def test_a_message_that_a_group_has_passed_is_lost(status: str) -> None:
    history = grouped("m0").store("m1", status).store("m2").mark("heal").pull(0, "m0").pull(1, "m2", then=3)
    assert_broken(DeliverNoLoss, ended(history, 2_000), f"m1 ({status}), T/0 at 1, never came to G, which has gone on")


@pytest.mark.parametrize("status", ["on", "off"])
def test_queues_of_another_broker_name_change_nothing(status: str) -> None:
    history = healed("m0", "m1").add("assign", node="other", process=1, group=G, queue=Q, status=status, value=0)
    assert_broken(DeliverNoLoss, ended(history.pull(0, "m0").pull(1, then=2), 2_000), "gone on behind it")


def test_a_message_that_was_just_pulled_may_be_in_flight() -> None:
    assert_vacuous(DeliverNoLoss, ended(healed("m0").pull(0, then=1), 900))
    assert_broken(DeliverNoLoss, ended(healed("m0").pull(0, then=1), 1_100), "gone on behind it")


def test_a_committed_undelivered_message_is_lost_even_without_a_holder() -> None:
    history = healed("m0", "m1").pull(0, "m0").commit(2).assign(2, status="off")
    assert_broken(DeliverNoLoss, ended(history, 2_000), "m1 (PUT_OK), T/0 at 1, never came to G, which has gone on")


def test_a_group_that_stands_still_without_a_reason_is_stuck() -> None:
    assert_broken(DeliverNoLoss, ended(healed("m0", "m1").pull(0, "m0"), 151_000), "nothing has held it up")
    assert_holds(DeliverNoLoss, ended(healed("m0", "m1").pull(0, "m0"), 149_000))


@pytest.mark.parametrize(
    ("version", "suggests", "reads", "fixed", "is_judged"),
    [("5.5.0", 0, 0, 1, False), ("5.5.0", 1, 1, 1, True), ("4.9.7", 0, 0, 1, True), ("5.5.0", 0, 0, 0, True),
     ("5.5.0", 0, 0, None, True), ("5.5.0", 1, 0, None, False), ("5.5.0", 1, 0, 0, True)],
)  # fmt: skip
def test_a_consumer_that_asks_a_slave_that_serves_no_reads_is_excused(
    version: str, suggests: int, reads: int, fixed: int | None, is_judged: bool
) -> None:
    """``suggests``: whether the master sends consumers to it."""
    slave = {"rocketmqVersion": version, "slaveReadEnable": reads}
    history = (
        consuming(slave, rocketmqVersion=version, slaveReadEnable=suggests)
        .store("m0")
        .store("m1")
        .come(fixed=fixed)
        .take(None)
        .mark("heal")
    )
    stuck = ended(history.pull(0, "m0"), 151_000)
    if is_judged:
        assert_broken(DeliverNoLoss, stuck, "nothing has held it up")
    else:
        assert_holds(DeliverNoLoss, stuck)


@pytest.mark.parametrize("late", ["heal", "send", "start", "assign", "route", "fault", "unsettled", "down"])
def test_a_delayed_deadline_is_extended(late: str) -> None:
    history = healed("m0", "m1").pull(0, "m0").after(140_000)
    {
        "heal": lambda: history.mark("heal"),
        "send": lambda: history.pull(1, "m1").store("m2"),
        "start": lambda: history.crash("master").start("master"),
        "assign": lambda: history.assign(1, status="off").take(1),
        "route": lambda: history.learn({"0": "master"}),
        "fault": lambda: history.fault("stall", "ha"),
        "unsettled": lambda: history.mark("unsettled"),
        "down": lambda: history.crash("slave"),
    }[late]()
    assert_holds(DeliverNoLoss, ended(history, 20_000))


@pytest.mark.parametrize("creates", [True, "true", False, "false"])
def test_a_group_that_the_master_refuses_is_excused(creates: object) -> None:
    def refused(ms: float) -> Story:
        history = healed("m0", autoCreateSubscriptionGroup=creates).after(100_000)
        history.call(1, "pull", "master", "fail", value=0, ok_status="SUBSCRIPTION_GROUP_NOT_EXIST")
        return ended(history, ms)

    if str(creates).lower() == "false":
        assert_vacuous(DeliverNoLoss, refused(149_000))
    else:
        assert_broken(DeliverNoLoss, refused(149_000), "nothing has held it up")
    # The group may have been created since.
    assert_broken(DeliverNoLoss, refused(151_000), "nothing has held it up")


def test_a_group_without_a_live_consumer_is_excused() -> None:
    assert_vacuous(DeliverNoLoss, ended(healed("m0").pull(0, then=1).go(status="lost")))
    assert_vacuous(DeliverNoLoss, ended(healed("m0").pull(0, then=1).go().come(1).take(1)))
    unhealed = grouped("m0").pull(0, then=1)
    assert_vacuous(DeliverNoLoss, ended(unhealed))


def test_a_group_begins_where_its_first_assignment_did() -> None:
    later = consuming().store("m0").store("m1").come().take(None, start=1).mark("heal").pull(1, "m1")
    assert assert_holds(DeliverNoLoss, ended(later)).judged == 1
    again = healed("m0", "m1").pull(0, "m0").go().come(2).take(None, process=2, start=2)
    assert_vacuous(DeliverNoLoss, ended(again.mark("heal")).add("mark", f="end"))
    skipped = healed("m0", "m1").pull(0, "m0").commit(1).come(2).take(1, process=2, start=2).mark("heal")
    assert_broken(DeliverNoLoss, ended(skipped), "m1 (PUT_OK), T/0 at 1, never came to G, which has gone on behind it")


def test_a_message_that_may_be_lost_need_not_be_delivered() -> None:
    lost = healed("m0", "m1", brokerRole="ASYNC_MASTER").pull(0, "m0", then=2).cut(1)
    assert_vacuous(DeliverNoLoss, ended(lost))
    flushed = healed("m0", "m1", flushDiskType="SYNC_FLUSH").pull(0, "m0", then=2).crash("master", "machine")
    assert_broken(DeliverNoLoss, ended(flushed.start("master")), "m1 (PUT_OK)")
    aged = healed("m0", "m1").add("expire", node="master", lo=SIZE).pull(0, then=1).pull(1, "m1")
    assert assert_holds(DeliverNoLoss, ended(aged)).judged == 1
    unanswered = healed().call(0, "send", "master", "info", message="m0", value=1).pull(0, then=1)
    assert_vacuous(DeliverNoLoss, ended(unanswered))


def test_a_reused_offset_is_excused_if_the_group_had_passed_it() -> None:
    def rewritten(gone_on: bool) -> Story:
        history = healed("m0", "m1").pull(0, "m0", *(["m1"] if gone_on else [])).cut(1).store("m2")
        return ended(history.store("m3").pull(2, "m3", then=3))

    assert_holds(DeliverNoLoss, rewritten(True))
    assert_broken(DeliverNoLoss, rewritten(False), "m2 (PUT_OK), T/0 at 1")


def test_a_message_stored_while_a_slave_is_diverged_is_excused() -> None:
    def restored(rolled: bool) -> Story:
        history = healed("m0", "m1", "m2")
        if rolled:
            history.append("slave", 0, 3 * SIZE)
        return ended(history.cut(1).store("m3").pull(0, "m0", then=2))

    assert_vacuous(DeliverNoLoss, restored(True))
    assert_broken(DeliverNoLoss, restored(False), "m3 (PUT_OK), T/0 at 1")


def test_an_offset_that_a_diverged_slave_s_answer_passed_is_excused() -> None:
    """The slave appends late frames of an older connection, and so becomes diverged after the answer to the send."""

    def passed_at(node: str) -> Story:
        history = healed("m0", "m1", "m2").connect().cut(1).store("m3").append("slave", 0, 3 * SIZE)
        return ended(history.pull(0, "m0").pull(1, node=node, then=2), 2_000)

    assert_vacuous(DeliverNoLoss, passed_at("slave"))
    assert_broken(DeliverNoLoss, passed_at("master"), "m3 (PUT_OK), T/0 at 1")


def test_a_consumer_of_a_slave_that_lacks_the_message_may_stand_still() -> None:
    def asking(node: str, start: int | None = None) -> Story:
        history = healed("m0", "m1")
        if start is not None:
            history.append("slave", start, 2 * SIZE)
        return ended(history.pull(0, "m0").pull(1, then=1, node=node))

    assert_holds(DeliverNoLoss, asking("slave"))
    assert_holds(DeliverNoLoss, asking("slave", SIZE))
    assert_broken(DeliverNoLoss, asking("slave", 0), "m1 (PUT_OK), T/0 at 1")
    assert_broken(DeliverNoLoss, asking("master", 2 * SIZE), "m1 (PUT_OK), T/0 at 1")


def test_a_delayed_message_is_in_another_queue() -> None:
    def lying_in(queue: str, detail: str | None = '{"level": 1}') -> Story:
        history = consuming().store("m0", detail=detail).come().take(None).mark("heal").pull(0, then=1)
        history.add("record", node="master", op=1, message="m0", lo=0, hi=SIZE, queue=queue, queue_offset=0)
        history.add("audit", node="master", op=1, f="final", lo=0, hi=SIZE, value=SIZE)
        return ended(history)

    assert_vacuous(DeliverNoLoss, lying_in("SCHEDULE_TOPIC_XXXX/0"))
    assert_broken(DeliverNoLoss, lying_in("T/0"), "m0 (PUT_OK)")
    for detail in (None, '{"body": 1, "flag": 0}'):
        assert_broken(DeliverNoLoss, lying_in("RMQ_SYS_TRANS_HALF_TOPIC/0", detail), "m0 (PUT_OK)")


def test_every_broadcasting_consumer_receives_all_for_itself() -> None:
    def two(*second: str) -> Story:
        history = consuming().store("m0")
        for process in (1, 2):
            history.come(process, f="broadcasting").assign(0, process)
        history.mark("heal")
        return ended(history.pull(0, "m0").pull(0, *second, process=2, then=1))

    assert assert_holds(DeliverNoLoss, two("m0")).judged == 2
    assert_broken(DeliverNoLoss, two(), "never came to G#2")


def test_another_group_s_delivery_does_not_count() -> None:
    history = healed("m0").pull(0, then=1).come(2, "H").take(None, process=2).pull(0, "m0", process=2)
    assert_broken(DeliverNoLoss, ended(history), f"never came to {G}")


def healed_by_tag(tags: str = BY_TAG) -> Story:
    history = subscribing(tags)
    history.mark("heal")
    return history


def test_a_group_misses_what_it_subscribed_to_and_nothing_else() -> None:
    assert assert_holds(DeliverNoLoss, ended(pulled(healed_by_tag(), "m0", "m3"))).judged == 2
    assert_vacuous(DeliverNoLoss, ended(pulled(healed_by_tag("b"))))
    assert_broken(
        DeliverNoLoss, ended(pulled(healed_by_tag(), "m0")), "m3 (PUT_OK), T/0 at 3, never came to G, which has"
    )
    assert_broken(
        DeliverNoLoss, ended(healed_by_tag("paidBB")), "m2 (PUT_OK), T/0 at 2, never came to G; for 150000 ms"
    )


def test_a_group_that_subscribed_also_misses_it_after_its_members_changed() -> None:
    history = subscribing("paidBB").come(2, tags="paidBB")
    history.mark("heal")
    left = pulled(history, to=4).commit(4).go()
    assert_broken(DeliverNoLoss, ended(left), "m2 (PUT_OK), T/0 at 2, never came to G, which has gone on behind it")


def test_a_half_message_must_be_delivered_after_its_commit() -> None:
    def ended(history: Story, *offsets: int) -> Story:
        history.come().take(None)
        for offset in offsets:
            history.pull(offset, "m0" if offset == 0 else f"m{offset}")
        history.mark("heal")
        history.after(300_000)
        history.listed().mark("end")
        return history

    never = "m0 (PUT_OK), T/0 at 0, never came to G"
    assert_broken(DeliverNoLoss, ended(transaction().decide().committed()), never)
    assert_holds(DeliverNoLoss, ended(transaction().decide().committed(), 0))
    assert_vacuous(DeliverNoLoss, ended(transaction()))
    assert_vacuous(DeliverNoLoss, ended(transaction().decide("rollback")))
