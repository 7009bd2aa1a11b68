"""Tests of ``live-converges``."""

import json

import pytest
from histories import H, assert_broken, assert_holds, assert_not_applicable, assert_vacuous, pair, trio
from histories.stores import stops, unequal

from pairproof.harness.rocketmq.known.model import DEFAULTS
from pairproof.harness.rocketmq.laws.liveness.live_converges import LiveConverges, bound_ms


def healed(after_ms: float, mark: str = "converged") -> H:
    return pair().mark("heal").after(after_ms).mark(mark)


BOUND_MS = 20_000 + 1_000 + 5_000 + 5_000 + 2 * 5_000 + 1_000 + 5_000


def test_the_bound_is_the_sum_of_the_configured_waits() -> None:
    assert bound_ms(lambda node, key: DEFAULTS[key]) == BOUND_MS


def test_a_pair_that_agrees_within_the_bound_converges_and_a_later_one_does_not() -> None:
    assert_holds(LiveConverges, healed(BOUND_MS).audit())
    assert_broken(LiveConverges, healed(BOUND_MS + 1).audit(), "are enough")


def test_slaves_that_close_on_cut_reports_have_no_bound() -> None:
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


@pytest.mark.parametrize("creates", [True, False])
def test_a_master_whose_topic_was_deleted_may_refuse_all_sends(creates: bool) -> None:
    history = H().config("master", autoCreateTopicEnable=creates).config("slave").start("master").start("slave")
    history.add("invoke", node="master", f="delete-topic", process="administrator-master", op=3, message="pairproof")
    history.mark("heal").add("mark", f="probe", op=7).after(10).mark("converged").audit()
    if creates:
        assert_broken(LiveConverges, history, "none of 1 sends after healing was answered as stored")
    else:
        assert_holds(LiveConverges, history)


def test_bytes_that_the_master_just_stored_may_be_in_flight() -> None:
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


def test_a_slave_that_cannot_rejoin_is_excused_if_the_master_reports_it() -> None:
    assert_holds(LiveConverges, diverged(lost_tail().mark("heal")).after(90_000).mark("unsettled").audit())
    assert_holds(LiveConverges, diverged(lost_tail()).mark("heal").after(90_000).mark("unsettled").audit())


@pytest.mark.parametrize(("grows_ms", "late"), [(41_000, False), (1_000, True)])
def test_the_bound_of_a_slave_that_was_ahead_starts_when_the_master_overtakes_it(grows_ms: int, late: bool) -> None:
    named = diverged(lost_tail().mark("heal")).after(grows_ms)
    named.add("diverged", node="master", link=named.link, hi=200, value=100)
    named.put("m2").put("m3").append("slave", 200, 300)
    settled = named.after(90_000 - grows_ms if late else 10_000).mark("converged").audit()
    if late:
        assert_broken(LiveConverges, settled, "slave needed 89000 ms to catch up")
    else:
        assert_holds(LiveConverges, settled)


def spliced() -> H:
    """A slave that is ahead replaces a master that has lost the same bytes."""
    history = lost_tail().put("m2").crash("master").stop("slave")
    history.add("wipe", node="master", f="image", detail="slave").add("wipe", node="slave", f="empty")
    return history.start("master", 200).start("slave", 0)


def test_a_diverged_master_is_not_judged() -> None:
    dead = lost_tail().put("m2").crash("master").start("master", 200).mark("heal")
    silent = dead.probe("p0").over("p0", "info", "disconnected").mark("converged").audit(hi={"slave": 200})
    assert_broken(LiveConverges, silent, "none of 1 sends after healing")
    promoted = spliced().mark("heal").probe("p0").over("p0", "info", "disconnected").mark("converged").audit()
    assert_vacuous(LiveConverges, promoted)


def test_a_refusal_that_ended_before_healing_excuses_nothing() -> None:
    gone = [diverged(lost_tail()).crash("master"), diverged(lost_tail()).stop("master")]
    for over in (diverged(lost_tail()).close(), *(each.start("master") for each in gone)):
        assert_broken(LiveConverges, over.mark("heal").after(90_000).mark("unsettled").audit(), "nobody said why")


def test_a_refusal_of_a_slave_that_fits_excuses_nothing() -> None:
    fits = pair().sent("m0").mark("heal").connect().report(100)
    fits.add("diverged", node="master", link=fits.link, hi=100, value=100)
    assert_broken(LiveConverges, fits.after(90_000).mark("unsettled"), "nobody said why")


def test_a_refusal_of_a_rogue_peer_excuses_nothing() -> None:
    stranger = pair().sent("m0").mark("heal").connect("rogue_slave").report(900, peer="rogue_slave")
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


def test_reporting_a_slave_that_cannot_rejoin_does_not_excuse_dead_probes() -> None:
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

    assert_not_applicable(LiveConverges, unlucky(5_000))
    assert_broken(LiveConverges, unlucky(5_001), "nobody said why")


def test_a_trial_that_was_not_healed_gives_nothing_to_judge() -> None:
    assert_vacuous(LiveConverges, pair().mark("warm"))
    assert_vacuous(LiveConverges, pair().mark("heal"))


def test_a_master_without_slaves_is_not_judged() -> None:
    lonely = H().add("config", node="master", detail=json.dumps({"brokerRole": "ASYNC_MASTER"})).mark("heal")
    assert_not_applicable(LiveConverges, lonely.mark("converged"))


def settled(mark: str = "unsettled", **hi: int) -> H:
    ends = {"master": 300, "slave": 300, "slave2": 300, **hi}
    three = trio().mark("heal").after(90_000).mark(mark)
    return three.audit(nodes="master slave", hi=ends).audit(nodes="master slave2", hi=ends, compare="master")


def test_each_slave_has_to_converge() -> None:
    assert_broken(LiveConverges, settled(slave2=200), "slave2 did not catch up in 90000 ms, and nobody said why")
    assert_broken(LiveConverges, settled(slave=200, slave2=200), "slave did not catch up", times=2)
    assert_broken(LiveConverges, settled(), "did not come to rest")


def test_reporting_one_slave_excuses_no_other() -> None:
    def named(**hi: int) -> H:
        three = trio().put("m0").put("m1").mark("heal").connect("slave").report(900, peer="slave")
        three.add("diverged", node="master", link=three.link, hi=900, value=200).close(link="ha:1")
        three.after(90_000).mark("unsettled").audit(nodes="master slave", hi={"slave": 900})
        return three.audit(nodes="master slave2", hi={"slave2": 200, **hi}, compare="master")

    assert_holds(LiveConverges, named())
    assert_broken(LiveConverges, named(slave2=100), "slave2 did not catch up")


def test_a_slave_that_is_ahead_of_what_its_master_lost_may_never_come_to_rest() -> None:
    def settled(hi: int) -> H:
        history = pair().sent("m0").sent("m1").crash("master", "machine").restart("master", hi)
        history.mark("heal").after(90_000).mark("unsettled")
        return history.audit(nodes="master slave", hi={"master": 300, "slave": 300})

    assert_broken(LiveConverges, settled(200), "did not come to rest")
    assert_holds(LiveConverges, settled(100))


def test_a_slave_that_must_not_copy_need_not_converge() -> None:
    healed = stops(unequal()).mark("heal").after(90_000).mark("unsettled").audit(hi={"master": 200, "slave": 100})
    assert_not_applicable(LiveConverges, healed)
    equal = stops(unequal(1_000)).mark("heal").after(90_000).mark("unsettled")
    assert_broken(LiveConverges, equal.audit(hi={"master": 200, "slave": 100}), "slave did not catch up")
