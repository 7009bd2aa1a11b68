"""What brokers hold at the end is what their last final audit lists."""

from __future__ import annotations

from pairproof.harness.history import Recorder
from pairproof.harness.rocketmq.final_audits import FinalAudits


def audited(*readings: tuple[str, str, tuple[str, ...]]) -> FinalAudits:
    """Told of readings: node, what for, and the messages found."""
    told, audits = Recorder(), FinalAudits()
    for op, (node, purpose, messages) in enumerate(readings):
        for message in messages:
            told.add(op, "record", node=node, op=op, message=message)
        told.add(op, "audit", node=node, op=op, f=purpose)
    for event in told.events:
        (audits.found if event.kind == "record" else audits.audited)(event)
    return audits


def test_the_last_final_audit_of_each_node_counts_and_no_other() -> None:
    audits = audited(
        ("master", "final", ("m0", "m1")), ("slave", "recovery", ("m2",)), ("master", "final", ("m1",)),
        ("slave", "final", ("m3",)), ("master", "recovery", ("m4",)),
    )  # fmt: skip
    assert audits.held == {"master": {"m1"}, "slave": {"m3"}} and audits.has_master
    assert audits.anywhere() == {"m1", "m3"}


def test_an_audit_without_records_says_that_the_node_holds_nothing() -> None:
    audits = audited(("master", "final", ("m0",)), ("master", "final", ()))
    assert audits.held == {"master": set()} and audits.has_master and audits.anywhere() == set()


def test_other_broker_names_and_a_missing_audit_of_the_master_leave_it_unknown() -> None:
    audits = audited(("other", "final", ("m0",)), ("slave", "final", ("m1",)))
    assert not audits.has_master and audits.held == {"slave": {"m1"}}
