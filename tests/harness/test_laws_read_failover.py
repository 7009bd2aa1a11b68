"""What goes on when a master is lost: its consumers read on from a slave, and come back."""

from __future__ import annotations

import pytest
from one_group import Group, consumed, later, served

from pairproof.harness.judging.law import Law
from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.roles.mode_isolation import ModeIsolation
from pairproof.harness.rocketmq.laws.roles.role_read_failover import RoleReadFailover
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged


def dead(how: str = "process", history: Group | None = None) -> Group:
    history = later(consumed() if history is None else history, 1_000)
    return later(history.stop("master") if how == "stop" else history.crash("master", how), 0)


@pytest.mark.parametrize(("how", "ms"), [("process", 35_000), ("stop", 35_000), ("machine", 195_000)])
def test_a_slave_serves_in_time_when_the_master_has_died(how: str, ms: int) -> None:
    assert_holds(RoleReadFailover, later(dead(how), ms).serves("slave"))
    late = f"group g got no answer for t/0 from a slave for {ms + 1} ms after the master's death; {ms} ms are enough"
    assert_broken(RoleReadFailover, later(dead(how), ms + 1).serves("slave"), late)
    assert_broken(RoleReadFailover, later(dead(how), ms + 1).mark("end"), late)
    assert_vacuous(RoleReadFailover, later(dead(how), ms).mark("end"))


def test_who_heard_nothing_of_the_first_death_hears_nothing_of_the_second() -> None:
    def again(lived: float) -> H:
        history = later(later(dead("machine"), 100).start("master"), lived)
        return later(history.serves("master").crash("master"), 35_001).mark("end")

    assert not judged(RoleReadFailover, again(159_000).events).violations
    assert_broken(RoleReadFailover, again(160_000), "from a slave for 35001 ms after the master's death")


def test_who_was_served_once_is_served() -> None:
    assert_holds(RoleReadFailover, later(later(dead(), 30_000).serves("slave"), 100_000).mark("end"))


def test_a_slave_whose_syncs_were_answered_is_owed_to_serve_as_one_that_says_what_it_took_over() -> None:
    def with_syncs(status: str) -> Group:
        history = served()
        for table in ("topics", "groups"):
            history.add("sync", node="slave", f=table, status="asked").after(1)
            history.add("sync", node="slave", f=table, status=status)
        return later(dead(history=history), 35_001).mark("end")

    assert_broken(RoleReadFailover, with_syncs("answered"), "from a slave")
    assert_vacuous(RoleReadFailover, with_syncs("failed"))


def test_an_answer_of_the_master_or_to_somebody_else_does_not_count() -> None:
    assert_broken(RoleReadFailover, later(dead().serves("master"), 35_001).mark("end"), "from a slave")
    assert_broken(RoleReadFailover, later(dead().serves("slave", group=None), 35_001).mark("end"), "from a slave")


@pytest.mark.parametrize("what", ["leave", "go", "fault", "start"])
def test_what_is_overdue_is_told_before_something_else_happens(what: str) -> None:
    def then(ms: float) -> Group:
        history = later(dead(), ms)
        if what == "leave":
            return history.takes("off")
        if what == "go":
            history.add("consumer", process=1, status="lost", group="g")
        elif what == "fault":
            history.fault("stall", "client-slave")
        else:
            history.start("master")
        return history

    assert_vacuous(RoleReadFailover, then(35_000))
    assert_broken(RoleReadFailover, then(35_001), "for 35001 ms after the master's death")


def test_who_goes_takes_only_its_own_claims_along() -> None:
    def gone(process: int) -> Group:
        return later(dead().add("consumer", process=process, status="lost", group="g"), 99_000)

    assert_vacuous(RoleReadFailover, gone(1).mark("end"))
    assert_broken(RoleReadFailover, gone(2).mark("end"), "from a slave for 99000 ms")


def test_who_holds_no_queue_or_was_never_served_is_owed_nothing() -> None:
    assert_vacuous(RoleReadFailover, later(dead(history=consumed().takes("off")), 99_000).mark("end"))
    history = Group().config("master", namesrvAddr="n").config("slave", namesrvAddr="n")
    history.add("start", node="names").start("master").start("slave")
    assert isinstance(history, Group)
    history.registers("master").registers("slave").comes()
    assert_vacuous(RoleReadFailover, later(dead(history=history.syncs()), 99_000).mark("end"))


