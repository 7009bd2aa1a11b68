"""The durability contract: which losses it permits after which faults, and which messages must not exist."""

from collections.abc import Callable

import pytest
from histories import FILE, SIZE, H, assert_broken, assert_holds, assert_vacuous, bare, pair

from pairproof.harness.rocketmq.laws.durability.contract import Contract

ON_BOTH = {"master": ["m0"], "slave": ["m0"]}
ON_SLAVE = {"slave": ["m0"]}
ON_MASTER = {"master": ["m0"]}


def test_nothing_may_be_lost_without_a_fault() -> None:
    assert_holds(Contract, pair().sent("m0").audit(records=ON_BOTH))
    assert_broken(Contract, pair().sent("m0").audit(records=ON_SLAVE), "gone from the master; none must not take it")


@pytest.mark.parametrize("status", ["PUT_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE"])
@pytest.mark.parametrize("fault", [("master", "process"), ("slave", "machine")])
def test_stored_messages_survive_everything_but_the_master_s_power_loss(status: str, fault: tuple[str, str]) -> None:
    hurt = pair().put("m0").ok("m0", status).crash(*fault).start(fault[0])
    assert_broken(Contract, hurt.audit(records=ON_SLAVE), f"m0 ({status}) is gone from the master")


def test_what_is_still_in_the_pool_of_a_running_master_is_not_gone() -> None:
    def sent() -> H:
        return pair(transientStorePoolEnable="true").put("m0").ok("m0", "SLAVE_NOT_AVAILABLE")

    assert_holds(Contract, sent().audit())
    assert_broken(Contract, sent().commit("master").audit(), "gone from the master; none must not take it")


def power_loss(**settings: object) -> H:
    return pair(**settings).sent("m0").crash("master", "machine").restart("master", 0)


def test_a_replicated_message_survives_the_master_s_power_loss_on_the_slave() -> None:
    found = assert_holds(Contract, power_loss().audit(records=ON_SLAVE))
    assert found.notes == {"required": 1, "permitted_losses": 0, "stronger": 0}
    assert_broken(Contract, power_loss().audit(), "on no broker; master-machine-crash must not take it")


def test_a_slave_whose_log_was_not_read_proves_no_loss() -> None:
    assert_holds(Contract, power_loss().audit(nodes="master"))


def test_a_flushed_message_survives_both_machines_power_loss_on_the_master() -> None:
    def both() -> H:
        return power_loss(flushDiskType="SYNC_FLUSH").crash("slave", "machine").restart("slave", 0)

    assert_holds(Contract, both().audit(records=ON_MASTER))
    assert_broken(Contract, both().audit(records=ON_SLAVE), "both-machines-crash must not take it")


def test_permitted_losses_and_stronger_outcomes_are_counted_apart() -> None:
    lost = power_loss().crash("slave", "machine").restart("slave", 0).audit()
    assert assert_holds(Contract, lost).notes == {"required": 0, "permitted_losses": 1, "stronger": 0}
    kept = power_loss().crash("slave", "machine").restart("slave", 0).audit(records=ON_MASTER)
    assert assert_holds(Contract, kept).notes == {"required": 0, "permitted_losses": 0, "stronger": 1}


@pytest.mark.parametrize("role", ["ASYNC_MASTER", "SYNC_MASTER"])
def test_without_a_wait_or_a_sync_master_a_power_loss_may_lose_the_message(role: str) -> None:
    lost = pair(brokerRole=role).put("m0", wait=role == "ASYNC_MASTER").replicate().ok("m0")
    lost.crash("master", "machine").restart("master", 0)
    assert assert_holds(Contract, lost.audit()).notes["permitted_losses"] == 1


def test_a_crash_before_the_message_was_stored_excuses_nothing() -> None:
    later = pair().crash("master", "machine").start("master").put("m0").ok("m0", "SLAVE_NOT_AVAILABLE")
    assert_broken(Contract, later.audit(), "none must not take it")


