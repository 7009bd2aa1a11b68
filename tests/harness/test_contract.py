"""The durability contract as a table: complete, and saying what RocketMQ's put path implies."""

from __future__ import annotations

from itertools import product

import pytest

from pairproof.harness.rocketmq import contract, documents
from pairproof.harness.rocketmq.contract import MAY_VANISH, MUST_NOT_EXIST, MUST_SURVIVE, SOMEWHERE, must

ROLES = ("ASYNC_MASTER", "SYNC_MASTER")
FLUSHES = ("ASYNC_FLUSH", "SYNC_FLUSH")
ANSWERS = (*contract.STORED, contract.REFUSED, contract.UNKNOWN)
REPLICAS = (1, 2, 3)
EVERY_CASE = tuple(product(ROLES, REPLICAS, FLUSHES, (True, False), ANSWERS, contract.FAULTS))
STRENGTH = {MAY_VANISH: 0, SOMEWHERE: 1, MUST_SURVIVE: 2}


def test_every_case_has_a_row() -> None:
    assert {must(*case) for case in EVERY_CASE} == {MUST_SURVIVE, SOMEWHERE, MAY_VANISH, MUST_NOT_EXIST}


def test_every_row_decides_some_case() -> None:
    assert set(contract.ROWS) == {contract._row(*case) for case in EVERY_CASE}


def test_a_case_that_the_contract_does_not_know_is_an_error() -> None:
    with pytest.raises(KeyError, match="no row"):
        must("SYNC_MASTER", 2, "SYNC_FLUSH", True, "PUT_OK", "meteorite")


@pytest.mark.parametrize(
    ("role", "flush", "wait", "status", "fault", "expected"),
    [
        ("SYNC_MASTER", "ASYNC_FLUSH", True, "PUT_OK", "master-machine-crash", SOMEWHERE),
        ("SYNC_MASTER", "ASYNC_FLUSH", True, "PUT_OK", "both-machines-crash", MAY_VANISH),
        ("SYNC_MASTER", "ASYNC_FLUSH", True, "PUT_OK", "rollback", MAY_VANISH),
        ("SYNC_MASTER", "ASYNC_FLUSH", False, "PUT_OK", "master-machine-crash", MAY_VANISH),
        ("ASYNC_MASTER", "ASYNC_FLUSH", True, "PUT_OK", "master-machine-crash", MAY_VANISH),
        ("ASYNC_MASTER", "SYNC_FLUSH", True, "PUT_OK", "both-machines-crash", MUST_SURVIVE),
        ("SYNC_MASTER", "SYNC_FLUSH", True, "PUT_OK", "rollback", MUST_SURVIVE),
        ("SYNC_MASTER", "SYNC_FLUSH", True, "FLUSH_SLAVE_TIMEOUT", "master-machine-crash", MAY_VANISH),
        ("SYNC_MASTER", "SYNC_FLUSH", True, "FLUSH_DISK_TIMEOUT", "master-machine-crash", MAY_VANISH),
        ("SYNC_MASTER", "ASYNC_FLUSH", True, "SLAVE_NOT_AVAILABLE", "slave-machine-crash", MUST_SURVIVE),
        ("ASYNC_MASTER", "ASYNC_FLUSH", False, "PUT_OK", "process-crash", MUST_SURVIVE),
        ("ASYNC_MASTER", "ASYNC_FLUSH", True, contract.REFUSED, "both-machines-crash", MUST_NOT_EXIST),
        ("ASYNC_MASTER", "SYNC_FLUSH", True, contract.UNKNOWN, "none", MAY_VANISH),
        ("SYNC_MASTER", "SYNC_FLUSH", True, "PUT_OK", "lying-disk", SOMEWHERE),
        ("ASYNC_MASTER", "SYNC_FLUSH", True, "PUT_OK", "lying-disk", MAY_VANISH),
        ("SYNC_MASTER", "SYNC_FLUSH", True, "PUT_OK", "master-store-lost", SOMEWHERE),
        ("ASYNC_MASTER", "SYNC_FLUSH", True, "PUT_OK", "master-store-lost", MAY_VANISH),
        ("SYNC_MASTER", "SYNC_FLUSH", True, "PUT_OK", "all-copies-lost", MAY_VANISH),
        ("SYNC_MASTER", "SYNC_FLUSH", True, "PUT_OK", "expired", MAY_VANISH),
        ("SYNC_MASTER", "SYNC_FLUSH", True, contract.REFUSED, "expired", MUST_NOT_EXIST),
    ],
)
def test_what_each_answer_promises(role: str, flush: str, wait: bool, status: str, fault: str, expected: str) -> None:
    assert must(role, 2, flush, wait, status, fault) == expected