@pytest.mark.parametrize("place", ["slave", "client-slave", "names-slave", "names-client", "names", "names-master"])
def test_the_time_counts_from_when_all_is_well(place: str) -> None:
    def mended(ms: float) -> H:
        history = later(dead().fault("stall", place), 10_000).fault("stall", place, "off")
        assert isinstance(history, Group)
        return later(history.registers("slave"), ms).mark("end")

    assert_vacuous(RoleReadFailover, mended(35_000))
    assert_broken(RoleReadFailover, mended(35_001), "for 35001 ms after")
    assert_vacuous(RoleReadFailover, later(dead().fault("stall", place), 99_000).mark("end"))


def test_a_slave_that_cannot_be_found_or_does_not_know_the_topic_owes_nothing() -> None:
    def restarted(how: str) -> Group:
        return later(consumed().crash("slave", how).start("slave"), 100)

    for unable in (
        dead(history=restarted("machine").registers("slave")),
        dead(history=restarted("process")),
        dead(history=restarted("process").registers("slave", "failed")),
        dead().crash("slave"),
    ):
        assert_vacuous(RoleReadFailover, later(unable, 99_000).mark("end"))
    able = dead(history=restarted("process").registers("slave"))
    assert_broken(RoleReadFailover, later(able, 35_001).mark("end"), "from a slave for 35001 ms")


@pytest.mark.parametrize("creates", [True, False])
def test_a_group_that_is_unknown_may_be_refused_by_who_is_not_to_create_it(creates: bool) -> None:
    refused = later(dead(history=consumed(autoCreateSubscriptionGroup=creates)), 5_000).add(
        "fail", node="slave", process=1, group="g", queue="t/0", f="pull", op=99, status="SUBSCRIPTION_GROUP_NOT_EXIST"
    )  # fmt: skip
    if creates:
        assert_broken(RoleReadFailover, later(refused, 99_000).mark("end"), "from a slave")
    else:
        assert_vacuous(RoleReadFailover, later(refused, 99_000).mark("end"))


def test_a_name_server_that_was_started_anew_has_topics_from_masters_only() -> None:
    def anew(started: float, route: str = "none") -> Group:
        """The name server is started again so long before the master dies; then the slave finds it."""
        history = later(consumed(), 1_000).crash("names").add("start", node="names")
        if started:
            assert isinstance(history, Group)
            history = later(history.registers("slave").registers("master"), started)
        history = later(dead(history=history), 100)
        history.registers("slave").add("route", process=1, group="g", status=route, detail="{}")
        return later(history, 99_000)

    assert_vacuous(RoleReadFailover, anew(0).mark("end"))
    assert_broken(RoleReadFailover, anew(5_000).mark("end"), "from a slave")
    forgotten = later(dead(), 100).crash("slave").start("slave").registers("slave")
    assert_broken(RoleReadFailover, later(forgotten, 99_000).mark("end"), "from a slave")
    forgotten = later(dead(), 100).crash("slave").start("slave").registers("slave").add(
        "route", process=1, group="g", status="none", detail="{}"
    )  # fmt: skip
    assert_vacuous(RoleReadFailover, later(forgotten, 99_000).mark("end"))


@pytest.mark.parametrize("registers_first", [True, False])
def test_a_slave_may_have_been_out_of_sight_when_its_master_died(registers_first: bool) -> None:
    history = later(consumed(), 1_000).crash("slave").start("slave")
    history = dead(history=later(history.registers("slave"), 1_000) if registers_first else history)
    history = later(history, 1_000).registers("slave").add("route", process=1, group="g", status="none", detail="{}")
    history = later(history, 99_000).mark("end")
    if registers_first:
        assert_broken(RoleReadFailover, history, "from a slave")
    else:
        assert_vacuous(RoleReadFailover, history)


def test_a_slave_that_synced_before_the_group_came_owes_nothing() -> None:
    history = Group().config("master", namesrvAddr="n").config("slave", namesrvAddr="n")
    history.add("start", node="names").start("master").start("slave")
    assert isinstance(history, Group)
    history.registers("master").registers("slave").syncs().comes()
    assert_vacuous(RoleReadFailover, later(dead(history=later(history, 1).serves("master")), 99_000).mark("end"))


def test_a_slave_of_5_that_may_refuse_owes_nothing() -> None:
    assert_vacuous(RoleReadFailover, later(dead(history=consumed(rocketmqVersion="5.5.0")), 99_000).mark("end"))
    on = consumed(rocketmqVersion="5.5.0", slaveReadEnable=True)
    assert_broken(RoleReadFailover, later(dead(history=on), 35_001).mark("end"), "from a slave")


def back(broker: int = 0) -> Group:
    """The master returns while a slave serves, which last suggested ``broker``, and registers after a second."""
    history = later(later(dead(), 30_000).serves("slave", broker), 30_000).start("master")
    return later(history, 1_000).registers("master")