def test_a_diverged_slave_keeps_no_promise() -> None:
    rolled = pair().sent("m8").sent("m9").crash("master", "machine").restart("master", 100).put("m0").put("m1")
    rolled.connect().report(200).ok("m0").crash("master", "machine").restart("master", 100)
    found = assert_holds(Contract, rolled.audit(records={"master": ["m8"], "slave": ["m8", "m9"]}))
    assert found.notes["permitted_losses"] == 1
    # A diverged slave's record may begin in one log and end in another.
    spliced = rolled.audit(records={"master": ["m8"], "slave": ["m8", "m9", "m8m9"]})
    assert_holds(Contract, spliced)


def lied(history: H, node: str = "master") -> H:
    """A power loss takes bytes that the disk had reported as durable."""
    history.add("crash", node=node, f="machine", value=100, status="lied")
    return history.restart(node, 0)


def wiped(history: H, node: str = "master", f: str = "empty") -> H:
    """The store is replaced while the node is down."""
    return history.crash(node).add("wipe", node=node, f=f, hi=0).start(node, 0)


def test_a_lying_disk_breaks_the_promise_of_a_flush_but_not_of_a_slave() -> None:
    honest = pair(flushDiskType="SYNC_FLUSH").sent("m0").crash("master", "machine").restart("master", 0)
    assert_broken(Contract, honest.audit(records=ON_SLAVE), "gone from the master; master-machine-crash")
    alone = {"flushDiskType": "SYNC_FLUSH", "brokerRole": "ASYNC_MASTER"}
    assert assert_holds(Contract, lied(pair(**alone).sent("m0"), "master").audit()).notes["permitted_losses"] == 1
    copied = {"flushDiskType": "SYNC_FLUSH"}
    assert_holds(Contract, lied(pair(**copied).sent("m0"), "master").audit(records=ON_SLAVE))
    assert_broken(Contract, lied(pair(**copied).sent("m0"), "master").audit(), "on no broker; lying-disk")


@pytest.mark.parametrize("f", ["empty", "image"])
def test_after_a_lost_master_store_slaves_keep_what_the_answer_promised(f: str) -> None:
    assert_holds(Contract, wiped(pair().sent("m0"), "master", f).audit(records=ON_SLAVE))
    assert_broken(Contract, wiped(pair().sent("m0"), "master", f).audit(), "on no broker; master-store-lost")
    alone = wiped(pair(brokerRole="ASYNC_MASTER").sent("m0"), "master", f)
    assert assert_holds(Contract, alone.audit()).notes["permitted_losses"] == 1
    both = wiped(wiped(pair().sent("m0"), "master", f), "slave", f)
    assert assert_holds(Contract, both.audit()).notes["permitted_losses"] == 1


def test_an_answer_promises_no_later_copy() -> None:
    def lost(history: H) -> H:
        return wiped(history.append("master", SIZE, 2 * SIZE, "put", "m0"), "master").audit()

    assert_holds(Contract, lost(wiped(pair().sent("m0"), "slave")))
    assert_broken(Contract, lost(pair().sent("m0")), "on no broker; master-store-lost")


@pytest.mark.parametrize("hurt", [wiped, lied], ids=["wiped", "lied"])
def test_a_slave_that_lost_its_store_excuses_no_loss_on_the_master(hurt: Callable[[H, str], H]) -> None:
    assert_holds(Contract, hurt(pair().sent("m0"), "slave").audit(records=ON_MASTER))
    assert_broken(Contract, hurt(pair().sent("m0"), "slave").audit(), "gone from the master; slave-machine-crash")


def test_a_store_lost_before_the_message_excuses_nothing() -> None:
    assert_broken(Contract, wiped(pair(), "master").put("m0").ok("m0").audit(), "gone from the master; none")


def three(asked: int) -> H:
    """A 5.x master that waits for ``asked`` brokers, two slaves, and a message on all of them."""
    history = pair(rocketmqVersion="5.5.0", inSyncReplicas=asked).config("slave2").start("slave2", 0).sent("m0")
    return history.append("slave2", 0, 100).crash("master", "machine").restart("master", 0)


