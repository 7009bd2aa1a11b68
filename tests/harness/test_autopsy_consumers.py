"""A message's life among consumers: who received it, how often, and by whose word it was skipped or repeated."""

from __future__ import annotations

import json

import pytest
from histories import G, Q, Story
from histories.consumers import consuming, grouped

from pairproof.harness.rocketmq.autopsy import autopsy, message_of, messages
from pairproof.harness.rocketmq.reception import MAX_REPEATS


def lines(history: Story, message: str = "m0") -> list[str]:
    """What is told of it after its answer."""
    told = [line.text for line in autopsy(history.events, message).lines]
    return told[next(at for at, text in enumerate(told) if text.startswith("answered")) + 1 :]


def conclusion(history: Story, message: str = "m0") -> str:
    return autopsy(history.events, message).conclusion


def test_a_group_receives_it_once_and_the_master_notes_it() -> None:
    history = grouped("m0", "m1").pull(0, "m0", "m1").commit(2).commit(2).pull(2)
    assert lines(history) == [
        f"consumer 1 of G receives it from the master, {Q} at 0",
        "the master records that G has progressed to 2",
    ]
    assert conclusion(history).endswith("at the end it is on the master; G received it.")


def test_a_repeat_is_told_with_the_word_on_which_it_came_and_the_broker_it_came_from() -> None:
    history = grouped("m0").pull(0, "m0").commit(1).go(status="lost").come(2).take(0, node="slave", process=2)
    history.pull(0, "m0", node="slave", process=2)
    assert lines(history)[2:] == [
        f"consumer 2 of G takes {Q}, to go on at 0, which repeats it, from the slave",
        f"consumer 2 of G receives it again from the slave, {Q} at 0",
    ]
    assert conclusion(history).endswith("G received it 2 times.")
    onwards = grouped("m0").pull(0, "m0").commit(1).go().come(2).take(1, process=2)
    assert not any("takes" in line for line in lines(onwards)), "who goes on behind it takes the queue as all do"


def test_many_repeats_are_counted_and_not_all_told() -> None:
    history = grouped("m0")
    for _ in range(MAX_REPEATS + 5):
        history.pull(0, "m0", then=1)
    assert len(lines(history)) == MAX_REPEATS
    assert conclusion(history).endswith(f"G received it {MAX_REPEATS + 5} times.")


def test_what_is_skipped_is_told_with_the_broker_that_said_so() -> None:
    skipped = grouped("m0", "m1").pull(0, "m1", then=2).commit(2)
    assert lines(skipped) == [
        "consumer 1 of G asks the master from 0 on and continues at 2, which skips it",
        "the master records that G has progressed to 2, though it has not received it",
    ]
    assert conclusion(skipped).endswith("G never received it.")
    by_word = consuming().store("m0").come().take(1)
    assert lines(by_word) == [f"consumer 1 of G takes {Q}, to go on at 1, which skips it, from the master"]
    by_choice = consuming().store("m0").come().assign(1)
    assert lines(by_choice)[0].endswith("which skips it, by its own choice")
    back = grouped("m0", "m1").pull(0, "m0", "m1").pull(2, node="slave", then=0)
    assert lines(back)[-1] == "consumer 1 of G asks the slave from 2 on and continues at 0, which repeats it"


def test_a_pull_that_is_answered_before_the_send_is_still_told() -> None:
    history = grouped().pull(0, then=1).store("m0")
    told = [line.text for line in autopsy(history.events, "m0").lines]
    assert told[0] == "consumer 1 of G asks the master from 0 on and continues at 1, which skips it"


def test_a_broker_that_went_down_notes_it_anew() -> None:
    history = grouped("m0").pull(0, "m0").commit(1).crash("master").start("master").commit(1)
    assert lines(history).count("the master records that G has progressed to 1") == 2


def test_each_consumer_of_a_broadcasting_group_is_a_reader() -> None:
    history = consuming().store("m0").come(1, f="broadcasting").come(2, f="broadcasting")
    history.assign(0, 1).assign(0, 2).pull(0, "m0", process=1)
    assert conclusion(history).endswith("consumer 1 of G received it; consumer 2 of G never received it.")


