"""What goes on when a master is lost: its consumers read on from a slave, and other broker names do not notice."""

from __future__ import annotations

import pytest

from pairproof.harness.law import Law
from pairproof.harness.rocketmq.laws.mode_isolation import ModeIsolation
from pairproof.harness.rocketmq.laws.role_read_failover import RoleReadFailover
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged
from pairproof.harness.verdict import Verdict


class Group(H):
    """Process 1 consumes t/0 for group g."""

    def serves(self, node: str, broker: int = 0, following: int = 1, group: str | None = "g") -> Group:
        self.add(
            "ok", node=node, process=1, f="pull", status="PUT_OK", queue="t/0", group=group, broker=broker,
            queue_offset=following,
        )  # fmt: skip
        return self

    def comes(self) -> Group:
        self.add("consumer", process=1, status="on", group="g", f="clustering")
        return self.takes("on")

    def takes(self, status: str) -> Group:
        self.add("assign", process=1, status=status, group="g", queue="t/0", value=0)
        return self

    def registers(self, node: str, status: str = "ok") -> Group:
        self.add("register", node=node, status=status)
        return self

    def syncs(self, *tables: str, node: str = "slave") -> Group:
        for table in tables or ("topics", "groups"):
            self.add("sync", node=node, f=table, status="asked").after(1)
            self.add("sync", node=node, f=table, status="applied")
        return self


def later(history: H, ms: float) -> Group:
    assert isinstance(history, Group)
    history.after(ms)
    return history


def consumed(**settings: object) -> Group:
    """A pair that is known to its name server; t/0 was consumed from the master, and the slave has its tables."""
    return served(**settings).syncs()


def served(**settings: object) -> Group:
    """The same before the slave has its tables."""
    history = Group().config("master", namesrvAddr="n", **settings).config("slave", namesrvAddr="n", **settings)
    assert isinstance(history, Group)
    history.add("start", node="names").start("master").start("slave")
    history.registers("master").registers("slave").comes()
    return later(later(history, 1_000).serves("master"), 1_000)


# role-read-failover


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


# mode-isolation: the pair, and another broker name's master ``other``.


class Names(Group):
    """Two broker names, and a producer at each: process 5 at the pair's, 6 at the other's."""

    def begin(self, message: str, node: str = "other", detail: str | None = None) -> Names:
        self.ops += 1
        self.began[message] = (self.ops, 1)
        self.add(
            "invoke", node=node, process=5 + (node == "other"), op=self.ops, f="send", message=message, queue="t/0",
            value=1, detail=detail,
        )  # fmt: skip
        return self

    def finish(
        self, message: str, node: str = "other", phase: str = "ok", status: str = "PUT_OK", offset: int = 0
    ) -> Names:
        op, lo = self.began[message][0], 100 * offset
        self.add(
            phase, node=node, process=5 + (node == "other"), op=op, f="send", message=message, queue="t/0",
            status=status, queue_offset=offset, lo=lo, hi=lo + 100,
        )  # fmt: skip
        return self

    def stores(self, message: str, node: str = "other", offset: int = 0, detail: str | None = None) -> Names:
        return self.begin(message, node, detail).finish(message, node, offset=offset)


def named(history: H, ms: float = 0) -> Names:
    assert isinstance(history, Names)
    history.after(ms)
    return history


def two(**settings: object) -> Names:
    """Both names were used already; g reads t/0 of both."""
    history = Names()
    history.end["other"] = 0
    for node in ("master", "slave", "other"):
        role = {"brokerRole": "ASYNC_MASTER"} if node == "other" else {}
        history.config(node, namesrvAddr="n", **role, **settings)
    for node in ("master", "slave", "other"):
        named(history.start(node)).registers(node)
    history.comes().after(1_000)
    for node in ("master", "other"):
        history.stores(f"first-{node}", node).serves(node, following=1)
    return named(history, 1_000)


LOST = ["crash", "pause", "fault", "link"]


def lose(history: Names, name: str, how: str) -> Names:
    if how == "crash":
        return named(history.crash(name))
    if how == "pause":
        return named(history.add("pause", node=name))
    place = name if how == "fault" else f"client-{name}"
    return named(history.add("fault", op=7, f="stall", status="on", **{"node" if how == "fault" else "link": place}))


@pytest.mark.parametrize("how", LOST)
@pytest.mark.parametrize(("lost", "node"), [("master", "other"), ("other", "master")])
def test_sends_to_the_other_name_go_on(lost: str, node: str, how: str) -> None:
    def sent(ms: float, **end: str) -> Names:
        return named(lose(two(), lost, how).begin("m", node), ms).finish("m", node, offset=1, **end)

    saying = "only another broker name was lost"
    assert_holds(ModeIsolation, sent(6_000))
    assert_broken(ModeIsolation, sent(6_001), f"m got PUT_OK from {node} after 6001 ms; {saying}")
    assert_broken(ModeIsolation, sent(5, phase="fail", status="refused"), f"m got refused from {node}")
    assert_broken(ModeIsolation, sent(5, phase="fail", status="TOPIC_NOT_EXIST"), "m got TOPIC_NOT_EXIST")
    assert_broken(ModeIsolation, sent(6_001, phase="info", status="timeout"), f"m got no answer from {node}")
    assert_broken(ModeIsolation, named(lose(two(), lost, how).begin("m", node), 6_001).mark("end"), "m got no answer")
    assert_vacuous(ModeIsolation, sent(6_000, phase="info", status="timeout"))
    assert_vacuous(ModeIsolation, sent(5, phase="fail", status="MESSAGE_ILLEGAL"))


