"""Histories that give many laws nothing to judge."""

import pytest
from histories import H, Verdict, assert_not_applicable, assert_vacuous, judged, pair
from histories.tables import named

from pairproof.harness.judging.judge import all_laws
from pairproof.harness.judging.law import Law
from pairproof.harness.rocketmq.laws.metadata.meta_atomic_view import MetaAtomicView
from pairproof.harness.rocketmq.laws.metadata.meta_converges import MetaConverges
from pairproof.harness.rocketmq.laws.metadata.meta_durable import MetaDurable
from pairproof.harness.rocketmq.laws.metadata.meta_one_way import MetaOneWay
from pairproof.harness.rocketmq.laws.metadata.meta_schedule import MetaSchedule
from pairproof.harness.rocketmq.laws.metadata.meta_version_gate import MetaVersionGate
from pairproof.harness.rocketmq.laws.replication.ha_address_source import HaAddressSource
from pairproof.harness.rocketmq.laws.roles.role_no_takeover import RoleNoTakeover
from pairproof.harness.rocketmq.laws.roles.role_slave_read_only import RoleSlaveReadOnly
from pairproof.harness.rocketmq.laws.roles.role_slave_serves import RoleSlaveServes


@pytest.mark.parametrize("law", all_laws(), ids=lambda law: law.id)
def test_an_empty_history_gives_a_law_nothing_to_judge(law: type[Law]) -> None:
    assert judged(law, []).verdict is judged(law, H().mark("end").events).verdict is Verdict.VACUOUS


@pytest.mark.parametrize("law", [MetaSchedule, MetaVersionGate, MetaOneWay, MetaAtomicView, MetaDurable, MetaConverges])
def test_a_slave_without_a_name_server_never_syncs_and_no_law_applies(law: type[Law]) -> None:
    assert_not_applicable(law, pair().sent("m0"))
    assert_vacuous(law, named().mark("end"))


@pytest.mark.parametrize("law", [RoleSlaveReadOnly, RoleNoTakeover, RoleSlaveServes, HaAddressSource])
def test_laws_about_slaves_have_nothing_to_judge_for_a_master_alone(law: type[Law]) -> None:
    assert_not_applicable(law, H().config("master").start("master").put("m0").ok("m0"))
    assert_vacuous(law, H().mark("end"))
