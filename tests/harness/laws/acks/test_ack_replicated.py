"""Tests of ``ack-replicated``."""

from collections.abc import Callable

import pytest
from histories import FILE, MS, H, assert_broken, assert_holds, assert_not_applicable, assert_vacuous, bare, pair
from histories.acks import FIVE

from pairproof.harness.rocketmq.laws.acks.ack_replicated import AckReplicated
from pairproof.harness.rocketmq.laws.replication.ha_ack_identity import HaAckIdentity


def test_a_send_that_a_slave_appended_and_reported_may_be_acknowledged() -> None:
    assert_holds(AckReplicated, pair().sent("m0").sent("m1"))


def test_an_acknowledgement_before_any_report_is_early() -> None:
    assert_broken(AckReplicated, pair().put("m0").ok("m0"), "no slave had reported its end, 100")


def test_an_acknowledgement_while_the_report_is_in_flight_is_early() -> None:
    under_way = pair().put("m0").frame(0, 100).append("slave", 0, 100).report(100, "s").ok("m0").report(100, "m")
    assert_broken(AckReplicated, under_way, "m0")


def test_a_report_one_byte_short_does_not_cover() -> None:
    assert_broken(AckReplicated, pair().put("m0").replicate(99).ok("m0"), "m0")


def test_a_report_above_the_master_s_end_covers_nothing() -> None:
    assert_broken(AckReplicated, pair().put("m0").report(101).ok("m0"), "m0")


def test_a_report_ahead_of_the_slave_s_appends_covers_nothing() -> None:
    lied = pair().sent("m0").put("m1").frame(100, 200).report(200)
    assert_broken(AckReplicated, lied.ok("m1"), "m1")
    mended = pair().sent("m0").put("m1").frame(100, 200).report(200).append("slave", 100, 200).report(200)
    assert_holds(AckReplicated, mended.ok("m1"))


def test_reports_about_a_lost_part_of_the_log_do_not_cover_its_replacement() -> None:
    rewritten = pair().sent("m0").sent("m1").crash("master", "machine").restart("master", 100).put("m2")
    assert_broken(AckReplicated, rewritten.ok("m2"), "m2")


def test_a_diverged_slave_s_report_counts_since_the_master_cannot_recognise_it() -> None:
    rolled = pair().sent("m0").sent("m1").crash("master", "machine").close("s").restart("master", 100)
    rolled.put("m2").put("m3").connect().report(200).put("m4").report(300)
    assert_holds(AckReplicated, rolled.ok("m2").ok("m3"))


def test_an_answer_that_arrives_after_the_master_ended_is_judged_by_earlier_reports() -> None:
    late = pair().put("m0").replicate().crash("master", "machine").restart("master", 0).ok("m0")
    assert_holds(AckReplicated, late)


@pytest.mark.parametrize("end", [lambda h: h.crash("master"), lambda h: h.stop("master")], ids=["crash", "stop"])
def test_rogue_reports_are_forgotten_with_the_incarnation_that_received_them(end: Callable[[H], H]) -> None:
    def ended(ms: int) -> H:
        return end(pair().add("lab", f="sim", value=10 * MS).put("m0")).start("master").after(ms).ok("m0")

    assert_holds(AckReplicated, ended(9))
    assert_broken(AckReplicated, ended(11), "no slave had reported its end")


def joined_late(message: str = "m1", trace: bool = True) -> H:
    """A slave without a log gets the master's last file, from 1000 on; m0 lies before that, m1 in it."""
    late = bare().put("m0").append("master", 100, FILE, "filler").put("m1").connect().report(0)
    late.frame(FILE, FILE + 100)
    if trace:
        late.append("slave", FILE, FILE + 100)
    return late.report(FILE + 100).ok(message)


