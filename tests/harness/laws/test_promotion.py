"""Laws after a promotion: each excuse is needed, and ends with the promotion.

Programs of former false positives are judged twice: once unchanged, and once as if the master's new store were an older
state of its own store. The second time the law is violated."""

from typing import Any

import pytest
from histories import SIZE, H, Verdict, assert_broken, assert_holds, pair

from pairproof.harness.history import Event
from pairproof.harness.judging import judge
from pairproof.harness.rocketmq import contract, objectives
from pairproof.harness.rocketmq.laws.durability.contract import Contract
from pairproof.harness.trials import resolve
from pairproof.harness.trials.interpreter import run_trial
from pairproof.harness.trials.schedule import Op, Schedule

LAB = resolve.lab("sim")


def op(do: str, **args: Any) -> Op:
    return Op(do, args)


def advance(ms: int) -> Op:
    return op("advance", ms=ms)


def send(size: int = 1, producer: int = 0, queue: int = 0) -> Op:
    return op("send", producer=producer, size=size, wait=True, queue=queue)


def promotion(node: str = "slave", rejoin: str = "wiped") -> Op:
    return op("fault", name="promotion", node=node, rejoin=rejoin)


JOIN = op("join", group=0, consumer=0)
NAMES = {"lab.nameServer": 1}
SPLIT = {**NAMES, "slaveReadEnable": True, "accessMessageInMemoryMaxRatio": 0}
FULL = op("fault", name="disk_full", node="master")
LATE = op("arm", name="promotion", node="slave", rejoin="wiped", point="send", nth=1)
READ_ONLY, WRITABLE = op("fault", name="read_only", node="slave"), op("heal", name="read_only")
SHORTER: tuple[dict[str, Any], tuple[Op, ...]] = (
    # The slave starts again with the master's last file, and becomes the master of slaves that have more.
    {"brokerRole": "ASYNC_MASTER", "haTransferBatchSize": 100, "haSendHeartbeatInterval": 500, "lab.slaves": 3},
    (READ_ONLY, WRITABLE, send(1_700, queue=1), advance(600), LATE, advance(600)),
)
CASES: dict[str, tuple[dict[str, Any], tuple[Op, ...]]] = {
    "role-no-takeover": ({}, (FULL, send(producer=3, queue=1), promotion(), send(producer=1), advance(20))),
    "meta-one-way": (NAMES, (
        JOIN, advance(3_100), op("fault", name="kill", node="master"), advance(3_100), promotion(),
    )),
    "role-read-failover": ({**NAMES, "flushDiskType": "SYNC_FLUSH", "haSendHeartbeatInterval": 500}, (
        JOIN, advance(20), promotion(rejoin="stale"), advance(31_000), advance(31_000), advance(3_100),
    )),
    "queue-dense": SHORTER,
    "queue-derived-equal": SHORTER,
}  # fmt: skip


def as_if_its_own(events: list[Event]) -> list[Event]:
    return [each._replace(detail=None) if each.kind == "wipe" else each for each in events]


@pytest.mark.parametrize("law", CASES)
def test_each_excuse_is_for_a_promotion_only(law: str) -> None:
    settings, ops = CASES[law]
    target = resolve.target("reference")
    events = run_trial(LAB, target, Schedule(settings, "s", ops), laws=()).events
    chosen, observes = judge.laws([law]), LAB.observes(target)
    assert judge.judge(events, chosen, observes)[0].verdict is not Verdict.VIOLATED
    assert judge.judge(as_if_its_own(events), chosen, observes)[0].verdict is Verdict.VIOLATED