def test_the_master_serves_again_in_time() -> None:
    assert_holds(RoleReadFailover, later(back(), 65_000).serves("master"))
    late = "group g got no answer for t/0 from the master for 65001 ms after its return; 65000 ms are enough"
    assert_broken(RoleReadFailover, later(back(), 65_001).serves("master"), late)
    assert_broken(RoleReadFailover, later(back(), 65_001).mark("end"), late)
    assert_broken(RoleReadFailover, later(back(), 65_001).crash("master"), late)


def test_who_is_told_to_stay_at_the_slave_stays_there() -> None:
    assert judged(RoleReadFailover, later(back(1), 99_000).mark("end").events).verdict is Verdict.HOLDS
    freed = later(back(1), 50_000).serves("slave", 0)
    assert judged(RoleReadFailover, later(freed, 65_000).mark("end").events).verdict is Verdict.HOLDS
    freed = later(back(1), 50_000).serves("slave", 0)
    assert_broken(RoleReadFailover, later(freed, 65_001).mark("end"), "from the master for 65001 ms")


@pytest.mark.parametrize(("fixed", "owed"), [(None, True), (0, True), (1, False)])
def test_the_way_back_is_owed_to_consumers_whose_user_did_not_fix_a_slave(fixed: int | None, owed: bool) -> None:
    history = Group().config("master", namesrvAddr="n").config("slave", namesrvAddr="n")
    history.add("start", node="names").start("master").start("slave")
    assert isinstance(history, Group)
    history.registers("master").registers("slave")
    history.add("consumer", process=1, status="on", group="g", f="clustering", broker=fixed)
    history = later(later(history.takes("on"), 1_000).serves("master"), 1_000).syncs()
    # The slave suggests the master all the time: who has a choice does not listen.
    history = later(later(dead(history=history), 30_000).serves("slave", 0), 30_000).start("master")
    stays = later(later(history, 1_000).registers("master"), 65_001).mark("end")
    if owed:
        assert_broken(RoleReadFailover, stays, "from the master for 65001 ms")
    else:
        assert judged(RoleReadFailover, stays.events).verdict is Verdict.HOLDS


def test_a_consumer_that_takes_a_queue_again_remembers_what_it_was_told() -> None:
    again = back(1).takes("off").takes("on")
    assert judged(RoleReadFailover, later(again, 99_000).mark("end").events).verdict is Verdict.HOLDS


def test_who_takes_a_queue_over_has_its_time_from_then() -> None:
    """Who had it was told to stay at the slave."""

    def handed_over(ms: float) -> H:
        history = later(back(1), 60_000).add("assign", process=2, status="on", group="g", queue="t/0", value=0)
        return later(later(history, 1).takes("off"), ms - 1).mark("end")

    assert judged(RoleReadFailover, handed_over(65_000).events).verdict is Verdict.HOLDS
    assert_broken(RoleReadFailover, handed_over(65_001), "from the master for 65001 ms")


def test_a_consumer_heeds_an_answer_that_comes_after_it_gave_the_queue_up() -> None:
    def called_back(ms: float) -> Group:
        sent_away = back(0).takes("off").serves("master", 1).takes("on")
        return later(later(sent_away, 60_000).serves("slave", 0), ms).serves("master", 0)

    assert_holds(RoleReadFailover, called_back(65_000))
    assert_broken(RoleReadFailover, called_back(65_001), "from the master for 65001 ms")


@pytest.mark.parametrize("place", ["master", "client-master", "names-master", "names-client", "names"])
def test_the_way_back_counts_from_when_all_is_well(place: str) -> None:
    def mended(ms: float) -> H:
        history = later(back().fault("stall", place), 10_000).fault("stall", place, "off")
        assert isinstance(history, Group)
        return later(history.registers("master"), ms).mark("end")

    assert judged(RoleReadFailover, mended(65_000).events).verdict is Verdict.HOLDS
    assert_broken(RoleReadFailover, mended(65_001), "from the master for 65001 ms")


def test_a_master_that_is_lost_again_owes_nothing_but_its_slaves_do() -> None:
    again = later(back(), 10_000).crash("master")
    assert_broken(RoleReadFailover, later(again, 35_001).mark("end"), "from a slave for 35001 ms")


@pytest.mark.parametrize("law", [RoleReadFailover, ModeIsolation])
def test_a_pair_without_names_or_alone_is_no_case(law: type[Law]) -> None:
    history = H().config("master").config("slave").start("master").start("slave")
    assert judged(law, history.events).verdict is Verdict.NOT_APPLICABLE
