"""``pull-goes-on`` and ``pull-is-filled``: where answers say to go on, and where they may end."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pairproof.harness.rocketmq.laws.delivery.pull_goes_on import MOVED, NOT_FOUND, RETRY, PullGoesOn
from pairproof.harness.rocketmq.laws.delivery.pull_is_filled import PullIsFilled
from pairproof.harness.rocketmq.testing import SIZE, H
from pairproof.harness.testing import assert_broken, assert_holds, assert_vacuous

Q = "t/1"


def world(java: bool = False, slave: dict[str, object] | None = None, **master: object) -> H:
    history = H().config("master", **master).config("slave", **(slave or {}))
    for node in ("master", "slave"):
        history.add("start", node=node, lo=0, hi=0, f="unknown" if java else "empty")
    return history


def pulled(
    history: H, status: str = "PUT_OK", asked: int = 0, to: int = 0, held: tuple[int, int] = (0, 4),
    got: tuple[int, ...] = (), node: str = "master", f: str = "pull", group: str | None = None, most: int = 0,
    size: int = SIZE, phase: str = "ok", tags: str = "", starts: str = "",
) -> H:  # fmt: skip
    """A pull from ``asked`` on that brings ``got`` and is told to go on at ``to``; the queue's range is ``held``.

    ``starts``: the node that is started while the pull is under way.
    """
    call = {"node": node, "process": 1, "op": 9, "f": f, "queue": Q, "value": asked, "group": group}
    said = {**({"most": most} if most else {}), **({"tags": tags} if tags else {})}
    history.add("invoke", **call, detail=json.dumps(said) if said else None)
    if starts:
        history.add("start", node=starts, lo=0, hi=900, f="abnormal")
    for offset in got:
        history.add(
            "deliver", node=node, process=1, op=9, f=f, message=f"m{offset}", queue=Q, queue_offset=offset,
            lo=offset * size, hi=(offset + 1) * size, digest=5, group=group,
        )  # fmt: skip
    return history.add(phase, **call, status=status, queue_offset=to, lo=held[0], hi=held[1], broker=0)


def listed(history: H, *offsets: int, size: int = SIZE) -> H:
    for offset in offsets:
        history.add(
            "record", node="master", op=7, message=f"m{offset}", queue=Q, queue_offset=offset, lo=offset * size,
            hi=(offset + 1) * size, digest=5,
        )  # fmt: skip
    return history


# pull-goes-on


def test_an_answer_goes_on_behind_what_it_brings() -> None:
    assert assert_holds(PullGoesOn, pulled(world(), got=(0, 1, 2, 3), to=4)).judged == 1
    assert_holds(PullGoesOn, pulled(world(), asked=2, got=(2,), to=3))
    assert_broken(PullGoesOn, pulled(world(), got=(0, 1), to=3), "it brings 0, 1 and goes on at 3")
    assert_broken(PullGoesOn, pulled(world(), got=(0, 2), to=3), "it brings 0, 2 and goes on at 3")
    assert_broken(PullGoesOn, pulled(world(), got=(0, 1, 2), to=2), "it brings 0, 1, 2 and goes on at 2")
    assert_broken(PullGoesOn, pulled(world(), got=(), to=1), "it brings nothing and goes on at 1")
    assert_broken(PullGoesOn, pulled(world(), asked=1, to=1), "it goes on at 1, and would bring the same again")
    assert_broken(PullGoesOn, pulled(world(), asked=4, got=(4,), to=5), "the queue does not hold that offset")


def test_an_answer_by_tags_may_leave_messages_out_and_passes_those_that_it_brings() -> None:
    assert_holds(PullGoesOn, pulled(world(), f="select", got=(1,), to=4))
    assert_holds(PullGoesOn, pulled(world(), RETRY, f="select", asked=1, to=3))
    assert_broken(PullGoesOn, pulled(world(), f="select", got=(1, 3), to=3), "it brings 3, which it does not pass")
    assert_broken(PullGoesOn, pulled(world(), RETRY, f="select", asked=1, to=1), "it goes on at 1, and nothing between")
    assert_broken(PullGoesOn, pulled(world(), RETRY, f="select", to=5), "it goes on at 5, and nothing between")
    assert_broken(PullGoesOn, pulled(world(), RETRY, to=4), "it gives no message, and all tags match")


def test_consumers_may_leave_an_answer_that_is_told_to_go_on() -> None:
    assert_holds(PullGoesOn, pulled(world(), group="G", to=4))
    assert_holds(PullGoesOn, pulled(world(), group="G", got=(0, 1), to=3))
    assert_broken(PullGoesOn, pulled(world(), group="G", got=(0, 2), to=3), "it brings 0, 2 and goes on at 3")
    assert_broken(PullGoesOn, pulled(world(), group="G", got=(0, 1), to=1), "it brings 0, 1 and goes on at 1")
    assert_broken(PullGoesOn, pulled(world(), group="G", to=0), "and would bring the same again")


def test_consumers_that_subscribe_by_tag_leave_out_what_they_do_not_want() -> None:
    def by_tag(*given: str, **more: Any) -> H:
        return pulled(world(), *given, group="G", tags="a || b", **more)

    assert_holds(PullGoesOn, by_tag(got=(1, 3), to=4))
    assert_holds(PullGoesOn, by_tag(RETRY, asked=1, to=3))
    assert_holds(PullGoesOn, by_tag(to=4))
    assert_broken(PullGoesOn, by_tag(got=(1, 3), to=3), "it brings 3, which it does not pass")
    assert_broken(PullGoesOn, by_tag(RETRY, asked=1, to=1), "it goes on at 1, and nothing between matches")


def test_where_a_queue_ends_the_reader_stays() -> None:
    assert_holds(PullGoesOn, pulled(world(), NOT_FOUND, asked=4, to=4))
    assert_holds(PullGoesOn, pulled(world(), NOT_FOUND, held=(0, 0)))
    assert_broken(PullGoesOn, pulled(world(), NOT_FOUND, asked=4, to=5), "it goes on at 5")
    assert_broken(PullGoesOn, pulled(world(), NOT_FOUND, asked=3, to=3), "the queue has messages from there on")
    assert_broken(PullGoesOn, pulled(world(), NOT_FOUND, asked=5, to=5), "the queue does not end there")


def test_a_reader_outside_the_queue_is_sent_to_the_nearer_end() -> None:
    assert_holds(PullGoesOn, pulled(world(), MOVED, asked=1, to=2, held=(2, 4)))
    assert_holds(PullGoesOn, pulled(world(), MOVED, asked=9, to=4))
    assert_holds(PullGoesOn, pulled(world(), MOVED, asked=9, held=(0, 0)))
    assert_broken(PullGoesOn, pulled(world(), MOVED, asked=1, to=4, held=(2, 4)), "it goes on at 4, not at 2")
    assert_broken(PullGoesOn, pulled(world(), MOVED, asked=9, to=0), "it goes on at 0, not at 4")
    assert_broken(PullGoesOn, pulled(world(), MOVED, asked=4, to=4), "the queue holds that offset, or ends there")


def test_older_versions_send_who_is_ahead_to_a_first_message_at_0_and_to_no_other() -> None:
    old = "4.9.2"
    assert_holds(PullGoesOn, pulled(world(rocketmqVersion=old), MOVED, asked=9, to=0))
    assert_holds(PullGoesOn, pulled(world(rocketmqVersion=old), MOVED, asked=9, to=4))
    wrong = pulled(world(rocketmqVersion=old), MOVED, asked=9, to=2, held=(2, 4))
    assert_broken(PullGoesOn, wrong, "it goes on at 2, not at 4")


def test_a_slave_leaves_readers_where_they_are_unless_it_checks_offsets() -> None:
    assert_holds(PullGoesOn, pulled(world(), RETRY, asked=9, to=9, node="slave"))
    assert_holds(PullGoesOn, pulled(world(), RETRY, asked=1, to=1, held=(2, 4), node="slave"))
    assert_broken(PullGoesOn, pulled(world(), RETRY, asked=9, to=4, node="slave"), "it goes on at 4, not where it was")
    wrong = "a slave may only be behind, and offsetCheckInSlave is off"
    assert_broken(PullGoesOn, pulled(world(), MOVED, asked=9, to=4, node="slave"), wrong)
    checks = world(slave={"offsetCheckInSlave": True})
    assert_holds(PullGoesOn, pulled(checks, MOVED, asked=9, to=4, node="slave"))


def test_a_java_slave_may_say_that_nothing_matches_and_move_a_reader_if_it_checks_offsets() -> None:
    def answer(**settings: object) -> H:
        return pulled(world(java=True, slave=settings), RETRY, asked=9, to=4, node="slave")

    assert_holds(PullGoesOn, answer(offsetCheckInSlave=True))
    assert_broken(PullGoesOn, answer(), "it goes on at 4, not where it was asked")


def test_what_java_may_answer_while_it_deletes_files_is_left_out() -> None:
    assert_holds(PullGoesOn, pulled(world(java=True), NOT_FOUND, asked=1, to=3))
    assert_holds(PullGoesOn, pulled(world(java=True), RETRY, asked=1, to=3))
    assert_holds(PullGoesOn, pulled(world(java=True), got=(2, 3), to=4))
    assert_broken(PullGoesOn, pulled(world(java=True), got=(1, 3), to=4), "it brings 1, 3 and goes on at 4")


@pytest.mark.parametrize("law", [PullGoesOn, PullIsFilled])
def test_pulls_that_nobody_answered_are_not_judged(law: type) -> None:
    assert_vacuous(law, world())
    assert_vacuous(law, pulled(world(), "timeout", phase="info"))
    assert_vacuous(law, pulled(world(), "TOPIC_NOT_EXIST", phase="fail"))


# pull-is-filled


def test_an_answer_ends_with_its_queue_or_with_the_messages_asked_for() -> None:
    assert assert_holds(PullIsFilled, pulled(world(), got=(0, 1, 2, 3), to=4)).judged == 2
    assert_holds(PullIsFilled, listed(pulled(world(), got=(0, 1), to=2, most=2), 2, 3))
    wrong = "brings 2 messages of 200 bytes, although the queue goes on with one of 100 bytes at 2"
    assert_broken(PullIsFilled, listed(pulled(world(), got=(0, 1), to=2, most=3), 2, 3), wrong)
    assert_broken(PullIsFilled, listed(pulled(world(), got=(0, 1), to=2), 2, 3), "the limits are 8 messages and 65536")


def test_an_answer_ends_at_the_brokers_limit_of_bytes() -> None:
    large = 30_000
    assert_holds(PullIsFilled, listed(pulled(world(), got=(0, 1), to=2, size=large), 2, size=large))
    in_memory = world(totalMemory=1_000_000)
    wrong = "the limits are 32 messages and 262144 bytes"
    assert_broken(PullIsFilled, listed(pulled(in_memory, got=(0, 1), to=2, size=large), 2, size=large), wrong)


def test_an_answer_brings_no_more_than_the_limits_and_one_message_whatever_its_size() -> None:
    wrong = "brings 2 messages of 200 bytes and more; the limits are 1 messages and 262144 bytes"
    assert_broken(PullIsFilled, pulled(world(), got=(0, 1), to=2, most=1, held=(0, 2)), wrong)
    large = 140_000
    assert_holds(PullIsFilled, pulled(world(), got=(0,), to=1, size=300_000, held=(0, 1)))
    wrong = "brings 2 messages of 280000 bytes and more; the limits are 32 messages and 262144 bytes"
    for f in ("pull", "select"):
        assert_broken(PullIsFilled, pulled(world(), got=(0, 1), to=2, size=large, held=(0, 2), f=f), wrong)
    assert_holds(PullIsFilled, pulled(world(), got=(0, 1), to=2, size=131_072, held=(0, 2)))


def test_what_is_in_memory_has_the_larger_limits() -> None:
    eight = tuple(range(8))

    def answer(log: int, **settings: object) -> H:
        history = world(**settings).append("master", 0, log, "put", "m0")
        return listed(pulled(history, got=eight, to=8, held=(0, 9)), 8)

    assert_holds(PullIsFilled, answer(900, totalMemory=200))
    assert_broken(PullIsFilled, answer(900, totalMemory=300), "the limits are 32 messages")
    assert_holds(PullIsFilled, answer(900, totalMemory=300, maxTransferCountOnMessageInMemory=8))
    assert_holds(PullIsFilled, answer(900, totalMemory=300, accessMessageInMemoryMaxRatio=0))
    assert_holds(PullIsFilled, answer(900))


def test_a_broker_that_started_since_the_pull_began_may_have_another_log() -> None:
    """Its master came back with an older image: what was asked for is in memory now."""

    def answer(started: str) -> H:
        history = world(totalMemory=200).append("master", 0, 2_000, "put", "m0")
        return pulled(history, got=tuple(range(9)), to=9, held=(0, 9), starts=started)

    assert_holds(PullIsFilled, answer("master"))
    assert_broken(PullIsFilled, answer("slave"), "brings 9 messages of 900 bytes and more; the limits are 8 messages")


def test_what_an_answer_left_whose_broker_was_started_since_may_have_lain_on_disk() -> None:
    def answer(started: str, count: int = 8) -> H:
        history = world(totalMemory=20_000).append("master", 0, 20_000, "put", "m0")
        history = pulled(history, got=tuple(range(count)), to=count, held=(0, 9), starts=started)
        return listed(history, count)

    assert_holds(PullIsFilled, answer("master"))
    assert_broken(PullIsFilled, answer("master", 7), "brings 7 messages")


def test_java_may_end_an_answer_with_a_file_of_the_queue() -> None:
    files = {"mappedFileSizeConsumeQueue": 40}
    assert assert_holds(PullIsFilled, listed(pulled(world(java=True, **files), got=(0, 1), to=2), 2)).judged == 1
    assert_broken(PullIsFilled, listed(pulled(world(**files), got=(0, 1), to=2), 2), "brings 2 messages")
    assert_broken(PullIsFilled, listed(pulled(world(java=True, **files), got=(0,), to=1), 1), "brings 1 messages")


def test_a_message_that_nobody_saw_may_be_too_large() -> None:
    assert_vacuous(PullIsFilled, pulled(world(), got=(0,), to=1))
    assert_vacuous(PullIsFilled, listed(pulled(world(), got=(0,), to=1, group="G"), 1))
    assert_vacuous(PullIsFilled, listed(pulled(world(), got=(0,), to=1, f="select"), 1))
