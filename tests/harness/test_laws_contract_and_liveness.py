"""The durability contract and convergence, judged on histories that keep them and that break them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pairproof.harness.rocketmq.laws.contract import Contract
from pairproof.harness.rocketmq.laws.ledger import DEFAULTS
from pairproof.harness.rocketmq.laws.live_converges import LiveConverges, bound_ms
from pairproof.harness.rocketmq.testing import SIZE, H, bare, pair
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged
from pairproof.harness.verdict import Verdict

# contract

ON_BOTH = {"master": ["m0"], "slave": ["m0"]}
ON_SLAVE = {"slave": ["m0"]}
ON_MASTER = {"master": ["m0"]}


def test_nothing_may_vanish_while_nobody_is_hurt() -> None:
    assert_holds(Contract, pair().sent("m0").audit(records=ON_BOTH))
    assert_broken(Contract, pair().sent("m0").audit(records=ON_SLAVE), "gone from the master; none must not take it")


@pytest.mark.parametrize("status", ["PUT_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE"])
@pytest.mark.parametrize("fault", [("master", "process"), ("slave", "machine")])
def test_stored_messages_outlive_everything_but_the_master_s_machine(status: str, fault: tuple[str, str]) -> None:
    hurt = pair().put("m0").ok("m0", status).crash(*fault).start(fault[0])
    assert_broken(Contract, hurt.audit(records=ON_SLAVE), f"m0 ({status}) is gone from the master")


def power_loss(**settings: object) -> H:
    return pair(**settings).sent("m0").crash("master", "machine").restart("master", 0)


def test_a_replicated_message_survives_the_master_s_power_loss_on_the_slave() -> None:
    found = assert_holds(Contract, power_loss().audit(records=ON_SLAVE))
    assert found.notes == {"required": 1, "permitted_losses": 0, "stronger": 0}
    assert_broken(Contract, power_loss().audit(), "on no broker; master-machine-crash must not take it")


def test_a_slave_whose_log_nobody_read_proves_no_loss() -> None:
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
def test_who_did_not_wait_or_had_no_sync_master_may_lose_to_a_power_loss(role: str) -> None:
    lost = pair(brokerRole=role).put("m0", wait=role == "ASYNC_MASTER").replicate().ok("m0")
    lost.crash("master", "machine").restart("master", 0)
    assert assert_holds(Contract, lost.audit()).notes["permitted_losses"] == 1


def test_a_crash_before_the_message_was_stored_excuses_nothing() -> None:
    later = pair().crash("master", "machine").start("master").put("m0").ok("m0", "SLAVE_NOT_AVAILABLE")
    assert_broken(Contract, later.audit(), "none must not take it")


def test_a_slave_with_a_history_of_its_own_keeps_no_promise() -> None:
    rolled = pair().sent("m8").sent("m9").crash("master", "machine").restart("master", 100).put("m0").put("m1")
    rolled.connect().report(200).ok("m0").crash("master", "machine").restart("master", 100)
    found = assert_holds(Contract, rolled.audit(records={"master": ["m8"], "slave": ["m8", "m9"]}))
    assert found.notes["permitted_losses"] == 1
    # Its records may begin in one log and end in another.
    spliced = rolled.audit(records={"master": ["m8"], "slave": ["m8", "m9", "m8m9"]})
    assert_holds(Contract, spliced)


def lied(history: H, node: str) -> H:
    """A power loss takes what the disk had called durable."""
    history.add("crash", node=node, f="machine", value=100, status="lied")
    return history.restart(node, 0)


def wiped(history: H, node: str, f: str = "empty") -> H:
    """The store is replaced while the node is down."""
    return history.crash(node).add("wipe", node=node, f=f, hi=0).start(node, 0)


def test_a_disk_that_lied_breaks_the_promise_of_a_flush_and_not_that_of_a_slave() -> None:
    honest = pair(flushDiskType="SYNC_FLUSH").sent("m0").crash("master", "machine").restart("master", 0)
    assert_broken(Contract, honest.audit(records=ON_SLAVE), "gone from the master; master-machine-crash")
    alone = {"flushDiskType": "SYNC_FLUSH", "brokerRole": "ASYNC_MASTER"}
    assert assert_holds(Contract, lied(pair(**alone).sent("m0"), "master").audit()).notes["permitted_losses"] == 1
    copied = {"flushDiskType": "SYNC_FLUSH"}
    assert_holds(Contract, lied(pair(**copied).sent("m0"), "master").audit(records=ON_SLAVE))
    assert_broken(Contract, lied(pair(**copied).sent("m0"), "master").audit(), "on no broker; lying-disk")


@pytest.mark.parametrize("f", ["empty", "image"])
def test_a_master_that_lost_its_store_leaves_what_slaves_hold_by_the_answer(f: str) -> None:
    assert_holds(Contract, wiped(pair().sent("m0"), "master", f).audit(records=ON_SLAVE))
    assert_broken(Contract, wiped(pair().sent("m0"), "master", f).audit(), "on no broker; master-store-lost")
    alone = wiped(pair(brokerRole="ASYNC_MASTER").sent("m0"), "master", f)
    assert assert_holds(Contract, alone.audit()).notes["permitted_losses"] == 1
    both = wiped(wiped(pair().sent("m0"), "master", f), "slave", f)
    assert assert_holds(Contract, both.audit()).notes["permitted_losses"] == 1


def test_no_answer_speaks_of_a_copy_that_follows() -> None:
    def lost(history: H) -> H:
        return wiped(history.append("master", SIZE, 2 * SIZE, "put", "m0"), "master").audit()

    assert_holds(Contract, lost(wiped(pair().sent("m0"), "slave")))
    assert_broken(Contract, lost(pair().sent("m0")), "on no broker; master-store-lost")


@pytest.mark.parametrize("hurt", [wiped, lied], ids=["wiped", "lied"])
def test_a_slave_that_lost_its_store_excuses_no_loss_on_the_master(hurt: Callable[[H, str], H]) -> None:
    assert_holds(Contract, hurt(pair().sent("m0"), "slave").audit(records=ON_MASTER))
    assert_broken(Contract, hurt(pair().sent("m0"), "slave").audit(), "gone from the master; slave-machine-crash")


def test_a_store_that_was_lost_before_the_message_came_excuses_nothing() -> None:
    assert_broken(Contract, wiped(pair(), "master").put("m0").ok("m0").audit(), "gone from the master; none")


def three(asked: int) -> H:
    """A 5.x master that waits for ``asked`` brokers, two slaves, and a message on all of them."""
    history = pair(rocketmqVersion="5.5.0", inSyncReplicas=asked).config("slave2").start("slave2", 0).sent("m0")
    return history.append("slave2", 0, 100).crash("master", "machine").restart("master", 0)


@pytest.mark.parametrize(
    ("asked", "slaves_hurt", "may_vanish"),
    [(1, 0, True), (2, 0, False), (2, 1, True), (3, 0, False), (3, 1, False), (3, 2, True)],
)
def test_put_ok_outlives_the_master_and_all_but_one_of_the_slaves_that_it_counts(
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


def test_any_of_several_slaves_is_somewhere() -> None:
    assert_holds(Contract, three(3).audit(nodes="master slave slave2", records={"slave2": ["m0"]}))


def test_what_expired_on_the_master_may_be_gone_and_what_did_not_may_not() -> None:
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
def test_what_nobody_knows_may_be_stored_or_not(outcome: tuple[str, str] | None, records: dict[str, list[str]]) -> None:
    open_ended = pair().invoke("m0")
    if outcome is not None:
        open_ended.over("m0", *outcome)
    assert assert_holds(Contract, open_ended.audit(records=records)).notes["required"] == 0


@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_message_that_nobody_sent_is_a_phantom(node: str) -> None:
    haunted = pair().sent("m0").audit(records={**ON_BOTH, node: ["m0", "ghost"]})
    assert_broken(Contract, haunted, f"{node} holds ghost, which nobody sent")


@pytest.mark.parametrize("topic", ["OFFSET_MOVED_EVENT", "OFFSET_MOVED", "t"])
def test_what_rocketmq_stores_for_itself_is_no_phantom(topic: str) -> None:
    told = pair().sent("m0").audit(records={**ON_BOTH, "master": ["m0", "g0"]})
    place = next(number for number, each in enumerate(told.events) if each.message == "g0")
    told.events[place] = told.events[place]._replace(queue=f"{topic}/0")
    if topic == "OFFSET_MOVED_EVENT":
        assert_holds(Contract, told)
    else:
        assert_broken(Contract, told, "master holds g0, which nobody sent")


def test_only_the_final_audit_counts() -> None:
    early = pair().sent("m0").audit("recovery").audit("final", records=ON_BOTH)
    assert_holds(Contract, early)
    assert_broken(Contract, pair().sent("m0").audit("recovery", records=ON_BOTH).audit("final"), "gone")
    assert_vacuous(Contract, pair().sent("m0").audit("recovery"))


# live-converges


def healed(after_ms: float, mark: str = "converged") -> H:
    return pair().mark("heal").after(after_ms).mark(mark)


BOUND_MS = 20_000 + 1_000 + 5_000 + 5_000 + 2 * 5_000 + 1_000 + 5_000


def test_the_bound_is_the_sum_of_the_configured_waits() -> None:
    assert bound_ms(lambda node, key: DEFAULTS[key]) == BOUND_MS


def test_a_pair_that_agrees_within_the_bound_converges_and_a_later_one_does_not() -> None:
    assert_holds(LiveConverges, healed(BOUND_MS).audit())
    assert_broken(LiveConverges, healed(BOUND_MS + 1).audit(), "are enough")


def test_where_reports_pile_up_until_one_is_cut_nobody_counts_the_connections() -> None:
    def narrow(**own: int) -> H:
        lab = H().add("lab", f="sim", value=70_000_000, detail=json.dumps({f"lab.{key}": own[key] for key in own}))
        lab.config("master").config("slave", haCutReports="closes").mark("heal")
        return lab.after(BOUND_MS + 1).mark("converged").audit()

    assert_holds(LiveConverges, narrow(bufferBytes=600, spread=10))
    assert_broken(LiveConverges, narrow(bufferBytes=600), "are enough")
    assert_broken(LiveConverges, narrow(spread=10), "are enough")


def test_shorter_intervals_make_a_shorter_bound() -> None:
    quick = H().config("master", haHousekeepingInterval=1_000, haSendHeartbeatInterval=100)
    quick.config("slave", haHousekeepingInterval=1_000, haSendHeartbeatInterval=100).mark("heal")
    assert_broken(LiveConverges, quick.after(20_000).mark("converged"), "18200 ms are enough")


def test_a_pair_that_never_agrees_is_caught() -> None:
    assert_broken(LiveConverges, healed(90_000, "unsettled").audit(hi={"master": 300}), "nobody said why")
    assert_broken(LiveConverges, healed(90_000, "unsettled"), "nobody said why")


def test_logs_that_end_apart_have_not_converged() -> None:
    assert_broken(LiveConverges, healed(10).audit(hi={"master": 300}), "slave's log ends at 0, the master's at 300")


@pytest.mark.parametrize(("creates", "from_slave"), [(True, True), (False, False), (False, True)])
def test_a_slave_that_takes_over_without_the_topic_may_refuse_all_sends(creates: bool, from_slave: bool) -> None:
    history = H().config("master", autoCreateTopicEnable=creates).config("slave").start("master").start("slave")
    history.crash("master").add("wipe", node="master", f="image", detail="slave" if from_slave else None)
    history.start("master").mark("heal").add("mark", f="probe", op=7).after(10).mark("converged").audit()
    if from_slave and not creates:
        assert_holds(LiveConverges, history)
    else:
        assert_broken(LiveConverges, history, "none of 1 sends after healing was answered as stored")


def test_what_the_master_has_only_just_stored_may_be_on_its_way() -> None:
    def stored(rest_ms: float, slave: int = 200) -> H:
        history = healed(10).append("master", 0, 200, "put", "m0").append("slave", 0, slave).after(2_000)
        return history.append("master", 200, 300, "put", "m1").after(rest_ms).audit(hi={"master": 300, "slave": slave})

    assert_holds(LiveConverges, stored(1_000))
    for bad in (stored(1_001), stored(1, slave=100)):
        assert_broken(LiveConverges, bad, "the master's at 300")


def diverged(history: H) -> H:
    history.connect().report(200)
    return history.add("diverged", node="master", link=history.link, hi=200, value=100)


def lost_tail() -> H:
    return pair().sent("m0").sent("m1").crash("master", "machine").close("s").restart("master", 100)


def test_a_slave_that_cannot_rejoin_is_excused_when_the_master_says_so() -> None:
    assert_holds(LiveConverges, diverged(lost_tail().mark("heal")).after(90_000).mark("unsettled").audit())
    assert_holds(LiveConverges, diverged(lost_tail()).mark("heal").after(90_000).mark("unsettled").audit())


@pytest.mark.parametrize(("grows_ms", "late"), [(41_000, False), (1_000, True)])
def test_a_slave_that_was_ahead_has_the_bound_from_when_the_master_was_ahead_of_it(grows_ms: int, late: bool) -> None:
    named = diverged(lost_tail().mark("heal")).after(grows_ms)
    named.add("diverged", node="master", link=named.link, hi=200, value=100)
    named.put("m2").put("m3").append("slave", 200, 300)
    settled = named.after(90_000 - grows_ms if late else 10_000).mark("converged").audit()
    if late:
        assert_broken(LiveConverges, settled, "slave needed 89000 ms to catch up")
    else:
        assert_holds(LiveConverges, settled)


def spliced() -> H:
    """A slave that is ahead takes the place of a master that had lost what it has."""
    history = lost_tail().put("m2").crash("master").stop("slave")
    history.add("wipe", node="master", f="image", detail="slave").add("wipe", node="slave", f="empty")
    return history.start("master", 200).start("slave", 0)


def test_nobody_promises_anything_of_a_master_whose_log_is_of_two_histories() -> None:
    dead = lost_tail().put("m2").crash("master").start("master", 200).mark("heal")
    silent = dead.probe("p0").over("p0", "info", "disconnected").mark("converged").audit(hi={"slave": 200})
    assert_broken(LiveConverges, silent, "none of 1 sends after healing")
    promoted = spliced().mark("heal").probe("p0").over("p0", "info", "disconnected").mark("converged").audit()
    assert_vacuous(LiveConverges, promoted)


def test_a_refusal_that_was_over_before_healing_excuses_nothing() -> None:
    gone = [diverged(lost_tail()).crash("master"), diverged(lost_tail()).stop("master")]
    for over in (diverged(lost_tail()).close(), *(each.start("master") for each in gone)):
        assert_broken(LiveConverges, over.mark("heal").after(90_000).mark("unsettled").audit(), "nobody said why")


def test_a_refusal_of_a_slave_that_fits_excuses_nothing() -> None:
    fits = pair().sent("m0").mark("heal").connect().report(100)
    fits.add("diverged", node="master", link=fits.link, hi=100, value=100)
    assert_broken(LiveConverges, fits.after(90_000).mark("unsettled"), "nobody said why")


def test_a_refusal_of_a_stranger_excuses_nothing() -> None:
    stranger = pair().sent("m0").mark("heal").connect("hostile").report(900, peer="hostile")
    stranger.add("diverged", node="master", link=stranger.link, hi=900, value=100)
    assert_broken(LiveConverges, stranger.after(90_000).mark("unsettled"), "nobody said why")


@pytest.mark.parametrize("status", ["PUT_OK", "FLUSH_DISK_TIMEOUT", "FLUSH_SLAVE_TIMEOUT", "SLAVE_NOT_AVAILABLE"])
def test_a_pair_that_answers_one_probe_as_stored_is_alive(status: str) -> None:
    dead_connection = pair().mark("heal").probe("p0").over("p0", "info", "disconnected")
    assert_holds(LiveConverges, dead_connection.probe("p1").ok("p1", status).mark("converged").audit())


@pytest.mark.parametrize(
    "end", [("info", "timeout"), ("fail", "SERVICE_NOT_AVAILABLE"), None], ids=["no-answer", "refusal", "in-flight"]
)
def test_a_pair_that_answers_no_probe_is_dead_even_if_its_logs_agree(end: tuple[str, str] | None) -> None:
    dead = pair().sent("m0").mark("heal")
    for probe in ("p0", "p1"):
        dead.probe(probe)
        if end is not None:
            dead.after(10_000).over(probe, *end)
    assert_broken(LiveConverges, dead.mark("converged").audit(), "none of 2 sends after healing was answered as stored")


def test_naming_a_slave_that_cannot_rejoin_does_not_excuse_dead_probes() -> None:
    def named() -> H:
        return diverged(lost_tail().mark("heal")).probe("p0")

    alive = named().ok("p0", "SLAVE_NOT_AVAILABLE").after(90_000).mark("unsettled").audit()
    assert_holds(LiveConverges, alive)
    dead = named().after(10_000).over("p0", "info", "timeout").after(90_000).mark("unsettled").audit()
    assert_broken(LiveConverges, dead, "none of 1 sends")


def test_other_answers_do_not_stand_for_a_probe() -> None:
    late = pair().put("m0").replicate().mark("heal").ok("m0").probe("p0").after(10_000).over("p0", "info", "timeout")
    assert_broken(LiveConverges, late.mark("converged").audit(), "none of 1 sends")


def test_a_client_that_gave_up_before_the_longest_wait_proves_nothing() -> None:
    def gave_up(**settings: object) -> H:
        return pair(**settings).mark("heal").probe("p0").after(10_000).over("p0", "info", "timeout").mark("converged")

    assert_holds(LiveConverges, gave_up(slaveTimeout=20_000).audit())
    assert_broken(LiveConverges, gave_up(slaveTimeout=9_999).audit(), "none of 1 sends")


@pytest.mark.parametrize("node", ["master", "slave"])
def test_a_pair_whose_connections_die_before_they_report_need_not_converge(node: str) -> None:
    def unlucky(housekeeping_ms: int) -> H:
        history = H()
        for each in ("master", "slave"):
            role = "SLAVE" if each == "slave" else "SYNC_MASTER"
            own = {"haHousekeepingInterval": housekeeping_ms} if each == node else {}
            history.config(each, brokerRole=role, haSendHeartbeatInterval=5_000, **own)
        return history.mark("heal").after(90_000).mark("unsettled")

    assert judged(LiveConverges, unlucky(5_000).events).verdict is Verdict.NOT_APPLICABLE
    assert_broken(LiveConverges, unlucky(5_001), "nobody said why")


def test_a_trial_that_was_not_healed_gives_nothing_to_judge() -> None:
    assert_vacuous(LiveConverges, pair().mark("warm"))
    assert_vacuous(LiveConverges, pair().mark("heal"))


def test_a_lonely_master_has_nobody_to_converge_with() -> None:
    lonely = H().add("config", node="master", detail=json.dumps({"brokerRole": "ASYNC_MASTER"})).mark("heal")
    assert judged(LiveConverges, lonely.mark("converged").events).verdict is Verdict.NOT_APPLICABLE


def test_contract_and_convergence_are_vacuous_on_an_empty_history() -> None:
    for law in (Contract, LiveConverges):
        assert_vacuous(law, H())
    assert_vacuous(Contract, bare())
