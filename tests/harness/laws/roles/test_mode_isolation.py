"""Tests of ``mode-isolation``."""

from __future__ import annotations

import pytest
from histories import H, Story, Verdict, assert_broken, assert_holds, assert_vacuous, judged

from pairproof.harness.rocketmq.laws.roles.mode_isolation import ModeIsolation


class Names(Story):
    """Two broker names, and a producer at each: process 5 at the pair's, 6 at the other's."""

    def begin(self, message: str, node: str = "other", detail: str | None = None) -> Names:
        self.ops += 1
        self.began[message] = (self.ops, 1)
        self.add(
            "invoke", node=node, process=5 + (node == "other"), op=self.ops, f="send", message=message, queue="T/0",
            value=1, detail=detail,
        )  # fmt: skip
        return self

    def finish(
        self, message: str, node: str = "other", phase: str = "ok", status: str = "PUT_OK", offset: int = 0
    ) -> Names:
        op, lo = self.began[message][0], 100 * offset
        self.add(
            phase, node=node, process=5 + (node == "other"), op=op, f="send", message=message, queue="T/0",
            status=status, queue_offset=offset, lo=lo, hi=lo + 100,
        )  # fmt: skip
        return self

    def stores(self, message: str, node: str = "other", offset: int = 0, detail: str | None = None) -> Names:
        return self.begin(message, node, detail).finish(message, node, offset=offset)


def two(fixed: int | None = None, **settings: object) -> Names:
    """Both names were used already; g reads T/0 of both."""
    history = Names()
    history.end["other"] = 0
    for node in ("master", "slave", "other"):
        role = {"brokerRole": "ASYNC_MASTER"} if node == "other" else {}
        history.config(node, namesrvAddr="n", **role, **settings)
    for node in ("master", "slave", "other"):
        history.start(node).register(node)
    history.come(fixed=fixed).assign(0).after(1_000)
    for node in ("master", "other"):
        history.stores(f"first-{node}", node).serve(node, following=1)
    return history.after(1_000)


LOST = ["crash", "pause", "fault", "link"]


def lose(history: Names, name: str, how: str) -> Names:
    if how == "crash":
        return history.crash(name)
    if how == "pause":
        return history.add("pause", node=name)
    place = name if how == "fault" else f"client-{name}"
    return history.add("fault", op=7, f="stall", status="on", **{"node" if how == "fault" else "link": place})


@pytest.mark.parametrize("how", LOST)
@pytest.mark.parametrize(("lost", "node"), [("master", "other"), ("other", "master")])
def test_sends_to_the_other_name_go_on(lost: str, node: str, how: str) -> None:
    def sent(ms: float, creates: bool = True, **end: str) -> Names:
        history = lose(two(autoCreateTopicEnable=creates), lost, how).begin("m", node).after(ms)
        return history.finish("m", node, offset=1, **end)

    saying = "only another broker name was lost"
    assert_holds(ModeIsolation, sent(6_000))
    assert_broken(ModeIsolation, sent(6_001), f"m got PUT_OK from {node} after 6001 ms; {saying}")
    assert_broken(ModeIsolation, sent(5, phase="fail", status="refused"), f"m got refused from {node}")
    assert_broken(ModeIsolation, sent(5, phase="fail", status="TOPIC_NOT_EXIST"), "m got TOPIC_NOT_EXIST")
    assert_vacuous(ModeIsolation, sent(5, creates=False, phase="fail", status="TOPIC_NOT_EXIST"))
    assert_broken(ModeIsolation, sent(6_001, phase="info", status="timeout"), f"m got no answer from {node}")
    assert_broken(ModeIsolation, lose(two(), lost, how).begin("m", node).after(6_001).mark("end"), "m got no answer")
    assert_vacuous(ModeIsolation, sent(6_000, phase="info", status="timeout"))
    for status in ("MESSAGE_ILLEGAL", "NO_PERMISSION"):
        assert_vacuous(ModeIsolation, sent(5, phase="fail", status=status))


def test_without_a_lost_name_nothing_is_judged() -> None:
    assert_vacuous(ModeIsolation, two().begin("m").after(60_000).finish("m"))
    assert_vacuous(ModeIsolation, lose(two(), "slave", "crash").begin("m").after(60_000).finish("m"))


@pytest.mark.parametrize("place", ["other", "client-other", "names", "names-other", "names-client"])
def test_a_disturbed_name_is_not_judged(place: str) -> None:
    def touched(history: Names) -> Names:
        key = "node" if place in ("other", "names") else "link"
        return history.add("fault", op=9, f="latency", status="on", **{key: place})

    assert_vacuous(ModeIsolation, touched(lose(two(), "master", "crash")).begin("m").after(9_000).finish("m"))
    assert_vacuous(ModeIsolation, touched(lose(two(), "master", "crash").begin("m")).after(9_000).finish("m"))
    over = touched(two()).add("fault", op=9, f="latency", status="off", node=place)
    assert_vacuous(ModeIsolation, lose(over, "master", "crash").begin("m").after(9_000).finish("m"))


