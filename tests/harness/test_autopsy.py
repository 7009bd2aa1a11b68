"""A message's life is told in order, and the conclusion says what a reader would."""

from __future__ import annotations

import pytest

from pairproof.harness.rocketmq.autopsy import HEAD, TAIL, autopsy, message_of, messages
from pairproof.harness.rocketmq.testing import H, bare, pair


def lines(history: H, message: str = "m0") -> list[str]:
    return [line.text for line in autopsy(history.events, message).lines]


def conclusion(history: H, message: str = "m0") -> str:
    return autopsy(history.events, message).conclusion


def test_a_good_life_is_told_from_send_to_audit() -> None:
    history = pair().put("m0").after(2).flush("master").replicate().ok("m0")
    history.add("deliver", node="slave", process=7, message="m0", queue_offset=0)
    assert lines(history.audit(records={"master": ["m0"], "slave": ["m0"]})) == [
        "client 0 sends it to the master, and waits for the store",
        "the master appends it at [0, 100)",
        "the master has flushed it: its log is durable up to 100",
        "pushed on ha:1 to the slave in frame [0, 100)",
        "that frame reaches the slave on ha:1",
        "the slave appends it (bytes [0, 100))",
        "the slave reports 100 on ha:1",
        "the master receives report 100 of the slave on ha:1, which covers it",
        "answered PUT_OK, 2 ms after it was sent",
        "client 7 receives it from the slave",
        "the final audit finds it on the master at [0, 100)",
        "the final audit finds it on the slave at [0, 100)",
    ]
    assert conclusion(history) == (
        "m0 was answered PUT_OK at 2 ms; the slave held it then; at the end it is on the master and the slave."
    )


def test_the_only_copy_that_a_power_loss_took_is_called_so() -> None:
    history = pair().put("m0").after(12.3).ok("m0").after(27.7).add("crash", node="master", f="machine", value=100)
    history.restart("master", 0).audit()
    assert conclusion(history) == (
        "m0 was answered PUT_OK at 12.3 ms; no slave held it then; "
        "the power loss of the master at 40 ms took it: the only copy; at the end it is nowhere."
    )
    assert "the master loses power: 100 bytes of its log are lost, and it with them" in lines(history)
    assert "the only copy" not in conclusion(pair().put("m0").replicate().ok("m0").crash("master").restart("master", 0))


def test_the_last_copy_is_called_so_when_both_went() -> None:
    history = pair().sent("m0").crash("slave", "machine").restart("slave", 0).crash("master").restart("master", 0)
    said = conclusion(history)
    assert "the power loss of the slave at 0 ms took the copy of the slave" in said
    assert "the kill of the master at 0 ms took it: the last copy" in said


def test_a_loss_names_the_faults_that_were_active() -> None:
    history = pair().put("m0").ok("m0").add("fault", op=0, f="stall", status="on", link="ha")
    history.add("fault", op=1, f="power_loss", status="on", node="master")
    history.add("fault", op=2, f="pause", status="on", node="slave").add("fault", op=2, f="pause", status="off")
    history.add("crash", node="master", f="machine", value=100)
    assert lines(history)[-1].endswith("[active: stall (ha), power_loss (master)]")
    assert "the power loss of the master at 0 ms, with stall (ha) active, took it: the only copy" in conclusion(history)


@pytest.mark.parametrize(
    ("f", "hi", "said"),
    [
        ("empty", 0, "is replaced by an empty one"),
        ("image", 40, "older image, which ends at 40"),
        ("image", 100, ""),
    ],
)
def test_a_replaced_store_takes_what_the_new_one_lacks(f: str, hi: int, said: str) -> None:
    history = pair().sent("m0").stop("master").add("wipe", node="master", f=f, hi=hi)
    told = " ".join(lines(history))
    assert said in told and ("the replaced store of the master" in conclusion(history)) == bool(said)


def test_retention_takes_what_lies_before_the_new_start() -> None:
    history = pair().sent("m0").sent("m1").add("expire", node="master", lo=100)
    assert "retention on the master" in conclusion(history)
    assert "retention" not in conclusion(history, "m1")


