"""What stores lost of what was acknowledged, by node: counted, said in a line, and added up."""

from __future__ import annotations

from pairproof.harness.rocketmq.losses import Losses, Lost, measure, total
from pairproof.harness.rocketmq.testing import SIZE, H, pair


def sent(*messages: str) -> H:
    history = pair()
    for message in messages:
        history.sent(message)
    return history


def test_nothing_lost_is_nothing_said() -> None:
    found = measure(sent("m0", "m1").crash("master").start("master").events)
    assert found == Losses(2, {}, None) and found.lines() == []


def test_a_power_loss_takes_what_the_log_no_longer_reaches() -> None:
    history = sent("m0", "m1", "m2").crash("master", "machine").start("master", SIZE)
    history.audit(records={"master": ["m0"], "slave": ["m0", "m1", "m2"]})
    found = measure(history.events)
    assert found == Losses(3, {"master": Lost(2, 2 * SIZE)}, 0)
    assert found.lines() == [
        "3 PUT_OK; the master lost 2 of them (200 bytes of its log); each of them is still on some broker"
    ]
    assert found.as_json() == {"acknowledged": 3, "lost": {"master": {"messages": 2, "bytes": 200}}, "nowhere": 0}


def test_what_no_broker_has_any_more_is_named() -> None:
    history = sent("m0", "m1").crash("master", "machine").start("master", SIZE).audit(records={"master": ["m0"]})
    assert measure(history.events).lines()[0].endswith("one of them is on no broker now")
    history = sent("m0", "m1").crash("master", "machine").start("master", 0).audit()
    assert measure(history.events).lines()[0].endswith("2 of them are on no broker now")


def test_a_node_that_stays_down_has_lost_what_its_crash_says() -> None:
    history = sent("m0", "m1").add("crash", node="master", f="machine", value=SIZE)
    assert measure(history.events).by_node == {"master": Lost(1, SIZE)}
    # It is lost once, though the start shows it again.
    assert measure(history.start("master", SIZE).events).by_node == {"master": Lost(1, SIZE)}


def test_slaves_and_other_answers_are_counted_apart() -> None:
    history = sent("m0").put("m1").ok("m1", "FLUSH_SLAVE_TIMEOUT").replicate()
    history.crash("slave", "machine").start("slave", 0)
    assert measure(history.events) == Losses(1, {"slave": Lost(1, 2 * SIZE)}, None)


def test_a_store_that_is_replaced_has_lost_what_the_new_one_lacks() -> None:
    history = sent("m0", "m1").crash("master").add("wipe", node="master", f="empty", hi=0)
    assert measure(history.events).by_node == {"master": Lost(2, 2 * SIZE)}


def test_a_message_that_is_lost_is_not_lost_again() -> None:
    history = sent("m0", "m1").crash("master", "machine").start("master", SIZE)
    history.put("m2").ok("m2").crash("master", "machine").start("master", SIZE)
    assert measure(history.events).by_node == {"master": Lost(2, 2 * SIZE)}


def test_trials_add_up() -> None:
    one = Losses(3, {"master": Lost(2, 200)}, None)
    assert total([one, Losses(1, {"master": Lost(1, 100), "slave": Lost(0, 7)}, 1)]) == Losses(
        4, {"master": Lost(3, 300), "slave": Lost(0, 7)}, 1
    )
    assert total([]) == Losses(0, {}, None)


def test_a_node_that_tells_nothing_of_its_log_is_seen_by_its_crash_and_the_next_audit() -> None:
    history = H().config("master").config("slave").add("start", node="master").add("start", node="slave")
    assert isinstance(history, H)
    for place in range(3):
        history.invoke(f"m{place}")
        call = {"node": "master", "op": history.began[f"m{place}"][0], "f": "send", "message": f"m{place}"}
        history.add("ok", **call, status="PUT_OK", lo=place * SIZE)
    history.add("crash", node="master", f="machine", value=2 * SIZE).add("start", node="master")
    assert measure(history.events).by_node == {}
    recovered = history.audit("recovery", nodes="master", hi={"master": SIZE})
    assert measure(recovered.events).by_node == {"master": Lost(2, 2 * SIZE)}