def test_sends_that_wait_for_each_other_are_not_judged() -> None:
    old = lose(two(rocketmqVersion="4.9.2"), "other", "crash")
    assert_vacuous(ModeIsolation, old.begin("m", "master").after(9_000).finish("m", "master", offset=1))


def asked(ms: float, how: str = "crash", following: int = 2, detail: str | None = None) -> Names:
    """A message is stored at the other name while the pair is lost, and g continues at ``following`` after ``ms``."""
    history = lose(two(), "master", how).stores("m", offset=1, detail=detail)
    return history.after(ms).serve("other", following=following)


@pytest.mark.parametrize("how", LOST)
def test_deliveries_from_the_other_name_go_on(how: str) -> None:
    assert_holds(ModeIsolation, asked(10_000, how))
    assert_broken(
        ModeIsolation, asked(10_001, how), "group G asked for offset 1 of T/0 at other after 10001 ms; only", 1
    )
    stuck = lose(two(), "master", how).stores("m", offset=1).after(10_001)
    assert_broken(ModeIsolation, stuck.mark("end"), "group G has not asked for offset 1 of T/0 at other for 10001")


def test_a_consumer_may_hear_of_a_message_before_its_sender_does() -> None:
    history = lose(two(), "master", "crash").begin("m").serve("other", following=2)
    assert assert_holds(ModeIsolation, history.finish("m", offset=1)).judged == 2


def verdict_without_sends(history: H) -> Verdict:
    """The send itself was judged, and is correct."""
    found = judged(ModeIsolation, history.events)
    return Verdict.VACUOUS if found.judged == 1 and not found.broken else found.verdict


def test_an_answer_that_does_not_reach_the_message_is_none() -> None:
    behind = asked(5_000, following=1).after(6_000).mark("end")
    assert_broken(ModeIsolation, behind, "has not asked for offset 1 of T/0 at other for 11000 ms")


@pytest.mark.parametrize("what", ["share", "leave", "fault", "return"])
def test_a_group_that_changed_is_not_judged(what: str) -> None:
    history = lose(two(), "master", "crash").stores("m", offset=1).after(1_000)
    if what == "share":
        history.assign(0)
    elif what == "leave":
        history.add("consumer", process=1, status="off", group="G")
    elif what == "fault":
        history.add("fault", op=9, f="latency", status="on", link="client-other")
    else:
        history.start("master")
    assert verdict_without_sends(history.after(60_000).mark("end")) is Verdict.VACUOUS


def test_a_queue_without_a_holder_is_not_judged() -> None:
    def held(*after: str) -> Names:
        history = two()
        for status in ("on", *after):
            if status == "lost":
                history.add("consumer", process=1, status="lost", group="G")
                # Another consumer of the group started before.
                history.add("consumer", process=2, status="on", group="G", f="clustering")
            else:
                history.add("assign", process=1, status=status, group="G", queue="T/0", node="other", value=0)
        history = lose(history.after(1_000), "master", "crash").stores("m", offset=1)
        return history.after(60_000).mark("end")

    assert_broken(ModeIsolation, held(), "group G has not asked for offset 1 of T/0 at other")
    assert_broken(ModeIsolation, held("off", "on"), "group G has not asked for offset 1 of T/0 at other")
    for after in ("off", "lost"):
        assert verdict_without_sends(held(after)) is Verdict.VACUOUS


def test_new_readers_and_messages_stored_elsewhere_first_are_not_judged() -> None:
    assert verdict_without_sends(asked(20_000, detail='{"level": 3}')) is Verdict.VACUOUS
    plain = Names()
    plain.end["other"] = 0
    for node in ("master", "other"):
        plain.config(node, namesrvAddr="n", brokerRole="ASYNC_MASTER")
    plain.start("master").start("other").come().assign(0).after(1_000)
    history = lose(plain.stores("first"), "master", "crash").stores("m", offset=1)
    assert verdict_without_sends(history.after(60_000).mark("end")) is Verdict.VACUOUS


def test_a_reader_of_a_slave_waits_for_the_slave() -> None:
    for reads in ({"node": "slave"}, {"node": "master", "broker": 1}):
        history = two().serve(**reads)
        history = lose(history, "other", "crash").stores("m", "master", offset=1).after(60_000)
        assert verdict_without_sends(history.mark("end")) is Verdict.VACUOUS


