"""Tests of ``pull-goes-on``."""

from typing import Any

import pytest
from histories import H, assert_broken, assert_holds, assert_vacuous
from histories.pulls import pulled, world

from pairproof.harness.rocketmq.laws.delivery.pull_goes_on import MOVED, NOT_FOUND, RETRY, PullGoesOn
from pairproof.harness.rocketmq.laws.delivery.pull_is_filled import PullIsFilled


def test_the_next_offset_follows_the_messages() -> None:
    assert assert_holds(PullGoesOn, pulled(world(), got=(0, 1, 2, 3), to=4)).judged == 1
    assert_holds(PullGoesOn, pulled(world(), asked=2, got=(2,), to=3))
    assert_broken(PullGoesOn, pulled(world(), got=(0, 1), to=3), "it brings 0, 1 and goes on at 3")
    assert_broken(PullGoesOn, pulled(world(), got=(0, 2), to=3), "it brings 0, 2 and goes on at 3")
    assert_broken(PullGoesOn, pulled(world(), got=(0, 1, 2), to=2), "it brings 0, 1, 2 and goes on at 2")
    assert_broken(PullGoesOn, pulled(world(), got=(), to=1), "it brings nothing and goes on at 1")
    assert_broken(PullGoesOn, pulled(world(), asked=1, to=1), "it goes on at 1, and would bring the same again")
    assert_broken(PullGoesOn, pulled(world(), asked=4, got=(4,), to=5), "the queue does not hold that offset")


def test_an_answer_by_tags_may_skip_messages_but_passes_its_own() -> None:
    assert_holds(PullGoesOn, pulled(world(), f="select", got=(1,), to=4))
    assert_holds(PullGoesOn, pulled(world(), RETRY, f="select", asked=1, to=3))
    assert_broken(PullGoesOn, pulled(world(), f="select", got=(1, 3), to=3), "it brings 3, which it does not pass")
    assert_broken(PullGoesOn, pulled(world(), RETRY, f="select", asked=1, to=1), "it goes on at 1, and nothing between")
    assert_broken(PullGoesOn, pulled(world(), RETRY, f="select", to=5), "it goes on at 5, and nothing between")
    assert_broken(PullGoesOn, pulled(world(), RETRY, to=4), "it gives no message, and all tags match")


def test_consumers_may_drop_the_rest_of_an_answer() -> None:
    assert_holds(PullGoesOn, pulled(world(), group="G", to=4))
    assert_holds(PullGoesOn, pulled(world(), group="G", got=(0, 1), to=3))
    assert_broken(PullGoesOn, pulled(world(), group="G", got=(0, 2), to=3), "it brings 0, 2 and goes on at 3")
    assert_broken(PullGoesOn, pulled(world(), group="G", got=(0, 1), to=1), "it brings 0, 1 and goes on at 1")
    assert_broken(PullGoesOn, pulled(world(), group="G", to=0), "and would bring the same again")


def test_consumers_that_subscribe_by_tag_drop_other_tags() -> None:
    def by_tag(*given: str, **more: Any) -> H:
        return pulled(world(), *given, group="G", tags="a || b", **more)

    assert_holds(PullGoesOn, by_tag(got=(1, 3), to=4))
    assert_holds(PullGoesOn, by_tag(RETRY, asked=1, to=3))
    assert_holds(PullGoesOn, by_tag(to=4))
    assert_broken(PullGoesOn, by_tag(got=(1, 3), to=3), "it brings 3, which it does not pass")
    assert_broken(PullGoesOn, by_tag(RETRY, asked=1, to=1), "it goes on at 1, and nothing between matches")


def test_a_reader_stays_at_the_queue_s_end() -> None:
    assert_holds(PullGoesOn, pulled(world(), NOT_FOUND, asked=4, to=4))
    assert_holds(PullGoesOn, pulled(world(), NOT_FOUND, held=(0, 0)))
    assert_broken(PullGoesOn, pulled(world(), NOT_FOUND, asked=4, to=5), "it goes on at 5")
    assert_broken(PullGoesOn, pulled(world(), NOT_FOUND, asked=3, to=3), "the queue has messages from there on")
    assert_broken(PullGoesOn, pulled(world(), NOT_FOUND, asked=5, to=5), "the queue does not end there")


def test_a_reader_outside_the_queue_is_moved_to_the_nearer_end() -> None:
    assert_holds(PullGoesOn, pulled(world(), MOVED, asked=1, to=2, held=(2, 4)))
    assert_holds(PullGoesOn, pulled(world(), MOVED, asked=9, to=4))
    assert_holds(PullGoesOn, pulled(world(), MOVED, asked=9, held=(0, 0)))
    assert_broken(PullGoesOn, pulled(world(), MOVED, asked=1, to=4, held=(2, 4)), "it goes on at 4, not at 2")
    assert_broken(PullGoesOn, pulled(world(), MOVED, asked=9, to=0), "it goes on at 0, not at 4")
    assert_broken(PullGoesOn, pulled(world(), MOVED, asked=4, to=4), "the queue holds that offset, or ends there")


def test_older_versions_move_a_reader_above_the_end_to_0_if_the_queue_begins_there() -> None:
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


def test_a_java_slave_with_offset_check_may_answer_no_match_and_move_a_reader() -> None:
    def answer(**settings: object) -> H:
        return pulled(world(java=True, slave=settings), RETRY, asked=9, to=4, node="slave")

    assert_holds(PullGoesOn, answer(offsetCheckInSlave=True))
    assert_broken(PullGoesOn, answer(), "it goes on at 4, not where it was asked")


def test_java_s_answers_while_it_deletes_files_are_not_judged() -> None:
    assert_holds(PullGoesOn, pulled(world(java=True), NOT_FOUND, asked=1, to=3))
    assert_holds(PullGoesOn, pulled(world(java=True), RETRY, asked=1, to=3))
    assert_holds(PullGoesOn, pulled(world(java=True), got=(2, 3), to=4))
    assert_broken(PullGoesOn, pulled(world(java=True), got=(1, 3), to=4), "it brings 1, 3 and goes on at 4")


@pytest.mark.parametrize("law", [PullGoesOn, PullIsFilled])
def test_unanswered_pulls_are_not_judged(law: type) -> None:
    assert_vacuous(law, world())
    assert_vacuous(law, pulled(world(), "timeout", phase="info"))
    assert_vacuous(law, pulled(world(), "TOPIC_NOT_EXIST", phase="fail"))
