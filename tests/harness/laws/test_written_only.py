"""Tests of ``written-only``."""

from histories import assert_broken, assert_holds
from histories.any_system import pair

from pairproof.harness.laws.written_only import WrittenOnly


def test_a_refused_or_unrequested_write_is_nowhere() -> None:
    refused = pair().invoke("w1", f="write").over("w1", "fail", "NO_COPIES", f="write")
    assert_holds(WrittenOnly, refused)
    assert_broken(WrittenOnly, refused.reading("slave", "w1"), "w1 was refused (NO_COPIES), and slave holds it")
    assert_broken(WrittenOnly, pair().reading("master", "w9"), "master holds w9, which nobody wrote")


def test_a_write_that_was_read_may_not_be_refused_later() -> None:
    story = pair().invoke("w1", f="write").reading("master", "w1", f="read").over("w1", "fail", "LATE", f="write")
    assert_broken(WrittenOnly, story, "w1 was refused (LATE), and master had it")


def test_a_call_with_an_unknown_result_may_be_stored_or_not() -> None:
    story = pair().invoke("w1", f="write").over("w1", "info", "timeout", f="write")
    assert_holds(WrittenOnly, story.reading("master", "w1"))