@pytest.mark.parametrize("trace", [True, False], ids=["traced", "tap-only"])
def test_a_slave_does_not_hold_bytes_before_its_log_s_begin(trace: bool) -> None:
    assert_holds(AckReplicated, joined_late("m1", trace))
    assert_broken(AckReplicated, joined_late("m0", trace), "no slave holds [0, 100): its log begins behind it")


def test_a_heartbeat_can_be_where_an_empty_slave_s_log_begins() -> None:
    idle = bare().put("m0").append("master", 100, FILE, "filler").connect().report(0).frame(FILE, FILE)
    idle.put("m1").frame(FILE, FILE + 100).append("slave", FILE, FILE + 100).report(FILE + 100)
    assert_broken(AckReplicated, idle.ok("m1").ok("m0"), "m0 was acknowledged")


def test_a_slave_that_restarts_on_a_log_begins_where_that_log_begins() -> None:
    def again(lo: int) -> H:
        back = bare().put("m0").append("master", 100, FILE, "filler").put("m1").crash("slave")
        return back.start("slave", FILE + 100, lo=lo).connect().report(FILE + 100)

    assert_holds(AckReplicated, again(0).ok("m0").ok("m1"))
    assert_broken(AckReplicated, again(FILE).ok("m0"), "its log begins behind it")
    assert_holds(AckReplicated, again(FILE).ok("m1"))


def test_a_slave_that_lost_its_log_begins_again() -> None:
    def lost() -> H:
        old = pair().sent("m0").put("m1").append("master", 200, FILE, "filler").put("m2").crash("slave", "machine")
        old.restart("slave", 0).connect().report(0).frame(FILE, FILE + 100).append("slave", FILE, FILE + 100)
        return old.report(FILE + 100)

    assert_holds(AckReplicated, lost().ok("m2"))
    assert_broken(AckReplicated, lost().ok("m1"), "m1 was acknowledged")


def test_a_report_counts_for_its_own_incarnation() -> None:
    late = pair().put("m0").append("master", 100, FILE, "filler").put("m1").frame(0, FILE + 100)
    late.append("slave", 0, FILE + 100).report(FILE + 100, "s")
    old = late.link
    late.crash("slave", "machine").restart("slave", 0).connect().report(0).frame(FILE, FILE + 100)
    assert_holds(AckReplicated, late.append("slave", FILE, FILE + 100).report(FILE + 100, "m", link=old).ok("m0"))


def test_of_two_slaves_one_that_holds_the_message_is_enough() -> None:
    two = joined_late("m1").config("second").start("second", 0).connect("second").report(0, peer="second")
    assert_broken(AckReplicated, two.ok("m0"), "m0 was acknowledged")
    whole = joined_late("m1").config("second").start("second", FILE + 100).connect("second")
    assert_holds(AckReplicated, whole.report(FILE + 100, peer="second").ok("m0"))


@pytest.mark.parametrize(
    "free",
    [
        pair().put("m0", wait=False).ok("m0"),
        pair().put("m0").ok("m0", "FLUSH_SLAVE_TIMEOUT"),
    ],
    ids=["not-waiting", "other-status"],
)
def test_other_answers_promise_no_replica(free: H) -> None:
    assert_vacuous(AckReplicated, free)


@pytest.mark.parametrize("settings", [{"brokerRole": "ASYNC_MASTER"}, FIVE, {**FIVE, "inSyncReplicas": 1}])
def test_a_master_that_waits_for_no_slave_promises_none(settings: dict[str, object]) -> None:
    assert_not_applicable(AckReplicated, pair(**settings).put("m0").ok("m0"))


def trio(**settings: object) -> H:
    """A master of 5.x that wants two of its slaves; m0 is stored, appended by both, and reported by one."""
    three = bare(**{**FIVE, "inSyncReplicas": 3, **settings}).config("slave2").start("slave2", 0)
    three.connect().report(0).connect("slave2").report(0, peer="slave2").put("m0")
    three.frame(0, 100).append("slave", 0, 100).append("slave2", 0, 100)
    return three.report(100, link="ha:1")


