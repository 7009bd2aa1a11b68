"""Tests of ``query-members``."""

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous, bare
from histories.questions import answer

from pairproof.harness.rocketmq.laws.questions.query_members import QueryMembers


def consuming(*processes: int, ms: float = 60_000) -> H:
    """Consumers of g0 start and learn a route with master and slave; then time passes."""
    history = bare()
    for process in processes:
        history.add("consumer", process=process, group="g0", status="on", f="clustering")
        history.add("route", process=process, group="g0", status="found", detail='{"0": "master", "1": "slave"}')
    return history.after(ms)


def named(history: H, *ids: str, node: str = "slave") -> H:
    status = "PUT_OK" if ids else "SYSTEM_ERROR"
    return answer(history, "members", status, node=node, group="g0", detail=list(ids))


def test_a_broker_names_the_consumers_that_live() -> None:
    assert_holds(QueryMembers, named(consuming(1, 2), "c0", "c1"))
    assert_broken(QueryMembers, named(consuming(1, 2), "c0"), "slave names 1 consumers of g0; 2 should be known there")
    assert_broken(QueryMembers, named(consuming(1, 2)), "slave names 0 consumers of g0")
    assert_broken(QueryMembers, named(consuming(1), "c0", "c1"), "slave names 2 consumers of g0; 1 should")
    assert_holds(QueryMembers, named(consuming(1), "c0", "c0"))
    assert_vacuous(QueryMembers, consuming(1))


def test_a_broker_that_had_no_time_to_hear_of_a_consumer_need_not_name_it() -> None:
    assert_holds(QueryMembers, named(consuming(1, ms=20_000)))
    assert_holds(QueryMembers, named(consuming(1).fault("latency", "master").after(20_000)))
    assert_holds(QueryMembers, named(consuming(1), node="slave2"))


@pytest.mark.parametrize(("how", "ms"), [("machine", 75_000), ("process", 45_000)])
def test_a_heartbeat_may_be_lost_in_a_connection_that_died_with_its_machine(how: str, ms: int) -> None:
    def back(after_ms: int) -> H:
        return named(consuming(1).add("crash", node="slave", f=how).after(after_ms))

    assert_holds(QueryMembers, back(ms - 1))
    assert_broken(QueryMembers, back(ms), "slave names 0 consumers of g0; 1 should")


def test_a_consumer_that_went_is_forgotten_within_two_minutes() -> None:
    gone = consuming(1, 2).add("consumer", process=2, group="g0", status="lost", f="clustering")
    assert_holds(QueryMembers, named(gone.after(100_000), "c0", "c1"))
    assert_broken(QueryMembers, named(gone.after(100_000), "c0", "c1"), "slave names 2 consumers of g0; 1 should")