@pytest.mark.parametrize(
    ("asked", "slaves_hurt", "may_vanish"),
    [(1, 0, True), (2, 0, False), (2, 1, True), (3, 0, False), (3, 1, False), (3, 2, True)],
)
def test_put_ok_survives_the_master_and_all_but_one_of_its_slaves(
    asked: int, slaves_hurt: int, may_vanish: bool
) -> None:
    history = three(asked)
    for slave in ("slave", "slave2")[:slaves_hurt]:
        history.crash(slave, "machine").restart(slave, 0)
    history.audit(nodes="master slave slave2")
    if may_vanish:
        assert assert_holds(Contract, history).notes["permitted_losses"] == 1
    else:
        assert_broken(Contract, history, "m0 (PUT_OK) is on no broker; master-machine-crash must not take it")


def test_one_of_several_slaves_is_enough() -> None:
    assert_holds(Contract, three(3).audit(nodes="master slave slave2", records={"slave2": ["m0"]}))


def test_only_expired_messages_may_be_missing_on_the_master() -> None:
    old = pair().sent("m0").add("expire", node="master", lo=100).sent("m1").audit(records={"master": ["m1"]})
    assert assert_holds(Contract, old).notes == {"required": 1, "permitted_losses": 1, "stronger": 0}
    young = pair().sent("m0").sent("m1").add("expire", node="master", lo=100)
    assert_broken(Contract, young.audit(), "m1 (PUT_OK) is gone from the master; none must not take it")
    elsewhere = pair().sent("m0").add("expire", node="slave", lo=100)
    assert_broken(Contract, elsewhere.audit(records=ON_SLAVE), "m0 (PUT_OK) is gone from the master")


def test_a_refused_message_must_not_exist() -> None:
    refused = pair().invoke("m0").over("m0", "fail", "SERVICE_NOT_AVAILABLE")
    assert_holds(Contract, refused.audit())
    assert_broken(Contract, refused.audit(records=ON_SLAVE), "m0 was refused, and is stored")


@pytest.mark.parametrize("outcome", [("info", "timeout"), ("fail", "UNKNOWN_ERROR"), None])
@pytest.mark.parametrize("records", [ON_MASTER, {}])
def test_an_unknown_send_may_be_stored_or_not(outcome: tuple[str, str] | None, records: dict[str, list[str]]) -> None:
    open_ended = pair().invoke("m0")
    if outcome is not None:
        open_ended.over("m0", *outcome)
    assert assert_holds(Contract, open_ended.audit(records=records)).notes["required"] == 0


@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_message_that_nobody_sent_is_a_phantom(node: str) -> None:
    haunted = pair().sent("m0").audit(records={**ON_BOTH, node: ["m0", "ghost"]})
    assert_broken(Contract, haunted, f"{node} holds ghost, which nobody sent")


@pytest.mark.parametrize("topic", ["OFFSET_MOVED_EVENT", "OFFSET_MOVED", "t"])
def test_rocketmq_s_own_messages_are_not_phantoms(topic: str) -> None:
    history = pair().sent("m0").audit(records={**ON_BOTH, "master": ["m0", "g0"]})
    index = next(number for number, each in enumerate(history.events) if each.message == "g0")
    history.events[index] = history.events[index]._replace(queue=f"{topic}/0")
    if topic == "OFFSET_MOVED_EVENT":
        assert_holds(Contract, history)
    else:
        assert_broken(Contract, history, "master holds g0, which nobody sent")


def test_only_the_final_audit_counts() -> None:
    early = pair().sent("m0").audit("recovery").audit("final", records=ON_BOTH)
    assert_holds(Contract, early)
    assert_broken(Contract, pair().sent("m0").audit("recovery", records=ON_BOTH).audit("final"), "gone")
    assert_vacuous(Contract, pair().sent("m0").audit("recovery"))


def test_the_contract_is_vacuous_on_an_empty_history() -> None:
    assert_vacuous(Contract, H())
    assert_vacuous(Contract, bare())


