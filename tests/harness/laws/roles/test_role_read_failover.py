"""Tests of ``role-read-failover``."""

import pytest
from histories import (
    H,
    Story,
    assert_broken,
    assert_holds,
    assert_not_applicable,
    assert_unbroken,
    assert_vacuous,
)
from histories.consumers import consumed, served

from pairproof.harness.judging.law import Law
from pairproof.harness.rocketmq.laws.roles.mode_isolation import ModeIsolation
from pairproof.harness.rocketmq.laws.roles.role_read_failover import RoleReadFailover


def dead(how: str = "process", history: Story | None = None) -> Story:
    history = (consumed() if history is None else history).after(1_000)
    return (history.stop("master") if how == "stop" else history.crash("master", how)).after(0)


@pytest.mark.parametrize(("how", "ms"), [("process", 35_000), ("stop", 35_000), ("machine", 195_000)])
def test_a_slave_serves_in_time_when_the_master_has_died(how: str, ms: int) -> None:
    assert_holds(RoleReadFailover, dead(how).after(ms).serve("slave"))
    late = f"group G got no answer for T/0 from a slave for {ms + 1} ms after the master's death; {ms} ms are enough"
    assert_broken(RoleReadFailover, dead(how).after(ms + 1).serve("slave"), late)
    assert_broken(RoleReadFailover, dead(how).after(ms + 1).mark("end"), late)
    assert_vacuous(RoleReadFailover, dead(how).after(ms).mark("end"))


def test_a_client_that_missed_the_first_death_misses_the_second() -> None:
    def again(lived: float) -> H:
        history = dead("machine").after(100).start("master").after(lived)
        return history.serve("master").crash("master").after(35_001).mark("end")

    assert_unbroken(RoleReadFailover, again(159_000))
    assert_broken(RoleReadFailover, again(160_000), "from a slave for 35001 ms after the master's death")


def test_a_group_that_was_served_once_must_be_served() -> None:
    assert_holds(RoleReadFailover, dead().after(30_000).serve("slave").after(100_000).mark("end"))


def test_a_slave_whose_syncs_were_answered_must_serve_like_one_that_reports_its_tables() -> None:
    def with_syncs(status: str) -> Story:
        history = served()
        for table in ("topics", "groups"):
            history.add("sync", node="slave", f=table, status="asked").after(1)
            history.add("sync", node="slave", f=table, status=status)
        return dead(history=history).after(35_001).mark("end")

    assert_broken(RoleReadFailover, with_syncs("answered"), "from a slave")
    assert_vacuous(RoleReadFailover, with_syncs("failed"))


def test_an_answer_of_the_master_or_to_somebody_else_does_not_count() -> None:
    assert_broken(RoleReadFailover, dead().serve("master").after(35_001).mark("end"), "from a slave")
    assert_broken(RoleReadFailover, dead().serve("slave", group=None).after(35_001).mark("end"), "from a slave")


@pytest.mark.parametrize("what", ["leave", "go", "fault", "start"])
def test_overdue_answers_are_reported_before_the_next_disturbance(what: str) -> None:
    def then(ms: float) -> Story:
        history = dead().after(ms)
        if what == "leave":
            return history.assign(0, status="off")
        if what == "go":
            history.add("consumer", process=1, status="lost", group="G")
        elif what == "fault":
            history.fault("stall", "client-slave")
        else:
            history.start("master")
        return history

    assert_vacuous(RoleReadFailover, then(35_000))
    assert_broken(RoleReadFailover, then(35_001), "for 35001 ms after the master's death")


def test_a_leaving_consumer_drops_only_its_own_claims() -> None:
    def gone(process: int) -> Story:
        return dead().add("consumer", process=process, status="lost", group="G").after(99_000)

    assert_vacuous(RoleReadFailover, gone(1).mark("end"))
    assert_broken(RoleReadFailover, gone(2).mark("end"), "from a slave for 99000 ms")


def test_a_group_without_a_queue_or_never_served_is_not_judged() -> None:
    assert_vacuous(RoleReadFailover, dead(history=consumed().assign(0, status="off")).after(99_000).mark("end"))
    history = Story().config("master", namesrvAddr="n").config("slave", namesrvAddr="n")
    history.add("start", node="names").start("master").start("slave")
    history.register("master").register("slave").come().assign(0)
    assert_vacuous(
        RoleReadFailover,
        dead(history=history.step("topics", "applied").step("groups", "applied")).after(99_000).mark("end"),
    )


