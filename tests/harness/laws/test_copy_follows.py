"""Tests of ``copy-follows``."""

from histories import assert_broken, assert_holds, assert_vacuous
from histories.any_system import at_rest, pair

from pairproof.harness.laws.copy_follows import CopyFollows


def test_a_copy_that_is_a_prefix_follows() -> None:
    assert_holds(CopyFollows, at_rest("w1", "w2").reading("master", "w1", "w2").reading("slave", "w1"))


def test_a_copy_with_more_or_in_another_order_does_not_follow() -> None:
    story = at_rest("w1", "w2").reading("master", "w1", "w2")
    assert_broken(CopyFollows, story.reading("slave", "w2", "w1"), "slave has w2 at place 0, master at 1", times=2)
    story = at_rest("w1").reading("master", "w1")
    assert_broken(CopyFollows, story.reading("slave", "w1", "w2"), "slave holds w2, and master does not")


def test_copies_are_compared_only_at_rest() -> None:
    story = pair().mark("unsettled").reading("master").reading("slave", "w1")
    assert_vacuous(CopyFollows, story)
