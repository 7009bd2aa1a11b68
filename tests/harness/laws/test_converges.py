"""Tests of ``converges``."""

from histories import Verdict, assert_broken, assert_holds, assert_vacuous, judged
from histories.any_system import at_rest, pair

from pairproof.harness.laws.converges import Converges


def test_equal_nodes_have_converged() -> None:
    assert_holds(Converges, at_rest("w1").reading("master", "w1").reading("slave", "w1"))


def test_a_copy_that_lacks_something_and_a_pair_without_rest_have_not() -> None:
    assert_broken(Converges, at_rest("w1").reading("master", "w1").reading("slave"), "slave lacks 1 of what master")
    assert_broken(Converges, pair().mark("heal").after(900).mark("unsettled"), "not come to rest 900 ms after")


def test_a_node_that_ended_by_itself_is_another_law_s() -> None:
    story = pair().add("crash", node="slave", f="process", status="own", value=0).mark("heal").mark("unsettled")
    assert_vacuous(Converges, story)


def test_where_the_machine_stalled_nobody_knows_whether_it_would_have_converged() -> None:
    found = judged(Converges, pair().mark("heal").stall(800).after(900).mark("unsettled").events)
    assert found.verdict is Verdict.UNKNOWN