@pytest.mark.parametrize("place", ["slave", "client-slave", "names-slave", "names-client", "names", "names-master"])
def test_the_time_counts_from_when_all_is_well(place: str) -> None:
    def mended(ms: float) -> H:
        history = dead().fault("stall", place).after(10_000).fault("stall", place, "off")
        return history.register("slave").after(ms).mark("end")

    assert_vacuous(RoleReadFailover, mended(35_000))
    assert_broken(RoleReadFailover, mended(35_001), "for 35001 ms after")
    assert_vacuous(RoleReadFailover, dead().fault("stall", place).after(99_000).mark("end"))


def test_a_slave_without_a_route_or_the_topic_is_not_judged() -> None:
    def restarted(how: str) -> Story:
        return consumed().crash("slave", how).start("slave").after(100)

    for unable in (
        dead(history=restarted("machine").register("slave")),
        dead(history=restarted("process")),
        dead(history=restarted("process").register("slave", status="failed")),
        dead().crash("slave"),
    ):
        assert_vacuous(RoleReadFailover, unable.after(99_000).mark("end"))
    able = dead(history=restarted("process").register("slave"))
    assert_broken(RoleReadFailover, able.after(35_001).mark("end"), "from a slave for 35001 ms")


@pytest.mark.parametrize("creates", [True, False])
def test_an_unknown_group_may_be_refused_by_a_broker_that_does_not_create_it(creates: bool) -> None:
    refused = dead(history=consumed(autoCreateSubscriptionGroup=creates)).after(5_000).add(
        "fail", node="slave", process=1, group="G", queue="T/0", f="pull", op=99, status="SUBSCRIPTION_GROUP_NOT_EXIST"
    )  # fmt: skip
    if creates:
        assert_broken(RoleReadFailover, refused.after(99_000).mark("end"), "from a slave")
    else:
        assert_vacuous(RoleReadFailover, refused.after(99_000).mark("end"))


def test_a_name_server_that_was_started_anew_has_topics_from_masters_only() -> None:
    def anew(started: float, route: str = "none") -> Story:
        """The name server restarts so long before the master dies; then the slave registers."""
        history = consumed().after(1_000).crash("names").add("start", node="names")
        if started:
            history = history.register("slave").register("master").after(started)
        history = dead(history=history).after(100)
        history.register("slave").add("route", process=1, group="G", status=route, detail="{}")
        return history.after(99_000)

    assert_vacuous(RoleReadFailover, anew(0).mark("end"))
    assert_broken(RoleReadFailover, anew(5_000).mark("end"), "from a slave")
    forgotten = dead().after(100).crash("slave").start("slave").register("slave")
    assert_broken(RoleReadFailover, forgotten.after(99_000).mark("end"), "from a slave")
    forgotten = dead().after(100).crash("slave").start("slave").register("slave").add(
        "route", process=1, group="G", status="none", detail="{}"
    )  # fmt: skip
    assert_vacuous(RoleReadFailover, forgotten.after(99_000).mark("end"))


@pytest.mark.parametrize("registers_first", [True, False])
def test_a_slave_may_have_been_out_of_sight_when_its_master_died(registers_first: bool) -> None:
    history = consumed().after(1_000).crash("slave").start("slave")
    history = dead(history=history.register("slave").after(1_000) if registers_first else history)
    history = history.after(1_000).register("slave").add("route", process=1, group="G", status="none", detail="{}")
    history = history.after(99_000).mark("end")
    if registers_first:
        assert_broken(RoleReadFailover, history, "from a slave")
    else:
        assert_vacuous(RoleReadFailover, history)


def test_a_slave_that_synced_before_the_group_started_is_not_judged() -> None:
    history = Story().config("master", namesrvAddr="n").config("slave", namesrvAddr="n")
    history.add("start", node="names").start("master").start("slave")
    history.register("master").register("slave").step("topics", "applied").step("groups", "applied").come().assign(0)
    assert_vacuous(RoleReadFailover, dead(history=history.after(1).serve("master")).after(99_000).mark("end"))


def test_a_slave_of_5_that_may_refuse_is_not_judged() -> None:
    assert_vacuous(RoleReadFailover, dead(history=consumed(rocketmqVersion="5.5.0")).after(99_000).mark("end"))
    on = consumed(rocketmqVersion="5.5.0", slaveReadEnable=True)
    assert_broken(RoleReadFailover, dead(history=on).after(35_001).mark("end"), "from a slave")


def back(broker: int = 0) -> Story:
    """The master returns while a slave serves, which last suggested ``broker``, and registers after a second."""
    history = dead().after(30_000).serve("slave", broker).after(30_000).start("master")
    return history.after(1_000).register("master")


