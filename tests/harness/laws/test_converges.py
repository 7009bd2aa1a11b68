"""Tests of ``converges``."""

from histories import Verdict, assert_broken, assert_holds, assert_vacuous, judged
from histories.any_system import at_rest, pair

from pairproof.harness.laws.converges import Converges


def test_equal_nodes_have_converged() -> None:
    assert_holds(Converges, at_rest("w1").reading("master", "w1").reading("slave", "w1"))


def test_a_copy_that_lacks_a_write_or_a_pair_without_rest_has_not_converged() -> None:
    assert_broken(Converges, at_rest("w1").reading("master", "w1").reading("slave"), "slave lacks 1 of what master")
    assert_broken(Converges, pair().mark("heal").after(900).mark("unsettled"), "not come to rest 900 ms after")


def test_a_node_that_ended_without_a_fault_is_judged_by_another_law() -> None:
    story = pair().add("crash", node="slave", f="process", status="own", value=0).mark("heal").mark("unsettled")
    assert_vacuous(Converges, story)


def test_a_stall_makes_a_missing_convergence_unknown() -> None:
    found = judged(Converges, pair().mark("heal").stall(800).after(900).mark("unsettled").events)
    assert found.verdict is Verdict.UNKNOWN
