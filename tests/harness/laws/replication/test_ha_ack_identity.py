"""Tests of ``ha-ack-identity``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_unbroken, assert_vacuous, bare, pair

from pairproof.harness.judging.law import Law
from pairproof.harness.rocketmq.laws.replication.ha_ack_identity import HaAckIdentity
from pairproof.harness.rocketmq.laws.replication.ha_divergence_refused import HaDivergenceRefused


def over_claimed() -> H:
    """A rogue peer has reported far more than the master has."""
    return bare().connect("rogue_slave").report(5_000, peer="rogue_slave")


def test_a_claim_above_the_log_acknowledges_nothing() -> None:
    assert_holds(HaAckIdentity, over_claimed().put("m0").ok("m0", "SLAVE_NOT_AVAILABLE"))
    assert_broken(HaAckIdentity, over_claimed().put("m0").ok("m0"), "only a report of 5000")


def test_a_later_claim_on_a_good_connection_acknowledges_nothing_either() -> None:
    late = pair().sent("m0").report(5_000).put("m1")
    assert_broken(HaAckIdentity, late.ok("m1"), "only a report of 5000")


def test_an_acknowledgement_that_a_slave_earned_is_not_disturbed_by_a_claim() -> None:
    both = pair().connect("rogue_slave").report(5_000, peer="rogue_slave")
    both.link = "ha:1"
    assert_holds(HaAckIdentity, both.sent("m0"))


@pytest.mark.parametrize("changed", [{"brokerRole": "ASYNC_MASTER"}, {}])
def test_sends_that_do_not_wait_for_slaves_rest_on_no_report(changed: dict[str, object]) -> None:
    claimed = bare(**changed).connect("rogue_slave").report(5_000, peer="rogue_slave")
    assert_vacuous(HaAckIdentity, claimed.put("m0", wait=bool(changed)).ok("m0"))


def test_the_claims_of_an_earlier_incarnation_of_the_master_are_forgotten() -> None:
    assert_vacuous(HaAckIdentity, over_claimed().crash("master").start("master").put("m0").ok("m0"))


@pytest.mark.parametrize("law", [HaAckIdentity, HaDivergenceRefused])
def test_a_master_without_waiting_rests_no_answer_on_a_slave(law: type[Law]) -> None:
    def claimed(**settings: object) -> H:
        two = pair(**settings).connect("rogue_slave").report(900, peer="rogue_slave")
        two.add("diverged", node="master", link=two.link, hi=900, value=0)
        return two.put("m0").ok("m0")

    assert_broken(law, claimed(), "m0")
    assert_unbroken(law, claimed(rocketmqVersion="5.5.0"))