def test_queues_of_another_broker_name_are_not_its_own() -> None:
    history = grouped("m0")
    before = len(lines(history))
    history.call(1, "pull", "other", value=0, ok_queue_offset=5).call(1, "commit", "other", queue_offset=5)
    assert len(lines(history)) == before


def sent_to_other() -> Story:
    history = consuming()
    call = {"process": 0, "op": 90, "f": "send", "message": "m9", "queue": Q, "node": "other"}
    history.add("invoke", **call, value=1).add("append", node="other", lo=0, hi=50, f="put", message="m9")
    history.append("master", 0, 70, "put", "m8").replicate()
    return history.add("ok", **call, status="PUT_OK", lo=0, hi=50, queue_offset=0).come()


def test_a_message_of_another_broker_name_is_followed_there_and_no_slave_is_asked() -> None:
    history = sent_to_other().audit(records={"master": ["m8"], "slave": ["m8"]})
    assert [line.text for line in autopsy(history.events, "m9").lines] == [
        "client 0 sends it to the other broker name's master, and waits for the store",
        "the other broker name's master appends it at [0, 50)",
        "answered PUT_OK, 0 ms after it was sent",
    ]
    assert "at the end it is on the other broker name's master; G never received it." in conclusion(history, "m9")


def test_a_delayed_message_is_followed_from_where_it_waits_into_its_queue() -> None:
    history = consuming()
    call = {"process": 0, "op": 90, "f": "send", "message": "m0", "queue": Q, "node": "master"}
    history.add("invoke", **call, value=1, detail=json.dumps({"level": 2})).append("master", 0, 100, "put", "m0")
    history.replicate().add("ok", **call, status="PUT_OK", lo=0, hi=100, queue_offset=7).come().take(None)
    history.after(5_000).append("master", 100, 200, "put", "m0").replicate()
    history.offsets["m0"] = 0
    told = [line.text for line in autopsy(history.pull(0, "m0").events, "m0").lines]
    assert "the master appends it at [0, 100), to wait for delay level 2" in told
    at = told.index("its time has come: the master appends it at [100, 200), in its own queue")
    assert "the slave appends it (bytes [100, 200))" in told[at:]
    assert told[-1] == f"consumer 1 of G receives it from the master, {Q} at 0"


def test_a_half_message_is_followed_into_its_queue_when_it_is_committed() -> None:
    history = consuming()
    call = {"process": 0, "op": 90, "f": "send", "message": "m0", "queue": Q, "node": "master"}
    history.add("invoke", **call, value=1, detail=json.dumps({"half": True})).append("master", 0, 100, "put", "m0")
    history.replicate().add("ok", **call, status="PUT_OK", lo=0, hi=100, queue_offset=7)
    history.append("master", 100, 200, "put", "m0")
    told = [line.text for line in autopsy(history.events, "m0").lines]
    assert "the master appends it at [0, 100), as the half of a transaction" in told
    assert told[-1] == "it is committed: the master appends it at [100, 200), in its own queue"


def test_a_slave_that_stores_a_message_itself_is_told_of() -> None:
    history = consuming()
    call = {"process": 0, "op": 90, "f": "send", "message": "m0", "queue": Q, "node": "slave"}
    history.add("invoke", **call, value=1).append("slave", 0, 100, "put", "m0")
    assert autopsy(history.events, "m0").lines[-1].text == "the slave appends it at [0, 100)"
    assert "it is on the slave" in conclusion(history)


@pytest.mark.parametrize("f", ["topic", "group"])
def test_a_topic_or_a_group_is_no_message(f: str) -> None:
    history = grouped("m0").add("invoke", node="master", process=3, op=50, f=f, message=G, detail="{}")
    history.add("keys", node="master", message="m7")
    assert messages(history.events) == ["m0"]
    assert message_of(history.events, history.events[-2].seq, "group G waits for m0") == "m0"
