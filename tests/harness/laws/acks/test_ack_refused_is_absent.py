"""Tests of ``ack-refused-is-absent``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.acks.ack_refused_is_absent import AckRefusedIsAbsent

REFUSAL = "SERVICE_NOT_AVAILABLE"


def refused() -> H:
    return pair().invoke("m0").over("m0", "fail", REFUSAL)


def test_a_refused_send_leaves_nothing_in_a_store_and_nothing_for_readers() -> None:
    assert_holds(AckRefusedIsAbsent, refused().audit(records={"master": []}))
    for node in ("master", "slave"):
        stored = refused().audit(records={node: ["m0"]})
        assert_broken(AckRefusedIsAbsent, stored, f"m0 was refused ({REFUSAL}), and is in the store of {node}")
    read = refused().add("deliver", node="slave", op=9, message="m0", lo=0, hi=100)
    assert_broken(AckRefusedIsAbsent, read, "and was delivered by slave")


def test_a_message_that_was_appended_must_not_be_refused_afterwards() -> None:
    assert_broken(AckRefusedIsAbsent, pair().put("m0").over("m0", "fail", REFUSAL), "and was appended by master")
    assert_broken(AckRefusedIsAbsent, refused().append("master", 0, 100, "put", "m0"), "and was appended by master")


@pytest.mark.parametrize("status", ["refused", "timeout"])
def test_a_send_that_never_left_its_client_is_nowhere(status: str) -> None:
    assert_holds(AckRefusedIsAbsent, pair().invoke("m0").over("m0", "fail", status).audit())
    phantom = pair().invoke("m0").over("m0", "fail", status).audit(records={"master": ["m0"]})
    assert_broken(AckRefusedIsAbsent, phantom, f"m0 was refused ({status})")


def test_one_message_is_one_violation_wherever_it_is_found() -> None:
    everywhere = {"master": ["m0"], "slave": ["m0"]}
    assert_broken(AckRefusedIsAbsent, refused().audit("recovery", records=everywhere).audit(records=everywhere), "m0")


def test_unknown_error_by_name_or_by_remark_and_unanswered_calls_leave_it_open() -> None:
    by_remark = pair().invoke("m0")
    by_remark.add("fail", node="master", op=0, f="send", status="SYSTEM_ERROR", message="m0", detail="UNKNOWN_ERROR")
    by_name = pair().invoke("m0").over("m0", "fail", "UNKNOWN_ERROR")
    for open_ended in (by_remark, by_name, pair().invoke("m0").over("m0", "info", "timeout"), pair().sent("m0")):
        assert_vacuous(AckRefusedIsAbsent, open_ended.audit(records={"master": ["m0"]}))
    other = pair().invoke("m0")
    other.add("fail", node="master", op=0, f="send", status="SYSTEM_ERROR", message="m0", detail="no such queue")
    assert_broken(AckRefusedIsAbsent, other.audit(records={"master": ["m0"]}), "m0 was refused (SYSTEM_ERROR)")