@pytest.mark.parametrize("answer_first", [True, False], ids=["answered, expired", "expired, answered"])
def test_an_expired_message_is_excused_whenever_its_answer_came(answer_first: bool) -> None:
    def story(start: int) -> H:
        history = H().config("master", flushDiskType="SYNC_FLUSH", brokerRole="ASYNC_MASTER")
        history.start("master", 1000)
        send = {"node": "master", "process": 0, "f": "send", "queue": "T/0", "value": 1}
        history.add("invoke", **send, op=6, message="m9").add("invoke", **send, op=7, message="m0")
        for expires in (not answer_first, answer_first):
            if expires:
                history.add("expire", node="master", lo=start)
            else:
                history.add("ok", **send, op=7, message="m0", status="PUT_OK", lo=900, hi=1000, queue_offset=0)
        span = {"lo": 1000, "hi": 1100}
        history.add("record", node="master", op=3, message="m9", queue="T/0", queue_offset=1, digest=5, **span)
        return history.add("audit", node="master", op=3, f="final", status="whole", value=1100, **span).mark("end")

    assert_holds(Contract, story(1000))
    assert_broken(Contract, story(900), "m0 (PUT_OK) is gone from the master")


FLUSHED = {"brokerRole": "ASYNC_MASTER", "flushDiskType": "SYNC_FLUSH"}
PERMITTED = {"required": 0, "permitted_losses": 1, "stronger": 0}


@pytest.mark.parametrize("lose", [lied, wiped])
def test_a_message_on_one_lying_disk_may_be_lost_with_it(lose: Callable[[H], H]) -> None:
    assert assert_holds(Contract, lose(pair(**FLUSHED).put("m0").ok("m0")).audit()).notes == PERMITTED


def test_an_honest_disk_must_keep_its_message() -> None:
    honest = pair(**FLUSHED).put("m0").ok("m0").crash("master", "machine").restart("master", 0)
    assert_broken(
        Contract,
        honest.audit(),
        "m0 (PUT_OK) is gone from the master; master-machine-crash must not take it: the master's machine lost power",
    )


@pytest.mark.parametrize(("lose", "fault"), [(lied, "lying-disk"), (wiped, "master-store-lost")])
def test_a_message_that_a_slave_acknowledged_survives_the_master_s_store(lose: Callable[[H], H], fault: str) -> None:
    assert_holds(Contract, lose(pair().sent("m0")).audit(records=ON_SLAVE))
    assert_broken(Contract, lose(pair().sent("m0")).audit(), f"on no broker; {fault} must not take it")
    both = lose(pair().sent("m0")).crash("slave", "machine").restart("slave", 0)
    assert assert_holds(Contract, both.audit()).notes == PERMITTED


@pytest.mark.parametrize(("role", "replicas"), [("SYNC_MASTER", 0), ("SYNC_MASTER", 1), ("ASYNC_MASTER", 2)])
def test_a_5_x_master_that_waits_for_no_slave_promises_no_copy(role: str, replicas: int) -> None:
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


def test_only_messages_in_the_deleted_files_may_be_missing() -> None:
    def aged() -> H:
        old = pair().sent("m0").append("master", 100, FILE, "filler").sent("m1")
        return old.add("expire", node="master", lo=FILE)

    found = assert_holds(Contract, aged().audit(records={"master": ["m1"]}))
    assert found.notes == {"required": 1, "permitted_losses": 1, "stronger": 0}
    assert_broken(Contract, aged().audit(), "m1 (PUT_OK) is gone from the master")


def test_a_slave_s_expiry_excuses_no_master() -> None:
    aged = pair().sent("m0").add("expire", node="slave", lo=FILE)
    assert_broken(Contract, aged.audit(), "m0 (PUT_OK) is gone from the master; slave-machine-crash")


def lost(story: H) -> H:
    """The master's unflushed bytes are lost; the slave's store is undamaged."""
    return story.crash("master", "machine").restart("master", 0).audit()


def test_a_message_with_only_rogue_reports_may_be_lost_with_the_master() -> None:
    vouched = bare().put("m0").connect("rogue_slave").report(100, peer="rogue_slave").ok("m0")
    assert assert_holds(Contract, lost(vouched)).notes["permitted_losses"] == 1
    in_flight = bare().put("m0").connect("rogue_slave").report(100, peer="rogue_slave")
    in_flight = in_flight.crash("master", "machine").restart("master", 0).ok("m0")
    assert assert_holds(Contract, in_flight.audit()).notes["permitted_losses"] == 1
    replicated = pair().sent("m0")
    assert_broken(Contract, lost(replicated), "is on no broker")
