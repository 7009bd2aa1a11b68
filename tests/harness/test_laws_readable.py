"""``ack-readable`` and ``meta-readable``: answers and tables that nobody can read."""

from __future__ import annotations

from pairproof.harness.rocketmq.laws.acks.ack_readable import AckReadable
from pairproof.harness.rocketmq.laws.metadata.meta_readable import MetaReadable
from pairproof.harness.rocketmq.testing import pair
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous


def test_an_answer_can_be_read_and_silence_is_none() -> None:
    assert_holds(AckReadable, pair().sent("m0"))
    asked = pair().put("m0")
    assert_vacuous(AckReadable, asked.add("info", node="master", f="send", status="timeout", message="m0"))
    garbled = asked.add(
        "info", node="master", f="send", status="unreadable answer", message="m0", detail="KeyError: 'queueOffset'"
    )
    assert_broken(AckReadable, garbled, "master's answer to the send of m0 cannot be read: KeyError: 'queueOffset'")
    consumer = pair().add("info", node="slave", f="pull", status="unreadable answer", group="g0")
    assert_broken(AckReadable, consumer, "slave's answer to a pull cannot be read")


def test_a_table_can_be_read_unless_its_store_is_not_the_node_s_own_work() -> None:
    read = pair().add("table", node="slave", f="delays", detail="{}")
    assert_holds(MetaReadable, read)
    assert_broken(
        MetaReadable, read.add("garbled", node="slave", f="delays", detail="no object"), "the delays of slave"
    )
    for spoiled in (
        pair().add("crash", node="slave", f="machine", status="lied", value=1),
        pair().crash("slave").add("wipe", node="slave", f="image"),
    ):
        assert_vacuous(MetaReadable, spoiled.add("garbled", node="slave", f="delays", detail="no object"))
        assert_broken(MetaReadable, spoiled.add("garbled", node="master", f="topics", detail="no object"), "of master")
    honest = pair().crash("slave", "machine").start("slave")
    assert_broken(MetaReadable, honest.add("garbled", node="slave", f="delays", detail="no object"), "cannot be read")