def test_while_nobody_is_lost_other_laws_judge() -> None:
    assert_vacuous(ModeIsolation, named(two().begin("m"), 60_000).finish("m"))
    assert_vacuous(ModeIsolation, named(lose(two(), "slave", "crash").begin("m"), 60_000).finish("m"))


@pytest.mark.parametrize("place", ["other", "client-other", "names", "names-other", "names-client"])
def test_a_name_that_was_touched_itself_owes_nothing(place: str) -> None:
    def touched(history: Names) -> Names:
        key = "node" if place in ("other", "names") else "link"
        return named(history.add("fault", op=9, f="latency", status="on", **{key: place}))

    assert_vacuous(ModeIsolation, named(touched(lose(two(), "master", "crash")).begin("m"), 9_000).finish("m"))
    assert_vacuous(ModeIsolation, named(touched(lose(two(), "master", "crash").begin("m")), 9_000).finish("m"))
    over = touched(two()).add("fault", op=9, f="latency", status="off", node=place)
    assert_vacuous(ModeIsolation, named(lose(named(over), "master", "crash").begin("m"), 9_000).finish("m"))


def test_where_sends_wait_for_each_other_nobody_knows() -> None:
    old = lose(two(rocketmqVersion="4.9.2"), "other", "crash")
    assert_vacuous(ModeIsolation, named(old.begin("m", "master"), 9_000).finish("m", "master", offset=1))


# Its deliveries.


def asked(ms: float, how: str = "crash", following: int = 2, detail: str | None = None) -> Names:
    """A message is stored at the other name while the pair is lost, and g goes on to ``following`` after ``ms``."""
    history = lose(two(), "master", how).stores("m", offset=1, detail=detail)
    return named(named(history, ms).serves("other", following=following))


@pytest.mark.parametrize("how", LOST)
def test_deliveries_from_the_other_name_go_on(how: str) -> None:
    assert_holds(ModeIsolation, asked(10_000, how))
    assert_broken(
        ModeIsolation, asked(10_001, how), "group g asked for offset 1 of t/0 at other after 10001 ms; only", 1
    )
    stuck = named(lose(two(), "master", how).stores("m", offset=1), 10_001)
    assert_broken(
        ModeIsolation, named(stuck.mark("end")), "group g has not asked for offset 1 of t/0 at other for 10001"
    )


def test_a_consumer_may_hear_of_a_message_before_its_sender_does() -> None:
    history = lose(two(), "master", "crash").begin("m").serves("other", following=2)
    assert assert_holds(ModeIsolation, named(history).finish("m", offset=1)).judged == 2


def verdict_without_sends(history: H) -> Verdict:
    """The send itself was judged, and held."""
    found = judged(ModeIsolation, history.events)
    return Verdict.VACUOUS if found.judged == 1 and not found.broken else found.verdict


def test_an_answer_that_does_not_reach_the_message_is_none() -> None:
    behind = named(asked(5_000, following=1), 6_000).mark("end")
    assert_broken(ModeIsolation, behind, "has not asked for offset 1 of t/0 at other for 11000 ms")


@pytest.mark.parametrize("what", ["share", "leave", "fault", "return"])
def test_who_was_disturbed_meanwhile_is_not_judged(what: str) -> None:
    history = named(lose(two(), "master", "crash").stores("m", offset=1), 1_000)
    if what == "share":
        history.takes("on")
    elif what == "leave":
        history.add("consumer", process=1, status="off", group="g")
    elif what == "fault":
        history.add("fault", op=9, f="latency", status="on", link="client-other")
    else:
        history.start("master")
    assert verdict_without_sends(named(history, 60_000).mark("end")) is Verdict.VACUOUS


def test_a_queue_that_nobody_holds_owes_nothing() -> None:
    def held(*after: str) -> Names:
        history = two()
        for status in ("on", *after):
            if status == "lost":
                history.add("consumer", process=1, status="lost", group="g")
                # Another one of the group came before.
                history.add("consumer", process=2, status="on", group="g", f="clustering")
            else:
                history.add("assign", process=1, status=status, group="g", queue="t/0", node="other", value=0)
        history = lose(named(history, 1_000), "master", "crash").stores("m", offset=1)
        return named(named(history, 60_000).mark("end"))

    assert_broken(ModeIsolation, held(), "group g has not asked for offset 1 of t/0 at other")
    assert_broken(ModeIsolation, held("off", "on"), "group g has not asked for offset 1 of t/0 at other")
    for after in ("off", "lost"):
        assert verdict_without_sends(held(after)) is Verdict.VACUOUS


