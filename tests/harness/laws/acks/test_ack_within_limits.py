"""Tests of ``ack-within-limits``."""

import json

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.acks.ack_within_limits import AckWithinLimits


def asked(**said: object) -> H:
    """A send with this recorded content, at a master with maxMessageSize=1500."""
    return pair(maxMessageSize=1_500).add(
        "invoke", node="master", op=7, f="send", message="m0", detail=json.dumps(said)
    )


def answered(history: H, kind: str, status: str, op: int = 7) -> H:
    return history.add(kind, node="master", op=op, f="send", status=status, message="m0")


@pytest.mark.parametrize("status", ["PUT_OK", "FLUSH_SLAVE_TIMEOUT"])
def test_a_body_larger_than_max_message_size_is_not_stored(status: str) -> None:
    stored = answered(asked(size=1_501), "ok", status)
    assert_broken(AckWithinLimits, stored, "a body of 1501 bytes, where maxMessageSize is 1500")
    assert_holds(AckWithinLimits, answered(asked(size=1_501), "fail", "MESSAGE_ILLEGAL"))


def test_a_body_of_max_message_size_may_be_stored() -> None:
    assert_vacuous(AckWithinLimits, answered(asked(size=1_500), "ok", "PUT_OK"))
    assert_vacuous(AckWithinLimits, answered(asked(), "ok", "PUT_OK"))


def test_properties_that_no_record_can_hold_are_refused_whatever_their_size() -> None:
    assert_broken(AckWithinLimits, answered(asked(size=32_768, illegal=True), "ok", "PUT_OK"), "more properties than")
    assert_vacuous(AckWithinLimits, answered(asked(size=32_000, illegal=False), "ok", "PUT_OK"))


def test_a_batch_may_be_larger_since_versions_limit_its_parts_or_the_whole() -> None:
    batch = asked(size=2_000, more=True)
    batch.add("invoke", node="master", op=8, f="send", message="m1", detail='{"size": 2000}')
    assert_vacuous(AckWithinLimits, answered(answered(batch, "ok", "PUT_OK"), "ok", "PUT_OK", 8))
    after = batch.add("invoke", node="master", op=9, f="send", message="m2", detail='{"size": 2000}')
    assert_broken(AckWithinLimits, answered(after, "ok", "PUT_OK", 9), "a body of 2000 bytes")


def test_a_missing_answer_proves_nothing() -> None:
    assert_vacuous(AckWithinLimits, answered(asked(size=1_501), "info", "timeout"))


def test_a_broker_whose_file_names_no_limit_has_the_default_of_rocketmq() -> None:
    def sent(size: int) -> H:
        said = json.dumps({"size": size})
        history = pair().add("invoke", node="master", op=7, f="send", message="m0", detail=said)
        return answered(history, "ok", "PUT_OK")

    assert_vacuous(AckWithinLimits, sent(4_194_304))
    assert_broken(AckWithinLimits, sent(4_194_305), "a body of 4194305 bytes, where maxMessageSize is 4194304")