def test_a_sync_master_that_counts_only_itself_promises_what_an_async_master_does() -> None:
    for flush, wait, status, fault in product(FLUSHES, (True, False), ANSWERS, contract.FAULTS):
        alone = must("SYNC_MASTER", 1, flush, wait, status, fault)
        assert alone == must("ASYNC_MASTER", 2, flush, wait, status, fault)
    assert must("SYNC_MASTER", 1, "ASYNC_FLUSH", True, "PUT_OK", "master-machine-crash") == MAY_VANISH


@pytest.mark.parametrize(
    "order",
    [
        ("none", "slave-machine-crash", "master-machine-crash", "both-machines-crash", "all-copies-lost", "expired"),
        ("none", "process-crash", "master-machine-crash", "lying-disk", "all-copies-lost"),
        ("none", "process-crash", "master-machine-crash", "master-store-lost", "all-copies-lost"),
    ],
)
def test_worse_faults_never_promise_more(order: tuple[str, ...]) -> None:
    for role, replicas, flush, wait, status in product(ROLES, REPLICAS, FLUSHES, (True, False), contract.STORED):
        strengths = [STRENGTH[must(role, replicas, flush, wait, status, fault)] for fault in order]
        assert strengths == sorted(strengths, reverse=True)


def test_waiting_and_stronger_settings_never_promise_less() -> None:
    for fault in contract.FAULTS:
        weak = must("ASYNC_MASTER", 1, "ASYNC_FLUSH", False, "PUT_OK", fault)
        for role, replicas, flush in product(ROLES, REPLICAS, FLUSHES):
            assert STRENGTH[must(role, replicas, flush, True, "PUT_OK", fault)] >= STRENGTH[weak]


MASTER_DOWN = [("master", "machine")]


@pytest.mark.parametrize(
    ("happened", "expected"),
    [
        ([], "none"),
        ([("master", "process"), ("slave", "process")], "process-crash"),
        ([("slave", "machine"), ("master", "process")], "slave-machine-crash"),
        ([("slave", "wipe")], "slave-machine-crash"),
        ([("slave", "expire")], "slave-machine-crash"),
        ([("master", "process"), ("master", "machine")], "master-machine-crash"),
        ([("master", "machine"), ("slave", "process")], "master-machine-crash"),
        ([("master", "machine"), ("slave", "machine")], "both-machines-crash"),
        ([("master", "lied")], "lying-disk"),
        ([("master", "lied"), ("slave", "process")], "lying-disk"),
        ([("master", "wipe"), ("master", "lied"), ("master", "process")], "master-store-lost"),
        ([("master", "wipe"), ("slave", "lied")], "all-copies-lost"),
        ([("slave", "wipe"), ("master", "lied")], "all-copies-lost"),
        ([("master", "expire"), ("master", "wipe"), ("slave", "wipe")], "expired"),
    ],
)
def test_the_worst_that_happened_makes_the_class(happened: list[tuple[str, str]], expected: str) -> None:
    assert contract.fault_class(happened) == expected
    acked_while_diverged = {"master-machine-crash": "rollback", "both-machines-crash": "rollback"}
    acked_while_diverged |= dict.fromkeys(("lying-disk", "master-store-lost"), "all-copies-lost")
    assert contract.fault_class(happened, acked_while_diverged=True) == acked_while_diverged.get(expected, expected)


@pytest.mark.parametrize(
    ("copies", "hurt", "expected"),
    [
        (0, [], "master-machine-crash"),
        (0, ["slave"], "both-machines-crash"),
        (1, ["slave"], "both-machines-crash"),
        (2, ["slave"], "master-machine-crash"),
        (2, ["slave", "slave"], "master-machine-crash"),
        (2, ["slave", "slave2"], "both-machines-crash"),
        (3, ["slave", "slave2"], "master-machine-crash"),
    ],
)
def test_a_message_on_several_slaves_survives_the_loss_of_all_but_one(
    copies: int, hurt: list[str], expected: str
) -> None:
    happened = [*MASTER_DOWN, *((node, "machine") for node in hurt), ("slave3", "process")]
    assert contract.fault_class(happened, copies=copies) == expected


def test_the_markdown_names_every_row_and_every_fault_class() -> None:
    text = documents.of_contract()["contract"]
    assert text.count("\n| ") == len(contract.ROWS)
    assert all(f"`{fault}`" in text for fault in contract.FAULTS)
    assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1