def test_who_never_read_there_and_what_goes_elsewhere_first_is_not_judged() -> None:
    assert verdict_without_sends(named(asked(20_000, detail='{"level": 3}'))) is Verdict.VACUOUS
    plain = Names()
    plain.end["other"] = 0
    for node in ("master", "other"):
        plain.config(node, namesrvAddr="n", brokerRole="ASYNC_MASTER")
    named(plain.start("master").start("other")).comes().after(1_000)
    history = lose(named(plain).stores("first"), "master", "crash").stores("m", offset=1)
    assert verdict_without_sends(named(history, 60_000).mark("end")) is Verdict.VACUOUS


def test_who_reads_from_a_slave_waits_for_the_slave() -> None:
    for reads in ({"node": "slave"}, {"node": "master", "broker": 1}):
        history = named(two().serves(**reads))
        history = named(lose(history, "other", "crash").stores("m", "master", offset=1), 60_000)
        assert verdict_without_sends(history.mark("end")) is Verdict.VACUOUS


# Its backlog.


def returned(how: str = "process", hi: int = 300, following: int = 0) -> Names:
    """The other name's master goes down with two messages unread, and returns with its log ending at ``hi``."""
    history = two().stores("m1", offset=1).stores("m2", offset=2)
    history = named(history.crash("other", how), 30_000)
    return named(named(history.start("other", hi), 1_000).registers("other"))


def test_a_backlog_is_asked_for_after_the_return() -> None:
    assert_holds(ModeIsolation, named(named(returned(), 90_000).serves("other", following=3)))
    saying = "group g did not ask for t/0 of other up to 3 for 90001 ms after its return"
    assert_broken(ModeIsolation, named(named(returned(), 90_001).serves("other", following=3)), saying)
    assert_broken(ModeIsolation, named(named(returned(), 90_001).serves("other", following=2)).mark("end"), saying)
    assert_broken(ModeIsolation, named(returned(), 90_001).crash("other"), saying)
    assert_vacuous(ModeIsolation, named(returned(), 90_000).mark("end"))


def test_who_was_sent_to_a_slave_has_its_time_from_when_it_is_back() -> None:
    away = named(named(returned(), 60_000).serves("other", broker=1), 60_000)
    assert_vacuous(ModeIsolation, away.mark("end"))
    back = named(named(returned(), 60_000).serves("other", broker=1), 60_000).serves("other")
    assert_vacuous(ModeIsolation, named(back, 90_000).mark("end"))
    back = named(named(returned(), 60_000).serves("other", broker=1), 60_000).serves("other")
    assert_broken(ModeIsolation, named(back, 90_001).mark("end"), "for 90001 ms")


def test_only_a_group_s_own_pulls_ask() -> None:
    plain = named(returned().serves("other", following=3, group=None), 90_001)
    assert_broken(ModeIsolation, named(plain.mark("end")), "up to 3 for 90001 ms")
    commit = returned().add("ok", node="other", process=1, f="commit", queue="t/0", group="g", queue_offset=3)
    assert_broken(ModeIsolation, named(commit, 90_001).mark("end"), "up to 3 for 90001 ms")


def test_another_master_s_loss_does_not_excuse_the_backlog() -> None:
    assert_broken(ModeIsolation, named(named(returned(), 10_000).crash("master"), 80_001).mark("end"), "for 90001 ms")


def test_what_was_lost_is_no_backlog() -> None:
    assert_broken(ModeIsolation, named(returned("machine", hi=200), 90_001).mark("end"), "up to 2 for 90001 ms")
    assert_vacuous(ModeIsolation, named(returned("machine", hi=100), 99_000).mark("end"))
    wiped = two().stores("m1", offset=1).wipe("other").start("other", 300)
    assert_vacuous(ModeIsolation, named(named(wiped).registers("other"), 99_000).mark("end"))


def test_the_return_counts_from_when_all_is_well() -> None:
    def mended(ms: float) -> H:
        history = named(returned().add("fault", op=9, f="stall", status="on", link="client-other"), 10_000)
        return named(history.add("fault", op=9, f="stall", status="off", link="client-other"), ms).mark("end")

    assert_vacuous(ModeIsolation, mended(90_000))
    assert_broken(ModeIsolation, mended(90_001), "for 90001 ms")
    struck = returned().add("fault", op=9, f="stall", status="on", link="client-other")
    assert_vacuous(ModeIsolation, named(struck, 99_000).mark("end"))


def test_who_is_gone_or_goes_again_owes_no_backlog() -> None:
    gone = returned().add("consumer", process=1, status="lost", group="g")
    assert_vacuous(ModeIsolation, named(gone, 99_000).mark("end"))
    assert_vacuous(ModeIsolation, named(named(returned(), 10_000).crash("other"), 99_000).mark("end"))
    unknown = two().stores("m1", offset=1).crash("other").start("other", 300)
    assert_vacuous(ModeIsolation, named(unknown, 99_000).mark("end"))
