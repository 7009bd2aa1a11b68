"""``contract`` where stores lie, are lost, expire, or are more than two."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pairproof.harness.rocketmq.laws.durability.contract import Contract
from pairproof.harness.rocketmq.testing import FILE, H, bare, pair
from pairproof.harness.testing import assert_broken, assert_holds

ON_SLAVE = {"slave": ["m0"]}
FLUSHED = {"brokerRole": "ASYNC_MASTER", "flushDiskType": "SYNC_FLUSH"}
PERMITTED = {"required": 0, "permitted_losses": 1, "stronger": 0}


def lied(history: H) -> H:
    """The master's machine crashes, and takes what its disk had called durable."""
    history.add("crash", node="master", f="machine", status="lied", value=100)
    return history.restart("master", 0)


def wiped(history: H) -> H:
    return history.crash("master").add("wipe", node="master", f="empty", hi=0).start("master", 0)


@pytest.mark.parametrize("lose", [lied, wiped])
def test_what_was_on_one_disk_only_goes_with_it(lose: Callable[[H], H]) -> None:
    assert assert_holds(Contract, lose(pair(**FLUSHED).put("m0").ok("m0")).audit()).notes == PERMITTED


def test_an_honest_disk_must_keep_it() -> None:
    honest = pair(**FLUSHED).put("m0").ok("m0").crash("master", "machine").restart("master", 0)
    assert_broken(
        Contract,
        honest.audit(),
        "m0 (PUT_OK) is gone from the master; master-machine-crash must not take it: the master's machine lost power",
    )


@pytest.mark.parametrize(("lose", "fault"), [(lied, "lying-disk"), (wiped, "master-store-lost")])
def test_what_a_slave_acknowledged_outlives_the_master_s_store(lose: Callable[[H], H], fault: str) -> None:
    assert_holds(Contract, lose(pair().sent("m0")).audit(records=ON_SLAVE))
    assert_broken(Contract, lose(pair().sent("m0")).audit(), f"on no broker; {fault} must not take it")
    both = lose(pair().sent("m0")).crash("slave", "machine").restart("slave", 0)
    assert assert_holds(Contract, both.audit()).notes == PERMITTED


@pytest.mark.parametrize(("role", "replicas"), [("SYNC_MASTER", 0), ("SYNC_MASTER", 1), ("ASYNC_MASTER", 2)])
def test_a_master_of_5_x_that_waits_for_nobody_promises_no_copy(role: str, replicas: int) -> None:
    weak = pair(brokerRole=role, rocketmqVersion="5.5.0", inSyncReplicas=replicas).sent("m0")
    assert assert_holds(Contract, weak.crash("master", "machine").restart("master", 0).audit()).notes == PERMITTED


def test_of_two_slaves_that_acknowledged_one_may_be_lost_beside_the_master() -> None:
    def three(*hurt: str) -> H:
        lost = bare(rocketmqVersion="5.5.0", inSyncReplicas=3).config("slave2").start("slave2", 0).put("m0").ok("m0")
        lost.crash("master", "machine").restart("master", 0)
        for node in hurt:
            lost.crash(node, "machine")
        return lost

    assert_broken(Contract, three("slave").audit(nodes="master slave slave2"), "on no broker; master-machine-crash")
    assert_holds(Contract, three("slave").audit(nodes="master slave slave2", records={"slave2": ["m0"]}))
    assert assert_holds(Contract, three("slave", "slave2").audit(nodes="master slave slave2")).notes == PERMITTED


def test_only_what_lay_in_the_deleted_files_may_be_missing() -> None:
    def aged() -> H:
        old = pair().sent("m0").append("master", 100, FILE, "filler").sent("m1")
        return old.add("expire", node="master", lo=FILE)

    found = assert_holds(Contract, aged().audit(records={"master": ["m1"]}))
    assert found.notes == {"required": 1, "permitted_losses": 1, "stronger": 0}
    assert_broken(Contract, aged().audit(), "m1 (PUT_OK) is gone from the master")


def test_a_slave_s_expiry_excuses_no_master() -> None:
    aged = pair().sent("m0").add("expire", node="slave", lo=FILE)
    assert_broken(Contract, aged.audit(), "m0 (PUT_OK) is gone from the master; slave-machine-crash")
