"""Tests of ``deliver-sent-back``."""

from histories import G, assert_broken, assert_holds, assert_vacuous
from histories.builder import RETRY
from histories.consumers import sent_back

from pairproof.harness.rocketmq.laws.delivery.deliver_sent_back import DeliverSentBack


def test_a_message_sent_back_comes_again_after_its_delay() -> None:
    assert_holds(DeliverSentBack, sent_back().back().after(10_000).retried())
    assert_broken(DeliverSentBack, sent_back().back().after(9_000).retried(), "999 ms before its delay has passed")
    # A broker counts whole milliseconds, and a request may take less than one.
    assert_holds(DeliverSentBack, sent_back().back().after(9_998).retried())
    assert_broken(DeliverSentBack, sent_back().back().after(9_997).retried(), "2 ms before its delay has passed")
    assert_vacuous(DeliverSentBack, sent_back().back().mark("end"))


def test_each_delivery_from_a_retry_topic_was_sent_back_so_often() -> None:
    assert_broken(DeliverSentBack, sent_back().retried(), "nobody sent it back so often")
    assert_broken(
        DeliverSentBack, sent_back().back().after(10_000).retried(times=0), "sent back 0 times; nobody sent it back"
    )
    assert_broken(DeliverSentBack, sent_back().back(most=0).after(99_000).retried(), "nobody sent it back so often")


def test_a_message_that_the_master_took_comes_while_a_member_runs() -> None:
    never = "m0 never came to G for time 1; the master took it back"
    assert_broken(DeliverSentBack, sent_back().back().after(71_000).mark("end"), never)
    assert_vacuous(DeliverSentBack, sent_back().back(phase="info").after(71_000).mark("end"))
    assert_vacuous(DeliverSentBack, sent_back().back(most=0).after(71_000).mark("end"))
    for node, excused in (("slave", True), ("master", False)):
        moved = sent_back().back().after(10_000)
        moved.add(
            "ok",
            node=node,
            process=1,
            group=G,
            f="pull",
            queue=RETRY,
            status="PULL_OFFSET_MOVED",
            value=0,
            queue_offset=9,
        )
        moved = moved.after(61_000).mark("end")
        assert_vacuous(DeliverSentBack, moved) if excused else assert_broken(DeliverSentBack, moved, never)
    for reads, excused in ((0, True), (1, False)):
        asking = sent_back({"rocketmqVersion": "5.5.0", "slaveReadEnable": reads}, slaveReadEnable=1)
        asking = asking.back().after(71_000).mark("end")
        assert_vacuous(DeliverSentBack, asking) if excused else assert_broken(DeliverSentBack, asking, never)
    gone = sent_back().back()
    gone.go()
    assert_vacuous(DeliverSentBack, gone.after(71_000).mark("end"))
    disturbed = sent_back().back()
    disturbed.fault("stall", "client-master").fault("stall", "client-master", "off")
    assert_vacuous(DeliverSentBack, disturbed.after(149_000).mark("end"))