def test_an_answer_overtaken_by_a_promotion_is_not_compared_with_the_new_masters_log() -> None:
    ops = (JOIN, advance(20), send(producer=3, queue=2), op("step", events=2), promotion(rejoin="stale"))
    target = resolve.target("reference")
    events = run_trial(LAB, target, Schedule(SPLIT, "s", ops), laws=()).events
    chosen, observes = judge.laws(["read-split"]), LAB.observes(target)
    assert judge.judge(events, chosen, observes)[0].verdict is not Verdict.VIOLATED
    # As if the log had lost its end while the broker ran.
    is_return = [each.kind == "start" and each.node == "master" and each.incarnation != 1 for each in events]
    as_if_none = [
        each._replace(kind="append", f="put") if back else each
        for each, back in zip(events, is_return, strict=True)
        if each.kind not in ("wipe", "crash", "stop")
    ]
    assert judge.judge(as_if_none, chosen, observes)[0].verdict is Verdict.VIOLATED


def promoted(history: H, rejoin: str = "empty") -> H:
    """The slave becomes the master."""
    end = history.end["slave"]
    history.crash("master").stop("slave").add("wipe", node="master", f="image", hi=end, detail="slave")
    history.add("wipe", node="slave", f=rejoin, hi=0, detail="master" if rejoin == "image" else None)
    return history.start("master", end)


@pytest.mark.parametrize("rejoin", ["empty", "image"])
def test_a_promoted_slave_must_have_what_the_answer_promised(rejoin: str) -> None:
    kept = {"master": {"m0": (0, SIZE)}}
    assert_holds(Contract, promoted(pair().sent("m0"), rejoin).start("slave", 0).audit(records=kept))
    assert_broken(Contract, promoted(pair().sent("m0"), rejoin).start("slave", 0).audit(), "promotion must not take it")
    # No slave need have a message of a master that waits for none.
    assert_holds(Contract, promoted(pair(brokerRole="ASYNC_MASTER").sent("m0"), rejoin).start("slave", 0).audit())


@pytest.mark.parametrize(
    ("happened", "expected"),
    [
        (["master promoted slave"], "promotion"),
        (["master machine", "master promoted slave", "slave wipe", "slave machine"], "promotion"),
        (["master promoted slave", "master process"], "promotion"),
        # The present master's store was damaged more, before or since.
        (["slave machine", "master promoted slave"], "all-copies-lost"),
        (["master promoted slave", "master machine"], "all-copies-lost"),
        (["slave expire", "master promoted slave"], "expired"),
        # The old master's store is back.
        (["master promoted slave", "master promoted slave"], "all-copies-lost"),
    ],
)
def test_the_duties_of_a_promotion_depend_on_the_damaged_store(happened: list[str], expected: str) -> None:
    pairs = [(node, how) for node, _, how in (each.partition(" ") for each in happened)]
    assert contract.fault_class(pairs, everyone=True) == expected
    assert contract.fault_class(pairs, acked_while_diverged=True, everyone=True) in ("all-copies-lost", "expired")


def test_with_several_slaves_another_one_may_have_it() -> None:
    happened = [("master", "promoted slave2"), ("slave2", "wipe")]
    assert contract.fault_class(happened, copies=1, everyone=False) == "master-store-lost"
    assert contract.fault_class([*happened, ("slave", "machine")], copies=1, everyone=False) == "all-copies-lost"
    assert contract.fault_class([*happened, ("slave", "machine")], copies=2, everyone=True) == "promotion"


def test_objectives_name_a_promotion_and_ignore_the_old_master_s_unreplicated_bytes() -> None:
    behind = (op("fault", name="down", link="ha"), op("send", producer=1, size=1_300, wait=False, queue=0), advance(50))
    back = (op("heal", name="down"), op("heal", name="promotion"), advance(100))
    sent = (advance(50), send(), advance(20))
    ops = (*behind, promotion(rejoin="stale"), *sent, *back, op("fault", name="kill", node="master"))
    events = run_trial(LAB, resolve.target("reference"), Schedule({}, "s", ops), laws=()).events
    lost = [row for row in objectives.measure(events) if row.node == "master"]
    # The new messages are at offsets where the stale slave has other bytes.
    assert [(row.cause, row.answered, row.rpo_messages) for row in lost] == [
        ("process", 2, 1),
        ("promotion", 2, 1),
        ("process", 2, 1),
    ]
    assert [row.cause for row in objectives.measure(as_if_its_own(events)) if row.node == "master"][1] == "image"