def returned(how: str = "process", hi: int = 300, fixed: int | None = None) -> Names:
    """The other name's master goes down with two messages unread, and returns with its log ending at ``hi``."""
    history = two(fixed).stores("m1", offset=1).stores("m2", offset=2)
    history = history.crash("other", how).after(30_000)
    return history.start("other", hi).after(1_000).register("other")


def test_a_backlog_is_asked_for_after_the_return() -> None:
    assert_holds(ModeIsolation, returned().after(90_000).serve("other", following=3))
    saying = "group G did not ask for T/0 of other up to 3 for 90001 ms after its return"
    assert_broken(ModeIsolation, returned().after(90_001).serve("other", following=3), saying)
    assert_broken(ModeIsolation, returned().after(90_001).serve("other", following=2).mark("end"), saying)
    assert_broken(ModeIsolation, returned().after(90_001).crash("other"), saying)
    assert_vacuous(ModeIsolation, returned().after(90_000).mark("end"))


def test_the_deadline_starts_when_the_reader_returns_from_a_slave() -> None:
    away = returned().after(60_000).serve("other", broker=1).after(60_000)
    assert_vacuous(ModeIsolation, away.mark("end"))
    back = returned().after(60_000).serve("other", broker=1).after(60_000).serve("other")
    assert_vacuous(ModeIsolation, back.after(90_000).mark("end"))
    back = returned().after(60_000).serve("other", broker=1).after(60_000).serve("other")
    assert_broken(ModeIsolation, back.after(90_001).mark("end"), "for 90001 ms")


def test_a_group_with_a_fixed_slave_is_not_judged() -> None:
    """A slave of 5.x refuses reads, but the group asks it."""
    assert_vacuous(ModeIsolation, returned(fixed=1).after(90_001).mark("end"))
    assert_broken(ModeIsolation, returned(fixed=0).after(90_001).mark("end"), "did not ask for T/0 of other")


def test_only_a_group_s_own_pulls_ask() -> None:
    plain = returned().serve("other", following=3, group=None).after(90_001)
    assert_broken(ModeIsolation, plain.mark("end"), "up to 3 for 90001 ms")
    commit = returned().add("ok", node="other", process=1, f="commit", queue="T/0", group="G", queue_offset=3)
    assert_broken(ModeIsolation, commit.after(90_001).mark("end"), "up to 3 for 90001 ms")


def test_another_master_s_loss_does_not_excuse_the_backlog() -> None:
    assert_broken(ModeIsolation, returned().after(10_000).crash("master").after(80_001).mark("end"), "for 90001 ms")


def test_lost_messages_are_no_backlog() -> None:
    assert_broken(ModeIsolation, returned("machine", hi=200).after(90_001).mark("end"), "up to 2 for 90001 ms")
    assert_vacuous(ModeIsolation, returned("machine", hi=100).after(99_000).mark("end"))
    wiped = two().stores("m1", offset=1).wipe("other").start("other", 300)
    assert_vacuous(ModeIsolation, wiped.register("other").after(99_000).mark("end"))
    # The master lost it with the answer in flight; messages of the present incarnation are still there.
    late = two().begin("m1").crash("other", "machine").start("other", 100).finish("m1", offset=1)
    assert_vacuous(ModeIsolation, late.register("other").after(99_000).mark("end"))
    sent = two().crash("other", "machine").start("other", 100).stores("m1", offset=1)
    assert_broken(ModeIsolation, sent.register("other").after(99_000).mark("end"), "up to 2 for 99000 ms")


def test_the_return_counts_from_when_all_is_well() -> None:
    def mended(ms: float) -> H:
        history = returned().add("fault", op=9, f="stall", status="on", link="client-other").after(10_000)
        return history.add("fault", op=9, f="stall", status="off", link="client-other").after(ms).mark("end")

    assert_vacuous(ModeIsolation, mended(90_000))
    assert_broken(ModeIsolation, mended(90_001), "for 90001 ms")
    struck = returned().add("fault", op=9, f="stall", status="on", link="client-other")
    assert_vacuous(ModeIsolation, struck.after(99_000).mark("end"))


def test_a_group_or_master_that_left_needs_no_backlog() -> None:
    gone = returned().add("consumer", process=1, status="lost", group="G")
    assert_vacuous(ModeIsolation, gone.after(99_000).mark("end"))
    assert_vacuous(ModeIsolation, returned().after(10_000).crash("other").after(99_000).mark("end"))
    unknown = two().stores("m1", offset=1).crash("other").start("other", 300)
    assert_vacuous(ModeIsolation, unknown.after(99_000).mark("end"))
