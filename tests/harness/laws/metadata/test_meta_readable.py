"""Tests of ``meta-readable``."""

from histories import assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.metadata.meta_readable import MetaReadable


def test_a_table_can_be_read_unless_its_store_is_not_the_node_s_own_work() -> None:
    read = pair().add("table", node="slave", f="delays", detail="{}")
    assert_holds(MetaReadable, read)
    assert_broken(
        MetaReadable, read.add("garbled", node="slave", f="delays", detail="no object"), "the delays of slave"
    )
    for story in (
        pair().add("crash", node="slave", f="machine", status="lied", value=1),
        pair().crash("slave").add("wipe", node="slave", f="image"),
    ):
        assert_vacuous(MetaReadable, story.add("garbled", node="slave", f="delays", detail="no object"))
        assert_broken(MetaReadable, story.add("garbled", node="master", f="topics", detail="no object"), "of master")
    honest = pair().crash("slave", "machine").start("slave")
    assert_broken(MetaReadable, honest.add("garbled", node="slave", f="delays", detail="no object"), "cannot be read")
