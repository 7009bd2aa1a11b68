"""Tests of ``ack-readable``."""

from histories import assert_broken, assert_holds, assert_vacuous, pair

from pairproof.harness.rocketmq.laws.acks.ack_readable import AckReadable


def test_each_answer_must_be_readable_and_silence_is_no_answer() -> None:
    assert_holds(AckReadable, pair().sent("m0"))
    asked = pair().put("m0")
    assert_vacuous(AckReadable, asked.add("info", node="master", f="send", status="timeout", message="m0"))
    garbled = asked.add(
        "info", node="master", f="send", status="unreadable answer", message="m0", detail="KeyError: 'queueOffset'"
    )
    assert_broken(AckReadable, garbled, "master's answer to the send of m0 cannot be read: KeyError: 'queueOffset'")
    consumer = pair().add("info", node="slave", f="pull", status="unreadable answer", group="g0")
    assert_broken(AckReadable, consumer, "slave's answer to a pull cannot be read")
