"""What brokers hold at the end is what their last final audit lists."""

from __future__ import annotations

from pairproof.harness.history import Recorder
from pairproof.harness.rocketmq.known.audits import Audits


def audited(*readings: tuple[str, str, tuple[str, ...]]) -> Audits:
    """Told of readings: node, what for, and the messages found."""
    told, audits = Recorder(), Audits()
    for op, (node, purpose, messages) in enumerate(readings):
        for message in messages:
            told.add(op, "record", node=node, op=op, message=message)
        told.add(op, "audit", node=node, op=op, f=purpose)
    for event in told.events:
        (audits.record if event.kind == "record" else audits.audit)(event)
    return audits


def test_the_last_final_audit_of_each_node_counts_and_no_other() -> None:
    audits = audited(
        ("master", "final", ("m0", "m1")), ("slave", "recovery", ("m2",)), ("master", "final", ("m1",)),
        ("slave", "final", ("m3",)), ("master", "recovery", ("m4",)),
    )  # fmt: skip
    assert set(audits.final) == {"master", "slave"} and audits.held("master") == {"m1"}
    assert audits.held_elsewhere("master") == {"m3"} and audits.held_elsewhere() == {"m1", "m3"}


def test_an_audit_without_records_says_that_the_node_holds_nothing() -> None:
    audits = audited(("master", "final", ("m0",)), ("master", "final", ()))
    assert set(audits.final) == {"master"} and audits.held("master") == audits.held_elsewhere() == set()


def test_other_broker_names_and_a_missing_audit_of_the_master_leave_it_unknown() -> None:
    audits = audited(("other", "final", ("m0",)), ("slave", "final", ("m1",)))
    assert set(audits.final) == {"slave"} and audits.held("slave") == {"m1"}
