"""What goes on when a master is lost: other broker names do not notice."""

from __future__ import annotations

import pytest
from one_group import Group

from pairproof.harness.judging.verdict import Verdict
from pairproof.harness.rocketmq.laws.roles.mode_isolation import ModeIsolation
from pairproof.harness.rocketmq.testing import H
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous, judged

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


def two(fixed: int | None = None, **settings: object) -> Names:
    """Both names were used already; g reads t/0 of both."""
    history = Names()
    history.end["other"] = 0
    for node in ("master", "slave", "other"):
        role = {"brokerRole": "ASYNC_MASTER"} if node == "other" else {}
        history.config(node, namesrvAddr="n", **role, **settings)
    for node in ("master", "slave", "other"):
        named(history.start(node)).registers(node)
    history.comes(fixed).after(1_000)
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


def returned(how: str = "process", hi: int = 300, fixed: int | None = None) -> Names:
    """The other name's master goes down with two messages unread, and returns with its log ending at ``hi``."""
    history = two(fixed).stores("m1", offset=1).stores("m2", offset=2)
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


def test_who_is_to_read_from_a_slave_owes_the_master_nothing() -> None:
    """A slave of 5.x refuses reads, and the group asks it nevertheless."""
    assert_vacuous(ModeIsolation, named(returned(fixed=1), 90_001).mark("end"))
    assert_broken(ModeIsolation, named(returned(fixed=0), 90_001).mark("end"), "did not ask for t/0 of other")


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
    # Its answer was on its way while the master lost it; what was sent to the present one is still there.
    late = named(two().begin("m1").crash("other", "machine").start("other", 100)).finish("m1", offset=1)
    assert_vacuous(ModeIsolation, named(named(late).registers("other"), 99_000).mark("end"))
    sent = named(named(two().crash("other", "machine").start("other", 100)).stores("m1", offset=1))
    assert_broken(ModeIsolation, named(sent.registers("other"), 99_000).mark("end"), "up to 2 for 99000 ms")


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