def test_a_crash_that_spares_it_is_told_and_takes_nothing() -> None:
    history = pair().sent("m0").crash("master").start("master")
    assert lines(history)[-2:] == ["the master is killed", "the master is back, its log [0, 100) holds it"]
    assert "took" not in conclusion(history)


def test_a_crash_that_nobody_caused_is_not_called_a_kill_and_a_start_that_fails_is_told() -> None:
    history = pair().sent("m0").add("crash", node="master", f="process", status="own", value=0, detail="KeyError: 1")
    history.add("abort", node="master", f="ended", detail="KeyError: 2")
    assert lines(history)[-2:] == ["the master crashes by itself", "the master does not come up again"]


def test_a_disk_that_lied_is_named() -> None:
    history = pair().put("m0").add("crash", node="master", f="machine", value=100, status="lied")
    assert "which its disk had called durable" in lines(history)[-1]


def test_what_takes_its_place_is_named_once_and_is_not_taken_for_it() -> None:
    history = pair().put("m0").crash("master").restart("master", 0).put("m1").put("m2").replicate()
    told = lines(history)
    assert told.count("the master writes m1 in its place") == 1
    assert not any("slave appends it" in each or "pushed" in each for each in told)


def test_a_frame_that_never_arrived_and_a_report_that_lies_are_told() -> None:
    lost = pair().put("m0").frame(0, 100, sides="m").close()
    assert lines(lost)[-1] == "ha:1 closes before that frame has reached the slave"
    lying = pair().put("m0").report(100, sides="s")
    assert lines(lying)[-1] == "the slave reports 100 on ha:1, though it does not hold it"


def test_a_slave_with_other_bytes_in_front_gets_the_end_of_it_only() -> None:
    history = pair().put("m0").append("slave", 40, 100)
    assert lines(history)[-1] == "the slave appends the end of it only (bytes [40, 100))"
    assert "it is on the master." in conclusion(history)
    pieces = pair().put("m0").append("slave", 0, 40).append("slave", 40, 100)
    assert lines(pieces)[-1] == "the slave appends it (bytes [40, 100))"


def test_every_slave_is_followed() -> None:
    history = pair().put("m0").add("append", node="slave2", lo=0, hi=100, f="replicate").ok("m0")
    assert "slave2 appends it (bytes [0, 100))" in lines(history)
    assert "slave2 held it then; at the end it is on the master and slave2" in conclusion(history)


@pytest.mark.parametrize(
    ("phase", "status", "said"),
    [
        ("fail", "SERVICE_NOT_AVAILABLE", "m0 was refused with SERVICE_NOT_AVAILABLE at 0 ms"),
        ("info", "timeout", "m0 stayed unknown to its sender: timeout at 0 ms"),
    ],
)
def test_other_answers_are_told_apart(phase: str, status: str, said: str) -> None:
    history = bare().invoke("m0").over("m0", phase, status)
    assert conclusion(history) == f"{said}; no broker was observed to store it."


def test_a_message_that_never_occurs_has_no_lines() -> None:
    assert autopsy(pair().sent("m0").audit().events, "m9").lines == ()
    assert conclusion(bare().invoke("m0")) == "m0 was sent, and never answered; no broker was observed to store it."


def test_only_the_last_audit_of_a_node_counts() -> None:
    history = pair().sent("m0").audit("recovery", records={"master": ["m0"]}).audit(records={"slave": ["m0"]})
    assert lines(history)[-2:] == [
        "the final audit does not find it on the master",
        "the final audit finds it on the slave at [0, 100)",
    ]


def test_a_long_life_is_cut_in_the_middle() -> None:
    history = pair().sent("m0")
    for _ in range(100):
        history.crash("master").start("master")
    told = lines(history)
    assert len(told) == HEAD + TAIL + 1 and "lines left out" in told[HEAD]


def test_the_message_of_a_violation_is_its_event_s_or_the_first_that_its_text_names() -> None:
    events = pair().sent("m0").sent("m1").events
    assert messages(events) == ["m0", "m1"]
    of_m1 = next(event.seq for event in events if event.message == "m1")
    assert message_of(events, of_m1, "m0 is gone") == "m1"
    assert message_of(events, 0, "a record of m1 is gone") == "m1"
    assert message_of(events, None, "byte 17 differs") is None