def test_as_many_different_slaves_as_in_sync_replicas_ask_for_must_have_the_message() -> None:
    assert_broken(AckReplicated, trio().ok("m0"), "1 of 2 slaves had reported its end, 100")
    assert_holds(AckReplicated, trio().report(100, peer="slave2", link="ha:2").ok("m0"))
    assert_holds(AckReplicated, trio(inSyncReplicas=2).ok("m0"))


def test_two_connections_of_one_slave_are_one_replica() -> None:
    assert_broken(AckReplicated, trio().connect().report(100).ok("m0"), "1 of 2 slaves")


def test_version_4_ignores_in_sync_replicas() -> None:
    assert_holds(AckReplicated, trio(rocketmqVersion="4.9.7").ok("m0"))


def test_a_second_slave_that_begins_behind_the_message_is_no_replica_of_it() -> None:
    late = trio(inSyncReplicas=3).append("master", 100, FILE, "filler").put("m1").connect("slave3")
    late.report(0, peer="slave3").frame(FILE, FILE + 100, peer="slave3").append("slave3", FILE, FILE + 100)
    assert_broken(AckReplicated, late.report(FILE + 100, peer="slave3").ok("m0"), "1 of 2 slaves")


def test_an_answer_of_an_ended_incarnation_may_still_be_in_flight() -> None:
    def late(ms: int) -> H:
        history = pair().add("lab", f="sim", value=5 * MS).put("m0")
        return history.crash("master").restart("master", 0).after(ms).ok("m0")

    assert_holds(AckReplicated, late(4))
    assert_broken(AckReplicated, late(5), "no slave had reported its end")


def test_an_acknowledgement_covered_only_by_a_rogue_report_is_noted_not_violated() -> None:
    story = bare().put("m0").connect("rogue_slave").report(100, peer="rogue_slave").ok("m0")
    assert assert_holds(AckReplicated, story).notes == {"strangers_word": 1}
    honest = pair().sent("m0").connect("rogue_slave").report(100, peer="rogue_slave")
    assert assert_holds(AckReplicated, honest).notes == {}


def test_a_rogue_report_excuses_only_acknowledgements_that_it_covers() -> None:
    below = bare().put("m0").connect("rogue_slave").report(99, peer="rogue_slave").ok("m0")
    assert_broken(AckReplicated, below, "m0")
    ahead = bare().put("m0").connect("rogue_slave").report(101, peer="rogue_slave").ok("m0")
    assert_broken(AckReplicated, ahead, "m0")
    assert_broken(HaAckIdentity, ahead, "m0")
    restarted = bare().put("m0").connect("rogue_slave").report(100, peer="rogue_slave").crash("master", "process")
    assert_broken(AckReplicated, restarted.restart("master", 100).put("m1").ok("m1"), "m1")
    forgotten = bare().put("m0").connect("rogue_slave").report(100, peer="rogue_slave").crash("master", "process")
    # The answer was in flight: no incarnation answers a call to an earlier one.
    assert_holds(AckReplicated, forgotten.restart("master", 100).ok("m0"))


def test_a_call_from_before_a_restart_may_be_answered_by_a_rogue_report_after_it() -> None:
    answered = bare().put("m0").crash("master", "process").start("master").connect("rogue_slave")
    noted = assert_holds(AckReplicated, answered.report(100, peer="rogue_slave").ok("m0"))
    assert noted.notes == {"strangers_word": 1}


def test_a_rogue_report_that_is_too_low_is_no_second_slave() -> None:
    three = {"rocketmqVersion": "5.5.0", "inSyncReplicas": 3}
    one = pair(**three).put("m0").replicate()
    assert_broken(AckReplicated, one.connect("rogue_slave").report(0, peer="rogue_slave").ok("m0"), "1 of 2 slaves")
    two = pair(**three).put("m0").replicate()
    assert assert_holds(AckReplicated, two.connect("rogue_slave").report(100, peer="rogue_slave").ok("m0")).notes
