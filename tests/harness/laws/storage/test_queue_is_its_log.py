"""What a broker's queues and key index owe its own log: ``queue-is-its-log``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.storage.queue_is_its_log import QueueIsItsLog


def found(history: H, status: str = "same", f: str = "queues", node: str = "master", hi: int = 100) -> H:
    history.audits += 1
    detail = None if status == "same" else f"it is {status}"
    return history.add("derived", node=node, op=history.audits, f=f, status=status, lo=0, hi=hi, value=1, detail=detail)


def dispatched(**settings: object) -> H:
    history = pair(**settings).append("master", 0, 100, "put", "m0").add("dispatch", node="master", hi=100)
    return history.append("slave", 0, 100).add("dispatch", node="slave", hi=100)


@pytest.mark.parametrize("node", ["master", "slave"])
@pytest.mark.parametrize("f", ["queues", "index"])
def test_a_node_derives_what_its_log_gives(f: str, node: str) -> None:
    assert_holds(QueueIsItsLog, found(dispatched(), f=f, node=node))
    for status in ("other", "lacks", "behind"):
        assert_broken(QueueIsItsLog, found(dispatched(), status, f, node), f"{node}: it is {status}")


def test_a_log_without_records_gives_nothing_to_judge() -> None:
    assert_vacuous(QueueIsItsLog, pair().add("derived", node="master", op=1, f="queues", status="same", value=0))


def test_undispatched_records_may_be_missing_but_not_wrong() -> None:
    waiting = dispatched().append("master", 100, 200, "put", "m1")
    assert_holds(QueueIsItsLog, found(waiting, "lacks", hi=200))
    assert_broken(QueueIsItsLog, found(waiting, "lacks", hi=100), "it is lacks")
    assert_broken(QueueIsItsLog, found(dispatched().append("master", 100, 200), "other"), "it is other")


def test_a_node_that_rests_has_dispatched_all() -> None:
    def silent(ms: int) -> H:
        return pair().append("master", 0, 100, "put", "m0").after(ms)

    assert_holds(QueueIsItsLog, found(silent(1_000), "lacks"))
    assert_broken(QueueIsItsLog, found(silent(1_001), "lacks"), "it is lacks")
    assert_holds(QueueIsItsLog, found(silent(1_001).fault("disk_full", "master"), "lacks"))


def test_a_stall_of_the_machine_excuses_lateness() -> None:
    def late() -> H:
        return pair().append("master", 0, 100, "put", "m0").stall(900).after(1_001)

    assert_holds(QueueIsItsLog, found(late(), "lacks"))
    assert_broken(QueueIsItsLog, found(late(), "other"), "it is other")


def test_nodes_that_are_down_or_diverged_are_not_judged() -> None:
    assert_vacuous(QueueIsItsLog, found(dispatched().crash("slave"), "other", node="slave"))

    def rolled() -> H:
        history = dispatched().append("master", 100, 300).append("slave", 100, 300)
        return history.crash("master", "machine").start("master", 100)

    assert_vacuous(QueueIsItsLog, found(rolled(), "other", node="slave"))
    assert_broken(QueueIsItsLog, found(rolled(), "other"), "it is other")


def test_a_store_that_a_disk_lied_about_is_excused_until_it_is_replaced() -> None:
    lied = dispatched().add("crash", node="master", f="machine", status="lied", value=100).start("master", 100)
    assert_vacuous(QueueIsItsLog, found(lied, "other"))
    honest = dispatched().crash("master", "machine").start("master", 100)
    assert_broken(QueueIsItsLog, found(honest, "other"), "it is other")
    replaced = lied.crash("master").add("wipe", node="master", f="empty").start("master", 0)
    assert_broken(QueueIsItsLog, found(replaced, "other"), "it is other")


@pytest.mark.parametrize("off", [False, "false"])
def test_without_an_index_only_queues_are_judged(off: object) -> None:
    assert_vacuous(QueueIsItsLog, found(dispatched(messageIndexEnable=off), "other", "index"))
    assert_broken(QueueIsItsLog, found(dispatched(messageIndexEnable=off), "other"), "it is other")


def test_only_remains_of_a_java_recovery_are_excused() -> None:
    def java(crashed: bool = True) -> H:
        history = dispatched()
        history = history.crash("master") if crashed else history.stop("master")
        return history.add("start", node="master", lo=0, hi=100, f="unknown").after(1_001)

    for status, f in (("lacks", "index"), ("other", "index"), ("behind", "queues")):
        assert_holds(QueueIsItsLog, found(java(), status, f))
        assert_broken(QueueIsItsLog, found(java(crashed=False), status, f), f"it is {status}")
    for status in ("lacks", "other"):
        assert_broken(QueueIsItsLog, found(java(), status), f"it is {status}")


def test_delivery_times_of_several_delay_levels_are_not_judged() -> None:
    def differs(history: H, queue: str) -> H:
        history.audits += 1
        return history.add(
            "derived", node="master", op=history.audits, f="queues", status="other", lo=0, hi=100, value=1,
            detail=f"{queue}/1 at 0 has tags code 16014; its record gives 13014",
        )  # fmt: skip

    def promoted(levels: str) -> H:
        history = H().config("master", messageDelayLevel="1s 2s").start("master", 0)
        history.config("slave", brokerRole="SLAVE", messageDelayLevel=levels).start("slave", 0)
        history.append("master", 0, 100, "put", "m0").append("slave", 0, 100).crash("master").crash("slave")
        return history.add("wipe", node="master", f="image", detail="slave").start("master", 100)

    assert_vacuous(QueueIsItsLog, differs(promoted("1s 5s"), "SCHEDULE_TOPIC_XXXX"))
    assert_broken(QueueIsItsLog, differs(promoted("1s 2s"), "SCHEDULE_TOPIC_XXXX"), "16014")
    assert_broken(QueueIsItsLog, differs(promoted("1s 5s"), "T"), "16014")
    changed = promoted("1s 2s").crash("master").config("master", messageDelayLevel="9s").start("master", 100)
    assert_vacuous(QueueIsItsLog, differs(changed, "SCHEDULE_TOPIC_XXXX"))


def test_an_index_header_counts_used_slots() -> None:
    assert_broken(QueueIsItsLog, found(dispatched(), "slots", "index"), "master: it is slots")