def test_the_master_serves_again_in_time() -> None:
    assert_holds(RoleReadFailover, back().after(65_000).serve("master"))
    late = "group G got no answer for T/0 from the master for 65001 ms after its return; 65000 ms are enough"
    assert_broken(RoleReadFailover, back().after(65_001).serve("master"), late)
    assert_broken(RoleReadFailover, back().after(65_001).mark("end"), late)
    assert_broken(RoleReadFailover, back().after(65_001).crash("master"), late)


def test_a_consumer_stays_at_a_suggested_slave() -> None:
    assert_holds(RoleReadFailover, back(1).after(99_000).mark("end"))
    freed = back(1).after(50_000).serve("slave", 0)
    assert_holds(RoleReadFailover, freed.after(65_000).mark("end"))
    freed = back(1).after(50_000).serve("slave", 0)
    assert_broken(RoleReadFailover, freed.after(65_001).mark("end"), "from the master for 65001 ms")


@pytest.mark.parametrize(("fixed", "owed"), [(None, True), (0, True), (1, False)])
def test_the_return_is_judged_without_a_fixed_slave(fixed: int | None, owed: bool) -> None:
    history = Story().config("master", namesrvAddr="n").config("slave", namesrvAddr="n")
    history.add("start", node="names").start("master").start("slave")
    history.register("master").register("slave").come(fixed=fixed)
    history = (
        history.assign(0).after(1_000).serve("master").after(1_000).step("topics", "applied").step("groups", "applied")
    )
    # The slave always suggests the master; a consumer with a fixed broker ignores it.
    history = dead(history=history).after(30_000).serve("slave", 0).after(30_000).start("master")
    stays = history.after(1_000).register("master").after(65_001).mark("end")
    if owed:
        assert_broken(RoleReadFailover, stays, "from the master for 65001 ms")
    else:
        assert_holds(RoleReadFailover, stays)


def test_a_consumer_that_retakes_a_queue_remembers_the_suggestion() -> None:
    again = back(1).assign(0, status="off").assign(0)
    assert_holds(RoleReadFailover, again.after(99_000).mark("end"))


def test_the_deadline_starts_at_the_takeover_of_a_queue() -> None:
    """The slave suggested itself to the former holder."""

    def handed_over(ms: float) -> H:
        history = back(1).after(60_000).add("assign", process=2, status="on", group="G", queue="T/0", value=0)
        return history.after(1).assign(0, status="off").after(ms - 1).mark("end")

    assert_holds(RoleReadFailover, handed_over(65_000))
    assert_broken(RoleReadFailover, handed_over(65_001), "from the master for 65001 ms")


def test_a_consumer_heeds_an_answer_that_comes_after_it_gave_the_queue_up() -> None:
    def called_back(ms: float) -> Story:
        sent_away = back(0).assign(0, status="off").serve("master", 1).assign(0)
        return sent_away.after(60_000).serve("slave", 0).after(ms).serve("master", 0)

    assert_holds(RoleReadFailover, called_back(65_000))
    assert_broken(RoleReadFailover, called_back(65_001), "from the master for 65001 ms")


@pytest.mark.parametrize("place", ["master", "client-master", "slave", "client-slave", "names-client", "names"])
def test_the_way_back_counts_from_when_all_is_well(place: str) -> None:
    def mended(ms: float) -> H:
        history = back().fault("stall", place).after(10_000).fault("stall", place, "off")
        return history.register("master").after(ms).mark("end")

    assert_holds(RoleReadFailover, mended(65_000))
    assert_broken(RoleReadFailover, mended(65_001), "from the master for 65001 ms")


@pytest.mark.parametrize(("how", "late"), [("process", True), ("machine", False)])
def test_a_pull_waits_for_a_slave_whose_machine_lost_power(how: str, late: bool) -> None:
    history = back().after(10_000).crash("slave", how).after(65_000)
    (assert_broken if late else assert_holds)(RoleReadFailover, history.serve("master"), *["from the master"] * late)


def test_after_a_second_loss_the_slaves_must_serve() -> None:
    again = back().after(10_000).crash("master")
    assert_broken(RoleReadFailover, again.after(35_001).mark("end"), "from a slave for 35001 ms")


@pytest.mark.parametrize("law", [RoleReadFailover, ModeIsolation])
def test_a_pair_without_names_or_alone_is_no_case(law: type[Law]) -> None:
    history = H().config("master").config("slave").start("master").start("slave")
    assert_not_applicable(law, history)
